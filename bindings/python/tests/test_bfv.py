"""Tests of exact arithmetic on encrypted integers, against the same arithmetic on Python's integers."""

import copy
import pickle

import numpy as np
import pytest

from pyringforge import ArgumentError, Bfv, Engine, SavedKeys

CPU = Engine("cpu")
RNG = np.random.default_rng(7)


def scheme(t=65537, log_n=6, seed=bytes(range(32))):
    return Bfv(log_n, t, [55, 55, 55], [56], engine=CPU, seed=seed, insecure=True)


def test_every_operation_is_exact():
    for bfv in (scheme(), scheme(np.int64(Bfv.find_plain_modulus(6, 40))), scheme(Bfv.find_plain_modulus(6, 60))):
        t, half = bfv.plain_modulus, bfv.slots // 2
        secret = bfv.secret_key()
        keys = bfv.keys(secret, [1, -3], exchange=True)
        x, y = (RNG.integers(0, t, (2, 3, bfv.slots)) for _ in range(2))
        a, b = keys.encrypt(x), keys.encrypt(y)
        wide, other = x.astype(object), y.astype(object)
        row = y[0, 1]
        for found, wanted in [
            (a, wide),
            (a + b, wide + other),
            (a - b, wide - other),
            (-a, -wide),
            (a * b, wide * other),
            (a * a, wide * wide),
            (a + y, wide + other),
            (row - a, row.astype(object) - wide),
            (a * row, wide * row.astype(object)),
            (3 * a - 7, 3 * wide - 7),
            (a.rotate_rows(1), np.roll(wide.reshape(2, 3, 2, half), -1, -1).reshape(wide.shape)),
            (a.rotate_rows(-3), np.roll(wide.reshape(2, 3, 2, half), 3, -1).reshape(wide.shape)),
            (a.rotate_columns(), np.roll(wide, half, -1)),
        ]:
            np.testing.assert_array_equal(secret.decrypt(found), (wanted % t).astype(np.int64))
        assert secret.noise_budget(a).shape == (2, 3)
        assert (secret.noise_budget(a) > secret.noise_budget(a * b) + 10).all()


def test_signed_integers():
    bfv = scheme()
    secret = bfv.secret_key()
    keys = bfv.keys(secret)
    for given in ([-3, 5, 2**16], np.array([-3, 5, 2**16], np.int32), np.array([-3, 5, 2**16], object)):
        np.testing.assert_array_equal(secret.decrypt(keys.encrypt(given), signed=True)[:4], [-3, 5, -1, 0])
    for dtype in (np.uint8, np.int8, np.uint16, np.uint32, np.int64, ">i4", bool):
        given = np.array([1, 0, 1], dtype)
        np.testing.assert_array_equal(secret.decrypt(keys.encrypt(given))[:3], given)
    assert secret.decrypt(keys.encrypt([2**64 - 1, 5]))[:2].tolist() == [(2**64 - 1) % 65537, 5]
    assert not secret.decrypt(keys.encrypt([])).any()
    big = np.array([2**64 - 1, 0], np.uint64)
    assert secret.decrypt(keys.encrypt(big))[0] == (2**64 - 1) % 65537
    assert secret.decrypt(keys.encrypt([2**100]))[0] == 2**100 % 65537
    assert secret.decrypt(keys.encrypt(True))[-1] == 1


def test_keys_and_ciphertexts_are_saved():
    bfv = scheme(seed=None)
    secret = bfv.secret_key()
    keys = bfv.keys(secret, [1])
    x = RNG.integers(0, 65537, (2, bfv.slots))
    again = pickle.loads(pickle.dumps(keys))
    assert isinstance(keys.save(), SavedKeys) and copy.deepcopy(bfv).slots == bfv.slots
    key = again.scheme.load_secret_key(secret.save())
    sent = again.load(keys.encrypt(x).save())
    np.testing.assert_array_equal(key.decrypt(sent.rotate_rows(1) * sent)[:, :31], x[:, 1:32] * x[:, :31] % 65537)


def test_what_is_refused():
    bfv = scheme()
    secret = bfv.secret_key()
    keys = bfv.keys(secret)
    a, two = keys.encrypt([1, 2]), keys.encrypt([[1], [2]])
    for refused, message in [
        (lambda: keys.encrypt([0.5]), "integers"),
        (lambda: keys.encrypt(["1"]), "integers"),
        (lambda: keys.encrypt(np.zeros(65, int)), "at most 64"),
        (lambda: a + two, "shapes"),
        (lambda: a + np.zeros((2, 3), int), "batch of shape"),
        (lambda: a.rotate_rows(1), "rotation"),
        (lambda: a.rotate_columns(), "exchange of rows"),
        (lambda: Bfv(6, 65536, [55], [56], insecure=True), "prime"),
        (lambda: Bfv(6, 65537.0, [55], [56], insecure=True), "prime"),
        (lambda: Bfv(6, -1, [55], [56], insecure=True), "prime"),
        (lambda: Bfv(6, 65537, [55], [56], seed=b"short", insecure=True), "32 bytes"),
        (lambda: Bfv(12, 65537, [55, 55, 55], [56]), "128-bit"),
        (lambda: keys.load(b"nonsense"), "decode"),
        (lambda: pickle.dumps(secret), "save"),
        (lambda: pickle.dumps(a), "save"),
        (lambda: pickle.dumps(bfv), "seed"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            refused()
    spent = a
    with pytest.raises(ArgumentError, match="noise budget"):
        for _ in range(9):
            secret.decrypt(spent)
            spent = spent * spent

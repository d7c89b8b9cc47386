"""Tests of arithmetic on encrypted numbers."""

import os
import pickle

import numpy as np
import pytest

import pyringforge
from pyringforge import ArgumentError, Ckks, Polynomial

CPU = pyringforge.Engine("cpu")
RNG = np.random.default_rng(5)


def scheme(log_n=11, q_bits=(60, 45, 45, 45, 45), p_bits=(60,), **options):
    return Ckks(log_n, q_bits, p_bits, engine=CPU, insecure=True, seed=bytes(32), **options)


@pytest.fixture(scope="module")
def session():
    ckks = scheme()
    secret = ckks.secret_key()
    keys = ckks.keys(secret, [1, -3, *Ckks.sum_rotations(8), *Ckks.sum_rotations(5, 3)], conjugation=True)
    return ckks, secret, keys


def numbers(*shape):
    return RNG.uniform(-1, 1, shape) + 1j * RNG.uniform(-1, 1, shape)


def close(found, wanted, most=1e-7):
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() < most


def test_operators_are_those_of_numpy(session):
    ckks, secret, keys = session
    x, y = numbers(3, ckks.slots), numbers(3, ckks.slots)
    a, b = keys.encrypt(x), keys.encrypt(y)
    assert (a.level, ckks.levels, a.scale) == (4, 4, ckks.scale)
    for found, wanted in [
        (a + b, x + y),
        (a - b, x - y),
        (-a, -x),
        (a * b, x * y),
        (a + 0.25, x + 0.25),
        (1 - a, 1 - x),
        (a - 2, x - 2),
        (a * 1.5, x * 1.5),
        (np.float64(1.5) * a, 1.5 * x),
        (a + y, x + y),
        (y - a, y - x),
        (a - y[0], x - y[0]),
        (y[1] * a, y[1] * x),
        (a * 1j, x * 1j),
        (a * b * a, x * y * x),
        (a.rotate(1), np.roll(x, -1, -1)),
        (a.rotate(-3), np.roll(x, 3, -1)),
        (a.conjugate(), x.conj()),
        (a.sum(8), sum(np.roll(x, -i, -1) for i in range(8))),
        (a.sum(5, 3), sum(np.roll(x, -3 * i, -1) for i in range(5))),
        (a.drop_to(1), x),
    ]:
        close(secret.decrypt(found), wanted)


def test_shapes_are_those_of_the_input(session):
    ckks, secret, keys = session
    for shape in [(5,), (2, 7), (2, 3, 1), (1, 4)]:
        x = numbers(*shape)
        found = secret.decrypt(keys.encrypt(x))
        assert found.shape == (*shape[:-1], ckks.slots)
        close(found[..., : shape[-1]], x)
        assert np.abs(found[..., shape[-1] :]).max() < 1e-7
    close(secret.decrypt(keys.encrypt(0.5)), np.full(ckks.slots, 0.5 + 0j))
    close(secret.decrypt(keys.encrypt([1, 2]))[:2], np.array([1, 2 + 0j]))


def test_dot_product_and_polynomial(session):
    ckks, secret, keys = session
    x, y = RNG.uniform(-1, 1, (2, 8))
    dot = (keys.encrypt(x) * keys.encrypt(y)).sum(8)
    assert abs(secret.decrypt(dot)[0] - x @ y) < 1e-7
    exponential = Polynomial.interpolate(np.exp, (-1, 1), 7)
    assert (exponential.degree, exponential.levels) == (7, 3) and abs(exponential(0.3) - np.exp(0.3)) < 1e-6
    x = RNG.uniform(-1, 1, ckks.slots)
    close(secret.decrypt(keys.encrypt(x).evaluate(exponential)), np.exp(x) + 0j, 1e-5)
    cube = Polynomial([0, 0, 0, 1])
    close(secret.decrypt(keys.encrypt(x).evaluate(cube)), x**3 + 0j, 1e-7)


def test_matrices_multiply():
    ckks = scheme(8)
    secret = ckks.secret_key()
    rows, x = RNG.uniform(-1, 1, (16, 16)), RNG.uniform(-1, 1, 16)
    matrix = ckks.matrix(rows)
    keys = ckks.keys(secret, matrix.rotations)
    found = secret.decrypt(keys.encrypt(np.tile(x, ckks.slots // 16)).apply(matrix))
    close(found[:16], rows @ x + 0j)
    blocks = ckks.matrix(rows, blocks=True)
    x = RNG.uniform(-1, 1, (2, ckks.slots // 16, 16))
    found = secret.decrypt(ckks.keys(secret, blocks.rotations).encrypt(x.reshape(2, -1)).apply(blocks))
    close(found.reshape(x.shape), x @ rows.T + 0j)
    with pytest.raises(ArgumentError, match="no key for a rotation|rotation"):
        ckks.keys(secret).encrypt(x).apply(matrix)


def test_bytes_are_read_again(session):
    ckks, secret, keys = session
    x = numbers(2, 4)
    saved = keys.encrypt(x).save()
    other = scheme()
    loaded = other.load_keys(keys.save())
    ciphertext = loaded.load(saved)
    assert ciphertext.batch_shape == (2,)
    again = other.load_secret_key(secret.save())
    close(again.decrypt(ciphertext.rotate(1))[:, :3], x[:, 1:])
    assert keys.load(saved, (1, 2)).batch_shape == (1, 2)
    with pytest.raises(ArgumentError, match="batch_shape: expected 2 items"):
        keys.load(saved, (3,))
    with pytest.raises(ArgumentError):
        keys.load(saved[:-1])
    with pytest.raises(ArgumentError, match="secret keys are not pickled"):
        pickle.dumps(secret)


def test_seeds_repeat_everything():
    def life():
        ckks = scheme(7)
        secret = ckks.secret_key()
        keys = ckks.keys(secret, [1])
        return secret.save(), keys.save(), (keys.encrypt([1 / 3]) * 0.7).rotate(1).save()

    assert life() == life()


def test_mistakes_are_argument_errors(session):
    ckks, secret, keys = session
    a = keys.encrypt(numbers(2, 3))
    for mistake in [
        lambda: Ckks(13, [60] * 9, [60], engine=CPU),
        lambda: Ckks(7, [60], [60], engine=CPU, seed=b"short"),
        lambda: keys.encrypt(np.zeros(ckks.slots + 1)),
        lambda: keys.encrypt([np.nan]),
        lambda: keys.encrypt([1.0], level=9),
        lambda: a + keys.encrypt(numbers(3, 3)),
        lambda: a + numbers(3, 3),
        lambda: a.rotate(7),
        lambda: a.drop_to(0) * a,
        lambda: a + keys.encrypt(numbers(2, 3), scale=2.0**40),
        lambda: Polynomial([]),
        lambda: Polynomial([1.0], (1, 1)),
        lambda: ckks.matrix(np.zeros((3, 4))),
    ]:
        with pytest.raises(ArgumentError):
            mistake()


def test_ciphertexts_are_bootstrapped():
    # two levels to bootstrap from, one to use, eight for the sine, two back to slots
    ckks = scheme(8, (60, *3 * (40,), *8 * (60,), *2 * (57,)), 4 * (61,), scale=2.0**40)
    secret = ckks.secret_key()
    keys = ckks.keys(secret, bootstrap=(2, 2))
    x = numbers(2, ckks.slots)
    worn = keys.encrypt(x, level=2)
    fresh = worn.bootstrap()
    assert (worn.level, fresh.level, fresh.batch_shape) == (2, 3, (2,))
    close(secret.decrypt(fresh), x, 1e-6)
    close(secret.decrypt(fresh * fresh), x * x, 1e-5)
    close(secret.decrypt(keys.encrypt(x.real, level=2).bootstrap(real=True)), x.real + 0j, 1e-6)
    with pytest.raises(ArgumentError, match="level"):
        worn.drop_to(1).bootstrap()
    with pytest.raises(ArgumentError, match="bootstrap"):
        ckks.keys(secret).encrypt(x).bootstrap()
    with pytest.raises(ArgumentError, match="linear maps"):
        ckks.keys(secret, bootstrap=(3, 4))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_forked_processes_are_refused(session):
    _, secret, keys = session
    a = keys.encrypt([1.0])
    child = os.fork()
    if child == 0:
        refused = 0
        for work in [lambda: a + a, lambda: keys.encrypt([1.0]), lambda: secret.decrypt(a), scheme]:
            try:
                work()
            except pyringforge.UnsupportedError as error:
                refused += "forked" in str(error)
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4

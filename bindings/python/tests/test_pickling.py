"""Pickling, copies and equality, also in another process."""

import copy
import multiprocessing
import pickle

import numpy as np
import pyringforge
import pytest
from pyringforge import ArgumentError, Ckks, Engine, ItemError, Kem, MlDsa, Polynomial, Ring, Sm2

CPU = Engine("cpu")


def again(x):
    """The object after pickling, with each protocol that Python still writes by default somewhere."""
    return [pickle.loads(pickle.dumps(x, protocol)) for protocol in (2, 4, pickle.HIGHEST_PROTOCOL)][-1]


def test_engines_are_made_again():
    assert copy.copy(CPU) is CPU and copy.deepcopy(CPU) is CPU
    other = again(CPU)
    assert other is not CPU and other.device == CPU.device
    assert again(pyringforge.default_engine()) is pyringforge.default_engine()
    # objects of one pickle share their engine, as before
    a, b = again([Ring("17 : x^4 + 1", CPU), Ring("97 : x^8 - 1", CPU)])
    assert a.engine is b.engine


def test_rings_are_equal():
    ring = Ring("97,193 : x^16 + 1", CPU)
    for other in (again(ring), copy.copy(ring), copy.deepcopy(ring), Ring(ring.text)):
        assert other == ring and hash(other) == hash(ring) and other.moduli == ring.moduli
        x = np.arange(32, dtype=ring.dtype).reshape(2, 16)
        assert np.array_equal(other.ntt(x), ring.ntt(x))
    # another root is another ring
    rooted = Ring("17 : x^4 + 1 @ 8", CPU)
    assert again(rooted) == rooted != Ring("17 : x^4 + 1 @ 2", CPU)
    assert ring != rooted and ring != ring.text
    assert {ring: 1}[again(ring)] == 1


def test_device_arrays_refuse():
    there = Ring("17 : x^4 + 1", CPU).upload(np.arange(4, dtype=np.uint16))
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(ArgumentError, match="use `numpy`"):
            attempt(there)


def test_schemes_of_batches():
    kem, signer, sm2 = again((Kem("ML-KEM-512", CPU), MlDsa("ML-DSA-44", CPU), Sm2(CPU, lookups=True)))
    public, secret = kem.generate(2)
    sent, shared = Kem("ML-KEM-512", CPU).encapsulate(public)
    assert np.array_equal(kem.decapsulate(secret, sent), shared)
    assert signer.name == "ML-DSA-44" and signer.engine is kem.engine is sm2.engine
    assert sm2._lookups and not again(Sm2(CPU))._lookups


def test_errors_cross_processes():
    error = again(ItemError({3: "bad"}, (np.zeros(2),)))
    assert error.errors == {3: "bad"} and str(error) == "item 3: bad" and len(error.outputs) == 1
    assert str(again(ArgumentError("x: bad"))) == "x: bad"


def test_encrypted_numbers():
    ckks = Ckks(13, [50, 40], [60], engine=CPU)
    assert copy.deepcopy(ckks) is ckks
    secret = ckks.secret_key()
    keys = ckks.keys(secret, rotations=[1])
    far = again(keys)
    assert far.scheme.scale == ckks.scale and far.scheme.levels == ckks.levels and copy.copy(keys) is keys
    numbers = np.linspace(-1, 1, ckks.slots)
    sent = (far.encrypt(numbers) * 2).rotate(1)
    back = secret.decrypt(keys.load(sent.save()))
    assert np.abs(back - np.roll(2 * numbers, -1)).max() < 1e-5
    assert copy.deepcopy(sent) is sent
    with pytest.raises(ArgumentError, match="use `save` and `CkksKeys.load`"):
        pickle.dumps(sent)
    with pytest.raises(ArgumentError, match="secret keys are not pickled"):
        copy.deepcopy(secret)
    with pytest.raises(ArgumentError, match="the seed is secret"):
        pickle.dumps(Ckks(13, [50, 40], [60], engine=CPU, seed=bytes(32)))
    cube = again(Polynomial([0, 0, 0, 1], (-2, 2)))
    assert cube.degree == 3 and cube(0.5) == Polynomial([0, 0, 0, 1], (-2, 2))(0.5)


def product(ring, a, b):
    return ring, ring.mul(a, b)


def test_rings_reach_other_processes():
    ring = Ring("998244353 : x^8 + 1", CPU)
    a, b = np.arange(8, dtype=np.uint32), np.arange(8, 16, dtype=np.uint32)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there, made = pool.apply(product, (ring, a, b))
    assert there == ring and np.array_equal(made, ring.mul(a, b))

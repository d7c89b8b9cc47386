"""Tests of key exchanges and signatures in batches."""

import numpy as np
import pytest

import pyringforge
from pyringforge import ArgumentError, ItemError, Kem, MlDsa, Sm2

CPU = pyringforge.Engine("cpu")


@pytest.mark.parametrize("name", pyringforge.kems())
def test_both_ends_agree(name):
    kem = Kem(name, CPU)
    public, secret = kem.generate(5)
    assert public.shape == (5, kem.sizes.public_key) and secret.shape == (5, kem.sizes.secret_key)
    ciphertexts, sent = kem.encapsulate(public)
    assert (kem.decapsulate(secret, ciphertexts) == sent).all()
    # items may be concatenated in one `bytes` object, or be a single item
    assert (kem.decapsulate(secret.tobytes(), ciphertexts.tobytes()) == sent).all()
    assert (kem.decapsulate(secret[2], ciphertexts[2]) == sent[2]).all()
    assert kem.encapsulate(b"")[0].shape == (0, kem.sizes.ciphertext)


def test_failed_items_are_listed():
    kem = Kem("CTRU-768", CPU)
    public, secret = kem.generate(4)
    public[1] = 255
    with pytest.raises(ItemError, match="^item 1: coefficient 0 of the public key is not below the modulus$") as raised:
        kem.encapsulate(public)
    ciphertexts, sent = raised.value.outputs
    assert raised.value.errors == {1: "coefficient 0 of the public key is not below the modulus"}
    assert not ciphertexts[1].any() and not sent[1].any()
    received = kem.decapsulate(secret, ciphertexts)
    assert [(received[i] == sent[i]).all() for i in range(4)] == [True, False, True, True]
    public[3] = 255
    with pytest.raises(ItemError, match=", and 1 more$"):
        kem.encapsulate(public)


def test_outputs_into_caller_arrays():
    kem = Kem("CNTR-512", CPU)
    sizes = kem.sizes
    keys = (CPU.pinned_empty((3, sizes.public_key)), CPU.pinned_empty((3, sizes.secret_key)))
    assert kem.generate(3, out=keys)[0] is keys[0] and keys[0].any() and keys[1].any()
    sent = kem.encapsulate(keys[0])
    received = np.empty_like(sent[1])
    assert kem.decapsulate(keys[1], sent[0], out=received) is received and (received == sent[1]).all()
    with pytest.raises(ArgumentError, match="^out: expected ciphertexts as a contiguous, writable array"):
        kem.encapsulate(keys[0], out=(np.empty((2, sizes.ciphertext), np.uint8), received))


def test_outputs_must_not_overlap_inputs():
    kem = Kem("CTRU-512", CPU)
    public, secret = kem.generate(2)
    sent, shared = kem.encapsulate(public)
    memory = np.zeros(sent.size + shared.size, np.uint8)
    # overlapping views that have no common base array in numpy must be rejected
    whole = np.from_dlpack(memory)
    of_sent, of_shared = whole[: sent.size].reshape(sent.shape), memory[-shared.size - 1 : -1].reshape(shared.shape)
    with pytest.raises(ArgumentError, match="out: shared_keys overlap"):
        kem.encapsulate(public, out=(of_sent, of_shared))
    of_sent[:] = sent
    with pytest.raises(ArgumentError, match="out: shared_keys overlap"):
        kem.decapsulate(secret, of_sent, out=memory[: shared.size].reshape(shared.shape))
    assert (of_sent == sent).all()


def test_non_canonical_public_keys():
    for name in ["CTRU-768", "CTRU-Prime-761"]:
        kem = Kem(name, CPU)
        public, _ = kem.generate(2)
        public[1] = 0xFF
        assert list(kem.are_canonical(public)) == [True, False]
    # CTRU-Prime accepts any bytes as a public key
    kem.encapsulate(public)


def test_wrong_arguments_are_rejected():
    kem = Kem("CTRU-768", CPU)
    with pytest.raises(ArgumentError, match="^public_keys: expected items of"):
        kem.encapsulate(b"123")
    with pytest.raises(ArgumentError, match="^public_keys: expected numbers of type uint8"):
        kem.encapsulate(np.zeros(kem.sizes.public_key, np.int64))
    with pytest.raises(ArgumentError, match="ciphertexts"):
        kem.decapsulate(bytes(2 * kem.sizes.secret_key), bytes(kem.sizes.ciphertext))
    with pytest.raises(pyringforge.UnsupportedError, match="CNTR-1024"):
        Kem("RSA", CPU)


def test_messages_are_signed():
    sm2 = Sm2(CPU)
    private, public = sm2.generate(3)
    messages = [b"", b"one", b"another"]
    digests = sm2.digest(public, messages)
    signatures = sm2.sign(private, digests)
    assert sm2.verify(public, digests, signatures).all()
    signatures[1, 40] ^= 1
    assert sm2.verify(public, digests, signatures).tolist() == [True, False, True]
    assert sm2.errors(public, digests, signatures) == {1: "the signature does not match the digest and key"}
    # another identifier gives other digests; a single key may sign all messages
    other = sm2.digest(public[0], messages, id=b"TLSv1.3+GM+Cipher+Suite")
    assert not (other == digests).all(axis=1).any()
    assert sm2.verify(np.repeat(public[:1], 3, axis=0), other, sm2.sign(private[0], other)).all()


def test_bad_keys_are_named():
    sm2 = Sm2(CPU)
    with pytest.raises(ItemError, match="^item 0: the public key is not a point of the curve$"):
        sm2.digest(bytes(64), [b"message"])
    with pytest.raises(ItemError, match="^item 0: the private key is out of range, and 1 more$"):
        sm2.sign(bytes(64), bytes(64))


def test_pinned_memory_is_an_array():
    array = CPU.pinned_empty((3, 4), np.uint64)
    assert array.shape == (3, 4) and array.dtype == np.uint64 and not array.any()
    array[:] = 7
    view = array[1:]
    del array
    assert (view == 7).all()
    assert pyringforge.pinned_empty(0).shape == (0,)


def test_devices_by_name():
    assert pyringforge.Engine("cpu").ordinal is None
    with pytest.raises(ValueError):
        pyringforge.Engine("gpu")
    with pytest.raises(pyringforge.NoDeviceError, match="no CUDA device"):
        pyringforge.Engine("cuda:999")
    CPU.trim()


@pytest.mark.parametrize("name", ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"])
def test_messages_of_any_length_are_signed(name):
    dsa = MlDsa(name, CPU)
    public, secret = dsa.generate(3)
    messages = [b"", b"a message", bytes(1000)]
    signatures = dsa.sign(secret, messages, context=b"test")
    assert signatures.shape == (3, dsa.sizes.signature)
    assert dsa.verify(public, messages, signatures, context=b"test").all()
    assert not dsa.verify(public, messages, signatures).any()
    assert dsa.verify(public, [b"", b"another", bytes(1000)], signatures, context=b"test").tolist() == [True, False, True]
    one = dsa.sign(secret[0], messages, out=np.empty_like(signatures))
    assert dsa.verify(public[0].tobytes(), messages, one).all()
    for mistake in [
        lambda: dsa.sign(secret[:2], messages),
        lambda: dsa.sign(secret, messages, context=bytes(256)),
        lambda: dsa.verify(public, messages, signatures[:2]),
        lambda: dsa.sign(secret[:, 1:], messages),
    ]:
        with pytest.raises(ArgumentError):
            mistake()

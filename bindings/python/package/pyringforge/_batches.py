"""Key encapsulation mechanisms (KEMs) and signatures in batches."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._engine import Engine, default_engine
from ._errors import ArgumentError, ItemError

Bytes = NDArray[np.uint8]
Buffer = Bytes | bytes | bytearray | memoryview


class KemSizes(NamedTuple):
    """Sizes, in bytes, of the keys and the ciphertext of one item."""

    public_key: int
    secret_key: int
    ciphertext: int
    shared_key: int


def kems() -> list[str]:
    """The names of all KEMs."""
    return _native.kems()


class Kem:
    """A KEM (key encapsulation), chosen by a name such as `CTRU-768`, compiled for an engine's device. Threads may
    share it.

    Arrays of bytes have one item per row; an input may also be a `bytes` object with all items concatenated. Outputs
    are new arrays, or the arrays in `out`, which may be in pinned memory. If items fail, the call raises `ItemError`,
    which lists them and holds the outputs of all items."""

    def __init__(self, name: str, engine: Engine | None = None) -> None:
        self.engine = engine or default_engine()
        """The engine on whose device the KEM runs."""
        self.name = name
        """The name of the KEM."""
        self._native = _native.Kem(self.engine._native, name)
        self.sizes = KemSizes(*self._native.sizes)
        """Sizes of one item, in bytes."""

    def generate(self, batch: int, *, out: tuple[Bytes, Bytes] | None = None) -> tuple[Bytes, Bytes]:
        """Generates key pairs from the system's randomness. Returns public keys and secret keys."""
        sizes = (self.sizes.public_key, self.sizes.secret_key)
        public, secret = _outputs(("public_keys", "secret_keys"), batch, sizes, out)
        _check_items(self._native.generate(_flat(public), _flat(secret)), (public, secret))
        return public, secret

    def are_canonical(self, public_keys: Buffer) -> NDArray[np.bool_]:
        """Returns an array that is True for each public key with a canonical encoding, as key generation produces it.
        Runs on the CPU."""
        public = _items("public_keys", public_keys, self.sizes.public_key)
        return np.array(self._native.are_canonical(_flat(public)), np.bool_)

    def encapsulate(self, public_keys: Buffer, *, out: tuple[Bytes, Bytes] | None = None) -> tuple[Bytes, Bytes]:
        """Generates a shared key and its ciphertext for each public key. Returns ciphertexts and shared keys.

        CTRU, CNTR and ML-KEM reject public keys with a coefficient that is not below the modulus. CTRU-Prime accepts any
        bytes, because it decodes them to some key; `are_canonical` detects encodings that key generation does not
        produce."""
        public = _items("public_keys", public_keys, self.sizes.public_key)
        sizes = (self.sizes.ciphertext, self.sizes.shared_key)
        sent, shared = _outputs(("ciphertexts", "shared_keys"), len(public), sizes, out, public)
        _check_items(self._native.encapsulate(_flat(public), _flat(sent), _flat(shared)), (sent, shared))
        return sent, shared

    def decapsulate(self, secret_keys: Buffer, ciphertexts: Buffer, *, out: Bytes | None = None) -> Bytes:
        """Computes the shared key of each ciphertext with its secret key.

        A rejected ciphertext is no error: its shared key is pseudorandom (implicit rejection)."""
        secret = _items("secret_keys", secret_keys, self.sizes.secret_key)
        sent = _items("ciphertexts", ciphertexts, self.sizes.ciphertext)
        outs = None if out is None else (out,)
        (shared,) = _outputs(("shared_keys",), len(secret), (self.sizes.shared_key,), outs, secret, sent)
        _check_items(self._native.decapsulate(_flat(secret), _flat(sent), _flat(shared)), (shared,))
        return shared

    def __reduce__(self) -> tuple[Any, ...]:
        return Kem, (self.name, self.engine)

    def __repr__(self) -> str:
        return f"Kem({self.name!r})"


class MlDsaSizes(NamedTuple):
    """Sizes, in bytes, of the keys and the signature of one item."""

    public_key: int
    secret_key: int
    signature: int


class MlDsa:
    """ML-DSA signatures (FIPS 204), chosen by a name such as `ML-DSA-65`, compiled for an engine's device. Threads may
    share it.

    Messages may have any lengths. Signing is hedged by the system's randomness, and each signature is verified before
    it is returned. Arrays have one item per row, as for `Kem`."""

    def __init__(self, name: str = "ML-DSA-65", engine: Engine | None = None) -> None:
        self.engine = engine or default_engine()
        """The engine on whose device signatures are made and verified."""
        self.name = name
        """The name of the parameter set."""
        self._native = _native.MlDsa(self.engine._native, name)
        self.sizes = MlDsaSizes(*self._native.sizes)
        """Sizes of one item, in bytes."""

    def generate(self, batch: int, *, out: tuple[Bytes, Bytes] | None = None) -> tuple[Bytes, Bytes]:
        """Generates key pairs from the system's randomness. Returns public keys and secret keys."""
        sizes = (self.sizes.public_key, self.sizes.secret_key)
        public, secret = _outputs(("public_keys", "secret_keys"), batch, sizes, out)
        _check_items(self._native.generate(_flat(public), _flat(secret)), (public, secret))
        return public, secret

    def sign(
        self, secret_keys: Buffer, messages: Sequence[bytes], *, context: bytes = b"", out: Bytes | None = None
    ) -> Bytes:
        """Signs each message with its secret key, or all messages with a single key. Returns the signatures."""
        secret, outs = _items("secret_keys", secret_keys, self.sizes.secret_key), None if out is None else (out,)
        (signed,) = _outputs(("signatures",), len(messages), (self.sizes.signature,), outs, secret)
        _check_items(self._native.sign(_flat(secret), list(messages), context, _flat(signed)), (signed,))
        return signed

    def verify(
        self, public_keys: Buffer, messages: Sequence[bytes], signatures: Buffer, *, context: bytes = b""
    ) -> NDArray[np.bool_]:
        """Returns an array that is True for each valid signature. A single key may be that of all messages."""
        public = _items("public_keys", public_keys, self.sizes.public_key)
        signed = _items("signatures", signatures, self.sizes.signature)
        right = np.ones(len(messages), np.bool_)
        faults = self._native.verify(_flat(public), list(messages), context, _flat(signed))
        right[[item for item, _ in faults]] = False
        return right

    def __reduce__(self) -> tuple[Any, ...]:
        return MlDsa, (self.name, self.engine)

    def __repr__(self) -> str:
        return f"MlDsa({self.name!r})"


class Sm2:
    """SM2 signatures (GB/T 32918), compiled for an engine's device. Threads may share it.

    Private keys and digests have 32 bytes. Public keys (x, then y) and signatures (r, then s) have 64 bytes,
    big-endian. Arrays have one item per row, as for `Kem`."""

    def __init__(self, engine: Engine | None = None, *, lookups: bool = False) -> None:
        """With `lookups`, signing reads tables at secret-dependent addresses, which is faster, but safe only on a
        device that no attacker shares."""
        self.engine = engine or default_engine()
        """The engine on whose device signatures are made and verified."""
        self._lookups = lookups
        self._native = _native.Sm2(self.engine._native, lookups)

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(Sm2, lookups=self._lookups), (self.engine,)

    def generate(self, batch: int, *, out: tuple[Bytes, Bytes] | None = None) -> tuple[Bytes, Bytes]:
        """Generates key pairs from the system's randomness. Returns private keys and public keys."""
        private, public = _outputs(("private_keys", "public_keys"), batch, (32, 64), out)
        _check_items(self._native.generate(_flat(private), _flat(public)), (private, public))
        return private, public

    @staticmethod
    def digest(public_keys: Buffer, messages: Sequence[bytes], id: bytes | None = None) -> Bytes:
        """The digest to sign, SM3(Z || message), of each message. Z is the hash of the signer's identifier and key.

        `public_keys` has the signer's key of each message, or a single key for all messages. All signers have the same
        identifier `id`; None is the standard's default. Runs on the CPU."""
        public = _items("public_keys", public_keys, 64)
        (digests,) = _outputs(("digests",), len(messages), (32,), None)
        _check_items(_native.sm2_digest(_flat(public), list(messages), _flat(digests), id), (digests,))
        return digests

    def sign(self, private_keys: Buffer, digests: Buffer, *, out: Bytes | None = None) -> Bytes:
        """Signs each digest with its private key, or all digests with a single key. Returns the signatures."""
        private, given = _items("private_keys", private_keys, 32), _items("digests", digests, 32)
        (signed,) = _outputs(("signatures",), len(given), (64,), None if out is None else (out,), private, given)
        _check_items(self._native.sign(_flat(private), _flat(given), _flat(signed)), (signed,))
        return signed

    def verify(self, public_keys: Buffer, digests: Buffer, signatures: Buffer) -> NDArray[np.bool_]:
        """Returns an array that is True for each valid signature."""
        right = np.ones(len(_items("digests", digests, 32)), np.bool_)
        right[list(self.errors(public_keys, digests, signatures))] = False
        return right

    def errors(self, public_keys: Buffer, digests: Buffer, signatures: Buffer) -> dict[int, str]:
        """Returns the error message of each invalid signature, by index."""
        public, given = _items("public_keys", public_keys, 64), _items("digests", digests, 32)
        return dict(self._native.verify(_flat(public), _flat(given), _flat(_items("signatures", signatures, 64))))


def _items(name: str, given: Any, size: int) -> Bytes:
    """Returns the items as rows of an array, from bytes or from an array."""
    array = given if isinstance(given, np.ndarray) else np.frombuffer(given, np.uint8)
    if array.dtype != np.uint8:
        raise ArgumentError(f"{name}: expected numbers of type uint8, got {array.dtype}")
    if array.size % size != 0 or array.ndim > 1 and array.shape[-1] != size:
        raise ArgumentError(f"{name}: expected items of {size} bytes, got shape {array.shape}")
    return np.ascontiguousarray(array).reshape(-1, size)


def _outputs(
    names: tuple[str, ...], batch: int, sizes: tuple[int, ...], out: tuple[Bytes, ...] | None, *inputs: Bytes
) -> tuple[Bytes, ...]:
    """Returns new arrays, or the caller's `out`, which must have these shapes and not overlap each other or inputs."""
    if out is None:
        return tuple(np.empty((batch, size), np.uint8) for size in sizes)
    for name, array, size in zip(names, out, sizes, strict=True):
        if array.dtype != np.uint8 or array.shape != (batch, size) or not array.flags.carray:
            raise ArgumentError(
                f"out: expected {name} as a contiguous, writable array of uint8 with shape {(batch, size)}"
            )
    for i, array in enumerate(out):
        if any(np.may_share_memory(array, other) for other in (*inputs, *out[:i])):
            raise ArgumentError(f"out: {names[i]} overlap an input or another output")
    return out


def _check_items(faults: list[tuple[int, str]], outputs: tuple[Bytes, ...]) -> None:
    if faults:
        raise ItemError(dict(faults), outputs)


def _flat(array: Bytes) -> Bytes:
    return array.reshape(array.size)

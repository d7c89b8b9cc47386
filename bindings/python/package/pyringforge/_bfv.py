"""Exact arithmetic on encrypted integers: BFV."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._engine import Engine, Unchanging, default_engine
from ._errors import ArgumentError
from ._keys import SavedKeys


class Bfv(Unchanging):
    """BFV with fixed parameters, compiled for an engine's device. Threads may share it.

    A ciphertext encrypts vectors of `slots` integers modulo `plain_modulus`, exactly, in two rows of half as many.
    Ciphertexts and keys stay on the device. The same seed and the same integers give the same bits on every device.
    Schemes can be copied and pickled, with their engine; one with a seed cannot be pickled."""

    def __init__(
        self,
        log_n: int,
        plain_modulus: int,
        q_bits: Sequence[int],
        p_bits: Sequence[int],
        *,
        engine: Engine | None = None,
        seed: bytes | None = None,
        insecure: bool = False,
    ) -> None:
        """The degree is 2^`log_n`. `plain_modulus` is a prime of at most 60 bits that is 1 modulo twice the degree, such
        as 65537; `find_plain_modulus` finds others. `q_bits` has the bits of the primes of Q, `p_bits` those of P.

        More bits than 128-bit security allows are refused, except with `insecure`. `seed`, of 32 bytes, replaces the
        system's randomness; never use one twice, except in tests."""
        self.engine = engine or default_engine()
        """The engine on whose device keys and ciphertexts are."""
        if seed is not None and len(seed) != 32:
            raise ArgumentError(f"seed: expected 32 bytes, got {len(seed)}")
        if not isinstance(plain_modulus, (int, np.integer)) or not 0 <= plain_modulus < 2**64:
            raise ArgumentError(f"plain_modulus: expected a prime of at most 60 bits, got {plain_modulus}")
        plain_modulus = int(plain_modulus)
        self._native = _native.Bfv(
            self.engine._native, log_n, plain_modulus, list(q_bits), list(p_bits), seed, insecure
        )
        self.plain_modulus = plain_modulus
        """The modulus of the encrypted integers."""
        self._seeded = seed is not None
        self._given = log_n, plain_modulus, tuple(q_bits), tuple(p_bits)
        self._choices = {"insecure": insecure}

    @staticmethod
    def find_plain_modulus(log_n: int, bits: int) -> int:
        """The largest plaintext modulus of this many bits for degree 2^`log_n`."""
        return _native.Bfv.plain_modulus(log_n, bits)

    @property
    def slots(self) -> int:
        """The integers of one vector: the degree. They are two rows of half as many."""
        return self._native.slots

    def secret_key(self) -> BfvSecretKey:
        """Generates a secret key."""
        return BfvSecretKey(self, self._native.keys.secret_key())

    def keys(
        self, secret: BfvSecretKey, rotations: Iterable[int] = (), *, exchange: bool = False
    ) -> BfvKeys:
        """Generates the keys that others need to encrypt integers and to compute on ciphertexts. There is a key for each
        of `rotations`, the steps of rotations to the left, and with `exchange` one to exchange the rows."""
        made = self._native.keys
        galois = made.galois_keys(secret._native, list(rotations), exchange)
        return BfvKeys(self, made.public_key(secret._native), made.relinearisation_key(secret._native), galois)

    def load_keys(self, saved: SavedKeys) -> BfvKeys:
        """Reads keys that `BfvKeys.save` wrote, for the same parameters."""
        return BfvKeys(self, *self._native.keys.read(*saved))

    def load_secret_key(self, saved: bytes) -> BfvSecretKey:
        """Reads a secret key that `BfvSecretKey.save` wrote, for the same parameters."""
        return BfvSecretKey(self, self._native.keys.read_secret_key(saved))

    def _encode(self, integers: ArrayLike) -> tuple[_native.BfvPlaintext, tuple[int, ...]]:
        given = np.asarray(integers)
        if not isinstance(integers, np.ndarray) and given.dtype.kind not in "iub":
            # integers that no type of numpy holds, or none at all
            given = np.asarray(integers, object)
        is_wide = given.dtype == object and all(isinstance(x, (int, np.integer)) for x in given.flat)
        if given.dtype.kind not in "iub" and not is_wide:
            raise ArgumentError(f"integers: expected integers, got {given.dtype}")
        if given.ndim == 0:
            given = np.full(self.slots, given)
        if given.shape[-1] > self.slots:
            raise ArgumentError(f"integers: expected at most {self.slots} in the last dimension, got {given.shape[-1]}")
        # t has at most 60 bits, so residues fit both types
        word = np.uint64 if given.dtype.kind == "u" else np.int64
        residues = (given % self.plain_modulus if is_wide else given).astype(word)
        items = np.zeros((*given.shape[:-1], self.slots), np.uint64)
        try:
            np.remainder(residues, word(self.plain_modulus), out=residues)
            items[..., : given.shape[-1]] = residues
            return self._native.encode(items.reshape(-1)), given.shape[:-1]
        finally:
            residues.fill(0)
            items.fill(0)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._seeded:
            raise ArgumentError("a scheme with a seed is not pickled: the seed is secret")
        return functools.partial(Bfv, engine=self.engine, **self._choices), self._given

    def __repr__(self) -> str:
        return f"Bfv({self.slots} slots modulo {self.plain_modulus}, on {self.engine.device})"


class BfvSecretKey:
    """A secret key, which decrypts."""

    def __init__(self, scheme: Bfv, native: _native.SecretKey) -> None:
        self.scheme, self._native = scheme, native

    def decrypt(self, ciphertext: BfvCiphertext, *, signed: bool = False) -> NDArray[np.int64]:
        """Returns the integers in all slots, with the batch dimensions of the ciphertext in front: from 0 on or, with
        `signed`, from -(t - 1) / 2 to (t - 1) / 2 for the plaintext modulus t. If the noise budget of a ciphertext is
        spent, the call raises `ArgumentError`.

        Do not show decryptions of ciphertexts that others chose, nor whether decryption failed: the key can be found
        from them."""
        scheme = self.scheme
        integers = np.empty(ciphertext._native.batch * scheme.slots, np.uint64)
        scheme._native.decrypt(ciphertext._native, self._native, integers)
        found = integers.view(np.int64).reshape(*ciphertext.batch_shape, scheme.slots)
        if signed:
            found[found > scheme.plain_modulus // 2] -= scheme.plain_modulus
        return found

    def noise_budget(self, ciphertext: BfvCiphertext) -> NDArray[np.float64]:
        """The bits of noise that each ciphertext can still take, with the batch dimensions of the ciphertext."""
        budgets = self.scheme._native.noise_budget(ciphertext._native, self._native)
        return np.array(budgets).reshape(ciphertext.batch_shape)

    def save(self) -> bytes:
        """The key as bytes, which must be kept secret."""
        return self.scheme._native.keys.write_secret_key(self._native)

    def __reduce__(self) -> Any:
        raise ArgumentError("secret keys are not pickled: use `save`")


class BfvKeys(Unchanging):
    """The keys that encrypt integers and compute on ciphertexts. They are not secret, and can be copied and pickled with
    their scheme."""

    def __init__(
        self,
        scheme: Bfv,
        public: _native.PublicKey,
        relinearise: _native.RelinearisationKey,
        galois: _native.GaloisKeys,
    ) -> None:
        self.scheme, self._public, self._relinearise, self._galois = scheme, public, relinearise, galois

    def encrypt(self, integers: ArrayLike) -> BfvCiphertext:
        """Encrypts vectors of at most `slots` integers, the last dimension of `integers`, modulo the plaintext modulus;
        missing ones are 0. The other dimensions are a batch. A single integer fills all slots."""
        plain, shape = self.scheme._encode(integers)
        return BfvCiphertext(self, self.scheme._native.encrypt(plain, self._public), shape)

    def save(self) -> SavedKeys:
        """The keys as bytes."""
        return SavedKeys(*self.scheme._native.keys.write(self._public, self._relinearise, self._galois))

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, (self.scheme, self.save())

    def load(self, saved: bytes, batch_shape: Sequence[int] | None = None) -> BfvCiphertext:
        """Reads a ciphertext that `BfvCiphertext.save` wrote. `batch_shape` has its batch dimensions; without it there
        is one, or none for a single vector."""
        native = self.scheme._native.read_ciphertext(saved)
        shape = tuple(batch_shape) if batch_shape is not None else (native.batch,) if native.batch != 1 else ()
        if np.prod(shape, dtype=int) != native.batch:
            raise ArgumentError(f"batch_shape: expected {native.batch} items, got {shape}")
        return BfvCiphertext(self, native, shape)


def _loaded(scheme: Bfv, saved: SavedKeys) -> BfvKeys:
    return scheme.load_keys(saved)


class BfvCiphertext(Unchanging):
    """Encrypted vectors of integers: those of one vector, or of a batch.

    `+`, `-` and `*` take other ciphertexts, arrays of integers and integers, modulo the plaintext modulus. A copy is the
    same ciphertext, as no call changes one."""

    def __init__(self, keys: BfvKeys, native: _native.BfvCiphertext, batch_shape: tuple[int, ...]) -> None:
        self.keys, self._native, self.batch_shape = keys, native, batch_shape

    def __add__(self, other: BfvCiphertext | ArrayLike) -> BfvCiphertext:
        if isinstance(other, BfvCiphertext):
            return self._with(self._scheme.add(self._native, self._other(other)))
        return self._with(self._scheme.add_plain(self._native, self._plain(other)))

    def __sub__(self, other: BfvCiphertext | ArrayLike) -> BfvCiphertext:
        if isinstance(other, BfvCiphertext):
            return self._with(self._scheme.sub(self._native, self._other(other)))
        return self._with(self._scheme.sub_plain(self._native, self._plain(other)))

    def __mul__(self, other: BfvCiphertext | ArrayLike) -> BfvCiphertext:
        scheme, relinearise = self._scheme, self.keys._relinearise
        if other is self:
            return self._with(scheme.square(self._native, relinearise))
        if isinstance(other, BfvCiphertext):
            return self._with(scheme.multiply(self._native, self._other(other), relinearise))
        return self._with(scheme.multiply_plain(self._native, self._plain(other)))

    def __neg__(self) -> BfvCiphertext:
        return self._with(self._scheme.negate(self._native))

    def __rsub__(self, other: ArrayLike) -> BfvCiphertext:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__
    # numpy must not take a ciphertext for an array of objects
    __array_ufunc__ = None

    def rotate_rows(self, steps: int) -> BfvCiphertext:
        """Rotates both rows of slots to the left (right if negative)."""
        return self._with(self._scheme.rotate_rows(self._native, steps, self.keys._galois))

    def rotate_columns(self) -> BfvCiphertext:
        """Exchanges the rows."""
        return self._with(self._scheme.rotate_columns(self._native, self.keys._galois))

    def save(self) -> bytes:
        """The ciphertext as bytes, which `BfvKeys.load` reads."""
        return self._scheme.write_ciphertext(self._native)

    def __reduce__(self) -> tuple[Any, ...]:
        raise ArgumentError("ciphertexts are not pickled, because their keys would be, too: use `save` and `BfvKeys.load`")

    @property
    def _scheme(self) -> _native.Bfv:
        return self.keys.scheme._native

    def _with(self, native: _native.BfvCiphertext) -> BfvCiphertext:
        return BfvCiphertext(self.keys, native, self.batch_shape)

    def _plain(self, integers: ArrayLike) -> _native.BfvPlaintext:
        plain, shape = self.keys.scheme._encode(integers)
        if shape not in ((), self.batch_shape):
            raise ArgumentError(f"expected one vector, or a batch of shape {self.batch_shape}, got {shape}")
        return plain

    def _other(self, other: BfvCiphertext) -> _native.BfvCiphertext:
        if self.batch_shape != other.batch_shape:
            raise ArgumentError(f"batches have different shapes, {self.batch_shape} and {other.batch_shape}")
        return other._native

    def __repr__(self) -> str:
        return f"BfvCiphertext(batch {self.batch_shape}, {self.keys.scheme.slots} slots)"

"""Arithmetic on encrypted numbers: RNS-CKKS."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._engine import Engine, Unchanging, default_engine
from ._errors import ArgumentError
from ._keys import SavedKeys

Numbers = NDArray[np.complex128]


class Ckks(Unchanging):
    """RNS-CKKS with fixed parameters, compiled for an engine's device. Threads may share it.

    A ciphertext encrypts vectors of `slots` complex numbers, approximately. It starts at level `levels`, and each
    product takes one level. Ciphertexts and keys stay on the device. The same seed and the same numbers give the same
    bits on every device. Schemes can be copied and pickled, with their engine; one with a seed cannot be pickled."""

    def __init__(
        self,
        log_n: int,
        q_bits: Sequence[int],
        p_bits: Sequence[int],
        *,
        engine: Engine | None = None,
        scale: float | None = None,
        rescale_by: int = 1,
        seed: bytes | None = None,
        insecure: bool = False,
    ) -> None:
        """The degree is 2^`log_n`. `q_bits` has the bits of the primes of Q, from q_0 on, `p_bits` those of P.

        More bits than 128-bit security allows are refused, except with `insecure`. A rescaling drops `rescale_by`
        primes. The default scale is 2^b for the b bits of the last primes of Q that a rescaling drops. `seed`, of 32
        bytes, replaces the system's randomness; never use one twice, except in tests."""
        self.engine = engine or default_engine()
        """The engine on whose device keys and ciphertexts are."""
        if seed is not None and len(seed) != 32:
            raise ArgumentError(f"seed: expected 32 bytes, got {len(seed)}")
        self._native = _native.Ckks(
            self.engine._native, log_n, list(q_bits), list(p_bits), rescale_by, scale, seed, insecure
        )
        self._seeded = seed is not None
        self._bits = log_n, tuple(q_bits), tuple(p_bits)
        self._choices = {"scale": self.scale, "rescale_by": rescale_by, "insecure": insecure}

    @property
    def slots(self) -> int:
        """The numbers of one vector: half of the degree."""
        return self._native.slots

    @property
    def levels(self) -> int:
        """The level of fresh ciphertexts: how many products can follow one another."""
        return self._native.top_level

    @property
    def scale(self) -> float:
        """The factor by which encoded numbers are multiplied."""
        return self._native.scale

    def secret_key(self) -> CkksSecretKey:
        """Generates a secret key."""
        return CkksSecretKey(self, self._native.keys.secret_key())

    def keys(
        self,
        secret: CkksSecretKey,
        rotations: Iterable[int] = (),
        *,
        conjugation: bool = False,
        bootstrap: tuple[int, int] | None = None,
    ) -> CkksKeys:
        """Generates the keys that others need to encrypt numbers and to compute on ciphertexts. There is a key for each
        of `rotations`, the steps of rotations to the left. `sum_rotations` and `CkksMatrix.rotations` list those of
        sums and of matrices.

        With `bootstrap`, ciphertexts can be bootstrapped. It has the levels from slots to coefficients and back, such
        as (3, 4). The primes of Q must then be, from q_0 on: q_0, those of the levels to be used, eight for a sine, and
        those back to slots."""
        made = self._native.keys
        galois = made.galois_keys(secret._native, list(rotations), conjugation)
        keys = CkksKeys(self, made.public_key(secret._native), made.relinearisation_key(secret._native), galois)
        if bootstrap is not None:
            bootstrapper = self._native.bootstrapper(*bootstrap)
            keys._bootstrap = bootstrapper, self._native.bootstrap_keys(bootstrapper, secret._native)
        return keys

    def load_keys(self, saved: SavedKeys) -> CkksKeys:
        """Reads keys that `CkksKeys.save` wrote, for the same parameters."""
        return CkksKeys(self, *self._native.keys.read(*saved))

    def load_secret_key(self, saved: bytes) -> CkksSecretKey:
        """Reads a secret key that `CkksSecretKey.save` wrote, for the same parameters."""
        return CkksSecretKey(self, self._native.keys.read_secret_key(saved))

    def matrix(self, rows: ArrayLike, level: int | None = None, *, blocks: bool = False) -> CkksMatrix:
        """Encodes a square matrix for products with ciphertexts of this level, by default the level of fresh ones. Its
        size must divide `slots`. Vectors must repeat in all slots. With `blocks`, each block of as many slots holds a
        vector of its own."""
        numbers = np.ascontiguousarray(rows, np.complex128)
        if numbers.ndim != 2:
            raise ArgumentError(f"rows: expected two dimensions, got shape {numbers.shape}")
        level = self.levels if level is None else level
        return CkksMatrix(self._native.matrix(numbers.reshape(-1), len(numbers), level, blocks))

    @staticmethod
    def sum_rotations(count: int, stride: int = 1) -> list[int]:
        """The rotations whose keys `Ciphertext.sum` needs."""
        return _native.Ckks.sum_rotations(stride, count)

    def _encode(self, numbers: ArrayLike, level: int, scale: float) -> tuple[_native.Plaintext, tuple[int, ...]]:
        given = np.asarray(numbers, np.complex128)
        if given.ndim == 0:
            given = np.full(self.slots, given)
        if given.shape[-1] > self.slots:
            raise ArgumentError(f"numbers: expected at most {self.slots} in the last dimension, got {given.shape[-1]}")
        items = np.zeros((*given.shape[:-1], self.slots), np.complex128)
        items[..., : given.shape[-1]] = given
        try:
            return self._native.encode(items.reshape(-1), level, scale), given.shape[:-1]
        finally:
            items.fill(0)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._seeded:
            raise ArgumentError("a scheme with a seed is not pickled: the seed is secret")
        return functools.partial(Ckks, engine=self.engine, **self._choices), self._bits

    def __repr__(self) -> str:
        return f"Ckks({self.slots} slots, {self.levels} levels, on {self.engine.device})"


class CkksSecretKey:
    """A secret key, which decrypts."""

    def __init__(self, scheme: Ckks, native: _native.SecretKey) -> None:
        self.scheme, self._native = scheme, native

    def decrypt(self, ciphertext: Ciphertext) -> Numbers:
        """Returns the numbers in all slots, with the batch dimensions of the ciphertext in front.

        Decrypted numbers contain the noise of their ciphertext, from which the key can be found. Do not show them to
        anyone who chose the computation."""
        numbers = np.empty(ciphertext._native.batch * self.scheme.slots, np.complex128)
        self.scheme._native.decrypt(ciphertext._native, self._native, numbers)
        return numbers.reshape(*ciphertext.batch_shape, self.scheme.slots)

    def save(self) -> bytes:
        """The key as bytes, which must be kept secret."""
        return self.scheme._native.keys.write_secret_key(self._native)

    def __reduce__(self) -> Any:
        raise ArgumentError("secret keys are not pickled: use `save`")


class CkksKeys(Unchanging):
    """The keys that encrypt numbers and compute on ciphertexts. They are not secret.

    They can be copied, and pickled with their scheme, but for those of bootstrapping."""

    def __init__(
        self,
        scheme: Ckks,
        public: _native.PublicKey,
        relinearise: _native.RelinearisationKey,
        galois: _native.GaloisKeys,
    ) -> None:
        self.scheme, self._public, self._relinearise, self._galois = scheme, public, relinearise, galois
        self._bootstrap: tuple[_native.Bootstrapper, _native.BootstrapKeys] | None = None

    def encrypt(self, numbers: ArrayLike, *, level: int | None = None, scale: float | None = None) -> Ciphertext:
        """Encrypts vectors of at most `slots` numbers, the last dimension of `numbers`; missing ones are 0. The other
        dimensions are a batch. A single number fills all slots."""
        scheme = self.scheme
        level = scheme.levels if level is None else level
        plain, shape = scheme._encode(numbers, level, scheme.scale if scale is None else scale)
        return Ciphertext(self, scheme._native.encrypt(plain, self._public), shape)

    def save(self) -> SavedKeys:
        """The keys as bytes, without those of bootstrapping."""
        return SavedKeys(*self.scheme._native.keys.write(self._public, self._relinearise, self._galois))

    def __reduce__(self) -> tuple[Any, ...]:
        if self._bootstrap is not None:
            raise ArgumentError("keys of bootstrapping are not pickled: make them where they are used")
        return _loaded, (self.scheme, self.save())

    def load(self, saved: bytes, batch_shape: Sequence[int] | None = None) -> Ciphertext:
        """Reads a ciphertext that `Ciphertext.save` wrote. `batch_shape` has its batch dimensions; without it there is
        one, or none for a single vector."""
        native = self.scheme._native.read_ciphertext(saved)
        shape = tuple(batch_shape) if batch_shape is not None else (native.batch,) if native.batch != 1 else ()
        if np.prod(shape, dtype=int) != native.batch:
            raise ArgumentError(f"batch_shape: expected {native.batch} items, got {shape}")
        return Ciphertext(self, native, shape)


def _loaded(scheme: Ckks, saved: SavedKeys) -> CkksKeys:
    return scheme.load_keys(saved)


class CkksMatrix:
    """A square matrix, encoded for products with encrypted vectors."""

    def __init__(self, native: _native.LinearMap) -> None:
        self._native = native

    @property
    def rotations(self) -> list[int]:
        """The rotations whose keys a product needs."""
        return self._native.rotations


class Polynomial:
    """A polynomial with real coefficients, to be evaluated on encrypted numbers."""

    def __init__(self, coefficients: Iterable[float], interval: tuple[float, float] | None = None) -> None:
        """The coefficients from degree 0 on: of powers of x or, with an interval, of Chebyshev polynomials on it."""
        self._given = [float(c) for c in coefficients], interval
        self._native = _native.Polynomial(*self._given)

    def __reduce__(self) -> tuple[Any, ...]:
        return Polynomial, self._given

    @classmethod
    def interpolate(cls, function: Callable[[float], float], interval: tuple[float, float], degree: int) -> Polynomial:
        """The polynomial that equals the function at the Chebyshev nodes of the interval."""
        middle, half = (interval[0] + interval[1]) / 2, (interval[1] - interval[0]) / 2
        nodes = np.vectorize(lambda u: float(function(middle + half * u)), otypes=[np.float64])
        return cls(np.polynomial.chebyshev.chebinterpolate(nodes, degree), interval)

    @property
    def degree(self) -> int:
        """The degree."""
        return self._native.degree

    @property
    def levels(self) -> int:
        """The levels that an evaluation takes."""
        return self._native.levels

    def __call__(self, x: float) -> float:
        """The value at x, in doubles."""
        return self._native.value(x)


class Ciphertext(Unchanging):
    """Encrypted vectors of complex numbers: those of one vector, or of a batch.

    `+`, `-` and `*` take other ciphertexts, arrays and numbers. An operand at a higher level is brought down, and a
    product is rescaled, so it is one level lower. If scales differ too much, the call raises `ArgumentError`:
    `rescale_to` brings one to the other's. A copy is the same ciphertext, as no call changes one."""

    def __init__(self, keys: CkksKeys, native: _native.Ciphertext, batch_shape: tuple[int, ...]) -> None:
        self.keys, self._native, self.batch_shape = keys, native, batch_shape

    @property
    def level(self) -> int:
        """How many products can still follow one another."""
        return self._native.level

    @property
    def scale(self) -> float:
        """The factor by which the encrypted numbers are multiplied."""
        return self._native.scale

    def __add__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        scheme = self._scheme
        if isinstance(other, Ciphertext):
            return self._with(scheme.add(*self._aligned(other)))
        if _is_real(other):
            return self._with(scheme.add_number(self._native, float(other)))  # type: ignore[arg-type]
        return self._with(scheme.add_plain(self._native, self._plain(other, self.scale)))

    def __sub__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        if isinstance(other, Ciphertext):
            return self._with(self._scheme.sub(*self._aligned(other)))
        if _is_real(other):
            return self + -float(other)  # type: ignore[arg-type]
        return self._with(self._scheme.sub_plain(self._native, self._plain(other, self.scale)))

    def __mul__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        scheme = self._scheme
        if isinstance(other, Ciphertext):
            return self._with(scheme.multiply_rescale(*self._aligned(other), self.keys._relinearise))
        if _is_real(other):
            product = scheme.multiply_number(self._native, float(other))  # type: ignore[arg-type]
        else:
            product = scheme.multiply_plain(self._native, self._plain(other, self.keys.scheme.scale))
        return self._with(scheme.rescale(product))

    def __neg__(self) -> Ciphertext:
        return self._with(self._scheme.negate(self._native))

    def __rsub__(self, other: ArrayLike) -> Ciphertext:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__
    # numpy must not take a ciphertext for an array of objects
    __array_ufunc__ = None

    def rotate(self, steps: int) -> Ciphertext:
        """Rotates the slots to the left (right if negative)."""
        return self._with(self._scheme.rotate(self._native, steps, self.keys._galois))

    def conjugate(self) -> Ciphertext:
        """The complex conjugates of all numbers."""
        return self._with(self._scheme.conjugate(self._native, self.keys._galois))

    def sum(self, count: int, stride: int = 1) -> Ciphertext:
        """Sums of slots: slot j of the result is the sum of the slots j + i * stride for i below `count`."""
        return self._with(self._scheme.sum_slots(self._native, stride, count, self.keys._galois))

    def evaluate(self, polynomial: Polynomial) -> Ciphertext:
        """The polynomial of each number, `polynomial.levels` lower."""
        return self._with(self._scheme.evaluate(polynomial._native, self._native, self.keys._relinearise))

    def bootstrap(self, *, real: bool = False) -> Ciphertext:
        """The same numbers at a high level. If they are real, `real` takes less time."""
        if self.keys._bootstrap is None:
            raise ArgumentError("the keys have none for bootstrapping: pass `bootstrap` to `Ckks.keys`")
        bootstrapper, keys = self.keys._bootstrap
        return self._with(self._scheme.bootstrap(bootstrapper, self._native, keys, real))

    def apply(self, matrix: CkksMatrix) -> Ciphertext:
        """The matrix times each vector, one level lower."""
        return self._with(self._scheme.apply(matrix._native, self._native, self.keys._galois))

    def drop_to(self, level: int) -> Ciphertext:
        """The same numbers at a lower level."""
        return self._with(self._scheme.drop_to(self._native, level))

    def rescale_to(self, scale: float) -> Ciphertext:
        """The same numbers one level lower, close to this scale."""
        return self._with(self._scheme.rescale_to(self._native, scale))

    def save(self) -> bytes:
        """The ciphertext as bytes, which `CkksKeys.load` reads."""
        return self._scheme.write_ciphertext(self._native)

    def __reduce__(self) -> tuple[Any, ...]:
        raise ArgumentError("ciphertexts are not pickled, because their keys would be, too: use `save` and `CkksKeys.load`")

    @property
    def _scheme(self) -> _native.Ckks:
        return self.keys.scheme._native

    def _with(self, native: _native.Ciphertext) -> Ciphertext:
        return Ciphertext(self.keys, native, self.batch_shape)

    def _plain(self, numbers: ArrayLike, scale: float) -> _native.Plaintext:
        plain, shape = self.keys.scheme._encode(numbers, self.level, scale)
        if shape not in ((), self.batch_shape):
            raise ArgumentError(f"expected one vector, or a batch of shape {self.batch_shape}, got {shape}")
        return plain

    def _aligned(self, other: Ciphertext) -> tuple[_native.Ciphertext, _native.Ciphertext]:
        """Both ciphertexts at the lower level."""
        if self.batch_shape != other.batch_shape:
            raise ArgumentError(f"batches have different shapes, {self.batch_shape} and {other.batch_shape}")
        level = min(self.level, other.level)
        a, b = (a._native if a.level == level else self._scheme.drop_to(a._native, level) for a in (self, other))
        return a, b

    def __repr__(self) -> str:
        return f"Ciphertext(batch {self.batch_shape}, {self.keys.scheme.slots} slots, level {self.level})"


def _is_real(number: Any) -> bool:
    return isinstance(number, (int, float, np.integer, np.floating))

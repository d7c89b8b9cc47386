"""Products of integers, and of polynomials with integer coefficients, by number-theoretic transforms."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._engine import Engine
from ._errors import ArgumentError
from ._ring import Ring

GOLDILOCKS = 2**64 - 2**32 + 1
MOST_BITS = 256
"""The bits of the largest modulus."""


def mul_int(a: int, b: int, *, engine: Engine | None = None) -> int:
    """Returns the product of two integers, for long ones faster than `a * b`. Both have together at most 2^35 bits.

    The integers are polynomials in 2^16, which are multiplied modulo the prime 2^64 - 2^32 + 1."""
    a, b = operator.index(a), operator.index(b)
    x, y = (_digits(abs(number)) for number in (a, b))
    count = len(x) + len(y)
    # a coefficient is below count / 2 * 2^32
    if count > 1 << 31:
        raise ArgumentError(f"a, b: expected at most {1 << 35} bits together, got {16 * count}")
    ring = Ring(f"{GOLDILOCKS} : x^{_power_of_two(count)} - 1", engine)
    padded = [np.concatenate([digits, np.zeros(ring.degree - len(digits), np.uint64)]) for digits in (x, y)]
    coefficients = ring.mul(*padded)
    # every fourth coefficient of 64 bits fills the gaps between the others
    parts = (int.from_bytes(coefficients[i::4].astype("<u8").tobytes(), "little") << 16 * i for i in range(4))
    return sum(parts) if (a < 0) == (b < 0) else -sum(parts)


def convolve(a: Iterable[int], b: Iterable[int], *, engine: Engine | None = None) -> NDArray[Any]:
    """Returns the full convolution of two sequences of integers, like `numpy.convolve`, but exact and fast: the
    coefficients of the product of two polynomials. The result is an array of Python integers.

    Coefficients of the result have at most 255 bits and a sign, as the sizes and lengths of the inputs bound them."""
    x, y = ([operator.index(value) for value in values] for values in (a, b))
    if not x or not y:
        raise ArgumentError("a, b: expected at least one integer each")
    bound = min(len(x), len(y)) * max(map(abs, x)) * max(map(abs, y))
    bits = bound.bit_length() + 1
    if bits > MOST_BITS:
        raise ArgumentError(f"a, b: expected a result of at most {MOST_BITS - 1} bits, got up to {bits - 1}")
    count = len(x) + len(y) - 1
    q = 2**MOST_BITS - 1 if bits == MOST_BITS else 2**bits
    ring = Ring(f"{q} : x^{_power_of_two(count)} - 1", engine)
    product = ring.mul(*(values + [0] * (ring.degree - len(values)) for values in (x, y)))[:count]
    return np.where(product > q // 2, product - q, product)


def _digits(number: int) -> NDArray[np.uint64]:
    """Returns the digits of a number in base 2^16, lowest first."""
    words = number.to_bytes(2 * max(1, -(-number.bit_length() // 16)), "little")
    return np.frombuffer(words, "<u2").astype(np.uint64)


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 1).bit_length()

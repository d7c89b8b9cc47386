"""Products of integers against Python's own, and convolutions against the definition."""

import random

import numpy as np
import pytest

import pyringforge
from pyringforge import ArgumentError, convolve, mul_int

CPU = pyringforge.Engine("cpu")


def test_products_of_integers():
    draw = random.Random(5)
    edges = [0, 1, 2**15, 2**16 - 1, 2**16, 2**63, 2**64 - 1, 2**4096 - 1, 2**4096]
    numbers = edges + [draw.getrandbits(bits) for bits in (1, 17, 100, 1000, 20_000, 100_000)]
    for a in numbers:
        for b in (*numbers, np.uint8(200)):
            assert mul_int(a, b, engine=CPU) == a * int(b)
            assert mul_int(-a, b, engine=CPU) == -a * int(b) and mul_int(-a, -int(b), engine=CPU) == a * int(b)
    with pytest.raises(TypeError):
        mul_int(1.5, 2)


def test_convolutions():
    draw = random.Random(6)
    cases = [([3], [-4]), ([0, 0], [0]), ([1, 2, 3], [4, 5]), ([-(2**126)] * 2, [2**126] * 5), ([2**253 - 1, 1], [-1, 1])]
    cases += [([draw.randint(-(2**bits), 2**bits) for _ in range(n)], [draw.randint(-9, 9) for _ in range(m)])
              for bits, n, m in [(3, 1, 50), (40, 33, 32), (200, 17, 64), (60, 64, 1)]]
    for a, b in cases:
        wanted = np.convolve(np.array(a, object), np.array(b, object))
        made = convolve(a, b, engine=CPU)
        assert made.dtype == object and made.tolist() == wanted.tolist()
    assert convolve(np.array([1, 2], np.int8), range(3), engine=CPU).tolist() == [0, 1, 4, 4]
    with pytest.raises(ArgumentError, match="at most 255 bits, got up to 257"):
        convolve([2**128], [2**128], engine=CPU)
    with pytest.raises(ArgumentError, match="at least one"):
        convolve([], [1], engine=CPU)
    with pytest.raises(TypeError):
        convolve([1.5], [1], engine=CPU)

"""Tests of transforms and products against naive arithmetic and sympy."""

import operator
import os
import threading
import time

import numpy as np
import pytest
import sympy

import pyringforge
from pyringforge import ArgumentError, Ring, RingError

CPU = pyringforge.Engine("cpu")
BLS12_381 = 52435875175126190479447740508185965837690552500527637822603658699938581184513


def elements(ring, batch, seed=1):
    """Returns random elements, as an array of the ring's type."""
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, q, (batch, ring.degree), dtype=ring.dtype) for q in ring.moduli]
    return np.stack(rows, axis=1) if len(rows) > 1 else rows[0]


def negacyclic(a, b, q):
    """Returns the product modulo x^n + 1, by the schoolbook method in Python integers."""
    n, product = len(a), [0] * len(a)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            product[(i + j) % n] += int(x) * int(y) * (1 if i + j < n else -1)
    return [x % q for x in product]


@pytest.mark.parametrize("q", [17, 3329, 12289, 2013265921, 4294967291, 1152921504606830593, 18446744069414584321])
def test_products_match_the_definition(q):
    ring = Ring(f"{q} : x^16 + 1", CPU)
    a, b = elements(ring, 3), elements(ring, 3, seed=2)
    product = ring.mul(a, b)
    assert product.dtype == ring.dtype and product.shape == a.shape
    for i in range(3):
        assert product[i].tolist() == negacyclic(a[i], b[i], q)


@pytest.mark.parametrize(
    "text", ["7681 : x^256 + 1", "3457:x^768-x^384+1", "97,193 : x^16 + 1", "2013265921 : x^1024 - 1"]
)
@pytest.mark.parametrize("order", ["natural", "digit_reversed"])
def test_products_of_evaluations(text, order):
    ring = Ring(text, CPU)
    a, b = elements(ring, 5), elements(ring, 5, seed=2)
    depth = ring.depth
    values = ring.point_mul(ring.ntt(a, order, depth=depth), ring.ntt(b, order, depth=depth), order, depth=depth)
    assert (ring.intt(values, order, depth=depth) == ring.mul(a, b)).all()
    again = a.copy()
    assert ring.ntt(again, order, depth=depth, out=again) is again
    assert ring.intt(again, order, depth=depth, out=again) is again and (again == a).all()


@pytest.mark.parametrize("text, degree, depth", [("11 : x^5 - 1", 5, 0), ("3329 : x^256 + 1", 2, 7)])
def test_incomplete_transforms_need_a_depth(text, degree, depth):
    ring = Ring(text, CPU)
    a = elements(ring, 2)
    with pytest.raises(pyringforge.UnsupportedError, match=f"with {degree} coefficients"):
        ring.ntt(a)
    assert ring.depth == depth
    assert (ring.intt(ring.ntt(a, depth=depth), depth=depth) == a).all()


@pytest.mark.parametrize("q", [17, 65521, 4294967291, 18446744069414584321, 18446744073709551615])
@pytest.mark.parametrize("signed", [np.int8, np.int16, np.int32, np.int64])
def test_signed_numbers_are_reduced(q, signed):
    ring = Ring(f"{q} : x^4 + 1", CPU)
    limits = np.iinfo(signed)
    a = np.array([-100, limits.min, limits.max, -1], signed)
    one = np.array([1, 0, 0, 0], signed)
    product = ring.mul(a, one)
    assert product.dtype == ring.dtype and product.tolist() == [int(x) % q for x in a]
    assert (ring.upload(a).numpy() == product).all()


def test_signed_numbers_in_a_basis():
    ring = Ring("97,193 : x^2 + 1", CPU)
    a = np.array([[-100, 200], [-100, 200]])
    assert ring.mul(a, np.array([[1, 0], [1, 0]])).tolist() == [[x % q for x in (-100, 200)] for q in (97, 193)]


def test_types_with_index_are_integers():
    class Whole:
        def __index__(self):
            return -1

    ring = Ring("18446744069414584321 : x^4 + 1", CPU)
    one = [1, 0, 0, 0]
    numbers = [np.uint64(2**64 - 1), np.int8(-1), sympy.Integer(2**70), Whole()]
    assert ring.mul(numbers, one).tolist() == [int(operator.index(x)) % 18446744069414584321 for x in numbers]
    with pytest.raises(ArgumentError, match="^a: expected integers$"):
        ring.mul([np.float64(1), 0, 0, 0], one)


def test_natural_order_is_by_powers():
    ring = Ring("97 : x^8 - 1 @ 64", CPU)  # 64 has order 8 modulo 97
    a = elements(ring, 1)[0]
    powers = [pow(64, i, 97) for i in range(8)]
    assert ring.ntt(a).tolist() == [sum(int(c) * x**k for k, c in enumerate(a)) % 97 for x in powers]


@pytest.mark.parametrize("q, f", [(1000, "x^7 - x - 1"), (2**89 - 1, "x^12 + x^5 + 3"), (10**70 + 1, "x^6 - 2")])
def test_python_integers_in_any_ring(q, f):
    sympy = pytest.importorskip("sympy")
    ring, x = Ring(f"{q} : {f}", CPU), sympy.Symbol("x")
    quotient = sympy.Poly(sympy.sympify(f.replace("^", "**")), x)
    n = ring.degree
    a, b = ([(-1) ** k * (q // 3 + k) for k in range(n)], [5**k for k in range(n)])
    product = ring.mul([a, a], [b, a])
    for row, right in zip(product, (b, a)):
        wanted = (sympy.Poly(a[::-1], x) * sympy.Poly(right[::-1], x)).rem(quotient).all_coeffs()[::-1]
        wanted += [0] * (n - len(wanted))
        assert row.tolist() == [int(c) % q for c in wanted]


def test_python_integers_in_a_basis():
    ring = Ring("97,193 : x^16 + 1", CPU)
    a = elements(ring, 2)
    values = ring.ntt(a.astype(object))
    assert values.dtype == object and (values == ring.ntt(a)).all()
    assert (ring.intt((values - 97 * 193).tolist()) == a).all()


def test_residues_of_256_bits():
    ring = Ring(f"{BLS12_381} : x^8 - 1 : plain", CPU)
    assert ring.shape == (8, 4) and ring.moduli == [BLS12_381]
    words = np.zeros((2, 8, 4), np.uint64)
    words[..., 0] = np.arange(16).reshape(2, 8)
    values = ring.ntt(words)
    assert values[0, 0].tolist() == [28, 0, 0, 0]
    assert (ring.intt(values) == words).all()
    ints = ring.ntt(words[..., 0].tolist())
    assert int(ints[1, 3]) == sum(int(w) << 64 * i for i, w in enumerate(values[1, 3]))
    # Montgomery form applies only to arrays of words, not to Python integers
    assert (Ring(f"{BLS12_381} : x^8 - 1", CPU).ntt(words[..., 0].tolist()) == ints).all()


def test_arrays_of_any_layout():
    ring = Ring("17 : x^4 + 1", CPU)
    a = elements(ring, 6)
    wanted = ring.ntt(a)
    assert (ring.ntt(a[::2]) == wanted[::2]).all()
    assert (ring.ntt(a.reshape(2, 3, 4)) == wanted.reshape(2, 3, 4)).all()
    assert (ring.ntt(a[0]) == wanted[0]).all()
    assert ring.ntt(a[:0]).shape == (0, 4)
    assert (ring.ntt(a.astype(np.int16)) == wanted).all()
    out = np.empty_like(a)
    assert ring.ntt(a, out=out) is out and (out == wanted).all()
    assert ring.mul(a, a, out=out) is out


def test_errors_name_the_argument():
    ring = Ring("17 : x^4 + 1", CPU)
    a = elements(ring, 2)
    with pytest.raises(ArgumentError, match="^b: the value at index 1 is not below the modulus 17$"):
        ring.mul(a[0], np.array([0, 17, 0, 0], np.uint16))
    for other in (np.float64, np.complex64, "S4", "M8[s]"):
        with pytest.raises(ArgumentError, match="^x: expected numbers of type uint16, got "):
            ring.ntt(np.zeros(4, other))
    with pytest.raises(ArgumentError, match="^x: expected residues below their moduli, got 65536$"):
        ring.ntt(np.array([0, 65536, 0, 0], np.uint64))
    with pytest.raises(ArgumentError, match="^x: the value at index 1 is not below the modulus 17$"):
        ring.ntt(np.array([0, 17, 0, 0], np.uint64))
    with pytest.raises(ArgumentError, match="^out: expected numbers of type uint16, got int16$"):
        ring.ntt(a, out=np.empty((2, 4), np.int16))
    for out in [None, np.full((2, 4), 17, np.uint16)]:
        with pytest.raises(ArgumentError, match="^x: the value at index 0 is not below the modulus 17$"):
            ring.ntt(np.full((2, 4), 17, np.uint16) if out is None else out, out=out)
    with pytest.raises(ArgumentError, match=r"^x: expected shape \(..., 4\), got \(3,\)$"):
        ring.ntt(a[0, :3])
    with pytest.raises(ArgumentError, match=r"^a: expected shape \(..., 4\), got \(2,\)$"):
        ring.mul([1, 2], [1, 2])
    with pytest.raises(ArgumentError, match=r"^expected batch dimensions that broadcast to one shape, got a \(2, 4\), b \(3, 4\)$"):
        ring.mul(a, elements(ring, 3))
    with pytest.raises(ArgumentError, match=r"^out: expected shape \(2, 4\)"):
        ring.mul(a, a[0], out=np.empty(4, np.uint16))
    with pytest.raises(ArgumentError, match="^out: overlaps an input$"):
        ring.mul(a, a, out=a)
    with pytest.raises(ArgumentError, match="^out: is not contiguous$"):
        ring.mul(a, a, out=np.empty((2, 8), np.uint16)[:, ::2])
    with pytest.raises(ArgumentError, match="^x: expected integers$"):
        ring.ntt([1.5, 2, 3, 4])
    with pytest.raises(ArgumentError, match="^order: "):
        ring.ntt(a, "sorted")
    with pytest.raises(RingError, match="invalid ring"):
        Ring("17 : y^4", CPU)
    with pytest.raises(pyringforge.Error, match="is not prime"):
        Ring("15 : x^4 - 1", CPU).ntt([1, 2, 3, 4])
    with pytest.raises(ValueError):  # RingError is a ValueError, as Python code expects
        Ring("", CPU)
    read_only = a.copy()
    read_only.flags.writeable = False
    with pytest.raises(ArgumentError, match="^out: is read only$"):
        ring.mul(a, a, out=read_only)
    assert (ring.ntt(read_only) == ring.ntt(a)).all()


@pytest.mark.parametrize("text", ["17 : x^8 + 1", "97,193 : x^16 + 1", f"{BLS12_381} : x^8 - 1 : plain", "1000 : x^7 - 1"])
def test_sums_and_automorphisms(text):
    ring = Ring(text, CPU)
    width = len(ring.moduli)
    rng = np.random.default_rng(3)
    moduli = np.array(ring.moduli, object).reshape(-1, 1)
    shape = (3, *((width,) if width > 1 else ()), ring.degree)
    a, b = (np.array([int.from_bytes(rng.bytes(40), "little") for _ in range(np.prod(shape))], object).reshape(shape)
            for _ in range(2))
    q = moduli if width > 1 else ring.moduli[0]
    assert (ring.add(a, b) == (a + b) % q).all() and (ring.sub(a, b) == (a - b) % q).all()
    assert (ring.add(a, b[0]) == (a + b[0]) % q).all()
    sign = 1 if " - 1" in text else -1
    for k in (1, 3, -1, 5 + 4 * ring.degree):
        image = np.zeros(shape, object)
        for i in range(ring.degree):
            turns, place = divmod(i * k % (2 * ring.degree), ring.degree)
            image[..., place] = a[..., i] * sign**turns
        assert (ring.automorphism(a, k) == image % q).all()
    with pytest.raises(pyringforge.Error):
        ring.automorphism(a, ring.degree)
    if ring.dtype == np.uint16 and ring.depth == (ring.degree - 1).bit_length():
        x, y = ((v % q).astype(np.uint16) for v in (a, b))
        there, here = (Ring.ntt(ring, ring.upload(v), "natural") for v in (x, y))
        # evaluations on the device are known as such
        assert (ring.intt(ring.add(there, here)).numpy() == ring.add(x, y)).all()
        assert (ring.intt(ring.automorphism(there, 3)).numpy() == ring.automorphism(x, 3)).all()
        with pytest.raises(pyringforge.Error):
            ring.add(there, ring.upload(y))
        other = Ring(text.replace("97", "353").replace("17", "97"), CPU)
        for operation in (other.add, other.sub, other.mul):
            with pytest.raises(pyringforge.Error):
                operation(ring.upload(x), ring.upload(x))
        out = np.empty_like(x)
        assert ring.sub(x, x, out=out) is out and not out.any()


KINDS = [np.bool_, *(f"{order}{kind}{size}" for order in "<>" for kind in "ui" for size in (1, 2, 4, 8))]


def views(array):
    """The same numbers in memory of every kind."""
    yield array
    yield np.asfortranarray(array)
    yield np.repeat(array, 2, axis=-1)[..., ::2]
    yield array[..., ::-1].copy()[..., ::-1]
    read_only = array.copy()
    read_only.flags.writeable = False
    yield read_only
    yield np.frombuffer(b"\0" + array.tobytes(), np.uint8)[1:].view(array.dtype).reshape(array.shape)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["251 : x^4 + 1", "12289 : x^4 + 1", "17,97 : x^4 + 1", "18446744069414584321 : x^4 + 1"])
def test_numbers_of_every_kind(kind, text):
    ring, rng = Ring(text, CPU), np.random.default_rng(7)
    kind = np.dtype(kind)
    least, most = (0, 1) if kind == np.bool_ else (np.iinfo(kind).min, np.iinfo(kind).max)
    most = min(most, min(ring.moduli) - 1) if kind.kind != "i" else most
    shape = ring.shape
    for batches in [((), ()), ((3,), (3,)), ((3,), ()), ((2, 1), (3,)), ((0,), (1,)), ((2, 0), (0,))]:
        a, b = (rng.integers(least, most, (*batch, *shape), endpoint=True, dtype=np.int64 if least else np.uint64).astype(kind)
                for batch in batches)
        if kind.kind == "i" and a.size:
            a.reshape(-1)[:2] = least, most
        size = int(np.prod(shape))
        wide = np.broadcast_arrays(a.reshape(*batches[0], size), b.reshape(*batches[1], size))
        batch = wide[0].shape[:-1]
        wanted = np.empty((*batch, *shape), object)
        rows = len(ring.moduli)
        for place in np.ndindex(batch):
            x, y = (np.array(side[place], object).reshape(rows, 4) for side in wide)
            wanted[place] = np.array([negacyclic(u, v, q) for u, v, q in zip(x, y, ring.moduli)], object).reshape(shape)
        for left, right in zip(views(a), views(b)):
            made = ring.mul(left, right)
            assert made.dtype == ring.dtype and made.shape == wanted.shape and (made == wanted).all()
            assert (np.array(left) == a).all() and (np.array(right) == b).all()
        lists = ring.mul(a.tolist(), b.tolist()) if a.size and b.size else None
        assert lists is None or (lists.shape == wanted.shape and (lists == wanted).all())


def test_ring_text_round_trips():
    ring = Ring("97,193:x^16+1@19,8", CPU)
    assert Ring(ring.text, CPU).text == ring.text == "97,193 : x^16 + 1 @ 19,8"
    assert repr(ring) == "Ring('97,193 : x^16 + 1 @ 19,8')" and ring.engine is CPU


def test_other_threads_run_while_the_engine_works():
    ring = Ring("1152921504606830593 : x^4096 + 1", CPU)
    a = elements(ring, 4000)
    ring.mul(a[:1], a[:1])
    started, done = threading.Event(), []

    def work():
        started.set()
        ring.mul(a, a)
        done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    time.sleep(0.01)
    assert not done, "this thread must run while the engine works"
    thread.join()
    assert done


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_forked_processes_are_rejected():
    ring = Ring("17 : x^4 + 1", CPU)
    ring.mul([1, 2, 3, 4], [1, 2, 3, 4])
    child = os.fork()
    if child == 0:
        try:
            ring.mul([1, 2, 3, 4], [1, 2, 3, 4])
        except pyringforge.UnsupportedError as error:
            os._exit(0 if "forked" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0

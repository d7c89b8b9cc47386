"""Tests with tensors of torch, CuPy and JAX on a GPU, in stream order. Skipped without the library or without a GPU."""

import os

import numpy as np
import pytest

import pyringforge
from pyringforge import ArgumentError, Ring

TEXT = "2013265921 : x^65536 - 1"
ROUNDS = 1000


@pytest.fixture(scope="module")
def ring():
    try:
        return Ring(TEXT, pyringforge.Engine("cuda"))
    except pyringforge.NoDeviceError as error:
        if os.environ.get("RINGFORGE_REQUIRE_GPU") == "1":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def array():
    return np.random.default_rng(1).integers(0, 2013265921, (16, 65536), dtype=np.uint32)


@pytest.fixture(scope="module")
def values(array):
    return Ring(TEXT, pyringforge.Engine("cpu")).ntt(array)


def test_torch_round_trip(ring, array, values):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(array.view(np.int32)).cuda()
    y = torch.from_dlpack(ring.ntt(x))
    assert (y.cpu().numpy().view(np.uint32) == values).all()
    out = torch.empty_like(x)
    assert ring.ntt(x, out=out) is out and (out.cpu().numpy().view(np.uint32) == values).all()
    assert ring.ntt(x, out=x) is x and (x == out).all()
    assert torch.equal(ring.intt(x, out=x).cpu(), torch.from_numpy(array.view(np.int32)))
    with pytest.raises(ArgumentError, match="^x: expected 32-bit integers, got "):
        ring.ntt(x.long())
    with pytest.raises(ArgumentError, match="^x: is not contiguous$"):
        ring.ntt(x.repeat(1, 2)[:, ::2])
    with pytest.raises(ArgumentError, match="^x: expected shape"):
        ring.ntt(x[:, :5].contiguous())
    with pytest.raises(ArgumentError, match="aligned"):
        ring.ntt(x.flatten()[1 : 1 + 65536])


@pytest.mark.parametrize("default_stream", [True, False])
def test_torch_memory_is_used_in_stream_order(ring, array, values, default_stream):
    """Tests stream order: long work precedes and follows the transform, and the memory of `x` and `made` is reused at
    once."""
    torch = pytest.importorskip("torch")
    source = torch.from_numpy(array.view(np.int32)).cuda()
    wanted = torch.from_numpy(values.view(np.int32)).cuda()
    stream = torch.cuda.default_stream() if default_stream else torch.cuda.Stream()
    wrong = torch.zeros((), dtype=torch.int64, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        for _ in range(ROUNDS):
            x = torch.zeros_like(source)
            torch.cuda._sleep(200_000)
            x.copy_(source)
            made = ring.ntt(x)
            del x
            torch.full_like(source, 7)
            y = torch.from_dlpack(made)
            del made
            torch.cuda._sleep(200_000)
            wrong += (y.view(torch.int32) != wanted).sum()
            del y
            ring.upload(array[:1])
        assert wrong.item() == 0


def test_stream_argument(ring, array, values):
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10_000_000)
        x = torch.from_numpy(array.view(np.int32)).cuda(non_blocking=True)
    y = ring.ntt(x, stream=stream.cuda_stream)
    assert (y.numpy() == values).all()


def test_cupy_round_trip(ring, array, values):
    cupy = pytest.importorskip("cupy")
    x = cupy.asarray(array)
    assert (cupy.from_dlpack(ring.ntt(x)).get() == values).all()
    with cupy.cuda.Stream(non_blocking=True):
        for _ in range(100):
            x = cupy.asarray(array)
            y = cupy.from_dlpack(ring.ntt(x))
            del x
            cupy.full(array.shape, 7, array.dtype)
            assert (y.get() == values).all()


def test_jax_is_never_written(ring, array, values):
    jax = pytest.importorskip("jax")
    x = jax.device_put(array, jax.devices("gpu")[0])
    x.block_until_ready()
    assert (ring.ntt(x).numpy() == values).all()
    with pytest.raises(ArgumentError, match="^out: is read only$"):
        ring.ntt(x, out=x)

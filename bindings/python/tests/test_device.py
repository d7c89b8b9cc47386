"""Tests of device arrays. Without a GPU, tests that need one are skipped, or fail if RINGFORGE_REQUIRE_GPU=1."""

import ctypes
import os

import numpy as np
import pytest

import pyringforge
from pyringforge import ArgumentError, Ring, _native

CPU = pyringforge.Engine("cpu")


class Foreign:
    """A tensor of another library, which records the arguments of the requests for its capsule."""

    def __init__(self, array, device=None):
        self.array, self.device, self.asked = array, device, []

    def __dlpack_device__(self):
        return self.device or self.array.__dlpack_device__()

    def __dlpack__(self, *, stream=None, max_version=None):
        self.asked.append((stream, max_version))
        if isinstance(self.array, np.ndarray):
            stream = None  # numpy has no streams
        return self.array.__dlpack__(stream=stream, max_version=max_version)


class Old(Foreign):
    """A tensor of a library older than DLPack 1.0."""

    def __dlpack__(self, *, stream=None):
        return super().__dlpack__(stream=stream)


class ArrayLike(Foreign):
    """A tensor that numpy can convert, like those of torch on the CPU."""

    dtype = "torch.uint16"

    def __array__(self, dtype=None, copy=None):
        return self.array


def test_arrays_stay_on_the_device():
    ring = Ring("7681 : x^256 + 1", CPU)
    a = np.random.default_rng(1).integers(0, 7681, (4, 256), dtype=ring.dtype)
    there = ring.upload(a)
    assert there.shape == (4, 256) and there.dtype == ring.dtype and (there.numpy() == a).all()
    values = ring.ntt(there, "digit_reversed")
    square = ring.intt(ring.point_mul(values, values, "digit_reversed"), "digit_reversed")
    assert (square.numpy() == ring.mul(a, a)).all() and (ring.mul(there, there).numpy() == square.numpy()).all()
    # device arrays record the order of their evaluations, so the wrong order is rejected
    with pytest.raises(ArgumentError, match="expected .* natural order"):
        ring.intt(values, "natural")
    with pytest.raises(ArgumentError, match="^b: is in host memory, but other arguments are on a device$"):
        ring.mul(there, a)
    with pytest.raises(ArgumentError, match="must not be a DeviceArray"):
        ring.ntt(there, out=there)
    with pytest.raises(ArgumentError, match="is not below"):
        ring.upload(np.full(256, 7681, ring.dtype))
    # numpy can read a device array by each of its protocols
    assert np.array_equal(there, a) and (np.asarray(there) == a).all() and np.asarray(there, np.int64).dtype == np.int64
    assert there.__dlpack_device__() == (1, 0) and (np.from_dlpack(there) == a).all()
    with pytest.raises(BufferError, match="copy"):
        there.__dlpack__(copy=False)


def test_tensors_of_numpy():
    array = np.arange(24, dtype=np.uint32).reshape(2, 3, 4)
    for version in [None, (1, 0)]:
        tensor = _native.Tensor(array.__dlpack__(max_version=version))
        assert (tensor.shape, tensor.contiguous, tensor.read_only) == ([2, 3, 4], True, False)
        assert tensor.device == (1, 0) and tensor.dtype == (1, 32, 1)
        assert tensor.address == array.ctypes.data
        turned = _native.Tensor(array.T.__dlpack__(max_version=version))
        assert turned.shape == [4, 3, 2] and not turned.contiguous
    assert _native.Tensor(array[:, :1].__dlpack__()).contiguous is False
    assert _native.Tensor(array[:1].__dlpack__()).contiguous
    assert _native.Tensor(array[:0].__dlpack__()).contiguous
    array.flags.writeable = False
    assert _native.Tensor(array.__dlpack__(max_version=(1, 0))).read_only


def test_capsules_are_consumed_once():
    array = np.zeros(4, np.uint16)
    capsule = array.__dlpack__()
    tensor = _native.Tensor(capsule)
    with pytest.raises(ArgumentError, match="already taken"):
        _native.Tensor(capsule)
    with pytest.raises(ArgumentError, match="no capsule"):
        _native.Tensor(array)
    del tensor, capsule


def test_tensors_on_other_devices_are_rejected():
    ring = Ring("17 : x^4 + 1", CPU)
    with pytest.raises(ArgumentError, match=r"^x: is on DLPack device \(2, 0\), but the engine is on the CPU$"):
        ring.ntt(Foreign(np.zeros(4, np.uint16), (2, 0)))
    # arrays of other libraries in host memory are used like numpy arrays
    assert (ring.ntt(ArrayLike(np.ones(4, np.uint16))) == ring.ntt(np.ones(4, np.uint16))).all()


@pytest.mark.parametrize("kind", [Foreign, Old])
def test_capsules_are_requested_in_stream_order(kind, monkeypatch):
    """Tests the requests for capsules without a GPU: valid calls reach the engine, which is on the CPU and rejects
    them."""
    ring = Ring("17 : x^4 + 1", CPU)
    monkeypatch.setattr(pyringforge.Engine, "ordinal", 0)
    version = (1, 0) if kind is Foreign else None
    x, out = (kind(np.zeros((3, 4), np.int16), (2, 0)) for _ in range(2))
    for operation, asked in [
        (lambda: ring.ntt(x, stream=7), [(7, version)]),
        (lambda: ring.intt(x), [(1, version)]),
        (lambda: ring.mul(x, x, stream=7), [(7, version)] * 2),
        (lambda: ring.ntt(x, out=x), [(1, version)]),
    ]:
        x.asked.clear()
        with pytest.raises(pyringforge.UnsupportedError, match="raw stream on CPU|foreign memory on CPU"):
            operation()
        assert x.asked == asked
    with pytest.raises(pyringforge.UnsupportedError):
        ring.point_mul(x, x, out=out, stream=2)
    assert out.asked == [(2, version)]
    with pytest.raises(ArgumentError, match="^out: is in host memory, but other arguments are on a device$"):
        ring.ntt(x, out=np.zeros((3, 4), np.uint16))
    with pytest.raises(ArgumentError, match="^b: is in host memory"):
        ring.mul(x, np.zeros((3, 4), np.uint16))
    with pytest.raises(ArgumentError, match="^b: expected shape"):
        ring.mul(x, kind(np.zeros((2, 4), np.uint16), (2, 0)))
    with pytest.raises(ArgumentError, match="^x: expected 16-bit integers, got "):
        ring.ntt(kind(np.zeros((3, 4), np.uint32), (2, 0)))
    with pytest.raises(ArgumentError, match="^x: expected 16-bit integers, got "):
        ring.ntt(kind(np.zeros((3, 4), np.float16), (2, 0)))
    with pytest.raises(ArgumentError, match="^x: is not contiguous$"):
        ring.ntt(kind(np.zeros((4, 3), np.uint16).T, (2, 0)))
    fixed = np.zeros((3, 4), np.uint16)
    fixed.flags.writeable = False
    with pytest.raises(ArgumentError if kind is Foreign else BufferError, match="^out: is read only$|readonly"):
        ring.ntt(x, out=kind(fixed, (2, 0)))


def gpu():
    try:
        return pyringforge.Engine("cuda")
    except pyringforge.NoDeviceError as error:
        if os.environ.get("RINGFORGE_REQUIRE_GPU") == "1":
            raise
        pytest.skip(str(error))


@pytest.mark.parametrize("kind", [Foreign, Old])
def test_tensors_on_a_gpu(kind):
    engine = gpu()
    ring, host = Ring("2013265921 : x^65536 - 1", engine), Ring("2013265921 : x^65536 - 1", CPU)
    a = np.random.default_rng(1).integers(0, 2013265921, (16, 65536), dtype=ring.dtype)
    x = kind(ring.upload(a))
    assert x.__dlpack_device__() == (2, 0)
    values = ring.ntt(x)
    assert x.asked == [(1, (1, 0))] if kind is Foreign else x.asked == [(1, None)]
    assert (values.numpy() == host.ntt(a)).all()
    # outputs may be in place or in another tensor
    out = kind(ring.upload(a))
    assert ring.ntt(x, out=out) is out and (out.array.numpy() == host.ntt(a)).all()
    assert ring.ntt(x, out=x) is x and (x.array.numpy() == host.ntt(a)).all()
    with pytest.raises(ArgumentError, match="^out: is in host memory"):
        ring.ntt(x, out=a)
    with pytest.raises(ArgumentError, match="overlapping memory"):
        ring.mul(x, x, out=x)


def test_released_memory_is_not_reused_too_early():
    """Memory that a consumer has released must be reused only after the consumer's work, which takes long in this
    test."""
    engine = gpu()
    driver = ctypes.CDLL("libcuda.so.1")
    stream = ctypes.c_void_p()
    ring = Ring("2013265921 : x^65536 - 1", engine)
    ones = np.ones((64, 65536), ring.dtype)
    zeros = np.zeros_like(ones)
    first = ring.upload(ones)
    context = ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxSetCurrent(context) == 0
    assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
    target = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(target), ctypes.c_size_t(ones.nbytes)) == 0
    seen = np.empty_like(ones)
    for _ in range(1000):
        x = ring.intt(ring.ntt(first))
        tensor = _native.Tensor(x.__dlpack__(stream=stream.value))
        for _ in range(20):
            driver.cuMemcpyDtoDAsync_v2(target, ctypes.c_uint64(tensor.address), ctypes.c_size_t(ones.nbytes), stream)
        del x, tensor
        ring.upload(zeros)
    assert (
        driver.cuMemcpyDtoHAsync_v2(seen.ctypes.data_as(ctypes.c_void_p), target, ctypes.c_size_t(ones.nbytes), stream)
        == 0
    )
    assert driver.cuStreamSynchronize(stream) == 0
    assert (seen == ones).all()
    driver.cuMemFree_v2(target)

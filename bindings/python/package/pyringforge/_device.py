"""Device tensors of other libraries, imported by DLPack."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _native
from ._errors import ArgumentError

CPU, CUDA, CUDA_MANAGED = 1, 2, 13
"""DLPack's device types."""

_WHOLE_NUMBERS = (0, 1)
"""DLPack's type codes of signed and unsigned integers."""


Place = tuple[int, int]
"""A DLPack device: its type and ordinal."""


def place_of(x: Any) -> Place | None:
    """Returns the device of another library's tensor, or None for anything in host memory."""
    if isinstance(x, np.ndarray) or not hasattr(x, "__dlpack_device__"):
        return None
    kind, ordinal = x.__dlpack_device__()
    return None if int(kind) == CPU else (int(kind), int(ordinal))


def current_stream(x: Any) -> int:
    """Returns the handle of the current stream for tensors of torch and CuPy, else 1, the legacy default stream."""
    library = type(x).__module__.partition(".")[0]
    handle = 0
    if library == "torch":
        handle = sys.modules["torch"].cuda.current_stream(x.device).cuda_stream
    elif library == "cupy":
        with x.device:
            handle = sys.modules["cupy"].cuda.get_current_stream().ptr
    return int(handle) or 1


def is_read_only(x: Any, tensor: _native.Tensor) -> bool:
    """Returns True if the tensor must not be written: by DLPack's flag, or because JAX's arrays are immutable."""
    return tensor.read_only or type(x).__module__.partition(".")[0] in ("jax", "jaxlib")


def take(
    name: str, x: Any, place: Place, ordinal: int | None, dtype: np.dtype[Any], stream: int | None
) -> _native.Tensor:
    """Takes a tensor by DLPack without a copy. Work on `stream` may use the tensor: the producer makes `stream`
    wait for its own work.

    Raises `ArgumentError` unless it is a contiguous tensor of integers as wide as `dtype`, on the GPU with this
    ordinal."""
    if place not in ((CUDA, ordinal), (CUDA_MANAGED, ordinal)):
        where = "the CPU" if ordinal is None else f"GPU {ordinal}"
        raise ArgumentError(f"{name}: is on DLPack device {place}, but the engine is on {where}")
    try:
        capsule = x.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # a producer older than DLPack 1.0
        capsule = x.__dlpack__(stream=stream)
    tensor = _native.Tensor(capsule)
    code, bits, lanes = tensor.dtype
    if code not in _WHOLE_NUMBERS or bits != 8 * dtype.itemsize or lanes != 1:
        raise ArgumentError(
            f"{name}: expected {8 * dtype.itemsize}-bit integers, got DLPack type (code, bits, lanes) = {tensor.dtype}"
        )
    if not tensor.contiguous:
        raise ArgumentError(f"{name}: is not contiguous")
    return tensor

"""Engines: devices with their caches of compiled programs."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _native
from ._errors import ArgumentError

if TYPE_CHECKING:
    from typing_extensions import Self


class Unchanging:
    """An object that no call changes, so that a copy is the object itself."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: Any) -> Self:
        return self


class Engine(Unchanging):
    """A device with its cache of compiled programs. Threads may share it.

    A copy is the same engine. A pickled engine is made anew where it is read, on the device that it was asked for, and
    the default engine becomes the default engine there."""

    def __init__(self, device: str | None = None) -> None:
        """`device` is "cpu", "cuda", "cuda:ORDINAL", or None for the first GPU if it is usable, else the CPU."""
        self._asked = device
        if device is None:
            self._native = _native.Engine.best()
        elif device == "cpu":
            self._native = _native.Engine.cpu()
        else:
            name, _, ordinal = device.partition(":")
            if name != "cuda" or not (ordinal or "0").isdecimal():
                raise ArgumentError(f"device: expected 'cpu', 'cuda' or 'cuda:ORDINAL', got {device!r}")
            self._native = _native.Engine.cuda(int(ordinal or 0))

    @property
    def device(self) -> str:
        """The device's name."""
        return self._native.device

    @property
    def ordinal(self) -> int | None:
        """The GPU's ordinal; None for the CPU."""
        return self._native.ordinal

    def trim(self) -> None:
        """Drops all cached programs and releases the memory that the device caches."""
        self._native.trim()

    def pinned_empty(self, shape: int | tuple[int, ...], dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """Returns a zeroed array in page-locked memory, for the fastest copies to and from this device.

        Allocation is slow: allocate once and reuse the array. The memory is wiped when the last reference to it is
        dropped. With an engine on the CPU it is ordinary memory."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        flat = _native.pinned(self._native, math.prod(shape) * np.dtype(dtype).itemsize)
        return flat.view(dtype).reshape(shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return (default_engine, ()) if self is default_engine() else (Engine, (self._asked,))

    def __repr__(self) -> str:
        return f"Engine({self.device!r})"


@functools.cache
def default_engine() -> Engine:
    """Returns the engine of all objects made without one: on the first GPU if it is usable, else on the CPU."""
    return Engine()


def pinned_empty(shape: int | tuple[int, ...], dtype: DTypeLike = np.uint8) -> NDArray[Any]:
    """Calls `Engine.pinned_empty` of the default engine."""
    return default_engine().pinned_empty(shape, dtype)

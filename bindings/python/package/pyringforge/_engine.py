"""Engines: devices with the programs made for them so far."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _native


class Engine:
    """A device: the first GPU if it is usable, else the CPU; or the one that is asked for. Threads may share it."""

    def __init__(self, device: str | None = None) -> None:
        """`device` is None for the best there is, "cpu", "cuda", or "cuda:1"."""
        if device is None:
            self._native = _native.Engine.best()
        elif device == "cpu":
            self._native = _native.Engine.cpu()
        else:
            name, _, ordinal = device.partition(":")
            if name != "cuda" or not (ordinal or "0").isdecimal():
                raise ValueError(f"device: {device!r} is neither 'cpu' nor 'cuda:ORDINAL'")
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
        """Drops all programs that are kept for later, and gives back what memory the device keeps for later."""
        self._native.trim()

    def pinned_empty(self, shape: int | tuple[int, ...], dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """An array in memory that copies to and from this device go fastest with, all zero. Making it is slow: make it once and
        use it again. It is wiped when nothing refers to it any more. For the CPU it is in ordinary memory."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        flat = _native.pinned(self._native, math.prod(shape) * np.dtype(dtype).itemsize)
        return flat.view(dtype).reshape(shape)

    def __repr__(self) -> str:
        return f"Engine({self.device!r})"


@functools.cache
def default_engine() -> Engine:
    """The engine of all that names none: on the first GPU if it is usable, else on the CPU."""
    return Engine()


def pinned_empty(shape: int | tuple[int, ...], dtype: DTypeLike = np.uint8) -> NDArray[Any]:
    """`Engine.pinned_empty` of the default engine."""
    return default_engine().pinned_empty(shape, dtype)

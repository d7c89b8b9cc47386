"""Exceptions, with the engine's error messages."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """The base class of all errors in Ringforge."""


class ArgumentError(Error, ValueError):
    """An argument is invalid: of the wrong size, type, order or device, misaligned, not contiguous, read-only,
    overlapping another, or with residues that are not below their moduli."""


class RingError(Error, ValueError):
    """The ring is invalid, or does not support the operation."""


class UnsupportedError(Error):
    """The device does not support the operation, an incomplete transform needs a depth, there is no KEM of this name,
    or this process was forked after work had begun."""


class NoDeviceError(Error, RuntimeError):
    """The GPU does not exist or is not usable."""


class OutOfMemoryError(Error, MemoryError):
    """Out of memory."""


class ItemError(Error):
    """Some items of a batch failed. The other items are not affected."""

    errors: dict[int, str]
    """The error message of each failed item, by index."""
    outputs: tuple[Any, ...]
    """The outputs of the call, with zeros for the failed items."""

    def __init__(self, errors: dict[int, str], outputs: tuple[Any, ...]) -> None:
        first = next(iter(errors))
        more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
        super().__init__(f"item {first}: {errors[first]}{more}")
        self.errors = errors
        self.outputs = outputs

    def __reduce__(self) -> tuple[Any, ...]:
        return ItemError, (self.errors, self.outputs)

"""What can go wrong, in the engine's words."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """Anything that goes wrong in Ringforge."""


class ArgumentError(Error, ValueError):
    """An argument has the wrong size, type or device, or holds residues that are not below their modulus."""


class RingError(Error, ValueError):
    """No such ring, or none that can do this."""


class UnsupportedError(Error):
    """The device cannot do this, or there is nothing of this name."""


class NoDeviceError(Error, RuntimeError):
    """There is no such GPU."""


class OutOfMemoryError(Error, MemoryError):
    """Not enough memory."""


class ItemError(Error):
    """Items of a batch came to nothing. Others fared as if nothing had happened."""

    errors: dict[int, str]
    """What is wrong with each of them, by their numbers from 0."""
    outputs: tuple[Any, ...]
    """What the call would have returned; of items with errors it is zero."""

    def __init__(self, errors: dict[int, str], outputs: tuple[Any, ...]) -> None:
        first = next(iter(errors))
        more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
        super().__init__(f"item {first}: {errors[first]}{more}")
        self.errors = errors
        self.outputs = outputs

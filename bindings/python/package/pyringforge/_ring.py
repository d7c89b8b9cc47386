"""Rings: transforms and products of numpy arrays, Python integers and device tensors."""

from __future__ import annotations

import math
import operator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _device, _native
from ._engine import Engine, default_engine
from ._errors import ArgumentError

Order = Literal["natural", "digit_reversed"]

Kind = tuple[Order, "int | None", "int | None"]
"""The order and depth of evaluations, and the exponent of an automorphism."""


class DeviceArray:
    """An array on the engine's device, made by `Ring.upload` and by operations on such arrays and on device tensors.

    torch, CuPy and JAX import it by DLPack without a copy (`torch.from_dlpack(array)`); `numpy()` copies it to the
    host. The work that computes the array may still be running; operations on the array wait for this work. A DLPack
    consumer shares the memory, and must not write to it while the array is used."""

    def __init__(self, native: _native.DeviceArray, engine: Engine) -> None:
        self._native = native
        self._engine = engine

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension."""
        return tuple(self._native.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the array's numbers."""
        return np.dtype(f"u{self._native.bits // 8}")

    def numpy(self) -> NDArray[Any]:
        """Returns a copy in host memory."""
        host = np.empty(self.shape, self.dtype)
        self._native.read(_flat(host))
        return host

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Returns a copy in host memory, like `numpy()`, for numpy's functions."""
        if copy is False:
            raise ValueError("copy=False is not supported: a device array is always copied to host memory")
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """Exports the array by DLPack.

        `stream` is the handle of the consumer's stream, -1 for no ordering, None or 1 for the legacy default stream, or
        2 for the thread's default stream. On a CPU the result is a copy, and `stream` must be None."""
        if self._engine.ordinal is None:
            if dl_device not in (None, self.__dlpack_device__()) or copy is False or stream is not None:
                raise BufferError("an array on the CPU is exported as a copy: omit dl_device, copy and stream")
            return self.numpy().__dlpack__()
        if dl_device not in (None, self.__dlpack_device__()) or copy:
            raise BufferError("an array on the GPU is exported without a copy: omit dl_device and copy")
        handle = None if stream == -1 else 1 if stream is None else stream
        versioned = max_version is not None and max_version[0] >= 1
        return self._native.capsule(self._engine.ordinal or 0, handle, versioned)

    def __dlpack_device__(self) -> tuple[int, int]:
        ordinal = self._engine.ordinal
        return (_device.CPU, 0) if ordinal is None else (_device.CUDA, ordinal)

    def __reduce__(self) -> tuple[Any, ...]:
        raise ArgumentError("device arrays are not pickled or copied: use `numpy`, and `Ring.upload`")

    def __repr__(self) -> str:
        return f"DeviceArray({self.shape}, {self.dtype}, {self._engine.device!r})"


class Ring:
    """A ring Z_Q[x]/(f), parsed from text such as `3457 : x^768 - x^384 + 1`; several moduli are an RNS basis.

    The last dimension of an array of elements runs over coefficients, lowest first. With several moduli, as in `97,193
    : x^16 + 1`, the second to last dimension runs over limbs. All earlier dimensions are batches. The type of the
    inputs determines the type of the result:

    - numpy arrays of `dtype` give arrays of `dtype`. Their residues must be below their moduli. Arrays of any signed
      type, such as int64, also give arrays of `dtype`; their numbers are reduced modulo the moduli. Other unsigned
      types, bool and other byte orders are converted. Batch dimensions of two inputs broadcast. Residues of more
      than 64 bits are four words in an additional last dimension, least significant first. They are in Montgomery form,
      unless the text ends in `: plain`.
    - Lists of integers (of Python, numpy, sympy or any type with `__index__`) and arrays with `dtype=object` give
      arrays of Python integers. The inputs may be of any size and are reduced modulo the moduli.
    - Contiguous tensors on the engine's GPU (of torch, CuPy, JAX or any library with DLPack) and `DeviceArray` give
      `DeviceArray`. Residues are not checked: they must be below their moduli. Work is in the order of `stream`, a
      handle. The default is the current stream of torch or CuPy for their tensors, else the legacy default stream.

    Rings are equal if they have the same moduli, polynomial and roots, also on different devices. They can be copied and
    pickled, with their engine."""

    def __init__(self, text: str, engine: Engine | None = None) -> None:
        self.engine = engine or default_engine()
        """The engine that runs the operations."""
        self._native = _native.Ring(self.engine._native, text)
        self.moduli: list[int] = [int(q) for q in self._native.moduli]
        """The modulus of each limb."""
        self.degree: int = self._native.degree
        """The degree of the ring's polynomial f."""
        width = self._native.word_bytes
        self.dtype: np.dtype[Any] = np.dtype(f"u{min(width, 8)}")
        """The type of numpy arrays of residues."""
        rows = (len(self.moduli),) if len(self.moduli) > 1 else ()
        self.shape: tuple[int, ...] = (*rows, self.degree, *((width // 8,) if width > 8 else ()))
        """The shape of one element as a numpy array."""
        self._int_shape = (*rows, self.degree)

    @property
    def text(self) -> str:
        """Text from which the same ring can be parsed."""
        return self._native.text

    @property
    def depth(self) -> int | None:
        """The number of layers of the deepest transform; None for a ring without a transform."""
        return self._native.depth

    def ntt(
        self,
        x: Any,
        order: Order = "natural",
        *,
        depth: int | None = None,
        out: Any = None,
        stream: int | None = None,
    ) -> Any:
        """Forward NTT, from coefficients to evaluations. `out` may be `x`.

        "natural" order is by ascending powers of the root of unity. "digit_reversed" order is digit-reversed
        (bit-reversed if every radix is 2), and is the fastest.

        `depth` is the number of layers, at most that of the ring. A transform with fewer layers than a complete one
        ends at polynomials instead of numbers, as in ML-KEM. Without `depth`, the transform must be complete; a ring
        that has no complete transform is rejected."""
        return self._run("forward", (order, depth, None), {"x": x}, out, stream)

    def intt(
        self,
        x: Any,
        order: Order = "natural",
        *,
        depth: int | None = None,
        out: Any = None,
        stream: int | None = None,
    ) -> Any:
        """Inverse NTT, from evaluations to coefficients: the inverse of `ntt` with the same order and depth.

        `out` may be `x`."""
        return self._run("inverse", (order, depth, None), {"x": x}, out, stream)

    def mul(self, a: Any, b: Any, *, out: Any = None, stream: int | None = None) -> Any:
        """Returns the products of elements, all as coefficients. Works in every ring, even without a transform."""
        return self._run("mul", ("digit_reversed", None, None), {"a": a, "b": b}, out, stream)

    def point_mul(
        self,
        a: Any,
        b: Any,
        order: Order = "natural",
        *,
        depth: int | None = None,
        out: Any = None,
        stream: int | None = None,
    ) -> Any:
        """Returns the pointwise products of evaluations, all of this order and depth."""
        return self._run("point_mul", (order, depth, None), {"a": a, "b": b}, out, stream)

    def add(self, a: Any, b: Any, *, out: Any = None, stream: int | None = None) -> Any:
        """Returns the sums of elements. Both are coefficients, or evaluations of the same order and depth."""
        return self._run("add", ("digit_reversed", None, None), {"a": a, "b": b}, out, stream)

    def sub(self, a: Any, b: Any, *, out: Any = None, stream: int | None = None) -> Any:
        """Returns the differences a - b of elements, which are as for `add`."""
        return self._run("sub", ("digit_reversed", None, None), {"a": a, "b": b}, out, stream)

    def automorphism(self, x: Any, k: int, *, out: Any = None, stream: int | None = None) -> Any:
        """Returns the images of coefficients under x -> x^k; for a `DeviceArray`, also those of evaluations.

        The quotient must be x^n - 1 with k coprime to n, or x^n + 1 with k coprime to 2n. k may be negative."""
        kind: Kind = ("digit_reversed", None, operator.index(k) % (2 * self.degree))
        return self._run("automorphism", kind, {"x": x}, out, stream)

    def upload(self, coefficients: Any) -> DeviceArray:
        """Copies elements from host memory to the device. Residues are checked to be below their moduli."""
        array = self._array("coefficients", coefficients)
        return DeviceArray(self._native.upload(_flat(array), array.shape), self.engine)

    def _run(self, operation: str, kind: Kind, named: dict[str, Any], out: Any, stream: int | None) -> Any:
        names, inputs = list(named), list(named.values())
        places = [None if isinstance(x, DeviceArray) else _device.place_of(x) for x in inputs]
        if any(places) or any(isinstance(x, DeviceArray) for x in inputs):
            return self._run_device(operation, kind, named, places, out, stream)
        if any(not hasattr(x, "dtype") or x.dtype == object for x in inputs):
            if out is not None:
                raise ArgumentError("out: must be None for Python integers, which are returned in a new array")
            return self._run_ints(operation, kind, names, inputs)
        arrays = self._broadcast(names, [self._array(name, x) for name, x in zip(names, inputs)], self.shape)
        if out is None:
            out = np.empty(arrays[0].shape, self.dtype)
            target = out
        else:
            target = self._array("out", out, writes=True)
            _same_shape([names[0], "out"], [arrays[0].shape, target.shape])
            is_transform = operation in ("forward", "inverse")
            if is_transform and target.ctypes.data == arrays[0].ctypes.data:
                self._native.run_in_place((operation, *kind), _flat(target))
                return out
            if any(np.may_share_memory(target, x) for x in arrays):
                raise ArgumentError("out: overlaps an input")
        self._native.run((operation, *kind), [_flat(x) for x in arrays], _flat(target))
        return out

    def _run_ints(self, operation: str, kind: Kind, names: list[str], inputs: list[Any]) -> NDArray[Any]:
        shapes, flat = [], []
        width = self._native.word_bytes
        moduli = np.array(self.moduli, dtype=object).reshape(-1, 1) if len(self.moduli) > 1 else self.moduli[0]
        arrays = [np.array(x, dtype=object) for x in inputs]
        for name, ints in zip(names, arrays):
            if ints.shape[max(ints.ndim - len(self._int_shape), 0) :] != self._int_shape:
                raise ArgumentError(f"{name}: expected shape (..., {_dims(self._int_shape)}), got {ints.shape}")
        for name, ints in zip(names, self._broadcast(names, arrays, self._int_shape)):
            # convert to Python's own integers, because other types overflow
            whole = np.empty(ints.size, dtype=object)
            try:
                whole[:] = [operator.index(value) for value in ints.flat]
            except TypeError:
                raise ArgumentError(f"{name}: expected integers") from None
            reduced = (whole.reshape(ints.shape) % moduli).flat
            flat.append(np.frombuffer(b"".join(v.to_bytes(width, "little") for v in reduced), np.uint8))
            shapes.append(ints.shape)
        made = np.empty(len(flat[0]), np.uint8)
        self._native.plain().run((operation, *kind), flat, made)
        words = made.tobytes()
        values = [int.from_bytes(words[i : i + width], "little") for i in range(0, len(words), width)]
        result = np.empty(len(values), dtype=object)
        result[:] = values
        return result.reshape(shapes[0])

    def _run_device(
        self,
        operation: str,
        kind: Kind,
        named: dict[str, Any],
        places: list[_device.Place | None],
        out: Any,
        stream: int | None,
    ) -> DeviceArray | Any:
        if isinstance(out, DeviceArray):
            raise ArgumentError("out: must not be a DeviceArray: pass None, or a tensor of another library")
        inputs = list(named.values())
        if stream is None:
            others = (x for x in (*inputs, out) if x is not None and not isinstance(x, DeviceArray))
            stream = next((_device.current_stream(x) for x in others), None)

        def take(name: str, x: Any, place: _device.Place | None) -> _native.Tensor:
            if place is None:
                raise ArgumentError(f"{name}: is in host memory, but other arguments are on a device")
            return _device.take(name, x, place, self.engine.ordinal, self.dtype, stream)

        taken: list[_native.DeviceArray | _native.Tensor] = [
            x._native if isinstance(x, DeviceArray) else take(name, x, place)
            for (name, x), place in zip(named.items(), places)
        ]
        shapes = [tuple(x.shape) for x in taken]
        names = list(named)
        for name, shape in zip(names, shapes):
            self._check_shape(name, shape)
        _same_shape(names, shapes)
        if out is None:
            made = self._native.run_device((operation, *kind), taken, shapes[0], stream)
            return DeviceArray(made, self.engine)
        again = taken[0] if out is inputs[0] else None
        target = again if isinstance(again, _native.Tensor) else take("out", out, _device.place_of(out))
        if _device.is_read_only(out, target):
            raise ArgumentError("out: is read only")
        _same_shape([names[0], "out"], [shapes[0], tuple(target.shape)])
        self._native.run_device_into((operation, *kind), taken, target, 1 if stream is None else stream)
        return out

    def _array(self, name: str, x: Any, writes: bool = False) -> NDArray[Any]:
        """Returns a contiguous array of the ring's type. Signed numbers are reduced in a copy, and other unsigned types
        are converted.

        An array that is not contiguous or not aligned is copied if it is only read; an output must be both."""
        array = np.asarray(x)
        may_convert = not writes and self._native.word_bytes <= 8
        is_signed = array.dtype.kind == "i" and may_convert
        if array.dtype.kind in "ub" and may_convert and array.dtype != self.dtype:
            most = int(array.max(initial=0))
            if most > np.iinfo(self.dtype).max:
                raise ArgumentError(f"{name}: expected residues below their moduli, got {most}")
            array = array.astype(self.dtype)
        if array.dtype != self.dtype and not is_signed:
            raise ArgumentError(f"{name}: expected numbers of type {self.dtype}, got {array.dtype}")
        self._check_shape(name, array.shape)
        if is_signed:
            return self._reduced(array)
        if writes and not array.flags.writeable:
            raise ArgumentError(f"{name}: is read only")
        if array.flags.c_contiguous and array.flags.aligned:
            return array
        if writes:
            raise ArgumentError(f"{name}: is not {'aligned' if array.flags.c_contiguous else 'contiguous'}")
        return array.copy("C")

    @staticmethod
    def _broadcast(names: list[str], arrays: list[NDArray[Any]], element: tuple[int, ...]) -> list[NDArray[Any]]:
        """Returns contiguous arrays with the same batch dimensions, by numpy's rules."""
        batches = [x.shape[: x.ndim - len(element)] for x in arrays]
        try:
            batch = np.broadcast_shapes(*batches)
        except ValueError:
            each = ", ".join(f"{name} {x.shape}" for name, x in zip(names, arrays))
            raise ArgumentError(f"expected batch dimensions that broadcast to one shape, got {each}") from None
        return [
            x if own == batch else np.ascontiguousarray(np.broadcast_to(x, (*batch, *element)))
            for x, own in zip(arrays, batches)
        ]

    def _reduced(self, array: NDArray[Any]) -> NDArray[Any]:
        """Returns signed numbers reduced modulo their moduli, as an array of the ring's type."""
        moduli = np.array(self.moduli, np.uint64).reshape(-1, 1) if len(self.moduli) > 1 else np.uint64(self.moduli[0])
        numbers = array.astype(np.int64)
        # computed in unsigned arithmetic, because the absolute value of the minimum overflows a signed type
        absolute = np.where(numbers < 0, np.uint64(0) - numbers.view(np.uint64), numbers.view(np.uint64)) % moduli
        residues = np.where((numbers < 0) & (absolute != 0), moduli - absolute, absolute)
        return np.ascontiguousarray(residues.astype(self.dtype))

    def _check_shape(self, name: str, shape: tuple[int, ...]) -> None:
        if shape[max(len(shape) - len(self.shape), 0) :] != self.shape:
            raise ArgumentError(f"{name}: expected shape (..., {_dims(self.shape)}), got {shape}")

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Ring) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(self) -> tuple[Any, ...]:
        return Ring, (self.text, self.engine)

    def __repr__(self) -> str:
        return f"Ring({self.text!r})"


def _dims(shape: tuple[int, ...]) -> str:
    return ", ".join(map(str, shape))


def _same_shape(names: list[str], shapes: list[tuple[int, ...]]) -> None:
    for name, shape in zip(names, shapes):
        if shape != shapes[0]:
            raise ArgumentError(f"{name}: expected shape {shapes[0]}, the shape of {names[0]}, got {shape}")


def _flat(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Returns a view of the bytes of a contiguous array."""
    return array.reshape(math.prod(array.shape)).view(np.uint8)

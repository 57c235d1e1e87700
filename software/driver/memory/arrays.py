"""Arrays in device memory, copied to and from numpy."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np

from caesura.errors import InputError

from ..machine.errors import DriverError, OutOfMemory
from ..machine.wanted import shown
from .memory import DeviceMemory
from .regions import Allocation

__all__ = ["DeviceArray", "convert"]

_NUMBERS = "biufcV"
"""Kinds of element types: numbers, and structures of them."""


def _shape(shape) -> tuple[int, ...]:
    try:
        sizes = tuple(operator.index(n) for n in (shape if np.iterable(shape) else (shape,)))
    except TypeError:
        sizes = (-1,)
    if any(n < 0 for n in sizes):
        raise DriverError(f"a shape is whole numbers from 0, not {shape!r}")
    return sizes


def _element(dtype) -> np.dtype:
    """Return an element type of device memory: a number, or a structure of numbers."""
    try:
        element = np.dtype(dtype).newbyteorder("<")
    except (TypeError, ValueError):
        raise DriverError(f"dtype: a device array holds numbers; there is no type {shown(dtype)} of them") from None
    if not element.itemsize or not _holds_numbers(element):
        raise DriverError(f"dtype: a device array holds numbers, not {np.dtype(dtype)}")
    return element


def _holds_numbers(element: np.dtype) -> bool:
    if element.fields:
        return all(_holds_numbers(field[0]) for field in element.fields.values())
    return element.base.kind in _NUMBERS


def convert(given: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return values in an element type of device memory; floating-point values are rounded.

    Raises
    ------
    ValueError
        If an integer type would wrap, truncate or not hold a value. Also if the values are complex and the elements
        are not, or the values are not numbers.
    """
    try:
        if given.dtype.kind not in ("O" + _NUMBERS if dtype.kind in "cV" else "ObiufV"):
            raise TypeError
        with np.errstate(invalid="ignore", over="ignore"):
            values = given.astype(dtype)
        kept = dtype.kind not in "iub" or bool((values == given).all())
    except (OverflowError, TypeError, ValueError):
        kept = False
    if not kept:
        raise InputError(f"not all values can be held by a device array of {dtype}; convert them first: "
                         f"{shown(given if given.ndim else given.item())}")
    return values


class DeviceArray:
    """An array in device memory, little-endian; made by `Device.array`, `Device.zeros` and `Device.empty`.

    The memory is given back when the array is dropped or freed, and no launch uses it any more.

    Parameters
    ----------
    device : Device
    shape : int or sequence of int
    dtype : numpy.dtype
    clear : bool
        Fill it with zeros.
    memory : Allocation, optional
        Memory of the array; newly allocated unless given.

    Attributes
    ----------
    device : Device
    shape : tuple of int
    dtype : numpy.dtype
    nbytes : int
    label : str
        Name of the array in messages, beside the parameter to which it is passed.

    Raises
    ------
    DriverError
        If the shape is not valid, the elements are not numbers, or there is no room.
    """

    def __init__(self, device: DeviceMemory, shape, dtype, clear: bool = True, memory: Allocation | None = None):
        self.shape = _shape(shape)
        self.dtype = _element(dtype)
        self.device = device
        self.label = ""
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize
        try:
            self._memory: Allocation | None = device.reserve(self.nbytes) if memory is None else memory
        except OutOfMemory as error:
            raise OutOfMemory(f"{error} (for shape {shown(shape)} of {self.dtype})") from None
        if clear:
            device.clear(self._memory.address, self.nbytes)

    def __repr__(self):
        where = "freed" if self._memory is None else f"at {self._memory.address:#x}"
        return f"DeviceArray({self.dtype}, shape {self.shape}, {where})"

    @property
    def address(self) -> int | None:
        """Byte address in device memory, None once the array has been freed."""
        return None if self._memory is None else self._memory.address

    @property
    def memory(self) -> Allocation:
        """Memory that a launch with this array holds.

        Raises
        ------
        DriverError
            If the array has been freed.
        """
        if self._memory is None:
            raise DriverError("this device array has been freed")
        return self._memory

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a device array without dimensions has no length")
        return self.shape[0]

    def set(self, values) -> None:
        """Copy from a numpy array of the same shape.

        Raises
        ------
        ValueError
            If the shapes differ, or the element type cannot hold a value (floating-point values are rounded).
        """
        self.writer(values)()

    def prepared(self, values) -> bytes:
        """Return the bytes of values that the array can hold; raises the errors of `set`."""
        values = convert(np.asarray(values), self.dtype)
        if values.shape != self.shape:
            raise InputError(f"array of shape {values.shape} does not fit a device array of shape {self.shape}")
        return np.ascontiguousarray(values).tobytes()

    def writer(self, values) -> Callable[[], None]:
        """Return a function that copies values to the array later, even after the array has been freed, since the
        function holds its memory. Raises the errors of `set`."""
        memory, data = self.memory, self.prepared(values)
        return lambda: self.device.write_memory(memory.address, data)

    def get(self) -> np.ndarray:
        """Return a copy as a numpy array."""
        return self.reader()()

    def reader(self) -> Callable[[], np.ndarray]:
        """Return a function that copies the array to numpy later, even after the array has been freed, since the
        function holds its memory."""
        memory = self.memory

        def read() -> np.ndarray:
            raw = self.device.transport.read_memory(memory.address, self.nbytes)
            return np.frombuffer(raw, self.dtype).reshape(self.shape).copy()

        return read

    def __array__(self, dtype=None, copy: bool | None = None) -> np.ndarray:
        """Return a copy, for `numpy.asarray` and the like.

        Raises
        ------
        ValueError
            If no copy is allowed: device memory is not the host's.
        """
        if copy is False:
            raise ValueError("a device array can only be copied: its memory is not the host's")
        values = self.get()
        return values if dtype is None else values.astype(dtype, copy=False)

    def free(self) -> None:
        """Give the memory back; the array cannot be used afterwards. Memory that a launch still uses is free at its
        end.

        Raises
        ------
        DriverError
            If it has been freed before.
        """
        _ = self.memory
        self._memory = None

"""Device memory: an allocator, and arrays that copy to and from numpy."""

from __future__ import annotations

import math
import operator

import numpy as np

from caesura.hw.arch.errors import InputError

from .errors import DriverError
from .transport import Transport

__all__ = ["Region", "DeviceArray", "convert"]


class Region:
    """First-fit allocator over an address range.

    Parameters
    ----------
    base, end : int
        First byte and first byte beyond; multiples of `align`.
    align : int
        Every allocation starts at, and is rounded up to, a multiple of this.
    what : str
        For messages.
    gap : int
        Least bytes left free behind each allocation.
    """

    def __init__(self, base: int, end: int, align: int, what: str, gap: int = 0):
        self.base, self.end, self.align, self.what, self.gap = base, end, align, what, gap
        self._used: list[tuple[int, int]] = []
        self._sizes: dict[int, int] = {}

    def allocate(self, size: int) -> int:
        """Return the address of `size` free bytes.

        Raises
        ------
        DriverError
            If there is no room.
        """
        wanted, size = size, max(self.align, -(-(size + self.gap) // self.align) * self.align)
        at = self.base
        for k, (start, end) in enumerate([*self._used, (self.end, self.end)]):
            if start - at >= size:
                self._used.insert(k, (at, at + size))
                self._sizes[at] = wanted
                return at
            at = end
        free = self.end - self.base - sum(end - start for start, end in self._used)
        raise DriverError(f"out of {self.what}: {size} bytes wanted, {free} free of {self.end - self.base}; "
                          "open the device with a larger memory")

    def free(self, address: int) -> None:
        """Give an allocation back.

        Raises
        ------
        DriverError
            If nothing is allocated there.
        """
        for k, (start, _) in enumerate(self._used):
            if start == address:
                del self._used[k]
                return
        raise DriverError(f"nothing is allocated at {address:#x} in {self.what}")

    def extents(self) -> list[tuple[int, int]]:
        """Return address and size of each allocation, as it was asked for."""
        return [(start, self._sizes[start]) for start, _ in self._used]

    def used(self) -> list[tuple[int, int]]:
        """Return the allocated ranges."""
        return list(self._used)

    def set_used(self, ranges: list[tuple[int, int]]) -> None:
        """Replace the allocated ranges."""
        self._used = list(ranges)


def _shape(shape) -> tuple[int, ...]:
    try:
        sizes = tuple(operator.index(n) for n in (shape if np.iterable(shape) else (shape,)))
    except TypeError:
        sizes = (-1,)
    if any(n < 0 for n in sizes):
        raise DriverError(f"a shape is whole numbers from 0, not {shape!r}")
    return sizes


def convert(given: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return values in an element type of device memory; floating-point values are rounded.

    Raises
    ------
    ValueError
        If an integer type would wrap, cut off or not hold one.
    """
    try:
        with np.errstate(invalid="ignore", over="ignore"):
            values = given.astype(dtype)
        kept = dtype.kind not in "iub" or bool((values == given).all())
    except (OverflowError, TypeError, ValueError):
        kept = False
    if not kept:
        raise InputError(f"not all values can be held by a device array of {dtype}; convert them first")
    return values


class DeviceArray:
    """An array in device memory, little-endian.

    Raises
    ------
    DriverError
        If the shape is none, the elements are no numbers, or there is no room.

    Attributes
    ----------
    address : int
        Device byte address.
    shape : tuple of int
    dtype : numpy.dtype
    label : str
        What messages call it, next to the parameter that it is passed for.
    """

    def __init__(self, transport: Transport, region: Region, shape, dtype):
        self.shape = _shape(shape)
        self.dtype = np.dtype(dtype).newbyteorder("<")
        if self.dtype.hasobject or not self.dtype.itemsize:
            raise DriverError(f"a device array holds numbers, not {np.dtype(dtype)}")
        self._transport, self._region = transport, region
        self.label = ""
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize
        self.address: int | None = region.allocate(self.nbytes)

    def __repr__(self):
        return f"DeviceArray(address={self.address}, shape={self.shape}, dtype={self.dtype})"

    def _where(self) -> int:
        if self.address is None:
            raise DriverError("this device array has been freed")
        return self.address

    def set(self, values) -> None:
        """Copy from a numpy array of the same shape.

        Raises
        ------
        ValueError
            If the shapes differ, or a value cannot be held by the element type (floating-point values are rounded).
        """
        given = np.asarray(values)
        values = convert(given, self.dtype)
        if values.shape != self.shape:
            raise InputError(f"array of shape {values.shape} does not fit a device array of shape {self.shape}")
        self._transport.write_memory(self._where(), np.ascontiguousarray(values).tobytes())

    def belongs_to(self, transport: Transport) -> bool:
        """Whether the array is in the memory of this machine."""
        return self._transport is transport

    def beside(self, shape, dtype) -> DeviceArray:
        """Return a new array in the memory of this one, with whatever it holds."""
        return DeviceArray(self._transport, self._region, shape, dtype)

    def get(self) -> np.ndarray:
        """Return a copy as a numpy array."""
        raw = self._transport.read_memory(self._where(), self.nbytes)
        return np.frombuffer(raw, self.dtype).reshape(self.shape).copy()

    def free(self) -> None:
        """Give the memory back; the array cannot be used afterwards."""
        self._region.free(self._where())
        self.address = None

"""Device memory: an allocator, and arrays that copy to and from numpy."""

from __future__ import annotations

import itertools
import math
import operator
import weakref
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from caesura.hw.arch.errors import InputError

from .errors import DriverError, OutOfMemory

if TYPE_CHECKING:
    from .device import Device

__all__ = ["Allocation", "Region", "DeviceArray", "convert"]


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
        self._owners: dict[int, tuple[int, int]] = {}
        self._serials = itertools.count()
        self._dropped: deque[tuple[int, int]] = deque()
        self._lent: weakref.WeakValueDictionary[int, Allocation] = weakref.WeakValueDictionary()

    def __repr__(self):
        return f"Region({self.what}, {self.free_bytes:,} of {self.end - self.base:,} bytes free)"

    @property
    def free_bytes(self) -> int:
        """Bytes that are free, in one piece or several."""
        return self.end - self.base - sum(end - start for start, end in self.used())

    def allocate(self, size: int) -> int:
        """Return the address of `size` free bytes.

        Raises
        ------
        OutOfMemory
            If there is no room.
        """
        self._settle()
        wanted, size = size, max(self.align, -(-(size + self.gap) // self.align) * self.align)
        at = self.base
        for k, (start, end) in enumerate([*self._used, (self.end, self.end)]):
            if start - at >= size:
                self._used.insert(k, (at, at + size))
                self._owners[at] = next(self._serials), wanted
                return at
            at = end
        raise OutOfMemory(f"out of {self.what}: {size} bytes wanted, {self.free_bytes} free of "
                          f"{self.end - self.base}; open the device with a larger memory")

    def free(self, address: int) -> None:
        """Give an allocation back.

        Raises
        ------
        DriverError
            If nothing is allocated there.
        """
        self._settle()
        if address not in self._owners:
            raise DriverError(f"nothing is allocated at {address:#x} in {self.what}")
        self._remove(address)

    def _remove(self, address: int) -> None:
        del self._owners[address]
        self._used = [(start, end) for start, end in self._used if start != address]

    def lend(self, size: int) -> Allocation:
        """Return `size` free bytes that come back when nobody holds them any more.

        Raises
        ------
        OutOfMemory
            If there is no room.
        """
        address = self.allocate(size)
        lent = self._lent[address] = Allocation(address, size)
        weakref.finalize(lent, self._dropped.append, (address, self._owners[address][0])).atexit = False
        return lent

    def holder(self, address: int) -> Allocation | None:
        """Return what was lent and covers an address, if anything does."""
        start = next((start for start, end in self.used() if start <= address < end), None)
        return None if start is None else self._lent.get(start)

    def _settle(self) -> None:
        """Free what has been dropped; a finalizer may run anywhere, so it only leaves a note."""
        while self._dropped:
            address, serial = self._dropped.popleft()
            if self._owners.get(address, (-1,))[0] == serial:
                self._remove(address)

    def allocations(self) -> list[tuple[int, int]]:
        """Return address and size of each allocation, as it was asked for."""
        return [(start, self._owners[start][1]) for start, _ in self.used()]

    def used(self) -> list[tuple[int, int]]:
        """Return the allocated ranges."""
        self._settle()
        return list(self._used)

    def state(self) -> tuple:
        """Return what is allocated, for `set_state`."""
        return self.used(), dict(self._owners)

    def set_state(self, state: tuple) -> None:
        """Return to what was allocated when `state` was called; later allocations are no more."""
        used, owners = state
        self._used, self._owners = list(used), dict(owners)


class Allocation:
    """Bytes of a `Region`; whoever uses them holds this, and with the last holder they are free again."""

    def __init__(self, address: int, size: int):
        self.address, self.size = address, size

    def __repr__(self):
        return f"Allocation({self.size:,} bytes at {self.address:#x})"


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
    """An array in device memory, little-endian; made by `Device.array`, `Device.zeros` and `Device.empty`.

    The memory is given back when the array is dropped or freed and no launch uses it any more.

    Parameters
    ----------
    device : Device
    shape : int or sequence of int
    dtype : numpy.dtype
    clear : bool
        Fill it with zeros.

    Attributes
    ----------
    device : Device
    shape : tuple of int
    dtype : numpy.dtype
    nbytes : int
    label : str
        What messages call it, next to the parameter that it is passed for.

    Raises
    ------
    DriverError
        If the shape is none, the elements are no numbers, or there is no room.
    """

    def __init__(self, device: Device, shape, dtype, clear: bool = True):
        self.shape = _shape(shape)
        self.dtype = np.dtype(dtype).newbyteorder("<")
        if self.dtype.hasobject or not self.dtype.itemsize:
            raise DriverError(f"a device array holds numbers, not {np.dtype(dtype)}")
        self.device = device
        self.label = ""
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize
        self._memory: Allocation | None = device.reserve(self.nbytes)
        if clear:
            device.clear(self._memory.address, self.nbytes)

    def __repr__(self):
        where = "freed" if self._memory is None else f"at {self._memory.address:#x}"
        return f"DeviceArray({self.dtype}, shape {self.shape}, {where})"

    @property
    def address(self) -> int | None:
        """Device byte address, None once it has been freed."""
        return None if self._memory is None else self._memory.address

    @property
    def memory(self) -> Allocation:
        """What a launch that uses the array holds.

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
        """Elements."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """Dimensions."""
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
            If the shapes differ, or a value cannot be held by the element type (floating-point values are rounded).
        """
        given = np.asarray(values)
        values = convert(given, self.dtype)
        if values.shape != self.shape:
            raise InputError(f"array of shape {values.shape} does not fit a device array of shape {self.shape}")
        self.device.transport.write_memory(self.memory.address, np.ascontiguousarray(values).tobytes())

    def get(self) -> np.ndarray:
        """Return a copy as a numpy array."""
        raw = self.device.transport.read_memory(self.memory.address, self.nbytes)
        return np.frombuffer(raw, self.dtype).reshape(self.shape).copy()

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
        """Give the memory back; the array cannot be used afterwards. What a launch still uses comes back with its end.

        Raises
        ------
        DriverError
            If it has been freed before.
        """
        _ = self.memory
        self._memory = None

"""Address ranges of device memory and their allocations."""

from __future__ import annotations

import itertools
import weakref
from collections import deque

from ..machine.errors import DriverError, OutOfMemory

__all__ = ["Allocation", "Region"]


class Region:
    """First-fit allocator over an address range.

    Parameters
    ----------
    base, end : int
        First byte and first byte beyond; multiples of `align`.
    align : int
        Every allocation starts at, and is rounded up to, a multiple of this.
    what : str
        Name of the region in messages.
    gap : int
        The least number of free bytes behind each allocation.
    """

    def __init__(self, base: int, end: int, align: int, what: str, gap: int = 0):
        self.base, self.end, self.align, self.what, self.gap = base, end, align, what, gap
        self._used: list[tuple[int, int]] = []
        self._owners: dict[int, tuple[int, int]] = {}
        self._numbers = itertools.count()
        self._dropped: deque[tuple[int, int]] = deque()
        self._lent: weakref.WeakValueDictionary[int, Allocation] = weakref.WeakValueDictionary()
        self._claimed: weakref.WeakSet[Allocation] = weakref.WeakSet()
        self._reached = base

    def __repr__(self):
        return f"Region({self.what}, {self.free_bytes:,} of {self.end - self.base:,} bytes free)"

    @property
    def free_bytes(self) -> int:
        """Number of free bytes, in one piece or several."""
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
                self._owners[at] = next(self._numbers), wanted
                self._reached = max(self._reached, at + size)
                return at
            at = end
        raise OutOfMemory(f"out of {self.what}: {size} bytes wanted, {self.free_bytes} free of "
                          f"{self.end - self.base}; open the device with a larger memory")

    def take(self, address: int, size: int) -> None:
        """Allocate bytes that hold data of another host.

        Raises
        ------
        DriverError
            If they are not all in the region, or may have been written since. They may have been if they are allocated,
            or lie below the end of all past allocations.
        """
        end = address + max(self.align, -(-(size + self.gap) // self.align) * self.align)
        where = f"{size} bytes at {address:#x} of {self.what}"
        if address % self.align or not self.base <= address < end <= self.end:
            raise DriverError(f"{where} do not lie in its {self.end - self.base:,} bytes from {self.base:#x} on; open "
                              "the device with the memory that the other one had")
        if address < self._reached or any(start < end and address < stop for start, stop in self.used()):
            raise DriverError(f"{where} may have been written on this device; adopt before anything is loaded or "
                              "allocated, and everything once")
        self._used = sorted([*self._used, (address, end)])
        self._owners[address] = next(self._numbers), size

    def claim(self, address: int, size: int) -> Allocation:
        """Return bytes that hold data of another host; several claims of the same bytes share them.

        Raises
        ------
        DriverError
            As `take`.
        """
        found = self._lent.get(address)
        if found is not None and found in self._claimed and found.size == size:
            return found
        self.take(address, size)
        lent = self._lend(address, size)
        self._claimed.add(lent)
        return lent

    def set_end(self, end: int) -> None:
        """Move the end, a multiple of `align`.

        Raises
        ------
        OutOfMemory
            If something is allocated beyond it.
        """
        last = max((stop for _, stop in self.used()), default=self.base)
        if end < last:
            raise OutOfMemory(f"{self.what} cannot end at {end:#x}: something lies there up to {last:#x}; take the "
                              "memory before, or free what is no longer used")
        self.end = end

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
        """Return `size` free bytes, which are free again once the last holder is gone.

        Raises
        ------
        OutOfMemory
            If there is no room.
        """
        return self._lend(self.allocate(size), size)

    def _lend(self, address: int, size: int) -> Allocation:
        lent = self._lent[address] = Allocation(address, size)
        weakref.finalize(lent, self._dropped.append, (address, self._owners[address][0])).atexit = False
        return lent

    def holder(self, address: int) -> Allocation | None:
        """Return the lent allocation that covers an address, if there is one."""
        start = next((start for start, end in self.used() if start <= address < end), None)
        return None if start is None else self._lent.get(start)

    def _settle(self) -> None:
        """Free the dropped allocations. A finalizer may run anywhere, so it only leaves a note for this function."""
        while self._dropped:
            address, number = self._dropped.popleft()
            if self._owners.get(address, (-1,))[0] == number:
                self._remove(address)

    def allocations(self) -> list[tuple[int, int]]:
        """Return the address and the requested size of each allocation."""
        return [(start, self._owners[start][1]) for start, _ in self.used()]

    def used(self) -> list[tuple[int, int]]:
        """Return the allocated ranges."""
        self._settle()
        return list(self._used)

    def state(self) -> tuple:
        """Return the allocations, for `set_state`."""
        return self.used(), dict(self._owners)

    def set_state(self, state: tuple) -> None:
        """Restore the allocations of the time when `state` was called; later ones vanish."""
        used, owners = state
        self._used, self._owners = list(used), dict(owners)


class Allocation:
    """Bytes of a `Region`. Each user of the bytes holds this object; they are free once the last holder is gone."""

    def __init__(self, address: int, size: int):
        self.address, self.size = address, size

    def __repr__(self):
        return f"Allocation({self.size:,} bytes at {self.address:#x})"

"""The interface between the driver and a machine that checks bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from .transport import Transport

__all__ = ["GUARD_BYTES", "MemoryObject", "Violation", "BoundsMonitor", "monitor_of", "nearest_object"]

GUARD_BYTES = 4096
"""Least distance between two arrays where bounds are checked."""


def _bytes(count: int) -> str:
    return f"{count:,} byte{'s' * (count != 1)}"


@dataclass(frozen=True)
class MemoryObject:
    """A connected piece of device memory: an array, or the global variables of a module.

    Attributes
    ----------
    start, size : int
        Address and size in bytes.
    name : str
        Its name in a message, without its size.
    """

    start: int
    size: int
    name: str

    @property
    def end(self) -> int:
        """First byte behind the object."""
        return self.start + self.size

    def __str__(self):
        return f"{self.name} ({_bytes(self.size)} at {self.start:#010x})"

    def distance(self, address: int, size: int) -> int:
        """Return the bytes between an access and the object; 0 if they touch."""
        return max(self.start - (address + size), address - self.end, 0)

    def place(self, address: int, size: int) -> str:
        """Return the place of an access relative to the object."""
        if address >= self.end:
            return f"{_bytes(address - self.end) if address > self.end else 'right'} behind the end of {self}"
        if address < self.start:
            return f"{_bytes(self.start - address)} before the start of {self}"
        beyond = address + size - self.end
        return f"{_bytes(beyond)} across the end of {self}" if beyond > 0 else f"in {self}"


def nearest_object(objects: Iterable[MemoryObject], address: int, size: int) -> MemoryObject | None:
    """Return the object nearest to an access, None if there are no objects."""
    return min(objects, key=lambda item: item.distance(address, size), default=None)


@dataclass(frozen=True)
class Violation:
    """An access outside the object that it should reach.

    Attributes
    ----------
    access : str
        ``"load"``, ``"store"`` or ``"atomic"``.
    size, address : int
        Bytes accessed, and their address.
    block, thread : tuple of int
        Indices in x, y, z of the block and of the thread of the access.
    expected : MemoryObject or None
        Array from which the address comes, None if it is not known.
    nearest : MemoryObject or None
        Array that contains the access or is nearest to it, None if there are none.
    high_word : bool
        Whether the upper word of the 64-bit address is not zero; `address` has no meaning then.
    """

    access: str
    size: int
    address: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    expected: MemoryObject | None
    nearest: MemoryObject | None
    high_word: bool = False

    def __str__(self):
        block, thread = (", ".join(map(str, index)) for index in (self.block, self.thread))
        return f"{self.access} of {_bytes(self.size)} {self._where()}, by thread ({thread}) of block ({block})"

    def _where(self) -> str:
        if self.high_word:
            return "at a 64-bit address whose upper 32 bits are not zero"
        if self.expected is not None:
            inside = self.nearest is not None and self.nearest != self.expected and \
                not self.nearest.distance(self.address, self.size)
            more = f", which is {self.nearest.place(self.address, self.size)}" if inside and self.nearest else ""
            return f"at {self.address:#010x}, {self.expected.place(self.address, self.size)}, from which its address " \
                f"comes{more}"
        nearest = "there are none" if self.nearest is None else \
            f"the nearest is {self.nearest.name}: {self.nearest.place(self.address, self.size)}"
        return f"at {self.address:#010x}, in no array ({nearest})"


class BoundsMonitor(Protocol):
    """The part of a machine that checks bounds of accesses."""

    def launch(self, slot: int, objects: Iterable[MemoryObject], pointers: Mapping[int, int]) -> None:
        """Declare a kernel that is about to start.

        Parameters
        ----------
        slot : int
            Kernel slot.
        objects : iterable of MemoryObject
            Objects in the memory that the kernel may access.
        pointers : mapping of int to int
            Words of its parameter space that hold addresses of objects.
        """
        ...

    def violation(self) -> Violation | None:
        """Return the violation behind the recorded fault, None if it was another kind of fault."""
        ...


def monitor_of(transport: Transport) -> BoundsMonitor | None:
    """Return the monitor that checks bounds on a machine, None if it has none."""
    return getattr(transport, "bounds", None)

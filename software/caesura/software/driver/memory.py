"""The memory of a device: its regions, and who uses what is in them."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Protocol

from caesura.hw.arch.geometry import SEGMENT_BYTES, Geometry
from caesura.software.compiler.ir.spaces import WINDOWS

from .bounds import GUARD_BYTES, monitor_of
from .errors import Closed, OutOfMemory
from .host_interface import HostInterface
from .regions import Allocation, Region
from .transport import Transport

__all__ = ["DeviceMemory", "MemoryUser", "SYSTEM_BASE"]

SYSTEM_BASE = 0x1000
"""First byte used; addresses below are never mapped, so that a null pointer faults."""
HEAP_END = min(WINDOWS.values())
"""First address that is no global memory for generic accesses, so no array lies there, however large the memory."""
CLEAR_BYTES = 1 << 20
"""Memory is cleared in pieces of this size."""


class MemoryUser(Protocol):
    """What uses memory until it has finished: a launch.

    Attributes
    ----------
    held : list of Allocation
        It lets go of them when it is seen to have finished.
    """

    held: list[Allocation]

    @property
    def finished(self) -> bool:
        """It uses nothing any more; asking may take simulated time."""
        ...

    def reads_constants(self, bank: object) -> bool:
        """It reads a constant bank."""
        ...


class DeviceMemory:
    """Memory of an SM that one program has: a region for code and contexts, and one for arrays.

    Parameters
    ----------
    host : HostInterface
    system_fraction : float
        Share of the memory for code and contexts; the rest holds arrays, and is the kernels' global window.

    Attributes
    ----------
    host : HostInterface
    system, heap : Region
    users : mapping of int to MemoryUser
        Who uses it now, by kernel slot.
    code_names : dict of int to str
        Name of the kernel whose code was last put at an address.
    """

    def __init__(self, host: HostInterface, system_fraction: float):
        self.host = host
        self.code_names: dict[int, str] = {}
        transport = host.transport
        end = min(transport.memory_bytes, HEAP_END) // SEGMENT_BYTES * SEGMENT_BYTES
        split = int(end * system_fraction) // SEGMENT_BYTES * SEGMENT_BYTES
        self.system = Region(SYSTEM_BASE, split, SEGMENT_BYTES, "system memory")
        gap = GUARD_BYTES if monitor_of(transport) else 0
        self.heap = Region(split, end, 2 * SEGMENT_BYTES, "device memory", gap)
        self.users: Mapping[int, MemoryUser] = {}

    @property
    def transport(self) -> Transport:
        """The machine."""
        return self.host.transport

    @property
    def geometry(self) -> Geometry:
        """Of the machine."""
        return self.host.geometry

    def reserve(self, size: int, region: Region | None = None) -> Allocation:
        """Return memory, from the heap unless another region is given; it is free again when nobody holds it.

        Raises
        ------
        OutOfMemory
            If there is no room, not even once what has been dropped and what has finished gave theirs back.
        """
        self.require_open()
        region = region or self.heap
        try:
            return region.lend(size)
        except OutOfMemory:
            _ = [user.finished for user in self.users.values() if user.held]
            gc.collect()
            return region.lend(size)

    def claim(self, address: int, size: int) -> Allocation:
        """Return memory that holds what another host has left there; see `Region.claim`."""
        return (self.heap if address >= self.heap.base else self.system).claim(address, size)

    def require_open(self) -> None:
        """Raise `Closed` if the device has been closed."""
        if self.host.closed:
            raise Closed("this device has been closed; open another")

    def clear(self, address: int, size: int) -> None:
        """Fill memory with zeros."""
        zeros = bytes(min(size, CLEAR_BYTES))
        for start in range(0, size, CLEAR_BYTES):
            self.transport.write_memory(address + start, zeros[:size - start])

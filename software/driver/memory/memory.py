"""The memory of one owner on a device: its regions, and who uses what is in them."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Sequence
from typing import Protocol

from caesura.hw.arch.geometry import SEGMENT_BYTES, Geometry
from caesura.software.compiler.ir.spaces import WINDOWS

from ..machine.bounds import GUARD_BYTES, monitor_of
from ..machine.errors import Closed, DriverError, OutOfMemory
from ..machine.host_interface import HostInterface
from ..machine.lock import FairLock, whole
from ..machine.transport import Transport
from ..machine.wanted import ADDRESS, BYTES, checked
from .regions import Allocation, Region

__all__ = ["DeviceMemory", "MemoryUser", "SYSTEM_BASE", "heap_region", "split_memory"]

SYSTEM_BASE = 0x1000
"""First byte used; addresses below are never mapped, so that a null pointer faults."""
HEAP_END = min(WINDOWS.values())
"""First address that is no global memory for generic accesses, so no array lies there, however large the memory."""
HEAP_ALIGN = 2 * SEGMENT_BYTES
"""Arrays begin at multiples of this."""
CLEAR_BYTES = 1 << 20
"""Memory is cleared in pieces of this size."""


class MemoryUser(Protocol):
    """What uses memory until it has ended: a launch, a packet of a queue, a kernel that waits in a stream."""

    @property
    def held(self) -> Sequence[object]:
        """What it uses; it lets go when it is seen to have ended."""
        ...

    @property
    def ended(self) -> bool:
        """It uses nothing any more; asking may take simulated time."""
        ...

    def reads_constants(self, bank: object) -> bool:
        """It reads a constant bank."""
        ...


def split_memory(transport: Transport, system_fraction: float) -> tuple[Region, Region]:
    """Return the memory of a machine as a region for code and contexts, `system_fraction` of it, and one for arrays.

    Raises
    ------
    DriverError
        If the fraction is none, or leaves one of them nothing.
    """
    if not isinstance(system_fraction, (int, float)) or not 0 < system_fraction < 1:
        raise DriverError(f"system_fraction must be a number between 0 and 1, not {system_fraction!r}")
    end = min(transport.memory_bytes, HEAP_END) // SEGMENT_BYTES * SEGMENT_BYTES
    split = int(end * system_fraction) // SEGMENT_BYTES * SEGMENT_BYTES
    if not SYSTEM_BASE < split < end:
        raise DriverError(f"a system_fraction of {system_fraction} leaves no room in the {end:,} bytes of the memory; "
                          "choose another, or open the device with a larger memory")
    return Region(SYSTEM_BASE, split, SEGMENT_BYTES, "system memory"), heap_region(transport, split, end)


def heap_region(transport: Transport, base: int, end: int) -> Region:
    """Return a region for arrays; guarded ones where bounds are checked."""
    return Region(base, end, HEAP_ALIGN, "device memory", GUARD_BYTES if monitor_of(transport) else 0)


class DeviceMemory:
    """Memory of a device that one owner has: a region for code and contexts, and one for arrays, which is the global
    window of its kernels.

    Parameters
    ----------
    host : HostInterface
    system, heap : Region

    Attributes
    ----------
    host : HostInterface
    system, heap : Region
    users : callable
        Returns who uses memory of the device now, of any owner.
    grid_numbers : iterator of int
        Numbers of the owner's grids, those of kernels that ask for it.
    name : str
        Of the owner, in messages.
    launch_limit : int or None
        Most launches that it may have at a time.
    """

    name = "the device"
    launch_limit: int | None = None

    def __init__(self, host: HostInterface, system: Region, heap: Region):
        self.host, self.system, self.heap = host, system, heap
        self.users: Callable[[], Sequence[MemoryUser]] = list
        self.grid_numbers = itertools.count(1)

    @property
    def code_names(self) -> dict[int, str]:
        """Name of the kernel whose code was last put at an address, of any owner."""
        return self.host.code_names

    @property
    def transport(self) -> Transport:
        """The machine."""
        return self.host.transport

    @property
    def geometry(self) -> Geometry:
        """Of the machine."""
        return self.host.geometry

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        return self.host.lock

    @checked(address=ADDRESS, data=BYTES)
    @whole
    def write_memory(self, address: int, data: bytes) -> None:
        """Write memory that running kernels may look at; thread blocks that wait for it to change come back.

        Takes no simulated time, but on a machine with a watch table that of two writes of a register.
        """
        self.transport.write_memory(address, data)
        if self.geometry.watches and data:
            self.host.write("notify_begin", address)
            self.host.write("notify_end", address + len(data))

    @whole
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
            _ = [user.ended for user in self.users() if user.held]
            gc.collect()
            return region.lend(size)

    def claim(self, address: int, size: int) -> Allocation:
        """Return memory that holds what another host has left there; see `Region.claim`."""
        return (self.heap if address >= self.heap.base else self.system).claim(address, size)

    def require_open(self) -> None:
        """Raise `Closed` if the device has been closed."""
        if self.host.closed:
            raise Closed("this device has been closed; open another")

    @whole
    def clear(self, address: int, size: int) -> None:
        """Fill memory with zeros."""
        zeros = bytes(min(size, CLEAR_BYTES))
        for start in range(0, size, CLEAR_BYTES):
            self.transport.write_memory(address + start, zeros[:size - start])

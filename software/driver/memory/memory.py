"""The memory of one owner on a device: its regions, and the users of its contents."""

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
"""First byte used. Lower addresses are never mapped, so that a null pointer faults."""
HEAP_END = min(WINDOWS.values())
"""First address that is not global memory for generic accesses. No array lies there, however large the memory is."""
HEAP_ALIGN = 2 * SEGMENT_BYTES
"""Alignment of arrays in bytes."""
CLEAR_BYTES = 1 << 20
"""Size of the pieces in which memory is cleared."""


class MemoryUser(Protocol):
    """A user of memory until its end: a launch, a packet of a queue, a kernel that waits in a stream."""

    @property
    def held(self) -> Sequence[object]:
        """Memory that it uses; released when its end is seen."""
        ...

    @property
    def ended(self) -> bool:
        """Whether it has ended and uses nothing any more; the access may take simulated time."""
        ...

    def reads_constants(self, bank: object) -> bool:
        """Return whether it reads a constant bank."""
        ...


def split_memory(transport: Transport, system_fraction: float) -> tuple[Region, Region]:
    """Return two regions of a machine's memory: `system_fraction` of it for code and contexts, the rest for arrays.

    Raises
    ------
    DriverError
        If the fraction is not valid, or leaves a region empty.
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
    """Return a region for arrays. Where bounds are checked, gaps separate the arrays."""
    return Region(base, end, HEAP_ALIGN, "device memory", GUARD_BYTES if monitor_of(transport) else 0)


class DeviceMemory:
    """Memory of one owner on a device: a region for code and contexts, and a region for arrays. The latter is the
    global window of the owner's kernels.

    Parameters
    ----------
    host : HostInterface
    system, heap : Region

    Attributes
    ----------
    host : HostInterface
    system, heap : Region
    users : callable
        Function that returns the users of memory of the device, of any owner.
    grid_numbers : iterator of int
        Numbers for the owner's grids, for kernels that read them.
    name : str
        Name of the owner in messages.
    launch_limit : int or None
        The largest number of launches that the owner may have at a time.
    """

    name = "the device"
    launch_limit: int | None = None

    def __init__(self, host: HostInterface, system: Region, heap: Region):
        self.host, self.system, self.heap = host, system, heap
        self.users: Callable[[], Sequence[MemoryUser]] = list
        self.grid_numbers = itertools.count(1)

    @property
    def code_names(self) -> dict[int, str]:
        """Name of the kernel whose code was last written at an address, of any owner."""
        return self.host.code_names

    @property
    def transport(self) -> Transport:
        """The machine."""
        return self.host.transport

    @property
    def geometry(self) -> Geometry:
        """Geometry of the machine."""
        return self.host.geometry

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        return self.host.lock

    @checked(address=ADDRESS, data=BYTES)
    @whole
    def write_memory(self, address: int, data: bytes) -> None:
        """Write memory that running kernels may watch; thread blocks that wait for a change of it come back.

        It takes no simulated time, except for two register writes on a machine with a watch table.
        """
        self.transport.write_memory(address, data)
        if self.geometry.watches and data:
            self.host.write("notify_begin", address)
            self.host.write("notify_end", address + len(data))

    @whole
    def reserve(self, size: int, region: Region | None = None) -> Allocation:
        """Return memory, from the heap unless another region is given. It is free again when its last holder is gone.

        Raises
        ------
        OutOfMemory
            If there is no room, even after dropped and finished users have given their memory back.
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
        """Return memory that holds data of another host; see `Region.claim`."""
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

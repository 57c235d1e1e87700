"""Sizes and priority of a hardware queue, and the largest thread block for which it keeps room."""

from __future__ import annotations

from dataclasses import dataclass

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image.context import area_bound
from caesura.hw.arch.tb_footprint import local_region_bytes
from caesura.software.compiler import KernelImage

from ..launch.arguments import whole_number
from ..launch.loaded import LoadedKernel
from ..machine.errors import DriverError
from ..memory.memory import DeviceMemory

__all__ = ["LargestBlock", "QueueOptions", "check_kernel"]


def check_kernel(owner: DeviceMemory, kernel: LoadedKernel) -> None:
    """Refuse a kernel that a queue of an owner cannot launch: its code is no longer there, or another owner's."""
    if kernel.device.host is not owner.host:
        raise DriverError(f"kernel {kernel.name!r} is on another device than the queue; load it on this one")
    if kernel.device is not owner:
        raise DriverError(f"kernel {kernel.name!r} is of {kernel.device.name}, the queue of {owner.name}; use one of "
                          "its own")
    _ = kernel.address  # raises if its module has been unloaded


@dataclass(frozen=True)
class QueueOptions:
    """Sizes and priority of a queue.

    Attributes
    ----------
    kernels : tuple of LoadedKernel
        The queue launches these; it keeps room for saving their thread blocks.
    block_threads, shared_bytes : int
        Most threads and shared memory of a thread block; what kernels declare there has room anyway.
    packets : int
        Places of the ring, a power of two.
    priority : int
        0 to 15; of queues that have something to begin the highest goes first.
    capacity : int
        Kernels in flight at most, each with save areas and local memory of its own.
    """

    kernels: tuple[LoadedKernel, ...]
    block_threads: int
    shared_bytes: int = 0
    packets: int = 16
    priority: int = 0
    capacity: int = 1

    def check(self, owner: DeviceMemory) -> None:
        """Refuse options that a queue of an owner cannot have.

        Raises
        ------
        DriverError
            If a number is out of range, or a kernel cannot be launched.
        """
        g = owner.geometry
        if not self.kernels:
            raise DriverError("a queue is made for the kernels that it launches; give one or more")
        for kernel in self.kernels:
            check_kernel(owner, kernel)
        if whole_number(self.packets, "packets") not in (1 << k for k in range(16)):
            raise DriverError(f"packets must be a power of two up to 32768, not {self.packets}")
        if whole_number(self.priority, "priority") not in range(16):
            raise DriverError(f"priority must be 0 to 15, not {self.priority}")
        if whole_number(self.capacity, "capacity") not in range(1, g.queue_capacity + 1):
            raise DriverError(f"capacity must be 1 to {g.queue_capacity}, the queue_capacity of this machine "
                              f"({g.name}), not {self.capacity}")
        if whole_number(self.block_threads, "block_threads") > g.warps * g.warp_size:
            raise DriverError(f"block_threads must be up to {g.warps * g.warp_size}, the threads of an SM of this "
                              f"machine ({g.name}), not {self.block_threads}")
        if whole_number(self.shared_bytes, "shared_bytes") > g.shared_bytes:
            raise DriverError(f"shared_bytes must be up to {g.shared_bytes}, the shared memory of an SM of this "
                              f"machine ({g.name}), not {self.shared_bytes}")


@dataclass(frozen=True)
class LargestBlock:
    """The largest thread block for which a queue has save areas and local memory.

    Attributes
    ----------
    warps, registers : int
        Warps of the thread block, and vector registers of each lane.
    shared_bytes : int
        Shared memory of the thread block.
    local_bytes : int
        Local memory of each lane.
    """

    warps: int
    registers: int
    shared_bytes: int
    local_bytes: int

    @classmethod
    def of(cls, g: Geometry, options: QueueOptions) -> LargestBlock:
        """Return the largest thread block that a queue's options allow."""
        images = [kernel.image for kernel in options.kernels]
        return cls(-(-options.block_threads // g.warp_size), max(image.registers for image in images),
                   max(options.shared_bytes, *(image.shared_bytes for image in images)),
                   max(image.all_local_bytes for image in images))

    def holds(self, image: KernelImage, warps: int, shared_bytes: int) -> bool:
        """Return whether a thread block of a kernel has room."""
        return (warps <= self.warps and shared_bytes <= self.shared_bytes and image.registers <= self.registers
                and image.all_local_bytes <= self.local_bytes)

    def area_bytes(self, g: Geometry) -> int:
        """Return the bytes of a save area."""
        return area_bound(g, self.warps, self.registers, self.shared_bytes)

    def local_region(self, g: Geometry) -> int:
        """Return the bytes of local memory of a kernel on one SM."""
        return g.tb_slots * local_region_bytes(g, self.warps, self.local_bytes)

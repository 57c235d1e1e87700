"""Packets of hardware queues, and kernel objects, as they lie in memory (`hw.arch.packets`)."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np

from caesura.hw.arch.packets import DEPENDENCIES, KERNEL_OBJECT_MAGIC, PACKET_BYTES, PacketType, VendorFormat
from caesura.software.compiler import KernelImage

from ..launch.loaded import LoadedKernel
from ..machine.errors import LaunchError
from ..memory.memory import DeviceMemory
from ..memory.regions import Allocation

__all__ = ["KernelObjects", "barrier_packet", "checkpoint_packet", "dispatch_packet", "void_packet"]

_HEADER_BARRIER = 8
"""The bit of a packet's header that has it wait for those before it."""


def _packet(header: int) -> np.ndarray:
    words = np.zeros(PACKET_BYTES // 4, "<u4")
    words[0] = header
    return words


def dispatch_packet(image: KernelImage, grid: Sequence[int], block: Sequence[int], shared_bytes: int,
                    addresses: tuple[int, int], barrier: bool) -> np.ndarray:
    """Return the words of a packet that launches a kernel; `addresses` are those of its object and its arguments."""
    words = _packet(PacketType.DISPATCH | barrier << _HEADER_BARRIER | 3 << 16)
    words[1:3] = block[0] | block[1] << 16, block[2]
    words[3:6] = [blocks * width for blocks, width in zip(grid, block, strict=True)]
    words[6:8] = image.all_local_bytes, -(-shared_bytes // 4) * 4
    words[8], words[10] = addresses
    return words


def barrier_packet(signals: Sequence[int], any_of: bool, barrier: bool) -> np.ndarray:
    """Return the words of a packet that waits for signals, by their addresses.

    Raises
    ------
    LaunchError
        If there are more than a packet holds.
    """
    if len(signals) > DEPENDENCIES:
        raise LaunchError(f"a barrier waits for up to {DEPENDENCIES} packets, not {len(signals)}; put several")
    kind = PacketType.BARRIER_OR if any_of else PacketType.BARRIER_AND
    words = _packet(kind | barrier << _HEADER_BARRIER)
    words[2:2 + 2 * len(signals):2] = signals
    return words


def checkpoint_packet() -> np.ndarray:
    """Return the words of a packet that has kernels of lower priority checkpointed."""
    return _packet(PacketType.VENDOR | VendorFormat.CHECKPOINT << 16)


def void_packet() -> np.ndarray:
    """Return the words of a packet that waits for nothing and does nothing but complete."""
    return _packet(PacketType.BARRIER_AND)


class KernelObjects:
    """The kernel objects of the kernels that a queue has launched.

    Parameters
    ----------
    device : DeviceMemory
        The owner's memory.
    """

    def __init__(self, device: DeviceMemory):
        self._device = device
        self._made: weakref.WeakKeyDictionary[LoadedKernel, Allocation] = weakref.WeakKeyDictionary()

    def of(self, kernel: LoadedKernel) -> Allocation:
        """Return the kernel object of a kernel that is loaded, made the first time."""
        if kernel not in self._made:
            image = kernel.image
            made = self._device.reserve(PACKET_BYTES, self._device.system)
            words = [KERNEL_OBJECT_MAGIC, kernel.address, len(image.words), image.registers, kernel.bank.address,
                     kernel.bank.size, image.trap_base, -(-image.parameter_bytes // 4)]
            self._device.transport.write_memory(made.address,
                                                np.array(words, "<u4").tobytes().ljust(PACKET_BYTES, b"\0"))
            self._made[kernel] = made
        return self._made[kernel]

    def clear(self) -> None:
        """Give their memory back."""
        self._made.clear()

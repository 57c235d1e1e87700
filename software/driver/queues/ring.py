"""The ring of a hardware queue: its packets in memory, and the doorbell."""

from __future__ import annotations

import numpy as np

from caesura.hw.arch.packets import PACKET_BYTES, PacketType

from ..machine.errors import LaunchError
from ..memory.memory import DeviceMemory
from ..memory.regions import Allocation
from .registers import QueueRegisters

__all__ = ["Ring"]

_SIGNAL_WORD = 14
"""The word of a packet that has the address of its completion signal."""


class Ring:
    """The places of a queue's packets.

    Parameters
    ----------
    device : DeviceMemory
        The owner's memory.
    registers : QueueRegisters
    packets : int
        Places, a power of two.

    Attributes
    ----------
    count : int
        Packets that were put; the next gets this index.
    base : int
        The address of the ring.
    """

    def __init__(self, device: DeviceMemory, registers: QueueRegisters, packets: int):
        self._device, self._registers, self._packets = device, registers, packets
        self._memory = device.reserve(packets * PACKET_BYTES, device.system)
        self.base, self.count = self._memory.address, 0

    def clear(self) -> None:
        """Make all places empty."""
        self._device.clear(self.base, self._memory.size)
        self._device.transport.write_memory(self.base,
                                            PacketType.INVALID.to_bytes(PACKET_BYTES, "little") * self._packets)

    def place(self, index: int) -> int:
        """Return the address of a packet."""
        return self.base + (self._registers.first + index) % self._packets * PACKET_BYTES

    def require_place(self, unfinished: set[int]) -> None:
        """Refuse one more packet while the place that it would take is in use, by the indices that have not completed.

        Raises
        ------
        LaunchError
            If it is.
        """
        before = self.count - self._packets  # whose place it takes
        if (self.count - self._registers.completed >= self._packets
                and any(index <= before for index in unfinished)):  # the index follows the signal in a few cycles
            raise LaunchError(f"all {self._packets} packets of the queue are in use; wait for one, or make a queue of "
                              "more")

    def write(self, words: np.ndarray, signal: Allocation) -> int:
        """Write the next packet, its first word last, and return its index; `submit` is to follow."""
        words[_SIGNAL_WORD] = signal.address
        place = self.place(self.count)
        self._device.transport.write_memory(place + 4, words[1:].tobytes())
        self._device.transport.write_memory(place, words[:1].tobytes())
        return self.count

    def submit(self) -> None:
        """Ring the doorbell for the packet that was written."""
        self.count += 1
        self._registers.write("write_index", self._registers.first + self.count)

    def replace(self, index: int, words: np.ndarray, signal: Allocation) -> None:
        """Write over a packet that has not been started."""
        words[_SIGNAL_WORD] = signal.address
        self._device.transport.write_memory(self.place(index), words.tobytes())

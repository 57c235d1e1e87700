"""A packet that was put into a hardware queue, and its completion signal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from caesura.hw.arch.packets import SIGNAL_BYTES, SIGNAL_END, SIGNAL_START, SIGNAL_VALUE

from ..launch.loaded import LoadedKernel
from ..machine.errors import DriverError
from ..machine.host_interface import HostInterface
from ..machine.transport import Transport
from ..memory.memory import DeviceMemory
from ..memory.regions import Allocation

__all__ = ["PacketQueue", "Queued", "completion_signal"]


class PacketQueue(Protocol):
    """The interface of a `Queue` to its packets."""

    number: int

    @property
    def host(self) -> HostInterface:
        """The device."""
        ...

    @property
    def owner(self) -> DeviceMemory:
        """The owner of the kernels that it launches."""
        ...

    @property
    def transport(self) -> Transport:
        """The machine."""
        ...

    def wait(self, queued: Queued | None = None, max_cycles: int = ...) -> None:
        """Let time pass until a packet has completed."""
        ...


def completion_signal(owner: DeviceMemory) -> Allocation:
    """Return a new signal in an owner's memory, for a packet that has not completed."""
    signal = owner.reserve(SIGNAL_BYTES, owner.system)
    value = bytearray(SIGNAL_BYTES)
    value[SIGNAL_VALUE] = 1
    owner.transport.write_memory(signal.address, bytes(value))
    return signal


@dataclass(eq=False)
class Queued:
    """A packet of a queue.

    Attributes
    ----------
    queue : Queue
    name : str
        Name of its kernel, or ``"barrier"``.
    index : int
        Index of the packet since the beginning of the queue.
    signal : Allocation
        Its completion signal: 1 until it has completed, then 0.
    held : sequence
        Memory that it uses until its completion is seen.
    kernel : LoadedKernel or None
        Its kernel; None if the packet launches none.
    lost : bool
        Whether its queue was ended before it had completed.
    """

    queue: PacketQueue
    name: str
    index: int
    signal: Allocation
    held: Sequence[object] = ()
    kernel: LoadedKernel | None = None
    lost: bool = False

    def require_reach(self, owner: DeviceMemory) -> None:
        """Refuse this packet as one for which a barrier in a queue of an owner waits.

        Raises
        ------
        DriverError
            If the queue cannot read its signal, or it never completes.
        """
        if self.queue.host is not owner.host:
            raise DriverError(f"packet {self.index} ({self.name}) is of a queue of another device; a barrier waits "
                              "for packets of its own")
        if self.queue.owner is not owner:
            raise DriverError(f"packet {self.index} ({self.name}) is of {self.queue.owner.name}, the queue of "
                              f"{owner.name}; a queue reads only signals of its owner")
        if self.lost:
            raise DriverError(f"packet {self.index} ({self.name}) never completes: its queue, {self.queue.number}, "
                              "has been ended")

    @property
    def done(self) -> bool:
        """Whether it has completed; the access takes no simulated time."""
        return not self._word(SIGNAL_VALUE)

    @property
    def ended(self) -> bool:
        """Whether it has completed and uses nothing any more."""
        if self.done:
            self.held = ()
            return True
        return False

    def reads_constants(self, bank: object) -> bool:
        """Return whether its kernel reads a constant bank."""
        return self.kernel is not None and self.kernel.bank is bank

    @property
    def start_cycle(self) -> int:
        """Cycle in which its kernel was started; 0 until it has completed, and for a barrier."""
        return self._word(SIGNAL_START)

    @property
    def end_cycle(self) -> int:
        """Cycle in which the queue saw its end; 0 in the same cases."""
        return self._word(SIGNAL_END)

    def _word(self, offset: int) -> int:
        words = self.queue.transport.read_memory(self.signal.address + offset, 8)
        return int.from_bytes(words, "little")

    def wait(self, **limit: int) -> None:
        """Let time pass until it has completed; see `Queue.wait`."""
        self.queue.wait(self, **limit)

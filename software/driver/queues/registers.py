"""The registers of a hardware queue: its state, and which kernels it has in flight."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from caesura.hw.arch.packets import QueueError

from ..machine.host_interface import HostInterface
from ..machine.lock import FairLock, whole

__all__ = ["FAILURES", "Flight", "QueueRegisters"]

FAILURES = {
    QueueError.BAD_PACKET: "its packet is none that a queue takes: something has written over it",
    QueueError.BAD_OBJECT: "its kernel object is none: something has written over it",
    QueueError.REFUSED: "no SM takes the kernel: a thread block of it does not fit, or its grid is empty",
    QueueError.BUS_ERROR: "the memory answered with an error",
    QueueError.BAD_CONTEXT: "its kernel was preempted, and what memory holds of it cannot be read; stop and enable the "
                            "queue to try again, or end it",
    QueueError.UNCERTAIN: "the memory answered with an error at the write of its completion signal, and does not say "
                          "whether that was done; mend the memory, and stop and enable the queue, or end it",
}
"""Words of a message for each error that stops a queue."""
_OF_SIGNALS = QueueError.BAD_SIGNAL, QueueError.UNCERTAIN
"""Errors that concern a packet's completion signal."""


@dataclass(frozen=True)
class Flight:
    """A kernel of a queue that has begun and has not completed.

    Attributes
    ----------
    place : int
        Place among the kernels that the queue has in flight, from 0 on.
    index : int
        Index of its packet.
    slot : int
        Its kernel slot.
    away : bool
        Whether it is preempted and has no slot.
    """

    place: int
    index: int
    slot: int
    away: bool


class QueueRegisters:
    """The registers of a queue. Packet 0 is the first packet of the present owner.

    Parameters
    ----------
    host : HostInterface
    number : int

    Attributes
    ----------
    first : int
        Index of packet 0 for the device.
    """

    def __init__(self, host: HostInterface, number: int):
        self._host, self._path, self.first = host, f"queue[{number}]", 0

    def count_from_here(self) -> None:
        """Make the next packet packet 0; the indices of the device go on from the last owner."""
        self.first = self.read("read_index")

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        return self._host.lock

    def read(self, name: str) -> int:
        """Return a register."""
        return self._host.read(f"{self._path}.{name}")

    def write(self, name: str, value: int) -> None:
        """Write a register."""
        self._host.write(f"{self._path}.{name}", value)

    def status(self) -> dict[str, int]:
        """Return the fields of ``status``."""
        return self._host.fields(f"{self._path}.status")

    @property
    def enabled(self) -> bool:
        """Whether the queue has not been stopped."""
        return bool(self._host.fields(f"{self._path}.control")["enable"])

    @whole
    def control(self, **fields: int) -> None:
        """Write ``control``, but for the priority."""
        path = f"{self._path}.control"
        self._host.write(path, priority=self._host.fields(path)["priority"], **fields)

    @property
    def completed(self) -> int:
        """Packets before the first that has not completed."""
        return self.read("read_index") - self.first

    @property
    def unstarted(self) -> int:
        """The index of the first packet that has not been started."""
        return self.read("unstarted") - self.first

    def packet_of(self, place: int | None) -> int:
        """Return the index of the packet of a kernel in flight, or of the barrier that has been passed."""
        return self.unstarted - 1 if place is None else self.read(f"packet[{place}]") - self.first

    def failed_at(self, status: dict[str, int]) -> int:
        """Return the index of the packet at which the queue has failed, or whose signal memory refuses."""
        if of := status["of"]:
            return self.packet_of(of - 1)
        return self.packet_of(None) if status["error"] in _OF_SIGNALS else self.unstarted

    def in_flight(self, places: int) -> list[Flight]:
        """Return the kernels in flight in the first places. Each is read by itself, while the queue goes on."""
        word = self.read("in_flight")
        return [Flight(place, self.packet_of(place), word >> 8 * place + 4 & 7, bool(word >> 8 * place & 2))
                for place in range(places) if word >> 8 * place & 1]

    def refusal(self, status: dict[str, int]) -> str:
        """Return the words that a message adds if memory refuses the completion of a packet."""
        if status["error"] != QueueError.BAD_SIGNAL:
            return ""
        at = self.failed_at(status)
        return (f": the memory answers with an error at the completion signal of packet {at}, which the device writes "
                "again and again; mend the memory, or end the queue")

    @contextmanager
    def without_slot(self, slot: int) -> Iterator[None]:
        """Take a kernel slot from all queues for a while."""
        usual = self._host.read("queue_slots")
        self._host.write("queue_slots", usual & ~(1 << slot))
        try:
            yield
        finally:
            self._host.write("queue_slots", usual)

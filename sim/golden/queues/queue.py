"""A hardware queue in the golden model: its registers, and its kernels in flight."""

from __future__ import annotations

from dataclasses import dataclass, field

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import ADDRESS_BITS, Geometry
from caesura.hw.arch.packets import BARRIER_BIT, SIGNAL_BYTES, QueueError, QueueState
from caesura.hw.arch.registers import device_register_map

from .packets import QueueHost

__all__ = ["INDEX_MASK", "OVER", "Flight", "Queue", "QueueTable"]

INDEX_MASK = 0xFFFF_FFFF
"""Indices of packets have 32 bits."""
OVER = frozenset({KernelState.IDLE, KernelState.FINISHED})
"""States of a kernel that has ended."""


@dataclass
class Flight:
    """A kernel in flight."""

    index: int
    signal: int
    start: int
    slot: int
    away: bool = False
    mine: bool = False
    bound: bool = False
    adopting: bool = False
    due: bool = False
    resuming: bool = False
    broken: bool = False
    owing: bool = False
    """It has ended, and memory refuses its signal."""

    def saved(self, host: QueueHost) -> bool:
        """Return whether it is preempted on all SMs on which it has not ended."""
        states = set(host.states(self.slot))
        return not self.away and KernelState.PREEMPTED in states and states <= {KernelState.PREEMPTED, *OVER}


@dataclass
class Queue:
    """A queue, its kernels in flight by place, and the packet that it begins next."""

    places: int
    words: dict[str, int] = field(default_factory=dict)
    next: int = 0
    error: QueueError = QueueError.NONE
    of: int = 0
    roomless: bool = False
    held: bool = False
    tries: int = 0
    """Looks in a row at the signals of a barrier that memory has refused."""
    barrier: int | None = None
    """The signal of a barrier that has been passed, which memory refuses."""
    flights: dict[int, Flight] = field(default_factory=dict)

    def word(self, name: str) -> int:
        """Return a register."""
        return self.words.get(name, 0)

    def control(self, name: str) -> int:
        """Return a field of register ``control``."""
        return device_register_map()["queue[0].control"].fields[name].extract(self.word("control"))

    @property
    def enabled(self) -> bool:
        """It has not been stopped."""
        return bool(self.control("enable"))

    @property
    def stuck(self) -> bool:
        """It begins nothing."""
        return not self.enabled or self.error is not QueueError.NONE

    @property
    def full(self) -> bool:
        """As many are in flight as may be."""
        return len(self.flights) >= max(1, min(self.word("capacity"), self.places))

    @property
    def read_index(self) -> int:
        """The first packet that has not completed."""
        ages = [self.next - flight.index & INDEX_MASK for flight in self.flights.values()]
        behind = max([*ages, int(self.barrier is not None)])
        return self.next - behind & INDEX_MASK

    @property
    def in_flight(self) -> int:
        """The register of this name."""
        return sum((1 | (flight.away or flight.owing) << 1 | flight.slot << 4) << 8 * place
                   for place, flight in self.flights.items())

    @property
    def owing(self) -> int | None:
        """The place of the first kernel in flight whose signal memory refuses, counted from 1; 0 for a barrier; None
        if nothing waits for that."""
        places = [place + 1 for place in sorted(self.flights) if self.flights[place].owing]
        return places[0] if places else None if self.barrier is None else 0

    def outside(self, address: int, size: int) -> bool:
        """Return whether bytes lie outside the memory that the queue was given, if there are any."""
        first = address & 0xFFFF_FFFF
        return bool(size) and not self.word("system_base") <= first <= first + size <= self.word("system_end")

    def no_signal(self, address: int) -> bool:
        """Return whether no signal can lie at an address of 64 bits; 0 stands for none."""
        return bool(address >> ADDRESS_BITS or address % SIGNAL_BYTES
                    or address and self.outside(address, SIGNAL_BYTES))

    def discards(self, place: int) -> bool:
        """Return whether a kernel in flight that has no slot is to be dropped."""
        return not self.enabled and bool(self.control("discard") >> place & 1)

    @property
    def discards_barrier(self) -> bool:
        """The completion of a barrier that memory refuses is to be given up."""
        return not self.enabled and bool(self.control("discard") & BARRIER_BIT)

    def state(self, host: QueueHost) -> QueueState:
        """Return what the queue does."""
        if self.error:
            return QueueState.FAILED
        if self.owing is not None:
            return QueueState.RUNNING
        if self.flights:
            idle = all(flight.away or flight.saved(host) for flight in self.flights.values())
            return QueueState.PREEMPTED if idle else QueueState.RUNNING
        return QueueState.WAITING if self.enabled else QueueState.STOPPED

    @property
    def waits_for_slot(self) -> bool:
        """It waits for a kernel slot, and for no completion that memory refuses."""
        return self.roomless and self.barrier is None and not any(each.owing for each in self.flights.values())

    def fail(self, error: QueueError, place: int | None) -> None:
        """Stop at the kernel in this place, which was to come back, or at the next packet."""
        self.error, self.of = error, 0 if place is None else place + 1


class QueueTable:
    """The queues of a device and the registers that they share.

    Parameters
    ----------
    g : Geometry
        Geometry with `queues`.

    Attributes
    ----------
    queues : list of Queue
    registers : dict of str to int
    """

    def __init__(self, g: Geometry):
        self.queues = [Queue(g.queue_capacity) for _ in range(g.queues)]
        self.registers = {"queue_slots": 0, "queue_preempts": 0, "queue_checkpoints": 0}

    def free(self, host: QueueHost) -> list[int]:
        """Return the kernel slots of queues that no kernel has."""
        held = {flight.slot for queue in self.queues for flight in queue.flights.values()
                if not (flight.away or flight.owing)}
        return [k for k in range(host.geometry.kernel_slots) if self.registers["queue_slots"] >> k & 1
                and k not in held and OVER.issuperset(host.states(k))]

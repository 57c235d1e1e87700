"""Hardware queues of a device in the golden model: packets from memory, priorities, kernels that come and go.

What is begun, preempted and brought back is what `hw.device.queues` does; when is not: the model looks at its queues
between two slices of instructions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from amaranth.lib import data

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import ADDRESS_BITS, INSTRUCTION_BYTES, WORD_BYTES, Geometry
from caesura.hw.arch.packets import (
    BARRIER_AND,
    BARRIER_BIT,
    DEPENDENCIES,
    DISPATCH,
    KERNEL_OBJECT,
    KERNEL_OBJECT_MAGIC,
    PACKET_BYTES,
    SIGNAL_BYTES,
    VENDOR_PACKET,
    PacketType,
    QueueError,
    QueueState,
    VendorFormat,
)
from caesura.hw.arch.registers import device_register_map
from caesura.hw.device.queues.queue_states import TRIES

from .queue_packets import PacketError, QueueHost, count_down, fetch, met, slot_words

__all__ = ["GoldenQueues"]

_OVER = {KernelState.IDLE, KernelState.FINISHED}
_READ_ONLY = "read_index", "status", "unstarted", "in_flight"
_INDEX = 0xFFFF_FFFF


@dataclass
class _Flight:
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


@dataclass
class _Queue:
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
    flights: dict[int, _Flight] = field(default_factory=dict)

    def word(self, name: str) -> int:
        return self.words.get(name, 0)

    def control(self, name: str) -> int:
        return device_register_map()["queue[0].control"].fields[name].extract(self.word("control"))

    @property
    def enabled(self) -> bool:
        return bool(self.control("enable"))

    @property
    def stuck(self) -> bool:
        return not self.enabled or self.error is not QueueError.NONE

    @property
    def full(self) -> bool:
        """As many are in flight as may be."""
        return len(self.flights) >= max(1, min(self.word("capacity"), self.places))

    @property
    def read_index(self) -> int:
        """The first packet that has not completed."""
        ages = [self.next - flight.index & _INDEX for flight in self.flights.values()]
        behind = max([*ages, int(self.barrier is not None)])
        return self.next - behind & _INDEX

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

    def fail(self, error: QueueError, place: int | None) -> None:
        """Stop at the kernel in this place, which was to come back, or at the next packet."""
        self.error, self.of = error, 0 if place is None else place + 1


class GoldenQueues:
    """The queues of a device.

    Parameters
    ----------
    g : Geometry
        With `queues`.
    """

    def __init__(self, g: Geometry):
        self._queues = [_Queue(g.queue_capacity) for _ in range(g.queues)]
        self._registers = {"queue_slots": 0, "queue_preempts": 0, "queue_checkpoints": 0}
        self._turn = 0
        self._turns = [0] * g.queues

    # Registers

    def holds(self, path: str) -> bool:
        """Return whether a register is one of the queues that there are."""
        return path in self._registers or path.startswith("queue[") and int(path[6]) < len(self._queues)

    def read(self, path: str, host: QueueHost) -> int:
        """Return what a register reads."""
        if path in self._registers:
            return self._registers[path]
        queue, name = self._queues[int(path[6])], path[9:]
        if name == "read_index":
            return queue.read_index
        if name == "unstarted":
            return queue.next
        if name == "in_flight":
            return queue.in_flight
        if name.startswith("packet["):
            flight = queue.flights.get(int(name[7]))
            return flight.index if flight else 0
        if name == "status":
            error, of = queue.error, queue.of
            if not error and (owing := queue.owing) is not None:
                error, of = QueueError.BAD_SIGNAL, owing
            return device_register_map()[path].pack(state=self._state(queue, host), error=error, of=of)
        return queue.word(name)

    def write(self, path: str, value: int, host: QueueHost) -> None:
        """Write a register."""
        if path in self._registers:
            self._registers[path] = value
        elif path[9:] not in _READ_ONLY and not path[9:].startswith("packet["):
            self._queues[int(path[6])].words[path[9:]] = value
            self._drop(self._queues[int(path[6])], host)

    def _state(self, queue: _Queue, host: QueueHost) -> QueueState:
        if queue.error:
            return QueueState.FAILED
        if queue.owing is not None:
            return QueueState.RUNNING
        if queue.flights:
            idle = all(flight.away or self._saved(flight, host) for flight in queue.flights.values())
            return QueueState.PREEMPTED if idle else QueueState.RUNNING
        return QueueState.WAITING if queue.enabled else QueueState.STOPPED

    # What they do

    def step(self, host: QueueHost) -> None:
        """Do what there is to be done."""
        for queue in self._queues:
            self._complete_again(queue, host)
        while (any(self._tend(queue, place, host) for queue in self._queues for place in [*queue.flights])
               or self._command(host) or self._begin(host)):
            pass

    def _drop(self, queue: _Queue, host: QueueHost) -> None:
        """Drop what a queue that is stopped has not started, and of what is away that which is to be discarded."""
        if queue.enabled:
            if queue.held:  # it goes on: what could not be resumed is tried once more
                queue.held = False
                for flight in queue.flights.values():
                    flight.broken = False
            return
        queue.roomless, queue.error, queue.held, queue.tries = False, QueueError.NONE, True, 0
        for place in [place for place, flight in queue.flights.items() if flight.away and queue.discards(place)]:
            self._complete(queue, place, host)
        self._complete_again(queue, host)

    def _tend(self, queue: _Queue, place: int, host: QueueHost) -> bool:
        """See what has become of a kernel in flight; return whether its packet has completed."""
        flight = queue.flights[place]
        if flight.adopting and KernelState.ADOPTING not in host.states(flight.slot):
            flight.adopting = False
            if any(host.errors(flight.slot)):
                host.give(op=Command.KILL, kernel=flight.slot)
                flight.away = True
                queue.fail(QueueError.BAD_CONTEXT, place)
        if flight.resuming and KernelState.RESUMING not in host.states(flight.slot):
            ended = zip(host.states(flight.slot), host.errors(flight.slot), strict=True)
            flight.resuming = False
            flight.mine = flight.broken = any(
                state is KernelState.PREEMPTED and error not in (CommandError.NONE, CommandError.ABORTED)
                for state, error in ended)
            if flight.broken and queue.enabled:
                queue.fail(QueueError.BAD_CONTEXT, place)
        if flight.away or flight.owing or flight.adopting or not _OVER.issuperset(host.states(flight.slot)):
            return False
        self._complete(queue, place, host)
        return True

    def _complete(self, queue: _Queue, place: int, host: QueueHost) -> None:
        """Be done with a kernel in flight, unless memory refuses its signal."""
        flight = queue.flights[place]
        if count_down(host, flight.signal, (flight.start, host.cycle)) or queue.discards(place):
            del queue.flights[place]
        else:
            flight.owing, flight.away, flight.mine, flight.due = True, False, False, False

    def _complete_again(self, queue: _Queue, host: QueueHost) -> None:
        """Try again what memory has refused."""
        if queue.barrier is not None and (count_down(host, queue.barrier) or queue.discards_barrier):
            queue.barrier = None
        for place in [place for place, flight in queue.flights.items() if flight.owing]:
            self._complete(queue, place, host)

    # Preemption by priority

    def _saved(self, flight: _Flight, host: QueueHost) -> bool:
        states = set(host.states(flight.slot))
        return not flight.away and KernelState.PREEMPTED in states and states <= {KernelState.PREEMPTED, *_OVER}

    @staticmethod
    def _roomless(queue: _Queue) -> bool:
        """Return whether a queue waits for a kernel slot, and for no completion that memory refuses."""
        return queue.roomless and queue.barrier is None and not any(each.owing for each in queue.flights.values())

    def _wants(self, queue: _Queue, host: QueueHost) -> bool:
        """Return whether a queue has a kernel that runs, or is to."""
        return self._roomless(queue) and not queue.stuck or any(
            not flight.owing and (not queue.stuck if flight.away else not _OVER.issuperset(host.states(flight.slot))
            and (flight.mine and not flight.broken or not self._saved(flight, host)))
            for flight in queue.flights.values())

    def _off(self, queue: _Queue, host: QueueHost) -> bool:
        """Return whether its kernels are to leave the SMs, or to stay away."""
        return bool(self._registers["queue_preempts"] & 1) and not queue.stuck and any(
            other.control("priority") > queue.control("priority") and self._wants(other, host)
            for other in self._queues)

    def _command(self, host: QueueHost) -> bool:
        """Give the commands that are to be given; return whether one was taken that needs another look."""
        free = self._free(host)
        for queue, flight in ((each, flight) for each in self._queues for flight in each.flights.values()):
            if flight.away or flight.owing or flight.adopting:
                continue
            states, off = set(host.states(flight.slot)), self._off(queue, host)
            saved, moves = self._saved(flight, host), states & {KernelState.PREEMPTING, KernelState.KILLING}
            resumable = KernelState.PREEMPTED in states and not moves and KernelState.RESUMING not in states
            if off and not moves and states & {KernelState.RUNNING, KernelState.RESUMING}:
                if host.give(kernel=flight.slot, **self._policy("queue_preempts")):
                    flight.resuming = False
                    flight.mine, flight.bound = True, bool(self._policy("queue_preempts")["in_place"])
            elif flight.mine and resumable and not off and not flight.broken:
                again = self._policy("queue_preempts")
                if host.give(op=Command.RESUME, kernel=flight.slot, scramble=again["scramble"]):
                    flight.resuming = True
            elif flight.mine and saved and off and not free and self._needed(queue, host):
                return self._leave(flight, host)
            elif flight.due and not off and not moves and KernelState.RUNNING in states:
                flight.due = False
                host.give(kernel=flight.slot, **self._policy("queue_checkpoints") | {"checkpoint": 1})
        return False

    def _policy(self, path: str, whole: bool = False) -> dict[str, int]:
        """Return the fields of a preempt; of one that leaves nothing on the SMs."""
        fields = device_register_map()[path].unpack(self._registers[path])
        flags = {name: fields.get(name, 0) * (not whole) for name in ("restart", "incremental", "in_place")}
        return flags | {"op": Command.PREEMPT, "mechanism": fields["mechanism"], "scramble": fields["scramble"],
                        "trap": fields.get("trap", 0), "checkpoint": 0}

    def _needed(self, queue: _Queue, host: QueueHost) -> bool:
        """Return whether a queue with a higher priority finds no kernel slot."""
        higher = [other for other in self._queues
                  if other.control("priority") > queue.control("priority") and not other.stuck]
        return any(self._roomless(other) or any(flight.away for flight in other.flights.values())
                   and not self._off(other, host) for other in higher)

    def _leave(self, flight: _Flight, host: QueueHost) -> bool:
        """Have a kernel that is saved leave its slot; what has stayed on the SMs first."""
        if flight.bound:
            flight.bound = False
            return host.give(kernel=flight.slot, **self._policy("queue_preempts", whole=True))
        flight.away = host.give(op=Command.RELEASE, kernel=flight.slot)
        flight.bound = not flight.away  # memory does not hold all of it: preempt it once more
        return flight.away

    # Packets

    def _free(self, host: QueueHost) -> list[int]:
        held = {flight.slot for queue in self._queues for flight in queue.flights.values()
                if not (flight.away or flight.owing)}
        return [k for k in range(host.geometry.kernel_slots) if self._registers["queue_slots"] >> k & 1
                and k not in held and _OVER.issuperset(host.states(k))]

    def _begin(self, host: QueueHost) -> bool:
        """Begin the packet of the first queue that can; return whether there was one."""
        order = sorted(range(len(self._queues)), key=lambda q: (-self._queues[q].control("priority"), self._turns[q]))
        for q in order:
            queue = self._queues[q]
            if queue.stuck:
                continue
            back = None if self._off(queue, host) or not self._free(host) else next(
                (place for place in sorted(queue.flights) if queue.flights[place].away), None)
            if back is None and (queue.full or queue.owing is not None or queue.word("write_index") == queue.next):
                continue
            try:
                begun = self._packet(queue, host) if back is None else self._return(queue, back, host)
            except PacketError as stop:
                queue.fail(stop.error, back)
                return True
            if begun:
                self._turn += 1
                self._turns[q] = self._turn
                return True
        return False

    def _read_packet(self, queue: _Queue, index: int, host: QueueHost) -> tuple[int, data.Const]:
        """Return a packet as a number, and as a dispatch; all have their signal in one place."""
        place = queue.word("base") + (index & (1 << queue.word("size")) - 1) * PACKET_BYTES
        raw = int.from_bytes(fetch(host, place, PACKET_BYTES), "little")
        packet = data.Const(DISPATCH, raw)
        if packet.header.type != PacketType.INVALID and queue.no_signal(packet.completion_signal):
            raise PacketError(QueueError.BAD_PACKET)
        return raw, packet

    def _packet(self, queue: _Queue, host: QueueHost) -> bool:
        """Begin the next packet; return False if it has to wait."""
        raw, packet = self._read_packet(queue, queue.next, host)
        kind = packet.header.type
        if kind == PacketType.INVALID or packet.header.barrier and queue.flights:
            return False
        match kind:
            case PacketType.DISPATCH:
                return self._dispatch(queue, None, packet, host)
            case PacketType.BARRIER_AND | PacketType.BARRIER_OR:
                signals = [data.Const(BARRIER_AND, raw).signals[k] for k in range(DEPENDENCIES)]
                if not self._met(queue, signals, kind == PacketType.BARRIER_OR, host):
                    return False
            case PacketType.VENDOR if data.Const(VENDOR_PACKET, raw).format == VendorFormat.CHECKPOINT:
                for other in self._queues:
                    for flight in other.flights.values():
                        here = not (flight.away or flight.owing)
                        flight.due |= here and other.control("priority") < queue.control("priority")
            case _:
                raise PacketError(QueueError.BAD_PACKET)
        queue.next = queue.next + 1 & _INDEX
        signal = packet.completion_signal
        queue.barrier = None if count_down(host, signal) else signal
        return True

    @staticmethod
    def _met(queue: _Queue, signals: list[int], one_suffices: bool, host: QueueHost) -> bool:
        """Return whether a barrier is passed. A signal that memory refuses is read again later, `TRIES` times."""
        try:
            passed = met(host, signals, one_suffices, queue.no_signal)
        except PacketError as stop:
            queue.tries += 1
            if stop.error is QueueError.BUS_ERROR and queue.tries < TRIES:
                return False
            queue.tries = 0
            raise
        queue.tries = 0
        return passed

    def _return(self, queue: _Queue, place: int, host: QueueHost) -> bool:
        """Bring back a kernel that is away, by its packet."""
        _, packet = self._read_packet(queue, queue.flights[place].index, host)
        if packet.header.type != PacketType.DISPATCH:
            raise PacketError(QueueError.BAD_PACKET)
        return self._dispatch(queue, place, packet, host)

    def _dispatch(self, queue: _Queue, back: int | None, packet: data.Const, host: QueueHost) -> bool:
        """Start the kernel of a packet, or adopt that of the place that it comes back to."""
        if packet.kernel_object >> ADDRESS_BITS or packet.kernarg_address >> ADDRESS_BITS:
            raise PacketError(QueueError.BAD_PACKET)
        if packet.kernel_object % PACKET_BYTES or queue.outside(packet.kernel_object, PACKET_BYTES):
            raise PacketError(QueueError.BAD_OBJECT)
        free = self._free(host)
        queue.roomless = not free
        if not free:
            return False
        slot = free[0]
        found = data.Const(KERNEL_OBJECT, int.from_bytes(
            fetch(host, packet.kernel_object, PACKET_BYTES), "little"))
        if found.magic != KERNEL_OBJECT_MAGIC:
            raise PacketError(QueueError.BAD_OBJECT)
        if (queue.outside(found.code_base, INSTRUCTION_BYTES * found.code_words)
                or queue.outside(found.const_base, found.const_bytes)):
            raise PacketError(QueueError.BAD_OBJECT)
        if queue.outside(packet.kernarg_address, WORD_BYTES * found.kernarg_words):
            raise PacketError(QueueError.BAD_PACKET)
        words, sms = slot_words(host, queue.word, packet, found), host.geometry.sms
        place = next(k for k in range(queue.places) if k not in queue.flights) if back is None else back
        for sm in range(sms):
            own = {f"{name}_base": queue.word(f"{name}_base") + (place * sms + sm) * queue.word(f"{name}_stride")
                   for name in ("ccb", "local")}
            for name, value in (words | own).items():
                host.describe(sm, f"kernel[{slot}].{name}", value & 0xFFFF_FFFF)
        if not host.give(op=Command.START if back is None else Command.ADOPT, kernel=slot):
            raise PacketError(QueueError.REFUSED)
        if back is None:
            queue.flights[place] = _Flight(queue.next, packet.completion_signal, host.cycle, slot)
            queue.next = queue.next + 1 & _INDEX
        else:
            flight = queue.flights[back]
            flight.slot, flight.away, flight.adopting, flight.mine = slot, False, True, True
        return True

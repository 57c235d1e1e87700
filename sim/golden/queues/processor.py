"""The queue processor in the golden model: reads packets and starts their kernels."""

from __future__ import annotations

from amaranth.lib import data

from caesura.hw.arch.commands import Command
from caesura.hw.arch.geometry import ADDRESS_BITS, INSTRUCTION_BYTES, WORD_BYTES
from caesura.hw.arch.packets import (
    BARRIER_AND,
    DEPENDENCIES,
    DISPATCH,
    KERNEL_OBJECT,
    KERNEL_OBJECT_MAGIC,
    PACKET_BYTES,
    VENDOR_PACKET,
    PacketType,
    QueueError,
    VendorFormat,
)
from caesura.hw.device.queues.queue_wait import TRIES

from .packets import PacketError, QueueHost, count_down, fetch, met, slot_words
from .preemption import QueuePreemption
from .queue import INDEX_MASK, Flight, Queue, QueueTable

__all__ = ["QueueProcessor"]


class QueueProcessor:
    """Begins the packets of the queues, one at a time.

    Parameters
    ----------
    table : QueueTable
    preemption : QueuePreemption
        Says whose kernels stay away.
    """

    def __init__(self, table: QueueTable, preemption: QueuePreemption):
        self._table, self._preemption = table, preemption
        self._turn = 0
        self._turns = [0] * len(table.queues)

    def begin(self, host: QueueHost) -> bool:
        """Begin the packet of the first queue that can; return whether there was one."""
        queues = self._table.queues
        for q in sorted(range(len(queues)), key=lambda q: (-queues[q].control("priority"), self._turns[q])):
            queue = queues[q]
            if queue.stuck:
                continue
            back = None if self._preemption.off(queue, host) or not self._table.free(host) else next(
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

    def _read_packet(self, queue: Queue, index: int, host: QueueHost) -> tuple[int, data.Const]:
        """Return a packet as a number, and as a dispatch; all have their signal in one place."""
        place = queue.word("base") + (index & (1 << queue.word("size")) - 1) * PACKET_BYTES
        raw = int.from_bytes(fetch(host, place, PACKET_BYTES), "little")
        packet = data.Const(DISPATCH, raw)
        if packet.header.type != PacketType.INVALID and queue.no_signal(packet.completion_signal):
            raise PacketError(QueueError.BAD_PACKET)
        return raw, packet

    def _packet(self, queue: Queue, host: QueueHost) -> bool:
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
                for other in self._table.queues:
                    for flight in other.flights.values():
                        here = not (flight.away or flight.owing)
                        flight.due |= here and other.control("priority") < queue.control("priority")
            case _:
                raise PacketError(QueueError.BAD_PACKET)
        queue.next = queue.next + 1 & INDEX_MASK
        signal = packet.completion_signal
        queue.barrier = None if count_down(host, signal) else signal
        return True

    @staticmethod
    def _met(queue: Queue, signals: list[int], one_suffices: bool, host: QueueHost) -> bool:
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

    def _return(self, queue: Queue, place: int, host: QueueHost) -> bool:
        """Bring back a kernel that is away, by its packet."""
        _, packet = self._read_packet(queue, queue.flights[place].index, host)
        if packet.header.type != PacketType.DISPATCH:
            raise PacketError(QueueError.BAD_PACKET)
        return self._dispatch(queue, place, packet, host)

    def _dispatch(self, queue: Queue, back: int | None, packet: data.Const, host: QueueHost) -> bool:
        """Start the kernel of a packet, or adopt that of the place that it comes back to."""
        if packet.kernel_object >> ADDRESS_BITS or packet.kernarg_address >> ADDRESS_BITS:
            raise PacketError(QueueError.BAD_PACKET)
        if packet.kernel_object % PACKET_BYTES or queue.outside(packet.kernel_object, PACKET_BYTES):
            raise PacketError(QueueError.BAD_OBJECT)
        free = self._table.free(host)
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
            queue.flights[place] = Flight(queue.next, packet.completion_signal, host.cycle, slot)
            queue.next = queue.next + 1 & INDEX_MASK
        else:
            flight = queue.flights[back]
            flight.slot, flight.away, flight.adopting, flight.mine = slot, False, True, True
        return True

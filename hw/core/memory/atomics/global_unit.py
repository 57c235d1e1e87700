"""Atomics on global memory: segments are read, changed lane by lane, and written back.

::

    segment --> entries (atomic_queue) --> read_port.request   (not while the segment is in flight)
                                                                +--> write_port  (changed words)
    read_port.beat --> arrived (atomic_queue) --> SegmentEngine +--> write       (what was there)
                                                                +--> trace
    write_port.ack --> entries leave, in order --> done, fault
"""

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ....arch.faults import Fault
from ....arch.geometry import ADDRESS_BITS, Geometry
from ....arch.isa.opcodes import Size
from ....interfaces import payloads as payload
from ....interfaces.gpu_ports import OrderPort
from ....interfaces.port import Port
from ....lib.bits import pick
from ....memory.ports import ReadInterface, ReadPort, WriteInterface, WritePort
from ..coalescer import OFFSET_BITS, segment
from ..generation import Backlog, is_stale
from ..load_unit import access_fault
from ..touched_beats import touched_beats
from .engine import SegmentEngine
from .entries import WORD_BITS, entry, operand, trace_atomic

__all__ = ["GlobalAtomics"]


class GlobalAtomics(wiring.Component):
    """Performs the atomics of an SM on global memory, all at one point of order.

    Segments are read, changed and written in the order in which they come. Up to `atomic_queue` are
    in flight. A segment whose address equals that of another waits until the other's write is
    acknowledged, and the segments behind it wait too. Only the bus beats that the lanes touch are
    read, and only the words that the operations changed are written. So a store of another warp to
    other words is never lost. An operation that changes nothing (a compare-and-swap that fails)
    loses no store at all. A plain store to a word that an atomic changes at the same time may be
    overwritten; PTX leaves such a race undefined. One of several SMs owns a segment (`OrderPort`)
    from before it is read until its write is acknowledged, which takes a cycle more.

    From the last beat on `LoadStore.op` to the request are 3 cycles, from the last bus beat on
    those of `SegmentEngine`.

    A segment whose `kind` is set, or with a failed beat, changes nothing and writes its registers
    with empty masks. The segments after it of the same instruction do the same. A failed read or
    write is reported once per instruction, as BUS_ERROR at the segment's lowest lane.

    A segment whose warp is forgotten is not read, changed or written any more. If its burst has
    been requested already, the rest of the burst has no strobes.

    Attributes
    ----------
    segment : stream of segment, in
        Atomics only.
    data : In
        b, c, high word of b and high word of c, of every lane of `segment`.
    generations : payloads.generations, in; forget : Signal(1), in; lingering : Signal(1), out
        Described in `CompletionPort`.
    write : stream of tagged register_write, out
    done : tagged warp_event, out
        One cycle, after everything of an instruction was acknowledged and its registers written.
    fault : stream of access_fault, out
    trace : Out
        The lanes in order, as they find their words.
    acknowledged : Signal(ADDRESS_BITS), out
        Address in the segment whose burst is acknowledged next; exists only with
        `Geometry.watches`.
    read_port, write_port : ReadPort, WritePort
    order : OrderPort, out
        Port to the point of order; exists only on one of several SMs.
    """

    segment: stream.Interface
    data: View
    generations: View
    forget: Signal
    lingering: Signal
    write: stream.Interface
    done: View
    fault: stream.Interface
    trace: View
    read_port: ReadInterface
    write_port: WriteInterface
    acknowledged: Signal
    order: Port

    def __init__(self, g: Geometry, slots: int):
        self.geometry = g
        super().__init__({
            **({"order": Out(OrderPort())} if g.has_uncore else {}),
            **({"acknowledged": Out(ADDRESS_BITS)} if g.watches else {}),
            "segment": In(stream.Signature(segment(g, slots))),
            "data": In(data.ArrayLayout(data.ArrayLayout(32, g.warp_size), 4)),
            "generations": In(payload.generations(g)), "forget": In(1), "lingering": Out(1),
            "write": Out(stream.Signature(payload.tagged(payload.register_write(g)))),
            "done": Out(payload.tagged(payload.warp_event(g))),
            "fault": Out(stream.Signature(access_fault(g))),
            "trace": Out(trace_atomic(g)),
            "read_port": Out(ReadPort(g)),
            "write_port": Out(WritePort(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.engine = engine = SegmentEngine(g)
        wiring.connect(m, engine.write, wiring.flipped(self.write))
        wiring.connect(m, engine.port.request, wiring.flipped(self.write_port.request))
        wiring.connect(m, engine.port.beat, wiring.flipped(self.write_port.beat))
        push = Signal()
        ask = Signal()
        arrive = Signal()
        leave = Signal()
        events = {"tail": push, "asking": ask, "arriving": arrive,
                  "working": engine.finish, "head": leave}
        pointers = {name: Signal(payload.below(g.atomic_queue), name=name) for name in events}
        for name, pointer in pointers.items():
            with m.If(events[name]):
                m.d.sync += pointer.eq(Mux(pointer == g.atomic_queue - 1, 0, pointer + 1))
        used, unasked, expected, arrived, finished = (
            self._count(m, name, more, less) for name, more, less in (
                ("used", push, leave), ("unasked", push, ask), ("expected", ask, arrive),
                ("arrived", arrive, engine.finish), ("finished", engine.finish, leave)))
        m.d.comb += [self.segment.ready.eq(used != g.atomic_queue),
                     push.eq(self.segment.valid & self.segment.ready),
                     engine.waiting.eq(arrived != 0), self.trace.eq(engine.trace)]
        to_ask, to_arrive, oldest = self._entries(m, engine, push, pointers)
        requested = self._request(m, to_ask, pointers, unasked != 0, ask, leave)
        self._arrivals(m, engine, to_arrive, requested.bit_select(pointers["arriving"], 1),
                       pointers, expected != 0, arrive)
        self._leave(m, engine, oldest, pointers, finished != 0, leave)
        m.submodules.backlog = backlog = Backlog(g.atomic_queue)
        m.d.comb += [engine.forgotten.eq(is_stale(self.generations, engine.entry)),
                     backlog.enter.eq(push), backlog.leave.eq(leave),
                     backlog.mark.eq(self.forget), self.lingering.eq(backlog.pending)]
        return m

    def _count(self, m: Module, name: str, more: Value, less: Value):
        """Number of entries between two events."""
        count = Signal(range(self.geometry.atomic_queue + 1), name=name)
        with m.If(more ^ less):
            m.d.sync += count.eq(Mux(more, count + 1, count - 1))
        return count

    def _entries(self, m: Module, engine: SegmentEngine, push: Value,
                 pointers: Mapping[str, Value]):
        """The memories of the segments in flight;
        returns those to request, to arrive and to leave."""
        g, offered = self.geometry, self.segment.payload
        m.submodules.entries = entries = memory.Memory(shape=entry(g),
                                                       depth=g.atomic_queue, init=[])
        write = entries.write_port()
        m.d.comb += [write.addr.eq(pointers["tail"]), write.en.eq(push),
                     write.data.wide.eq(offered.size == Size.B64),
                     write.data.void.eq(offered.kind != Fault.NONE),
                     write.data.begins.eq(offered.first)]
        m.d.comb += [write.data[name].eq(offered[name]) for name in (
            "warp", "base", "pc", "d", "writes_d", "function", "address", "mask", "last",
            "generation")]
        for i in range(g.warp_size):
            self._operands(m, i, engine, push, pointers)
        with m.If(push):
            first, last = touched_beats(m, g, offered)
            m.d.comb += [write.data.first.eq(first), write.data.last_beat.eq(last)]
        to_ask = entries.read_port(domain="comb")
        to_arrive = entries.read_port(domain="comb")
        oldest = entries.read_port(domain="comb")
        working = entries.read_port(domain="comb")
        m.d.comb += [
            to_ask.addr.eq(pointers["asking"]), to_arrive.addr.eq(pointers["arriving"]),
            oldest.addr.eq(pointers["head"]), working.addr.eq(pointers["working"]),
            engine.entry.eq(working.data),
        ]
        return to_ask.data, to_arrive.data, oldest.data

    def _operands(self, m: Module, i: int, engine: SegmentEngine, push: Value,
                  pointers: Mapping[str, Value]):
        """The memory of what lane `i` has of its own."""
        g, offered = self.geometry, self.segment.payload
        m.submodules[f"operands_{i}"] = store = memory.Memory(shape=operand(),
                                                              depth=g.atomic_queue, init=[])
        write = store.write_port()
        read = store.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(pointers["tail"]), write.en.eq(push),
            write.data.place.eq(offered.offset[i][WORD_BITS:]),
            write.data.b.eq(Cat(self.data[0][i], self.data[2][i])),
            write.data.c.eq(Cat(self.data[1][i], self.data[3][i])),
            read.addr.eq(pointers["working"]), engine.operands[i].eq(read.data),
        ]

    def _request(self, m: Module, asked: View, pointers: Mapping[str, Value], waiting: Value,
                 ask: Signal, leave: Value):
        """Request the next segment, unless it is in flight already; return those that are."""
        g, request = self.geometry, self.read_port.request
        number = asked.address[OFFSET_BITS:]
        places = [Signal(len(number), name=f"segment_{i}") for i in range(g.atomic_queue)]
        in_flight = Signal(g.atomic_queue)
        conflict = Signal()
        silent = Signal()  # nothing is requested
        owned = Signal(name="owned") if g.has_uncore else None
        stale = is_stale(self.generations, asked)
        m.d.comb += silent.eq(asked.void | (stale if owned is None else stale & ~owned))
        with m.If(waiting):
            m.d.comb += conflict.eq(Cat(in_flight[i] & (place == number)
                                        for i, place in enumerate(places)).any())
        requestable = waiting & ~silent & ~conflict
        if owned is not None:
            self._own(m, owned, requestable, number, ask)
            give, head = self.order.give, pointers["head"]
            m.d.comb += [give.valid.eq(leave & in_flight.bit_select(head, 1)),
                         give.segment.eq(pick(places, head))]
            requestable = requestable & owned
        m.d.comb += [
            request.valid.eq(requestable),
            request.payload.address.eq(Cat(Const(0, exact_log2(g.bus_bytes)), asked.first, number)),
            request.payload.extra_beats.eq(asked.last_beat - asked.first),
            ask.eq(waiting & (silent | (request.valid & request.ready))),
        ]
        for i, place in enumerate(places):
            with m.If(ask & (pointers["asking"] == i)):
                m.d.sync += [place.eq(number), in_flight[i].eq(~silent)]
            with m.Elif(leave & (pointers["head"] == i)):
                m.d.sync += in_flight[i].eq(0)
        return in_flight

    def _own(self, m: Module, owned: Signal, requestable: Value, number: Value, ask: Value):
        """Take the segment that is `wanted`; it is requested then, whatever becomes of its warp."""
        take = self.order.take
        m.d.comb += [take.valid.eq(requestable & ~owned), take.payload.eq(number)]
        with m.If(ask):
            m.d.sync += owned.eq(0)
        with m.Elif(take.valid & take.ready):
            m.d.sync += owned.eq(1)

    def _arrivals(self, m: Module, engine: SegmentEngine, arriving: View, requested: Value,
                  pointers: Mapping[str, Value], waiting: Value, arrive: Signal):
        """Store the beats of the next segment, if it was requested, as they come, so that the bus
        never waits. Show the engine the beats that it wants."""
        g, beat = self.geometry, self.read_port.beat
        number = Signal(range(g.burst_beats))
        here = Signal(range(g.burst_beats))
        begun = Signal()
        spoiled = Signal(g.atomic_queue)
        m.submodules.beats = store = memory.Memory(shape=8 * g.bus_bytes,
                                                   depth=g.atomic_queue * g.burst_beats, init=[])
        write = store.write_port()
        read = store.read_port(domain="comb")
        m.d.comb += [
            beat.ready.eq(waiting & requested), here.eq(arriving.first),
            arrive.eq(waiting & (~requested | (beat.valid & beat.payload.last))),
            write.addr.eq(Cat(here, pointers["arriving"])), write.data.eq(beat.payload.data),
            write.en.eq(beat.valid & beat.ready),
            read.addr.eq(Cat(engine.number, pointers["working"])),
            engine.row.eq(read.data), engine.failed.eq(spoiled.bit_select(pointers["working"], 1)),
        ]
        with m.If(begun):
            m.d.comb += here.eq(number)
        with m.If(write.en):
            m.d.sync += [number.eq(here + 1), begun.eq(~beat.payload.last)]
            for i in range(g.atomic_queue):
                with m.If(pointers["arriving"] == i):
                    m.d.sync += spoiled[i].eq(beat.payload.error | (begun & spoiled[i]))

    def _leave(self, m: Module, engine: SegmentEngine, oldest: View, pointers: Mapping[str, Value],
               waiting: Value, leave: Signal):
        """Entries leave in order, those with a burst when it is acknowledged."""
        g, ack, fault = self.geometry, self.write_port.ack, self.fault
        wrote = Signal(g.atomic_queue)  # entries with a burst
        read_failed = Signal(g.atomic_queue)  # entries whose read failed
        awaits = Signal()  # the oldest has a burst
        failed = Signal()  # it was not read
        reported = Signal()  # an error was reported, of the instruction that was the oldest then
        before = Signal()  # one of this instruction
        report = Signal()  # one is to be reported
        if g.watches:
            m.d.comb += self.acknowledged.eq(oldest.address)
        for i in range(g.atomic_queue):
            with m.If(engine.finish & (pointers["working"] == i)):
                m.d.sync += [wrote[i].eq(engine.wrote), read_failed[i].eq(engine.read_failed)]
        m.d.comb += [
            awaits.eq(wrote.bit_select(pointers["head"], 1)),
            failed.eq(read_failed.bit_select(pointers["head"], 1)),
            before.eq(reported & ~oldest.begins),
            report.eq(Mux(awaits, ack.payload.error, failed & ~oldest.void) & ~before
                      & ~is_stale(self.generations, oldest)),
            fault.valid.eq(waiting & report & (ack.valid | ~awaits)),
            fault.payload.kind.eq(Fault.BUS_ERROR), fault.payload.warp.eq(oldest.warp),
            fault.payload.pc.eq(oldest.pc), fault.payload.address.eq(oldest.address),
            ack.ready.eq(waiting & awaits & (fault.ready | ~report)),
            leave.eq(waiting & (ack.valid | ~awaits) & (fault.ready | ~report)),
        ]
        m.d.sync += [self.done.valid.eq(leave & oldest.last), self.done.warp.eq(oldest.warp),
                     self.done.generation.eq(oldest.generation)]
        with m.If(leave):
            m.d.sync += reported.eq((before | report) & ~oldest.last)

"""Stores: the lanes of a segment become one burst of bus beats."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.faults import Fault
from ...arch.geometry import ADDRESS_BITS, PC_BITS, WORD_BYTES, Geometry
from ...interfaces import payloads as payload
from ...lib.bits import pick
from ...memory.ports import WriteInterface, WritePort
from .access_size import extra_registers, replicate, strobe
from .coalescer import OFFSET_BITS, segment
from .generation import Backlog, is_stale
from .load_unit import access_fault
from .touched_beats import touched_beats

__all__ = ["StoreUnit"]

WORD_BITS = exact_log2(WORD_BYTES)


class StoreUnit(wiring.Component):
    """Writes segments as bursts, one beat per cycle, from the first beat any lane writes to the
    last.

    Beats are built as they leave: of the lanes that write a byte the highest wins. The next segment
    is taken in the cycle the last beat leaves, so bursts follow each other without a gap. Up to
    `load_queue` bursts are unacknowledged. A segment with `kind` set makes no burst and only keeps
    its place among the acknowledgements. If the segment's warp is forgotten, a burst that has begun
    ends without strobes. The beats sent are acknowledged, and no error of the burst is reported.

    Attributes
    ----------
    segment : stream of segment, in
        Stores only.
    data : In
        ``data[k]`` is register ``d + k`` of every lane of `segment`.
    generations : payloads.generations, in; forget : Signal(1), in; lingering : Signal(1), out
        Described in `CompletionPort`.
    done : tagged warp_event, out
        One cycle, after the last burst of an instruction was acknowledged.
    fault : stream of access_fault, out
        BUS_ERROR at the segment's lowest lane, once an instruction.
    acknowledged : Signal(ADDRESS_BITS), out
        Address in the segment whose burst is acknowledged next; exists only with
        `Geometry.watches`.
    write_port : WritePort
    """

    segment: stream.Interface
    data: View
    generations: View
    forget: Signal
    lingering: Signal
    done: View
    fault: stream.Interface
    acknowledged: Signal
    write_port: WriteInterface

    def __init__(self, g: Geometry, slots: int):
        self.geometry = g
        super().__init__({
            "segment": In(stream.Signature(segment(g, slots))),
            "data": In(data.ArrayLayout(data.ArrayLayout(32, g.warp_size), 4)),
            "generations": In(payload.generations(g)), "forget": In(1), "lingering": Out(1),
            "done": Out(payload.tagged(payload.warp_event(g))),
            "fault": Out(stream.Signature(access_fault(g))),
            **({"acknowledged": Out(ADDRESS_BITS)} if g.watches else {}),
            "write_port": Out(WritePort(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, offered, port = self.geometry, self.segment, self.write_port
        taken = offered.payload
        void = Signal()  # the segment makes no burst
        take = Signal()  # its burst begins
        busy = Signal()  # a burst is sent
        free = Signal()  # the next may begin
        remembered = Signal()  # there is a place among the acknowledgements
        beat = Signal(range(g.burst_beats))
        last_beat = Signal(range(g.burst_beats))
        m.d.comb += [
            void.eq(taken.kind != Fault.NONE),
            free.eq((~busy | (port.beat.ready & port.beat.payload.last))
                    & (~port.request.valid | port.request.ready)),
            offered.ready.eq(remembered & (void | free)),
            take.eq(offered.valid & offered.ready & ~void),
            port.beat.valid.eq(busy), port.beat.payload.last.eq(beat == last_beat),
        ]
        with m.If(port.request.ready):
            m.d.sync += port.request.valid.eq(0)
        with m.If(busy & port.beat.ready):
            m.d.sync += [beat.eq(beat + 1), busy.eq(~port.beat.payload.last)]
        with m.If(take):
            first, last = touched_beats(m, g, taken)
            m.d.sync += [busy.eq(1), port.request.valid.eq(1), beat.eq(first), last_beat.eq(last),
                         port.request.payload.extra_beats.eq(last - first),
                         port.request.payload.address.eq(
                             Cat(Const(0, exact_log2(g.bus_bytes)), first,
                                 taken.address[OFFSET_BITS:]))]
        self._beat(m, take, beat)
        self._acknowledge(m, remembered)
        return m

    def _beat(self, m: Module, take: Value, beat: Value):
        """Hold the segment's lanes, and build beat number `beat` of it."""
        g, taken, out = self.geometry, self.segment.payload, self.write_port.beat.payload
        mask = Signal(g.warp_size)
        owner = Signal(payload.tagged(data.StructLayout({"warp": payload.below(g.warps)})))
        stale = Signal()
        m.d.comb += stale.eq(is_stale(self.generations, owner))
        extra = Signal(OFFSET_BITS - WORD_BITS)
        offsets = [Signal(OFFSET_BITS, name=f"offset_{i}") for i in range(g.warp_size)]
        strobes = [Signal(WORD_BYTES, name=f"strobe_{i}") for i in range(g.warp_size)]
        words = [[Signal(32, name=f"word_{k}_{i}") for i in range(g.warp_size)] for k in range(4)]
        with m.If(take):
            m.d.sync += [owner.warp.eq(taken.warp), owner.generation.eq(taken.generation)]
            m.d.sync += [mask.eq(taken.mask), extra.eq(extra_registers(taken.size))]
            for i in range(g.warp_size):
                m.d.sync += [offsets[i].eq(taken.offset[i]),
                             strobes[i].eq(strobe(taken.offset[i][:2], taken.size))]
                m.d.sync += [words[k][i].eq(replicate(self.data[k][i], taken.size) if k == 0
                                            else self.data[k][i]) for k in range(4)]
        for w in range(g.bus_words):
            place = Signal(OFFSET_BITS - WORD_BITS, name=f"place_{w}")
            k = Signal(2, name=f"register_{w}")
            start = Signal.like(place, name=f"start_{w}")
            m.d.comb += [place.eq(Cat(Const(w, exact_log2(g.bus_words)), beat)),
                         k.eq(place & extra), start.eq(place & ~extra)]
            lanes = []
            for i in range(g.warp_size):
                hit = mask[i] & (offsets[i][WORD_BITS:] == start)
                lanes.append((Mux(hit, strobes[i], 0), pick([words[n][i] for n in range(4)], k)))
            enable, word = _highest_wins(m, lanes, f"merged_{w}")
            m.d.comb += [out.strobe.word_select(w, WORD_BYTES).eq(Mux(stale, 0, enable)),
                         out.data.word_select(w, 32).eq(word)]

    def _acknowledge(self, m: Module, remembered: Signal):
        """Remember what is unacknowledged, and tell when an instruction is."""
        g, taken, ack = self.geometry, self.segment.payload, self.write_port.ack
        layout = data.StructLayout({"warp": payload.below(g.warps),
                                    "pc": PC_BITS, "address": ADDRESS_BITS,
                                    "first": 1, "last": 1, "void": 1,
                                    "generation": payload.GENERATION_BITS})
        entry = Signal(layout)
        oldest = Signal(layout)
        m.submodules.outstanding = queue = fifo.SyncFIFOBuffered(width=layout.size,
                                                                 depth=g.load_queue)
        reported = Signal()
        before = Signal()  # an error of this instruction was reported
        report = Signal()
        complete = Signal()
        fault = self.fault
        m.d.comb += [entry[name].eq(taken[name]) for name in ("warp", "pc", "address", "first",
                                                               "last", "generation")]
        m.d.comb += [
            entry.void.eq(taken.kind != Fault.NONE),
            remembered.eq(queue.w_rdy), queue.w_data.eq(entry),
            queue.w_en.eq(self.segment.valid & self.segment.ready), oldest.eq(queue.r_data),
            before.eq(reported & ~oldest.first),
            report.eq(ack.payload.error & ~before & ~is_stale(self.generations, oldest)),
            fault.valid.eq(queue.r_rdy & ~oldest.void & ack.valid & report),
            fault.payload.kind.eq(Fault.BUS_ERROR), fault.payload.warp.eq(oldest.warp),
            fault.payload.pc.eq(oldest.pc), fault.payload.address.eq(oldest.address),
            ack.ready.eq(queue.r_rdy & ~oldest.void & (fault.ready | ~report)),
            complete.eq(queue.r_rdy & (oldest.void | (ack.valid & ack.ready))),
            queue.r_en.eq(complete),
        ]
        m.d.sync += [self.done.valid.eq(complete & oldest.last), self.done.warp.eq(oldest.warp),
                     self.done.generation.eq(oldest.generation)]
        with m.If(complete):
            m.d.sync += reported.eq((before | fault.valid) & ~oldest.last)
        if g.watches:
            m.d.comb += self.acknowledged.eq(oldest.address)
        m.submodules.backlog = backlog = Backlog(g.load_queue)
        m.d.comb += [backlog.enter.eq(queue.w_en), backlog.leave.eq(complete),
                     backlog.mark.eq(self.forget), self.lingering.eq(backlog.pending)]


def _highest_wins(m: Module, lanes: Sequence[tuple[Value, Value]], name: str):
    """Merge (strobe, word) pairs byte by byte, the later ones over the earlier, as a tree."""
    level = 0
    while len(lanes) > 1:
        merged = []
        for pair, ((low_enable, low), (high_enable, high)) in enumerate(zip(lanes[::2], lanes[1::2],
                                                                            strict=True)):
            enable = Signal(WORD_BYTES, name=f"{name}_enable_{level}_{pair}")
            word = Signal(32, name=f"{name}_{level}_{pair}")
            m.d.comb += enable.eq(low_enable | high_enable)
            m.d.comb += [word.word_select(b, 8).eq(Mux(high_enable[b], high.word_select(b, 8),
                                                       low.word_select(b, 8)))
                         for b in range(WORD_BYTES)]
            merged.append((enable, word))
        lanes, level = merged, level + 1
    return lanes[0]

"""Record writer: the words of a TB's image that are not data, and the list of the data to be fetched.

For each warp as it stops a record header, predicates and SIMT stack; then the bitmap of shared lines; at the
end words 2 to 15 of the CCB entry (`arch.context`; Lin et al. IV-B and Fig. 13, left). The data (registers,
lines) follows each piece: the last chunk of a piece says how many rows.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.context import (
    CCB_ENTRY,
    ENTRY_BYTES,
    HEADER_WORDS,
    STACK_WORDS,
    WARP_HEADER,
    Mechanism,
    Pattern,
    area_address,
)
from ..arch.geometry import ADDRESS_BITS, MAX_REGISTERS, PREDICATES, SEGMENT_BYTES, WORD_BYTES, Geometry
from ..arch.isa import LIVE_REST
from ..core.interfaces import index, warp_view
from .bits import lowest, popcount, without_lowest
from .commit import HEAD_BYTES
from .fetch import fetch_item, rows_per_line
from .messages import resident_tb
from .packer import CHUNK_WORDS, chunk
from .segment_writer import write_job
from .session import session

__all__ = ["ENTRY_BODY_BYTES", "piece", "save_target", "save_tally", "RecordWriter"]

ENTRY_BODY_BYTES = CCB_ENTRY.size // 8 - HEAD_BYTES
"""Bytes of words 2 to 15 of an entry."""
GROUP = 32
"""Lines of a bitmap word."""


def piece(g: Geometry) -> data.StructLayout:
    """Tag of the last chunk of a piece: `rows` rows of data follow.

    With `skip` its words only take up room, with `ends` it ends a unit of the segment writer, the
    entry's last with `final`.
    """
    most = max(MAX_REGISTERS * g.beats, g.shared_lines * rows_per_line(g))
    return data.StructLayout({"rows": range(most + 1), "skip": 1, "ends": 1, "final": 1})


def save_target(g: Geometry) -> data.StructLayout:
    """A TB to be saved, its slot (also the number of its CCB entry) and its row of the TB table."""
    return data.StructLayout({"tb": index(g.tb_slots), "row": resident_tb(g)})


def save_tally(g: Geometry) -> data.StructLayout:
    """The stream of TB `tb` has been written out, or it has `ended` by itself; `valid` for one cycle.

    With it what was saved: bytes of the stream, registers, lines, warps.
    """
    return data.StructLayout({"valid": 1, "ended": 1, "tb": index(g.tb_slots), "data_bytes": 32,
                              "metadata_bytes": 32, "registers": 32, "lines": 32, "warps": 32})


class RecordWriter(wiring.Component):
    """Walks one TB at a time.

    Warps are taken as they stop; exited warps have no record. A TB none of whose warps is left when it would
    be completed (it finished, or was killed by a fault) is given up: its stream is ended, its entry's body
    not written, and `done.ended` set. A warp takes 5 cycles, and one for each predicate and stack entry,
    while the data of the one before is fetched and written.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    session : in
        The command; constant while `idle` is low.
    target : stream, in
        The next TB; ready while idle.
    done : out
    job : stream, out
        Units to be written: the stream and the entry's body.
    chunk : stream, out
        Words, with a `piece` as tag; each piece ends with a flush.
    item : stream, out
        Data to be fetched, in the order of the pieces.
    idle, waiting : Signal, out
        No TB in hand; TB in hand has only running warps left.
    """

    session: data.View
    target: stream.Interface
    done: data.View
    stopped: Signal
    exited: Signal
    save_select: data.View
    save_view: data.View
    flags_select: Signal
    flags_valid: Signal
    flags_predicates: Signal
    save_predicate_select: Signal
    save_predicate: Signal
    lines_valid: Signal
    job: stream.Interface
    chunk: stream.Interface
    item: stream.Interface
    idle: Signal
    waiting: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "session": In(session(g)), "target": In(stream.Signature(save_target(g))), "done": Out(save_tally(g)),
            "stopped": In(g.warps), "exited": In(g.warps),
            "save_select": Out(data.StructLayout({"warp": index(g.warps), "entry": 6})),
            "save_view": In(warp_view(g)),
            "flags_select": Out(index(g.warps)), "flags_valid": In(MAX_REGISTERS),
            "flags_predicates": In(PREDICATES), "save_predicate_select": Out(range(PREDICATES + 1)),
            "save_predicate": In(g.warp_size), "lines_valid": In(g.shared_lines),
            "job": Out(stream.Signature(write_job(g))), "chunk": Out(stream.Signature(chunk(piece(g)))),
            "item": Out(stream.Signature(fetch_item(g))), "idle": Out(1), "waiting": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        self._tb, self._row, self._warp = Signal(index(g.tb_slots)), Signal(resident_tb(g)), Signal(index(g.warps))
        self._area, self._saved, self._live_warps = Signal(ADDRESS_BITS), Signal(g.warps), Signal(32)
        self._mask, self._valid = Signal(MAX_REGISTERS), Signal(MAX_REGISTERS)
        self._count, self._predicates = Signal(range(MAX_REGISTERS + 1)), Signal(PREDICATES)
        self._entry, self._part = Signal(6), Signal(2)
        self._group, self._lines = Signal(range(g.shared_lines + 1)), Signal(range(g.shared_lines + 1))
        self._words, self._metadata_words = Signal(ADDRESS_BITS), Signal(ADDRESS_BITS)
        self._shared_image, self._registers = Signal(ADDRESS_BITS), Signal(32)
        self._in_stream, self._ended = Signal(), Signal()

        m.d.comb += [self.save_select.warp.eq(self._warp), self.save_select.entry.eq(self._entry),
                     self.flags_select.eq(self._warp), self.save_predicate_select.eq(lowest(self._predicates))]
        sent = self.chunk.valid & self.chunk.ready
        with m.If(sent & self._in_stream):
            m.d.sync += self._metadata_words.eq(self._metadata_words + self.chunk.payload.count)
        self._tally(m)
        with m.FSM():
            self._select(m)
            self._record(m)
            self._shared(m)
            self._finish(m)
        return m

    def _tally(self, m):
        m.d.comb += [
            self.done.ended.eq(self._ended), self.done.tb.eq(self._tb),
            self.done.data_bytes.eq(self._words * WORD_BYTES),
            self.done.metadata_bytes.eq(self._metadata_words * WORD_BYTES),
            self.done.registers.eq(self._registers), self.done.lines.eq(self._lines),
            self.done.warps.eq(popcount(self._live_warps)),
        ]

    def _emit(self, m, words, count, last: ValueLike = 0, **tag: ValueLike):
        """Offer a chunk; `last` ends its piece, with the given fields of the tag. Returns its `ready`."""
        payload = self.chunk.payload
        m.d.comb += [self.chunk.valid.eq(1), Value.cast(payload.words).eq(Cat(words)),
                     payload.count.eq(count), payload.flush.eq(last)]
        m.d.comb += [payload.tag[name].eq(value) for name, value in tag.items()]
        return self.chunk.ready

    def _select(self, m):
        """Take a TB, then its warps one by one as they stop."""
        g, row, s = self.geometry, self._row, self.session
        running, ready = Signal(g.warps), Signal(g.warps)
        m.d.comb += [running.eq(row.warps & ~self._saved & ~self.exited), ready.eq(running & self.stopped)]
        with m.State("IDLE"):
            m.d.comb += [self.idle.eq(1), self.target.ready.eq(1)]
            m.d.sync += [self._tb.eq(self.target.payload.tb), row.eq(self.target.payload.row), self._saved.eq(0),
                         self._live_warps.eq(0), self._words.eq(0), self._metadata_words.eq(0),
                         self._shared_image.eq(0), self._registers.eq(0), self._lines.eq(0), self._group.eq(0),
                         self._in_stream.eq(1), self._ended.eq(0), self._part.eq(0)]
            with m.If(self.target.valid):
                m.next = "OPEN"
        with m.State("OPEN"):
            m.d.sync += self._area.eq(area_address(g, s.ccb_base, s.area_bytes, self._tb))
            m.next = "WARP"
        with m.State("WARP"):
            m.d.comb += self.waiting.eq(running.any() & ~ready.any())
            m.d.sync += [self._warp.eq(lowest(ready)), self._entry.eq(0)]
            with m.If(ready.any()):
                m.next = "VIEW"
                with m.If(~self._saved.any()):
                    m.next = "STREAM"
            with m.Elif(~running.any()):
                m.next = "END"
                with m.If(~self._saved.any()):
                    m.d.sync += self._ended.eq(1)
                    m.next = "DONE"
                with m.Elif(s.lines != 0):
                    m.d.sync += self._shared_image.eq(self._area + (self._words + self._metadata_words) * WORD_BYTES)
                    m.next = "BITMAP"
        with m.State("STREAM"):
            m.d.comb += [self.job.payload.address.eq(self._area), self.job.payload.entry.eq(self._tb),
                         self.job.valid.eq(1)]
            with m.If(self.job.ready):
                m.next = "VIEW"

    def _record(self, m):
        """Write the record of one warp and list its registers."""
        g, s, view, item = self.geometry, self.session, self.save_view, self.item.payload
        live, header = Signal(MAX_REGISTERS), Signal(WARP_HEADER)
        m.d.comb += [
            live.eq(Cat(view.live_vector[:LIVE_REST], view.live_vector[LIVE_REST].replicate(
                MAX_REGISTERS - LIVE_REST))),
            header.warp.eq(view.block_warp), header.depth.eq(view.depth), header.predicates.eq(self._predicates),
            header.waiting.eq(view.waiting), header.barrier.eq(view.barrier), header.live_lanes.eq(view.live),
            header.launched_lanes.eq(view.launched), header.saved_registers.eq(self._count),
            header.pattern.eq(Cat(Mux(bit, Const(Pattern.RANDOM, 2), Const(Pattern.DEAD, 2)) for bit in self._mask)),
        ]
        words = header.as_value()
        with m.State("VIEW"):
            m.d.sync += [self._valid.eq(self.flags_valid), self._predicates.eq(self.flags_predicates),
                         self._mask.eq(s.allocated)]
            with m.If(s.mechanism == Mechanism.LIVE):
                m.d.sync += self._mask.eq(s.allocated & live & (self.flags_valid | s.scramble.replicate(MAX_REGISTERS)))
            m.next = "ITEM"
        with m.State("ITEM"):
            count = popcount(self._mask)
            m.d.comb += [item.warp.eq(self._warp), item.base.eq(view.base), item.mask.eq(self._mask),
                         item.valid.eq(self._valid), self.item.valid.eq(self._mask.any())]
            m.d.sync += self._count.eq(count)
            with m.If(self.item.ready | ~self._mask.any()):
                m.d.sync += [self._words.eq(self._words + (count << exact_log2(g.warp_size))),
                             self._registers.eq(self._registers + count)]
                m.next = "HEADER"
        with m.State("HEADER"):
            with m.If(self._emit(m, words.word_select(self._part[0], 32 * CHUNK_WORDS), CHUNK_WORDS)):
                m.d.sync += self._part.eq(self._part + 1)
                with m.If(self._part == HEADER_WORDS // CHUNK_WORDS - 1):
                    m.d.sync += self._part.eq(0)
                    m.next = "STACK"
                    with m.If(self._predicates.any()):
                        m.next = "PREDICATE"
        with m.State("PREDICATE"):
            with m.If(self._emit(m, self.save_predicate, 1)):
                m.d.sync += self._predicates.eq(without_lowest(self._predicates))
                with m.If(~without_lowest(self._predicates).any()):
                    m.next = "STACK"
        with m.State("STACK"):
            last = self._entry + 1 >= view.depth
            entry = Cat(view.pc, Const(0, 32 - len(view.pc)), view.mask, Const(0, 32 - g.warp_size),
                        view.reconv, Const(0, 32 - len(view.reconv)))
            with m.If(self._emit(m, entry, Mux(view.depth == 0, 0, STACK_WORDS), last=last,
                                 rows=self._count * g.beats)):
                m.d.sync += self._entry.eq(self._entry + 1)
                with m.If(last):
                    m.d.sync += [self._saved.eq(self._saved | (1 << self._warp)),
                                 self._live_warps.eq(self._live_warps | (1 << view.block_warp))]
                    m.next = "WARP"

    def _shared(self, m):
        """Write the bitmap of the shared lines, then list the lines."""
        g, s, item = self.geometry, self.session, self.item.payload
        first, left = Signal(range(g.shared_lines + 1)), Signal(range(g.shared_lines + 1))
        bits, valid, lines, last = Signal(GROUP), Signal(GROUP), Signal.like(self._lines), Signal()
        m.d.comb += [
            first.eq(self._row.first_line + self._group * GROUP), left.eq(s.lines - self._group * GROUP),
            last.eq(left <= GROUP), valid.eq(self.lines_valid.bit_select(first, GROUP)),
            bits.eq(Mux(last, (Const(1, 1) << left[:6]) - 1, ~Const(0, GROUP))
                    & (valid | (s.mechanism == Mechanism.OCCUPIED).replicate(GROUP))),
            lines.eq(self._lines + popcount(bits)),
        ]
        with m.State("BITMAP"):
            with m.If(self._emit(m, bits, 1, last=last, rows=lines * rows_per_line(g))):
                m.d.sync += [self._lines.eq(lines), self._group.eq(Mux(last, 0, self._group + 1))]
                with m.If(last):
                    m.d.sync += self._words.eq(self._words + lines * (SEGMENT_BYTES // WORD_BYTES))
                    m.next = "LINES"
        with m.State("LINES"):
            m.d.comb += [item.shared.eq(1), item.line.eq(first), item.mask.eq(bits), item.valid.eq(valid),
                         self.item.valid.eq(bits.any())]
            with m.If(self.item.ready | ~bits.any()):
                m.d.sync += self._group.eq(self._group + 1)
                with m.If(last):
                    m.next = "END"

    def _finish(self, m):
        """End the stream; write the body of the entry unless the TB has ended meanwhile."""
        g, s = self.geometry, self.session
        skip = HEAD_BYTES % g.bus_bytes // WORD_BYTES
        body = Signal(CCB_ENTRY)
        m.d.comb += [
            body.register_image.eq(self._area), body.shared_image.eq(self._shared_image),
            body.stack_image.eq(self._area), body.length.eq((self._words + self._metadata_words) * WORD_BYTES),
            body.launch_id.eq(self._row.launch_id), body.ctaid_x.eq(self._row.ctaid_x),
            body.ctaid_y.eq(self._row.ctaid_y), body.ctaid_z.eq(self._row.ctaid_z),
            body.live_warps.eq(self._live_warps), body.mechanism.eq(s.mechanism), body.registers.eq(s.registers),
            body.warps.eq(s.warps), body.local_base.eq(s.local_base), body.data_bytes.eq(self._words * WORD_BYTES),
            body.metadata_bytes.eq(self._metadata_words * WORD_BYTES), body.shared_lines.eq(self._lines),
        ]
        parts = -(-ENTRY_BODY_BYTES // (WORD_BYTES * CHUNK_WORDS))
        words = Signal(32 * CHUNK_WORDS * parts)
        m.d.comb += words.eq(body.as_value()[8 * HEAD_BYTES:])
        with m.State("END"):
            ended = ~(self._row.warps & ~self.exited).any()
            with m.If(self._emit(m, Const(0), 0, last=1, ends=1)):
                m.d.sync += [self._in_stream.eq(0), self._ended.eq(ended)]
                m.next = "BODY"
                with m.If(ended):
                    m.next = "DONE"
        with m.State("BODY"):
            m.d.comb += [self.job.valid.eq(1), self.job.payload.entry.eq(self._tb), self.job.payload.address.eq(
                s.ccb_base + self._tb * ENTRY_BYTES + HEAD_BYTES - skip * WORD_BYTES)]
            with m.If(self.job.ready):
                m.next = "SKIP" if skip else "WORDS"
        if skip:
            with m.State("SKIP"):
                with m.If(self._emit(m, Const(0), skip, last=1, skip=1)):
                    m.next = "WORDS"
        with m.State("WORDS"):
            last = self._part == parts - 1
            with m.If(self._emit(m, words.word_select(self._part, 32 * CHUNK_WORDS),
                                 Mux(last, ENTRY_BODY_BYTES // WORD_BYTES - (parts - 1) * CHUNK_WORDS, CHUNK_WORDS),
                                 last=last, ends=1, final=1)):
                m.d.sync += self._part.eq(self._part + 1)
                with m.If(last):
                    m.next = "DONE"
        with m.State("DONE"):
            m.d.comb += self.done.valid.eq(1)
            m.next = "IDLE"

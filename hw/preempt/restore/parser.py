"""Stream parser: takes the words of context images apart (`arch.context`)."""

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import MAX_REGISTERS, Geometry
from ...interfaces.payloads import below, register_flags, warp_init
from ...interfaces.port import Port
from ...interfaces.staying import staying_warp
from ...lib.bits import lowest_number, popcount, without_lowest
from ..formats.accepted_command import accepted_command
from ..formats.checksum import ChecksumPort
from ..formats.packer import CHUNK_WORDS
from ..formats.unpacker import word_beat
from .completion import parsed
from .encoding_table import EncodingTable
from .expander import expansion
from .jobs import restore_job
from .parse import Parse, ParserInputs
from .record_header import HeaderStates, build_load
from .record_registers import DataStates
from .record_scalars import ScalarStates
from .row_writer import row_chunk
from .shared_lines import LineStates
from .state_writer import warp_state

__all__ = ["StreamParser"]


class StreamParser(wiring.Component):
    """Parses streams one after the other, four words or one bus beat per cycle, the more of both.

    First the encoding table is kept, four words per cycle. Meanwhile warps that had exited are
    initialised, with no live lane. A record takes one cycle for its header, then one for each chunk
    of its words (`Geometry.chunk_words`). At most one cycle more comes with each stack entry, and
    one with its uniform and strided registers. The word that the lanes of a register share takes
    none. A bitmap word takes a cycle, an empty one another. The next stream begins in the cycle
    after the last word of one.

    A TB is bad, and the rest of its stream is skipped,

    * if `failed` was set before its last record, or its stream is too short or too long;
    * if the checksum of its table is not the one in its entry;
    * if a record names a warp that is not to come, or a depth that cannot be;
    * if a record has registers that the kernel has not, in an unknown encoding, or that follow
      nothing;
    * if an increment names a warp that its base has not.

    The registers of a warp that have stayed on the SM are loaded (`StayingMasks`) after its
    initialisation, which takes at least one cycle per warp.

    The warps of a base are initialised, but only its registers and lines are handed over. The
    increment begins when all of that has been written.

    Parameters
    ----------
    g : Geometry
    shared : bool
        Use a checksum outside, which the block has a port for, not one of its own.

    Attributes
    ----------
    accepted : in
    job : stream, in
    words, level : Signal, in
    take : Signal, out
        The words of the streams, from an `Unpacker`.
    failed : Signal, in
        The words cannot be trusted.
    warp_init : stream, out; load : stream of payloads.register_flags, out
        Warps and their register flags, for the core.
    mask_select : staying_warp, out; mask : Signal(MAX_REGISTERS), in
        The `StayingMasks`.
    state, state_words : stream, out
        Warps and their words, for a `StateWriter`.
    expansion, expansion_words : stream, out
        Warps and their words, for an `Expander`.
    row : stream, out
        Chunks for a `RowWriter`.
    parsed : stream, out
        TBs for a `Completion`, which is ready when all of the stream before has been written.
    writers_quiet : Signal, in
        None of the writers has something offered and not taken, or a whole row.
    writes_done : Signal, in
        Everything of the streams before has been written.
    drop : Signal, out
        The writers forget what they have: all of it is of a bad TB.
    idle : Signal, out
        No stream in hand.
    checksum : ChecksumPort, out
        If `shared`.
    """

    accepted: data.View
    job: stream.Interface
    words: data.View
    level: Signal
    take: Signal
    failed: Signal
    warp_init: stream.Interface
    load: stream.Interface
    mask_select: data.View
    mask: Signal
    state: stream.Interface
    state_words: stream.Interface
    expansion: stream.Interface
    expansion_words: stream.Interface
    row: stream.Interface
    parsed: stream.Interface
    writers_quiet: Signal
    writes_done: Signal
    drop: Signal
    idle: Signal
    checksum: Port

    def __init__(self, g: Geometry, *, shared: bool = False):
        self.geometry, self.shared = g, shared
        super().__init__({
            **({"checksum": Out(ChecksumPort(CHUNK_WORDS))} if shared else {}),
            "accepted": In(accepted_command(g)), "job": In(stream.Signature(restore_job(g))),
            "words": In(data.ArrayLayout(32, g.window_words)),
            "level": In(range(g.window_words + 1)), "take": Out(range(g.window_words + 1)),
            "failed": In(1),
            "warp_init": Out(stream.Signature(warp_init(g))),
            "load": Out(stream.Signature(register_flags(g))),
            "mask_select": Out(staying_warp(g)), "mask": In(MAX_REGISTERS),
            "state": Out(stream.Signature(warp_state(g))),
            "state_words": Out(stream.Signature(word_beat(g.chunk_words))),
            "expansion": Out(stream.Signature(expansion(g))),
            "expansion_words": Out(stream.Signature(word_beat(g.chunk_words))),
            "row": Out(stream.Signature(row_chunk(g))),
            "parsed": Out(stream.Signature(parsed(g))), "writers_quiet": In(1),
            "writes_done": In(1),
            "drop": Out(1),
            "idle": Out(1),
        })

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.table = table = EncodingTable(self.geometry, shared=self.shared)
        if self.shared:
            wiring.connect(m, table.checksum, wiring.flipped(self.checksum))
        parse = Parse(m, self.geometry, ParserInputs(
            self.accepted, self.words, self.level, self.take))
        lines = LineStates(parse)
        scalars = ScalarStates(parse, self.state_words)
        header = HeaderStates(parse, table, scalars, self.warp_init, self.state, self.expansion)
        rows = DataStates(parse, table, lines, self.row, self.expansion_words)
        self._init_exited(m, parse)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.idle.eq(1)
                self._begin(m, parse)
            self._table(m, parse, table)
            header.build_record(self.failed)
            header.build_init()
            if self.geometry.in_place:
                build_load(parse, self.load, self.mask_select, self.mask)
            scalars.build()
            rows.build_rows()
            lines.build_group()
            rows.build_expansion()
            lines.build_bitmap()
            self._end(m, parse, table)
        return m

    def _begin(self, m: Module, parse: Parse):
        """Take a job if there is one."""
        job = self.job.payload
        warps = (Const(1, 1) << self.accepted.warps) - 1
        m.d.comb += self.job.ready.eq(~job.increment | self.writes_done & ~self.parsed.valid)
        m.next = "IDLE"
        with m.If(self.job.valid & self.job.ready):
            with m.If(~job.increment):
                m.d.sync += parse.base_records.eq(Mux(job.base, job.live_warps, 0))
            m.d.sync += [parse.stream.eq(job), parse.words_left.eq(job.words + job.skip),
                         parse.bank.eq(~parse.bank), parse.record_pending.eq(job.live_warps),
                         parse.init_pending.eq(~job.live_warps & warps),
                         parse.skip_words.eq(job.skip),
                         *(register.eq(0) for register in (
                             parse.group, parse.shared, parse.unit, parse.part, parse.record,
                             parse.last_uniforms, parse.followed_registers,
                             parse.expander_opened))]
            m.next = "TABLE"

    def _init_exited(self, m: Module, parse: Parse):
        """Initialise the warps that had exited."""
        accepted, init, place = self.accepted, self.warp_init.payload, parse.stream.place
        number = Signal(below(self.geometry.max_block_warps))
        m.d.comb += [
            number.eq(lowest_number(parse.init_pending)), init.tb.eq(place.tb),
            init.kernel.eq(accepted.kernel), init.registers.eq(accepted.registers),
            self.warp_init.valid.eq(parse.init_pending.any()),
            init.warp.eq(place.slots[number]), init.block_warp.eq(number),
            init.base.eq(place.base + number * accepted.registers),
        ]
        with m.If(parse.init_pending.any() & self.warp_init.ready):
            m.d.sync += parse.init_pending.eq(without_lowest(parse.init_pending))

    def _table(self, m: Module, parse: Parse, table: EncodingTable):
        """Drop what comes before the encoding table, then keep the table."""
        rows = popcount(parse.record_pending)
        row_words_left = Signal.like(self.accepted.row_words)
        count = Signal(range(CHUNK_WORDS + 1))
        table_kept = Signal()
        m.d.comb += [
            row_words_left.eq(self.accepted.row_words - CHUNK_WORDS * parse.part),
            count.eq(Mux(row_words_left < CHUNK_WORDS, row_words_left, CHUNK_WORDS)),
            table.part.eq(parse.part)]
        m.d.comb += [table.words[k].eq(Mux(k < count, self.words[k], 0))
                     for k in range(CHUNK_WORDS)]
        with m.State("TABLE"):
            m.d.comb += [table.record.eq(parse.record), table_kept.eq(parse.record == rows)]
            with m.If(parse.skip_words.any()):
                _, words_taken = parse.need(parse.skip_words)
                with m.If(words_taken):
                    m.d.sync += parse.skip_words.eq(0)
            with m.Elif(parse.record != rows):
                _, words_taken = parse.need(count)
                m.d.comb += table.write.eq(words_taken)
                with m.If(words_taken):
                    m.d.sync += parse.part.eq(parse.part + 1)
                    with m.If(row_words_left <= CHUNK_WORDS):
                        m.d.comb += table_kept.eq(parse.record + 1 == rows)
                        m.d.sync += [parse.part.eq(0), parse.record.eq(parse.record + 1)]
            with m.If(table_kept & ~parse.init_pending.any()):
                m.d.sync += parse.record.eq(0)
                m.next = "RECORD"

    def _end(self, m: Module, parse: Parse, table: EncodingTable):
        """See that the stream has ended, or skip its rest; go on with the next."""
        tb, stream_end = self.parsed.payload, parse.words_left == 0
        m.d.comb += [tb.entry.eq(parse.stream.entry), tb.bank.eq(parse.bank),
                     tb.stream_crc.eq(parse.stream.stream_crc), tb.base.eq(parse.stream.base),
                     tb.increment.eq(parse.stream.increment)]
        with m.State("FINISH"):
            m.d.comb += [self.parsed.valid.eq(stream_end),
                         tb.bad.eq(table.crc != parse.stream.table_crc)]
            with m.If(~stream_end):
                m.next = "SKIP"
            with m.Elif(self.parsed.ready):
                self._begin(m, parse)
        with m.State("SKIP"):
            few = parse.few_words_left
            m.d.comb += [
                self.take.eq(Mux(few < self.level, few, self.level)),
                self.parsed.valid.eq(
                    stream_end & ~parse.init_pending.any() & self.writers_quiet),
                tb.bad.eq(1),
                self.drop.eq(self.parsed.valid & self.parsed.ready),
            ]
            with m.If(self.drop):
                m.next = "IDLE"

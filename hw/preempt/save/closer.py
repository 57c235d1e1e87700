"""Closer: the encoding table at the end of a TB's stream, the body of its CCB entry, and what was
saved of it.

All of these are known only once the last register of the TB has been compressed (`arch.context`;
Lin et al. IV-B).
"""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import ADDRESS_BITS, MAX_REGISTERS, SEGMENT_BYTES, WORD_BYTES, Geometry
from ...arch.image.context import CCB_ENTRY, VERSION, State, to_words
from ...arch.image.encodings import CODE_BITS
from ...interfaces.payloads import below
from ...interfaces.port import Port
from ...lib.bits import popcount
from ..formats.accepted_command import accepted_command
from ..formats.checksum import ChecksumPort, checksum_of
from ..formats.packer import CHUNK_WORDS, chunk, stream_words
from .collector import tb_data
from .committer import HEAD_BYTES
from .register_fetch import record_number

__all__ = ["ENTRY_BODY_BYTES", "closing_tag", "closing_job", "ORIGIN", "tb_origin",
           "save_tally", "Closer"]

ENTRY_BODY_BYTES = CCB_ENTRY.size // 8 - HEAD_BYTES
"""Bytes of words 2 to 15 of an entry."""


def closing_tag() -> data.StructLayout:
    """Tag of a closing flush: it ends a `final` unit; the TB is `closed` with it."""
    return data.StructLayout({"final": 1, "closed": 1})


def closing_job(g: Geometry) -> data.StructLayout:
    """A TB whose records and lines are all listed.

    Unless something was `written`, the TB has no stream. The stream has `records` records; those in
    `listed` (one bit per record, `items` in all) have registers. The image goes to a side. An
    `increment` belongs to the base with the checksum `base_crc`. An `evict`ed image belongs in the
    same way to the image that it completes. With `registers_stay` or `lines_stay` registers or
    lines of the TB stay, or have stayed, on the SM.
    """
    count = range(g.max_block_warps + 1)
    return data.StructLayout({
        "tb": below(g.tb_slots), "entry": below(g.context_entries), "area": ADDRESS_BITS,
        "bank": 1, "ended": 1, "written": 1, "live_warps": 32,
        "records": count, "items": count, "listed": g.max_block_warps, "registers": 32,
        "lines": range(g.shared_lines + 1),
        "metadata_words": stream_words(g), "side": 1, "increment": 1, "base_crc": 32,
        "evict": 1, "registers_stay": 1, "lines_stay": 1})


ORIGIN = {"launch_id": 32, "ctaid_x": 32, "ctaid_y": 16, "ctaid_z": 16, "local_base": ADDRESS_BITS}
"""Fields of an entry that say which TB it is of."""


def tb_origin() -> data.StructLayout:
    """Origin of the TB of a bank, whose job comes later; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "bank": 1, **ORIGIN})


def save_tally(g: Geometry) -> data.StructLayout:
    """The stream of TB `tb`, of CCB entry `entry` on a side, has been written out, or the TB has
    `ended` by itself; `valid` for one cycle.

    With it what was saved: bytes of the stream, registers, lines, warps.
    """
    return data.StructLayout({"valid": 1, "ended": 1, "tb": below(g.tb_slots),
                              "entry": below(g.context_entries), "side": 1,
                              "data_bytes": 32, "metadata_bytes": 32, "registers": 32,
                              "lines": 32, "warps": 32})


class Closer(wiring.Component):
    """Closes one TB at a time while the records of the next are written.

    Waits until all registers of the TB are in. Then it takes one cycle per record and a few more,
    or two per record if a row of the table has more than four words.

    Parameters
    ----------
    g : Geometry
    shared : bool
        Use a checksum outside, which the block has a port for, not one of its own.

    Attributes
    ----------
    accepted : in
    origin : in; job : stream, in
        Origins and jobs of a `RecordWriter`.
    select, vector, collected, clear
        The `Collector`.
    chunk : stream, out
        The encoding table, which ends the stream, then the entry: two words of its head that are
        not written with it, and its body, the last flush with `closed`.
    bounded, stream_words : Signal, out; stream_crc : Signal, in
        The `Sealer`.
    done : out
    busy : Signal, out
    checksum : ChecksumPort, out
        If `shared`.
    """

    accepted: data.View
    origin: data.View
    job: stream.Interface
    select: data.View
    vector: Signal
    collected: data.View
    clear: Signal
    chunk: stream.Interface
    bounded: Signal
    stream_words: Signal
    stream_crc: Signal
    done: data.View
    busy: Signal
    checksum: Port

    def __init__(self, g: Geometry, *, shared: bool = False):
        self.geometry, self.shared = g, shared
        super().__init__({
            **({"checksum": Out(ChecksumPort(CHUNK_WORDS))} if shared else {}),
            "accepted": In(accepted_command(g)), "origin": In(tb_origin()),
            "job": In(stream.Signature(closing_job(g))),
            "select": Out(record_number(g)),
            "vector": In(CODE_BITS * MAX_REGISTERS),
            "collected": In(data.ArrayLayout(tb_data(g), 2)), "clear": Out(2),
            "chunk": Out(stream.Signature(chunk(closing_tag()))),
            "bounded": Out(1), "stream_words": Out(stream_words(g)), "stream_crc": In(32),
            "done": Out(save_tally(g)), "busy": Out(1),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        job = Signal(closing_job(g))
        collected = Signal(tb_data(g))
        data_words = Signal(stream_words(g))
        metadata_words = Signal(stream_words(g))
        origin = self._origin(m, job.bank)
        out = self.chunk.payload
        number = Signal(range(g.max_block_warps + 1))
        parts = -(-ENTRY_BODY_BYTES // (WORD_BYTES * CHUNK_WORDS))
        part = Signal(2)
        body = Signal(32 * CHUNK_WORDS * parts)
        table = checksum_of(m, self, CHUNK_WORDS, "table_checksum")
        m.d.comb += [
            body.eq(self._body(m, job, origin, data_words, metadata_words, table.crc)),
            self.stream_words.eq(data_words + job.metadata_words),
            table.start.eq(table.valid & (number == 0) & (part == 0)),
            table.data.eq(Value.cast(out.words)),
        ]
        m.d.comb += [
            collected.eq(self.collected[job.bank]),
            self.select.record.eq(number), self.select.bank.eq(job.bank),
            self.done.ended.eq(job.ended), self.done.tb.eq(job.tb), self.done.entry.eq(job.entry),
            self.done.side.eq(job.side),
            self.done.data_bytes.eq(data_words * WORD_BYTES),
            self.done.metadata_bytes.eq(metadata_words * WORD_BYTES),
            self.done.registers.eq(job.registers),
            self.done.lines.eq(job.lines), self.done.warps.eq(popcount(job.live_warps)),
        ]
        with m.FSM() as fsm:
            m.d.comb += self.busy.eq(~fsm.ongoing("IDLE"))
            with m.State("IDLE"):
                m.d.comb += self.job.ready.eq(1)
                m.d.sync += [job.eq(self.job.payload), number.eq(0), part.eq(0)]
                with m.If(self.job.valid):
                    m.next = "COLLECT"
            # The sizes are right only when the last register of the TB has been encoded.
            with m.State("COLLECT"):
                m.d.sync += [data_words.eq(collected.words
                                           + job.lines * (SEGMENT_BYTES // WORD_BYTES)),
                             metadata_words.eq(job.metadata_words
                                               + job.records * self.accepted.row_words)]
                with m.If(~job.written):
                    m.next = "DONE"
                with m.Elif(collected.items == job.items):
                    m.next = "TABLE"
            with m.State("TABLE"):
                row_words_left = Signal.like(self.accepted.row_words)  # words of the row
                over = Signal()  # none are left after these
                last = over & (number + 1 == job.records)
                listed = job.listed.bit_select(number, 1)
                m.d.comb += [
                    row_words_left.eq(self.accepted.row_words - CHUNK_WORDS * part),
                    over.eq(row_words_left <= CHUNK_WORDS), self.chunk.valid.eq(1),
                    Value.cast(out.words).eq(Mux(
                        listed, self.vector.word_select(part[:1], 32 * CHUNK_WORDS), 0)),
                    out.count.eq(Mux(over, row_words_left, CHUNK_WORDS)),
                    out.flush.eq(last), out.tag.closed.eq(job.ended),
                    self.bounded.eq(1), table.valid.eq(self.chunk.ready)]
                with m.If(self.chunk.ready):
                    m.d.sync += part.eq(Mux(over, 0, part + 1))
                    with m.If(over):
                        m.d.sync += number.eq(number + 1)
                    with m.If(last):
                        m.next = "DONE"
                        with m.If(~job.ended):
                            m.next = "HEAD"
            # The checksum of the entry covers its head, which the `Committer` writes later.
            with m.State("HEAD"):
                evicted = job.evict if self.geometry.in_place else 0
                whole, base = (to_words(CCB_ENTRY, state=state, version=VERSION)[0]
                               for state in (State.COMPLETE, State.BASE))
                m.d.comb += [self.chunk.valid.eq(1),
                             out.words[0].eq(Mux(self.accepted.options.checkpoint | evicted,
                                                 base, whole)),
                             self.bounded.eq(1),
                             out.count.eq(HEAD_BYTES // WORD_BYTES), out.skip.eq(1)]
                with m.If(self.chunk.ready):
                    m.next = "BODY"
            with m.State("BODY"):
                last = part == parts - 1
                m.d.comb += [self.chunk.valid.eq(1), self.bounded.eq(1),
                             Value.cast(out.words).eq(body.word_select(part, 32 * CHUNK_WORDS)),
                             out.count.eq(Mux(
                                 last, ENTRY_BODY_BYTES // WORD_BYTES - (parts - 1) * CHUNK_WORDS,
                                 CHUNK_WORDS)),
                             out.flush.eq(last), out.tag.final.eq(1), out.tag.closed.eq(1)]
                with m.If(self.chunk.ready):
                    m.d.sync += part.eq(part + 1)
                    with m.If(last):
                        m.next = "DONE"
            # The bank is free again: the collector forgets its TB.
            with m.State("DONE"):
                m.d.comb += [self.done.valid.eq(1), self.clear.eq(1 << job.bank)]
                m.next = "IDLE"
        return m

    def _origin(self, m: Module, bank: Value):
        """Keep the origins of the TBs of both banks; return the one of the TB in hand."""
        layout = data.StructLayout(ORIGIN)
        m.submodules.origins = origins = Memory(shape=layout, depth=2, init=[])
        write = origins.write_port()
        read = origins.read_port(domain="comb")
        m.d.comb += [write.addr.eq(self.origin.bank), write.en.eq(self.origin.valid),
                     *(write.data[name].eq(self.origin[name]) for name in ORIGIN),
                     read.addr.eq(bank)]
        return read.data

    def _body(self, m: Module, job: data.View, origin: data.View, data_words: Value,
              metadata_words: Value, table_crc: Value):
        """Return words 2 to 15 of the entry."""
        s = self.accepted
        body = Signal(CCB_ENTRY)
        m.d.comb += [
            body.register_image.eq(job.area),
            body.length.eq((data_words + metadata_words) * WORD_BYTES),
            body.data_bytes.eq(data_words * WORD_BYTES), body.mechanism.eq(s.options.mechanism),
            body.registers.eq(s.registers), body.warps.eq(s.warps),
            body.geometry_hash.eq(self.geometry.hash), body.generation.eq(s.generation),
            body.stream_crc.eq(self.stream_crc), body.table_crc.eq(table_crc),
            body.incremental.eq(job.increment),
            body.base_crc.eq(Mux(job.increment, job.base_crc, 0)),
        ]
        if self.geometry.in_place:
            m.d.comb += [body.registers_stay.eq(job.registers_stay),
                         body.lines_stay.eq(job.lines_stay)]
            with m.If(job.evict):
                m.d.comb += body.base_crc.eq(job.base_crc)
        m.d.comb += [body.live_warps.eq(job.live_warps),
                     *(body[name].eq(origin[name]) for name in ORIGIN)]
        return body.as_value()[8 * HEAD_BYTES:]

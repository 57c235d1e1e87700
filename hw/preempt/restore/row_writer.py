"""Row writer: what was kept of the rows of registers and shared lines is gathered and becomes rows
again; all rows go to the core."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...arch.image.encodings import Encoding
from ...interfaces.payloads import below, physical, register_write, row_access, rows_per_line
from ..compress.group_decoder import decoded_beat
from ..compress.lane_decoder import lane_values
from .expander import expanded_tag

__all__ = ["row_place", "row_chunk", "RowWriter"]

LFSR_TAPS = 0x8020_0003
"""Galois LFSR of x^32 + x^22 + x^2 + x + 1, of period 2^32 - 1."""
LFSR_SEEDS = (0x9E37_79B9, 0x7F4A_7C15, 0xF39C_C060, 0x5CED_C834)
"""Where the generators of random bits start. Lane k uses number k mod 4, rotated by k, with some of
its bits inverted, so that lanes do not repeat each other some registers later."""


def row_place(g: Geometry) -> data.StructLayout:
    """Where a row belongs: row `row` of `shared` memory, or a beat of a register, its `last`.

    `bank` tells TBs that follow each other apart.
    """
    return data.StructLayout({
        "shared": 1, "warp": below(g.warps), "base": physical(g), "register": 6,
        "beat": below(g.beats), "last": 1, "row": range(g.shared_lines * rows_per_line(g)),
        "bank": 1})


def row_chunk(g: Geometry) -> data.StructLayout:
    """Part `part` of what was kept of the row of `place`, which it `completes`.

    `code` is the row's; with the part that is `headed` comes the word that the lanes of this row
    and of the register's others share.
    """
    return data.StructLayout({
        "words": data.ArrayLayout(32, g.chunk_words), "part": below(g.lanes // g.chunk_words),
        "completes": 1, "code": Encoding, "headed": 1, "shared": 32, "place": row_place(g)})


class RowWriter(wiring.Component):
    """Gathers chunks into rows and offers each until it is taken, while the next is gathered; when
    there is none for the register file, what the expander has until that is taken.

    A chunk a cycle; a row is offered in the cycle after its last chunk.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    chunk : stream, in
        A `row_chunk`.
    extra : stream, in
        Rows of an `Expander`.
    restore_write, row : stream, out
        Rows for the registers and the shared memory of the core.
    pending : Signal(2), out
        Banks of which a gathered row is not written yet.
    """

    chunk: stream.Interface
    extra: stream.Interface
    restore_write: stream.Interface
    row: stream.Interface
    pending: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "chunk": In(stream.Signature(row_chunk(g))),
            "extra": In(stream.Signature(decoded_beat(g, expanded_tag(g)))),
            "restore_write": Out(stream.Signature(register_write(g))),
            "row": Out(stream.Signature(row_access(g))), "pending": Out(2),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        count = g.lanes // g.chunk_words
        parts = [Signal(32 * g.chunk_words, name=f"part_{k}") for k in range(count - 1)]
        words = Signal(32 * g.lanes)  # of the row that is whole
        held = Signal()  # there is one
        place = Signal(row_place(g))  # and belongs there
        row_written = Signal()  # it is taken
        chunk_taken = Signal()
        entering = self.chunk.payload
        shared = Signal(32)  # the word of the row
        last_shared_word = Signal(32)  # that of the rows before
        coming = Value.cast(entering.words)
        low = Signal(32 * g.lanes)
        m.d.comb += [low.eq(Cat(*(Mux(entering.part == k, coming, each)
                                  for k, each in enumerate(parts)), coming)),
                     self.chunk.ready.eq(~entering.completes | ~held | row_written),
                     chunk_taken.eq(self.chunk.valid & self.chunk.ready),
                     self.pending.eq(Mux(held, 1 << place.bank, 0)),
                     shared.eq(Mux(entering.headed, entering.shared, last_shared_word))]
        with m.If(row_written):
            m.d.sync += held.eq(0)
        with m.If(chunk_taken):
            m.d.sync += last_shared_word.eq(shared)
            with m.If(entering.completes):
                m.d.sync += [held.eq(1), place.eq(entering.place),
                             words.eq(lane_values(m, g, entering.code, shared, low))]
        for k, each in enumerate(parts):
            with m.If(chunk_taken & (entering.part == k)):
                m.d.sync += each.eq(coming)
        self._offer(m, words, held, place, row_written)
        return m

    def _offer(self, m: Module, words: Value, held: Value, place: data.View, row_written: Signal):
        """Share the write port of the register file between gathered rows and the expander."""
        g, write, row, extra = self.geometry, self.restore_write, self.row, self.extra
        gathered = Signal()  # the row is the one offered to the register file
        pinned = Signal()  # the expander's beat was offered and not yet taken
        noise = [Signal(32, init=seed, name=f"noise_{k}") for k, seed in enumerate(LFSR_SEEDS)]
        m.d.comb += [
            gathered.eq(held & ~place.shared & ~pinned), write.valid.eq(gathered | extra.valid),
            row.valid.eq(held & place.shared), extra.ready.eq(write.ready & ~gathered),
            row_written.eq(held & Mux(place.shared, row.ready, gathered & write.ready)),
            write.payload.mask.eq(~Const(0, g.lanes)),
            row.payload.row.eq(place.row), row.payload.write.eq(1),
            Value.cast(row.payload.data).eq(words),
        ]
        with m.If(gathered):
            m.d.comb += [write.payload[name].eq(place[name])
                         for name in ("warp", "base", "register", "beat", "last")]
            m.d.comb += Value.cast(write.payload.data).eq(words)
        with m.Else():
            m.d.comb += [write.payload[name].eq(extra.payload.tag[name])
                         for name in ("warp", "base", "register")]
            m.d.comb += [write.payload[name].eq(extra.payload[name]) for name in ("beat", "last")]
            m.d.comb += Value.cast(write.payload.data).eq(Mux(extra.payload.dead, Cat(
                noise[lane % len(noise)].rotate_left(lane)
                ^ Const(LFSR_SEEDS[0] * (lane + 1) & 0xFFFF_FFFF, 32) for lane in range(g.lanes)),
                Value.cast(extra.payload.words)))
        m.d.sync += pinned.eq(extra.valid & ~gathered & ~write.ready)
        with m.If(write.valid & write.ready):
            m.d.sync += [lfsr.eq((lfsr >> 1) ^ (lfsr[0].replicate(32) & LFSR_TAPS))
                         for lfsr in noise]

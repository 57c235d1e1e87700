"""Merge: metadata, registers, shared lines and the end of each TB become one stream of chunks."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ..compress.register_encoder import lane_words, shares
from ..formats.packer import chunk, packed
from .closer import closing_tag
from .collector import item_rows, kept_row
from .line_fetch import line_row
from .records import piece

__all__ = ["Merge"]


class Merge(wiring.Component):
    """Puts each piece of metadata and the data after it into one stream, one chunk per cycle.

    After a piece come the rows of shared memory that its tag counts. With ``tag.registers`` the
    rows and then the words of one item follow, with ``tag.closes`` the closing chunks of its TB.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    pieces : stream, in
        Groups of words; those that end a piece have its tag.
    lines : stream, in
        Rows of shared memory, from a `LineFetch`.
    rows, words, items : stream, in
        Output of a `Collector`.
    closing : stream, in
        Chunks; the last one of a TB has a `closing_tag` with `closed`.
    chunk : stream, out
        A flush ends a unit, with the tag of the closing chunk.
    """

    pieces: stream.Interface
    lines: stream.Interface
    rows: stream.Interface
    words: stream.Interface
    items: stream.Interface
    closing: stream.Interface
    chunk: stream.Interface

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "pieces": In(stream.Signature(packed(g.chunk_words, piece(g)))),
            "lines": In(stream.Signature(line_row(g))),
            "rows": In(stream.Signature(kept_row(g))),
            "words": In(stream.Signature(packed(g.chunk_words))),
            "items": In(stream.Signature(item_rows(g))),
            "closing": In(stream.Signature(chunk(closing_tag()))),
            "chunk": Out(stream.Signature(chunk(closing_tag(), g.window_words))),
        })

    def elaborate(self, platform: Any):
        m = Module()
        pieces, words, closing = self.pieces, self.words, self.closing
        rows_left = Signal.like(pieces.payload.tag.rows)  # rows of lines left
        item_rows_taken = Signal.like(self.items.payload)  # rows of registers taken of an item
        in_item = Signal()  # an item follows its record
        closes = Signal()  # what closes the TB comes next
        chunk_taken = Signal()
        lines = rows_left != 0
        rows = in_item & ~(self.items.valid & (item_rows_taken == self.items.payload))
        m.d.comb += chunk_taken.eq(self.chunk.valid & self.chunk.ready)
        with m.If(lines | rows):
            row = self._row(m, chunk_taken, lines)
            m.d.sync += [rows_left.eq(rows_left - (row & lines)),
                         item_rows_taken.eq(item_rows_taken + (row & ~lines))]
        with m.Elif(in_item):
            self._group(m, words)
            with m.If(chunk_taken & words.payload.flush):
                m.d.comb += self.items.ready.eq(1)
                m.d.sync += [in_item.eq(0), item_rows_taken.eq(0)]
        with m.Elif(closes):
            m.d.comb += [self.chunk.valid.eq(closing.valid), closing.ready.eq(self.chunk.ready)]
            m.d.comb += [Value.cast(self.chunk.payload[name]).eq(Value.cast(closing.payload[name]))
                         for name in ("words", "count", "skip", "flush")]
            m.d.comb += self.chunk.payload.tag.eq(closing.payload.tag)
            with m.If(chunk_taken & closing.payload.flush & closing.payload.tag.closed):
                m.d.sync += closes.eq(0)
        with m.Else():
            self._group(m, pieces)
            tag = pieces.payload.tag
            with m.If(chunk_taken & pieces.payload.flush):
                m.d.sync += [rows_left.eq(tag.rows), in_item.eq(tag.registers),
                             closes.eq(tag.closes)]
        return m

    def _group(self, m: Module, source: stream.Interface):
        """Pass on a group of packed words."""
        out, group = self.chunk.payload, source.payload
        m.d.comb += [self.chunk.valid.eq(source.valid), source.ready.eq(self.chunk.ready),
                     Value.cast(out.words).eq(Value.cast(group.words)),
                     out.count.eq(sum(group.strobe[k] for k in range(self.geometry.chunk_words)))]

    def _row(self, m: Module, chunk_taken: Value, shared: Value):
        """Pass on a chunk of a row, of shared memory or of a register; return whether it is its
        last."""
        g, out, row = self.geometry, self.chunk.payload, self.rows.payload
        most = g.chunk_words
        part = Signal(range(max(2, g.lanes // most)))
        words_left = Signal(range(g.lanes + 1))  # words of the row from this part on
        headed = Signal()  # the word that all lanes share comes first
        last = Signal()
        words = Mux(shared, Value.cast(self.lines.payload),
                    Value.cast(row.words)).word_select(part, 32 * most)
        m.d.comb += [
            words_left.eq(Mux(shared, g.lanes, lane_words(g, row.code)) - part * most),
            last.eq(words_left <= most),
            headed.eq(~shared & row.first & shares(row.code) & (part == 0)),
            self.chunk.valid.eq(Mux(shared, self.lines.valid, self.rows.valid)),
            self.lines.ready.eq(self.chunk.ready & last & shared),
            self.rows.ready.eq(self.chunk.ready & last & ~shared),
            out.count.eq(Mux(last, words_left, most) + headed),
            Value.cast(out.words).eq(Mux(headed, Cat(row.shared, words), words)),
        ]
        with m.If(chunk_taken):
            m.d.sync += part.eq(Mux(last, 0, part + 1))
        return chunk_taken & last

"""The words of registers and shared lines, row by row (`StreamParser`)."""

from amaranth.hdl import Mux, Signal, Value
from amaranth.lib import stream
from amaranth.utils import exact_log2

from ...interfaces.payloads import rows_per_line
from ..compress.register_encoder import lane_words, shares
from .encoding_table import EncodingTable
from .parse import Parse
from .shared_lines import GROUP, LineStates

__all__ = ["DataStates"]


class DataStates:
    """Hands over the rows of registers and lines, and the words of registers for the expander.

    Parameters
    ----------
    parse : Parse
    table : EncodingTable
    lines : LineStates
        Lines have no codes, and more of them come with the next bitmap word.
    row : stream of row_writer.row_chunk
        Chunks for the `RowWriter`.
    expansion_words : stream of unpacker.word_beat
        Words for the `Expander`.
    """

    def __init__(self, parse: Parse, table: EncodingTable, lines: LineStates,
                 row: stream.Interface, expansion_words: stream.Interface):
        self.parse, self.table, self.lines = parse, table, lines
        self.row, self.expansion_words = row, expansion_words

    def build_rows(self):
        """Build the state that hands over the rows of the targets, the lowest first."""
        parse, g = self.parse, self.parse.geometry
        m, unit = parse.m, parse.unit
        row, place = self.row.payload, self.row.payload.place
        last_unit = Signal()
        row_words_left = Signal(range(g.lanes + 1))  # from this part on
        window = Value.cast(parse.words)
        line = parse.stream.place.first_line + (parse.group - 1) * GROUP + parse.target
        m.d.comb += [
            last_unit.eq(unit == Mux(parse.shared, rows_per_line(g) - 1, g.beats - 1)),
            row_words_left.eq(lane_words(g, parse.code) - parse.part * g.chunk_words),
            row.headed.eq(shares(parse.code) & (unit == 0) & (parse.part == 0)),
            row.shared.eq(parse.words[0]), row.code.eq(parse.code), row.part.eq(parse.part),
            row.completes.eq(row_words_left <= g.chunk_words),
            Value.cast(row.words).eq(Mux(row.headed, window >> 32, window)),
            place.shared.eq(parse.shared), place.register.eq(parse.target),
            place.warp.eq(parse.warp), place.base.eq(parse.base), place.beat.eq(unit),
            place.last.eq(last_unit), place.bank.eq(parse.bank),
            place.row.eq((line << exact_log2(rows_per_line(g))) + unit),
        ]
        with m.State("DATA"):
            words_there, words_taken = parse.need(
                Mux(row.completes, row_words_left, g.chunk_words) + row.headed,
                also=self.row.ready)
            m.d.comb += [self.row.valid.eq(words_there),
                         self.table.record.eq(parse.record - 1)]
            with m.If(words_taken):
                m.d.sync += parse.part.eq(Mux(row.completes, 0, parse.part + 1))
            with m.If(words_taken & row.completes):
                m.d.sync += unit.eq(Mux(last_unit, 0, unit + 1))
                with m.If(last_unit):
                    self._next_target()

    def _next_target(self):
        """Go on behind the last row of a register or line."""
        parse = self.parse
        m = parse.m
        with m.If(parse.shared):
            parse.aim()
        with m.Else():
            parse.aim(self.table)
        with m.If(parse.shared & ~parse.other_targets.any()):
            self.lines.next_group()
        with m.Elif(~parse.other_targets.any()):
            parse.go_on((parse.group_words != 0, "EXPANSION"),
                        (parse.record_pending.any(), "RECORD"))

    def build_expansion(self):
        """Build the state that hands over the words of uniform and strided registers."""
        parse, chunk = self.parse, self.expansion_words
        m, words_left, most = parse.m, parse.group_words, parse.geometry.chunk_words
        count = Signal(range(most + 1))
        m.d.comb += [count.eq(Mux(words_left < most, words_left, most)),
                     chunk.payload.count.eq(count),
                     Value.cast(chunk.payload.words).eq(parse.chunk())]
        with m.State("EXPANSION"):
            words_there, words_taken = parse.need(count, also=chunk.ready)
            m.d.comb += chunk.valid.eq(words_there)
            with m.If(words_taken):
                m.d.sync += words_left.eq(words_left - count)
                with m.If(words_left <= most):
                    parse.go_on((parse.record_pending.any(), "RECORD"))

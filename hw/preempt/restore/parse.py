"""The stream that a `StreamParser` has in hand: its registers, its words, and the way on through
the states of the parser.

The parser is one state machine in several files, a file for each kind of words: `parser` (encoding
table, end), `record_header`, `record_scalars`, `record_registers`, `shared_lines`.
"""

from amaranth.hdl import Module, Signal, Value, ValueLike
from amaranth.lib import data

from ...arch.geometry import MAX_REGISTERS, PREDICATES, UNIFORMS, Geometry
from ...arch.image.context import WARP_HEADER
from ...arch.image.encodings import CODE_BITS, SMALLEST_GROUP, Encoding
from ...interfaces.payloads import below, physical, rows_per_line
from ...lib.bits import lowest_number, spread, without_lowest
from ..formats.packer import WORD_COUNT_BITS
from .encoding_table import EncodingTable
from .jobs import restore_job

__all__ = ["Parse", "ParserInputs"]


class ParserInputs:
    """Inputs that all states of a parser read, and `take`, which they drive (`StreamParser`)."""

    def __init__(self, accepted: data.View, words: data.View, level: Signal, take: Signal):
        self.accepted, self.words, self.level, self.take = accepted, words, level, take


class Parse:
    """Registers of the stream in hand, and what its states have in common.

    Parameters
    ----------
    m : Module
        Of the parser; the state machine is built in it.
    g : Geometry
    inputs : ParserInputs
        The parser's ports.
    """

    def __init__(self, m: Module, g: Geometry, inputs: ParserInputs):
        self.m, self.geometry = m, g
        self.accepted, self.words = inputs.accepted, inputs.words
        self.level, self.take = inputs.level, inputs.take
        # The stream in hand.
        self.stream = Signal(restore_job(g))
        self.bank = Signal()
        self.words_left = Signal(WORD_COUNT_BITS)
        # The same as far as it matters: all, or more than can be taken in a cycle.
        self.few_words_left = Signal(g.window_words.bit_length())
        self.skip_words = Signal(range(g.chunk_words))
        self.record_pending = Signal(g.max_block_warps)  # warps with a record to come
        self.base_records = Signal(g.max_block_warps)  # with a record in the base of this stream
        self.init_pending = Signal(g.max_block_warps)  # that had exited, and are not initialised
        self.record = Signal(range(g.max_block_warps + 1))  # rows of the table, or records, taken
        # Facts about the records so far: uniform registers of the last, registers that others may
        # follow, and whether one had something for the expander.
        self.last_uniforms = Signal(UNIFORMS)
        self.followed_registers = Signal(MAX_REGISTERS)
        self.expander_opened = Signal()
        # The record in hand, and what is left of it.
        self.header = Signal(WARP_HEADER)
        self.live_lanes = Signal(g.warp_size)
        self.uniforms = Signal(UNIFORMS)
        self.repeated_uniforms = Signal(UNIFORMS)
        self.warp = Signal(below(g.warps))
        self.base = Signal(physical(g))
        self.scalars_left = Signal(range(PREDICATES + UNIFORMS + 1))
        self.entries_left = Signal(range(g.stack_depth + 1))
        self.group_words = Signal(range(2 * g.warp_size // SMALLEST_GROUP * MAX_REGISTERS + 1))
        self.codes_wrong = Signal()  # its codes make no sense
        self.expander_needed = Signal()
        self.state_parsed = Signal()  # nothing else of its state is left
        # Registers, or lines of a bitmap word, whose rows are gathered.
        self.targets = Signal(MAX_REGISTERS)
        self.other_targets = Signal(MAX_REGISTERS)  # without the lowest
        self.next_targets = Signal(MAX_REGISTERS)  # what they become in the next cycle
        self.lowest_target = Signal(range(MAX_REGISTERS))  # of these
        self.target = Signal(range(MAX_REGISTERS))  # the lowest
        self.code = Signal(Encoding)  # its code
        self.shared = Signal()  # they are lines
        self.group = Signal(range(g.shared_lines + 1))  # bitmap words taken
        # How far the lowest has come: row and part of it; before the records part of a table row.
        self.unit = Signal(range(max(g.beats, rows_per_line(g))))
        self.part = Signal(range(max(2, g.lanes // g.chunk_words)))
        few = len(self.few_words_left)
        m.d.sync += self.words_left.eq(self.words_left - self.take)
        m.d.comb += [
            self.few_words_left.eq(
                self.words_left[:few] | spread(self.words_left[few:].any(), few)),
            self.other_targets.eq(without_lowest(self.targets)),
            self.next_targets.eq(self.other_targets),
            self.lowest_target.eq(lowest_number(self.next_targets))]

    def chunk(self) -> Value:
        """Return the next words, as many as are handed over in a cycle."""
        return Value.cast(self.words)[:32 * self.geometry.chunk_words]

    def need(self, count: ValueLike, also: ValueLike = 1, known: ValueLike = 1):
        """Take `count` words once they are there and `also` holds; a stream without them is bad.
        Unless `known`, the `count` is not believed: it is of a word that has not come.

        Returns whether the words are there, and whether they are taken.
        """
        m = self.m
        words_there = Signal()
        words_taken = Signal()
        m.d.comb += [words_there.eq((self.level >= count) & (self.few_words_left >= count)),
                     words_taken.eq(words_there & also)]
        with m.If(words_taken):
            m.d.comb += self.take.eq(count)
        with m.If((self.few_words_left < count) & known):
            m.next = "SKIP"
        return words_there, words_taken

    def go_on(self, *choices: tuple[Value, str]):
        """Go to the first state whose condition holds; without one, to the end of the records."""
        m = self.m
        m.next = "FINISH"
        with m.If(self.accepted.lines != 0):
            m.next = "BITMAP"
        for condition, state in reversed(choices):
            with m.If(condition):
                m.next = state

    def aim(self, table: EncodingTable | None = None):
        """Take the next targets, and the code of their lowest if they have some."""
        m = self.m
        m.d.sync += [self.targets.eq(self.next_targets), self.target.eq(self.lowest_target)]
        if table is not None:
            m.d.sync += self.code.eq(table.codes.word_select(self.lowest_target, CODE_BITS))

"""The words of a warp's state: predicates, uniform registers and stack entries (`StreamParser`)."""

from amaranth.hdl import Mux, Signal, Value, ValueLike
from amaranth.lib import stream

from ...arch.image.context import STACK_WORDS
from ...lib.bits import pick
from .parse import Parse
from .state_writer import entry_words

__all__ = ["ScalarStates"]


class ScalarStates:
    """Hands the words of a warp's state over to the `StateWriter`.

    Parameters
    ----------
    parse : Parse
    chunk : stream of unpacker.word_beat
        The words, as many as a chunk has.
    """

    def __init__(self, parse: Parse, chunk: stream.Interface):
        self.parse, self.chunk = parse, chunk

    def hand_over(self, entries: Value, also: ValueLike):
        """Hand over the next words, once `also` holds: those of the predicates and uniform
        registers that are left, as far as a chunk reaches. Behind the last of them goes one of the
        `entries` of the stack if it has room.

        Returns whether the words are there, whether they are taken, and whether they are the last.
        """
        parse, chunk, most = self.parse, self.chunk, self.parse.geometry.chunk_words
        m, scalars = parse.m, parse.scalars_left
        scalar_words = Signal(range(most + 1), name="scalar_words")  # among those handed over
        entry_there = Signal(name="entry_there")  # the first word of a stack entry is there
        entry_whole = Signal(name="entry_whole")  # an entry goes with them
        count = Signal(range(most + 1), name="count")
        end = Signal(range(most + STACK_WORDS), name="end")  # words up to the last of that entry
        # The same if the entry begins with word k.
        ends = [Signal.like(end, name=f"end_{k}") for k in range(most)]
        m.d.comb += [each.eq(k + entry_words(parse.words[k])) for k, each in enumerate(ends)]
        m.d.comb += [
            scalar_words.eq(Mux(scalars < most, scalars, most)),
            entry_there.eq(parse.level > scalar_words),
            end.eq(pick(ends, scalar_words)),
            entry_whole.eq(entry_there & (scalars < most) & (end <= most)),
            count.eq(Mux(entry_whole, end, Mux(scalar_words == 0, 1, scalar_words))),
        ]
        words_there, words_taken = parse.need(count, also=also & chunk.ready)
        m.d.comb += [chunk.valid.eq(words_taken & ~parse.stream.base),
                     chunk.payload.count.eq(count),
                     Value.cast(chunk.payload.words).eq(parse.chunk())]
        with m.If(words_taken):
            m.d.sync += [parse.scalars_left.eq(scalars - scalar_words),
                         parse.entries_left.eq(entries - entry_whole)]
        return words_there, words_taken, entry_whole & (entries == 1)

    def build(self):
        """Build the state of the words that do not go with the initialisation of the warp."""
        parse = self.parse
        m = parse.m
        with m.State("STATE"):
            _, words_taken, state_parsed = self.hand_over(parse.entries_left, 1)
            with m.If(words_taken & state_parsed):
                parse.go_on((parse.targets.any(), "DATA"), (parse.group_words != 0, "EXPANSION"),
                            (parse.record_pending.any(), "RECORD"))

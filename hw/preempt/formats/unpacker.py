"""Word unpacker: bus beats in; the consumer takes a number of words a cycle
(Lin et al. Fig. 13, restoring)."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...lib.bits import chosen
from .packer import BEAT_WORDS, CHUNK_WORDS

__all__ = ["word_beat", "Unpacker"]


def word_beat(words: int) -> data.StructLayout:
    """A bus beat whose first `count` words are wanted; the `last` of its job, which is
    `checked`."""
    return data.StructLayout({"words": data.ArrayLayout(32, words), "count": range(words + 1),
                              "last": 1, "checked": 1})


class Unpacker(wiring.Component):
    """Gives out the wanted words of a stream of beats, in order, up to `words_out` a cycle.

    Parameters
    ----------
    words_in : int
        Words of a beat, a power of two up to 32.
    words_out : int
        Most words that are taken in a cycle.
    takes : sequence of int
        How many can be taken but none, if not all numbers up to that.
    ahead : bool
        Have room for another beat, so that whether one is taken does not depend on what the
        consumer takes in the same cycle.

    Attributes
    ----------
    beat : stream, in
    words : Signal, out
        The next words; the first `level` of them are valid.
    level : Signal, out
        Words there are, at most `words_out` shown.
    take : Signal, in
        Words the consumer takes this cycle, at most `level`.

    Raises
    ------
    ValueError
        If `words_in` is no such number.
    """

    beat: stream.Interface
    words: data.View
    level: Signal
    take: Signal

    def __init__(self, words_in: int, words_out: int = CHUNK_WORDS, takes: Sequence[int] = (), *,
                 ahead: bool = False):
        if words_in not in BEAT_WORDS:
            raise ValueError(f"words_in must be a power of two up to 32, not {words_in}")
        self.words_in, self.words_out, self.ahead = words_in, words_out, ahead
        self.takes = tuple(takes) or tuple(range(1, words_out + 1))
        super().__init__({
            "beat": In(stream.Signature(word_beat(words_in))),
            "words": Out(data.ArrayLayout(32, words_out)), "level": Out(range(words_out + 1)),
            "take": In(range(words_out + 1)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        n, most = self.words_in, self.words_out
        room = most + n if self.ahead else most  # with less there is room for a beat
        capacity = room + n - 1
        words = Signal(32 * capacity)
        level = Signal(range(capacity + 1))
        words_left = Signal(range(capacity + 1))
        beat = self.beat.payload
        enter = Signal()
        m.d.comb += [
            Value.cast(self.words).eq(words[:32 * most]),
            self.level.eq(Mux(level < most, level, most)),
            words_left.eq(level - self.take),
            self.beat.ready.eq((level if self.ahead else words_left) < room),
            enter.eq(self.beat.valid & self.beat.ready),
        ]
        m.d.sync += level.eq(words_left + Mux(enter, beat.count, 0))
        for place in range(capacity):
            word = words[32 * place:][:32]
            moved = chosen({by: words[32 * (place + by):][:32] for by in self.takes
                            if place + by < capacity} or {0: word}, self.take)
            fresh = chosen({at: beat.words[place - at] for at in range(room)
                            if 0 <= place - at < n}, words_left)
            with m.If((place >= level) | self.take.any()):
                m.d.sync += word.eq(Mux(place < words_left, moved, fresh))
        return m

"""Word unpacker: bus beats in; the consumer takes a number of words a cycle
(Lin et al. Fig. 13, restoring)."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

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

    def __init__(self, words_in: int, words_out: int = CHUNK_WORDS):
        if words_in not in BEAT_WORDS:
            raise ValueError(f"words_in must be a power of two up to 32, not {words_in}")
        self.words_in, self.words_out = words_in, words_out
        super().__init__({
            "beat": In(stream.Signature(word_beat(words_in))),
            "words": Out(data.ArrayLayout(32, words_out)), "level": Out(range(words_out + 1)),
            "take": In(range(words_out + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        n, most = self.words_in, self.words_out
        capacity = n + most - 1
        words = Signal(32 * capacity)
        level = Signal(range(capacity + 1))
        left = Signal(range(capacity + 1))
        beat = self.beat.payload
        enter = Signal()
        m.d.comb += [
            Value.cast(self.words).eq(words[:32 * most]),
            self.level.eq(Mux(level < most, level, most)),
            left.eq(level - self.take),
            self.beat.ready.eq(left < most), enter.eq(self.beat.valid & self.beat.ready),
        ]
        kept = Signal(32 * capacity)
        fresh = Signal(32 * n)
        placed = Signal(32 * capacity)
        m.d.comb += fresh.eq(Cat(Mux(enter & (k < beat.count), beat.words[k], 0) for k in range(n)))
        with m.Switch(self.take):
            for count in range(most + 1):
                with m.Case(count):
                    m.d.comb += kept.eq(words >> 32 * count)
        with m.Switch(left):
            for place in range(most):
                with m.Case(place):
                    m.d.comb += placed.eq(fresh << 32 * place)
        m.d.sync += [words.eq(kept | placed), level.eq(left + Mux(enter, beat.count, 0))]
        return m

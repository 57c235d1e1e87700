"""Word packer: chunks of words in, dense groups of words out, without bubbles (Lin et al. Fig.
13).

::

    chunk (0..words_in) --> [ w0 w1 .. ] accumulator --> beat (words_out words)
                             level
"""

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.encodings import SMALLEST_GROUP
from ...arch.geometry import CHUNK_WORDS, Geometry

__all__ = ["CHUNK_WORDS", "BEAT_WORDS", "WORD_COUNT_BITS", "register_words", "chunk", "packed",
           "Packer"]

BEAT_WORDS = 1, 2, 4, 8, 16, 32
"""Words that a bus beat can have."""

WORD_COUNT_BITS = 30
"""Bits of a number of words in a 32-bit byte space."""


def register_words(g: Geometry) -> int:
    """Return the most words of a uniform or strided register that are moved in a cycle: four, on a
    wider bus all."""
    return max(CHUNK_WORDS, min(g.chunk_words, 2 * g.warp_size // SMALLEST_GROUP))


def chunk(tag: ShapeLike = unsigned(1),  # noqa: B008 - a shape is immutable
          words: int = CHUNK_WORDS) -> data.StructLayout:
    """The first `count` of `words`; `skip` leaves their places unwritten;
    `flush` (with `tag`) ends a unit."""
    return data.StructLayout({"words": data.ArrayLayout(32, words), "count": range(words + 1),
                              "skip": 1, "flush": 1, "tag": tag})


def packed(words: int, tag: ShapeLike = unsigned(1)) -> data.StructLayout:  # noqa: B008
    """A group of words; `strobe` marks those written.
    `flush` ends a unit, and `tag` is its flush chunk's."""
    return data.StructLayout({"words": data.ArrayLayout(32, words),
                              "strobe": words, "flush": 1, "tag": tag})


class Packer(wiring.Component):
    """Packs chunks into groups of `words_out` words.

    A group goes out when it is full, or at a flush with what there is: a flush gives at least one
    group (with an empty strobe if nothing was left), and the next chunk starts a new group. A chunk
    a cycle, or a group a cycle if that is less; latency one cycle.

    Parameters
    ----------
    words_out : int
        Words of a group, a power of two up to 32.
    tag : ShapeLike
        What a flush carries along.
    words_in : int
        Most words of a chunk.

    Attributes
    ----------
    chunk : stream, in
    beat : stream, out

    Raises
    ------
    ValueError
        If `words_out` is no such number.
    """

    chunk: stream.Interface
    beat: stream.Interface

    def __init__(self, words_out: int, tag: ShapeLike = unsigned(1),  # noqa: B008
                 words_in: int = CHUNK_WORDS):
        if words_out not in BEAT_WORDS:
            raise ValueError(f"words_out must be a power of two up to 32, not {words_out}")
        self.words_out, self.words_in, self.tag = words_out, words_in, tag
        super().__init__({"chunk": In(stream.Signature(chunk(tag, words_in))),
                          "beat": Out(stream.Signature(packed(words_out, tag)))})

    def elaborate(self, platform):
        m = Module()
        n, most = self.words_out, self.words_in
        capacity = n + most - 1
        words = Signal(32 * capacity)  # collected
        strobe = Signal(capacity)  # which of them count
        level = Signal(range(capacity + 1))  # words there
        left = Signal(range(capacity + 1))  # and after a group has left
        flushing = Signal()  # the rest of a piece leaves, even if not full
        tag = Signal(self.tag)
        entering, group = self.chunk.payload, self.beat.payload
        full = Signal()  # a whole group is there
        ends = Signal()  # the last group of the piece
        leave = Signal()
        enter = Signal()
        m.d.comb += [
            full.eq(level >= n), ends.eq(flushing & (level <= n)),
            self.beat.valid.eq(full | flushing), leave.eq(self.beat.valid & self.beat.ready),
            Value.cast(group.words).eq(words[:32 * n]), group.strobe.eq(strobe[:n]),
            group.flush.eq(ends), Value.cast(group.tag).eq(Value.cast(tag)),
            left.eq(Mux(leave, Mux(full, level - n, 0), level)),
            self.chunk.ready.eq(Mux(flushing, leave & ends, left < n)),
            enter.eq(self.chunk.valid & self.chunk.ready),
        ]
        fresh = Signal(32 * most)
        fresh_strobe = Signal(most)
        m.d.comb += [
            fresh_strobe.eq(Cat(enter & (k < entering.count) & ~entering.skip
                                for k in range(most))),
            fresh.eq(Cat(Mux(enter & (k < entering.count), entering.words[k], 0)
                         for k in range(most))),
        ]
        placed = Signal(32 * capacity)
        placed_strobe = Signal(capacity)
        with m.Switch(left):
            for place in range(n):
                with m.Case(place):
                    m.d.comb += [placed.eq(fresh << 32 * place),
                                 placed_strobe.eq(fresh_strobe << place)]
        m.d.sync += [
            words.eq(Mux(leave, words >> 32 * n, words) | placed),
            strobe.eq(Mux(leave, strobe >> n, strobe) | placed_strobe),
            level.eq(left + Mux(enter, entering.count, 0)),
        ]
        with m.If(enter):
            m.d.sync += [flushing.eq(entering.flush), Value.cast(tag).eq(Value.cast(entering.tag))]
        with m.Elif(leave & ends):
            m.d.sync += flushing.eq(0)
        return m

"""Word packer: chunks of words in, dense groups of words out, without bubbles (Lin et al. Fig.
13).

::

    chunk (0..words_in) --> [ w0 w1 .. ] accumulator --> beat (words_out words)
                             level
"""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import CHUNK_WORDS, WORD_BYTES, Geometry
from ...arch.image.context import area_bound
from ...arch.image.encodings import SMALLEST_GROUP
from ...lib.bits import chosen

__all__ = ["CHUNK_WORDS", "BEAT_WORDS", "WORD_COUNT_BITS", "stream_words", "register_words",
           "chunk", "packed", "Packer"]

BEAT_WORDS = 1, 2, 4, 8, 16, 32
"""Words that a bus beat can have."""

WORD_COUNT_BITS = 30
"""Bits of a number of words in a 32-bit byte space."""


def stream_words(g: Geometry) -> range:
    """Return the shape of a number of words of a stream that the machine writes: of no TB are there
    more than `arch.context.area_bound` says."""
    return range(area_bound(g, g.max_block_warps, g.regs_per_thread, g.shared_bytes)
                 // WORD_BYTES + 1)


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

    A group goes out when it is full, or at a flush with the words that are there. A flush gives at
    least one group (with an empty strobe if nothing was left), and the next chunk starts a new
    group. Throughput is one chunk per cycle, or one group per cycle if that is less. Latency is one
    cycle.

    Parameters
    ----------
    words_out : int
        Words of a group, a power of two up to 32.
    tag : ShapeLike
        Shape of the tag that a flush carries along.
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

    def elaborate(self, platform: Any):
        m = Module()
        n, most = self.words_out, self.words_in
        capacity = n + most - 1
        words = Signal(32 * capacity)  # collected
        strobe = Signal(capacity)  # which of them count
        level = Signal(range(capacity + 1))  # words there
        words_left = Signal(range(capacity + 1))  # and after a group has left
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
            words_left.eq(Mux(leave, Mux(full, level - n, 0), level)),
            self.chunk.ready.eq(Mux(flushing, leave & ends, words_left < n)),
            enter.eq(self.chunk.valid & self.chunk.ready),
        ]
        after = Signal(range(capacity + 1))  # and when a chunk has come
        m.d.comb += after.eq(words_left + Mux(enter, entering.count, 0))
        m.d.sync += [level.eq(after), strobe.eq(Cat(
            Mux(place < words_left, Mux(leave, strobe[place + n:place + n + 1], strobe[place]),
                (place < after) & ~entering.skip) for place in range(capacity)))]
        for place in range(capacity):
            word = words[32 * place:][:32]
            moved = words[32 * (place + n):][:32]  # it comes here when a group leaves
            fresh = {at: entering.words[place - at] for at in range(n) if 0 <= place - at < most}
            coming = chosen(fresh if place + n >= capacity else {
                at: fresh.get(at, moved) for at in range(n)}, words_left)
            with m.If(leave | (place >= level)):
                m.d.sync += word.eq(Mux(words_left >= n, moved, coming) if most > n and len(moved)
                                    else coming)
            with m.If(place >= after):
                m.d.sync += word.eq(0)
        with m.If(enter):
            m.d.sync += [flushing.eq(entering.flush), Value.cast(tag).eq(Value.cast(entering.tag))]
        with m.Elif(leave & ends):
            m.d.sync += flushing.eq(0)
        return m

"""Stream checker: the checksum of each stream that is read, taken of the beats on their way in."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...lib.stream_queue import StreamQueue
from ..formats.checksum import Checksum
from ..formats.unpacker import word_beat

__all__ = ["streams_ahead", "StreamChecker"]

STREAMS_AHEAD = 4
"""Streams that have been read whole before the first of them is asked for, but for those that an
unpacker can hold whole."""
SHORTEST = 3
"""Words of the shortest stream: a header, a stack entry and a row of the table."""


def streams_ahead(g: Geometry) -> int:
    """Return how many checksums there can be before the first of them is asked for."""
    return STREAMS_AHEAD + (g.bus_words + g.window_words - 1) // SHORTEST


class StreamChecker(wiring.Component):
    """Computes `arch.context`'s ``stream_crc`` of each job of a `SegmentReader` that is `checked`.

    A beat a cycle; a checksum is offered two cycles after the last beat of its stream.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    beat_taken : Signal, in; beat : unpacker.word_beat, in
        A beat of the reader passes.
    crc : stream, out
        The checksums, in the order of the jobs; the first offered two cycles after its last beat.
    """

    beat_taken: Signal
    beat: data.View
    crc: stream.Interface

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({"beat_taken": In(1), "beat": In(word_beat(g.bus_words)),
                          "crc": Out(stream.Signature(32))})

    def elaborate(self, platform: Any):
        m = Module()
        n, beat = self.geometry.bus_words, self.beat
        m.submodules.checksum = of_stream = Checksum(n)
        m.submodules.results = results = StreamQueue(32, streams_ahead(self.geometry))
        wiring.connect(m, results.output, wiring.flipped(self.crc))
        counts = Signal()
        first = Signal(init=1)  # the next beat begins a stream
        over = Signal()  # the last beat was one cycle ago
        m.d.comb += [
            counts.eq(self.beat_taken & beat.checked), of_stream.start.eq(first),
            of_stream.valid.eq(counts),
            of_stream.data.eq(Cat(Mux(k < beat.count, beat.words[k], 0) for k in range(n))),
            results.input.valid.eq(over), results.input.payload.eq(of_stream.crc),
        ]
        m.d.sync += over.eq(counts & beat.last)
        with m.If(counts):
            m.d.sync += first.eq(beat.last)
        return m

"""Sealer: the checksums of streams and entries, taken of the beats on their way to the bus."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...arch.image.context import ENTRY_WORDS
from ...lib.bits import popcount
from ..formats.checksum import Checksum
from ..formats.packer import packed, stream_words
from .closer import closing_tag

__all__ = ["Sealer"]


class Sealer(wiring.Component):
    """Passes beats on, one cycle later, and computes `arch.context`'s ``stream_crc`` and ``crc``.

    Units come as the `Closer` ends them: a stream, then its entry unless the TB has ended. A stream
    counts up to its encoding table; an entry counts whole, with the words of its head that are not
    written with it.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    input : stream, in
        Beats with a `closing_tag`.
    bounded : Signal, in; stream_words : Signal, in
        The TB in hand has `stream_words` words before its encoding table; `bounded` is low as long
        as no word of the table can have come.
    stream_crc : Signal, out
        Checksum of the stream whose words before the table have all come, until the next begins.
    output : stream, out
        The same beats; the tag of a flush says that the unit is final.
    entry_crc : Signal, out
        Checksum of the entry whose last beat is offered.
    """

    input: stream.Interface
    bounded: Signal
    stream_words: Signal
    stream_crc: Signal
    output: stream.Interface
    entry_crc: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "input": In(stream.Signature(packed(g.bus_words, closing_tag()))),
            "bounded": In(1), "stream_words": In(stream_words(g)), "stream_crc": Out(32),
            "output": Out(stream.Signature(packed(g.bus_words))), "entry_crc": Out(32),
        })

    def elaborate(self, platform: Any):
        m = Module()
        n, beat, out = self.geometry.bus_words, self.input.payload, self.output
        m.submodules.of_stream = of_stream = Checksum(n)
        of_entry = of_stream  # the one after the other, but for a beat longer than an entry
        if n > ENTRY_WORDS:
            m.submodules.of_entry = of_entry = Checksum(ENTRY_WORDS)
        beat_taken = Signal()
        body = Signal()  # the unit in hand is an entry
        first = Signal(init=1)  # the next beat begins a unit
        passed = Signal(stream_words(self.geometry))  # words of the stream that have come
        table_words_left = Signal.like(passed)  # words to the table
        counts = Signal(n)  # words of the beat that count
        shared = n <= ENTRY_WORDS
        crc = Signal(32)  # of the stream before the entry in hand,
        held = Signal()  # if that has begun
        m.d.comb += [
            self.input.ready.eq(~out.valid | out.ready),
            beat_taken.eq(self.input.valid & self.input.ready),
            table_words_left.eq(self.stream_words - passed),
            counts.eq(Cat(beat.strobe[k] & (~self.bounded | (k < table_words_left))
                          for k in range(n))),
            of_stream.data.eq(Cat(Mux(counts[k] | (body & shared), beat.words[k], 0)
                                  for k in range(n))),
            of_stream.start.eq(beat_taken & first & (shared | ~body)),
            of_stream.valid.eq(beat_taken & Mux(body, shared, counts.any())),
            self.stream_crc.eq(Mux(held, crc, of_stream.crc)), self.entry_crc.eq(of_entry.crc),
        ]
        if not shared:
            m.d.comb += [of_entry.data.eq(Value.cast(beat.words)[:len(of_entry.data)]),
                         of_entry.start.eq(beat_taken & first),
                         of_entry.valid.eq(beat_taken & body)]
        with m.If(beat_taken & first):
            m.d.sync += [held.eq(body), crc.eq(of_stream.crc)]
        with m.If(beat_taken):
            m.d.sync += [first.eq(beat.flush), passed.eq(passed + popcount(counts))]
            with m.If(beat.flush):
                m.d.sync += [passed.eq(0), body.eq(~beat.tag.final & ~beat.tag.closed)]
        with m.If(self.input.ready):
            m.d.sync += [out.valid.eq(self.input.valid), out.payload.tag.eq(beat.tag.final)]
            m.d.sync += [Value.cast(out.payload[name]).eq(Value.cast(beat[name]))
                         for name in ("words", "strobe", "flush")]
        return m

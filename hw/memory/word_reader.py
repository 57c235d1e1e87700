"""Word reader: 32-bit words from memory, one per cycle."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.geometry import ADDRESS_BITS, SEGMENT_BYTES, WORD_BYTES, Geometry
from .ports import ReadInterface, ReadPort

__all__ = ["WORDS_BITS", "WordReader", "read_word", "words_job"]

WORDS_BITS = 8
"""Bits of the number of words of a job."""


def words_job() -> data.StructLayout:
    """So many words, 1 or more, from an address on, a multiple of 4."""
    return data.StructLayout({"address": ADDRESS_BITS, "words": WORDS_BITS})


def read_word() -> data.StructLayout:
    """A word that was read; `error` of a failed beat; `last` of its job."""
    return data.StructLayout({"data": 32, "error": 1, "last": 1})


class WordReader(wiring.Component):
    """Reads a job after the other, in bursts that end with a segment; the bus waits while a beat's
    words are taken.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    job : stream of words_job, in
    word : stream of read_word, out
    port : ReadPort, out
    """

    job: stream.Interface
    word: stream.Interface
    port: ReadInterface

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({"job": In(stream.Signature(words_job())),
                          "word": Out(stream.Signature(read_word())), "port": Out(ReadPort(g))})

    def elaborate(self, platform: Any):
        m = Module()
        g, port = self.geometry, self.port
        low = exact_log2(g.bus_bytes)
        place = Signal(ADDRESS_BITS)  # of the next word
        words_remaining = Signal(WORDS_BITS)
        last_place = Signal(ADDRESS_BITS)  # of the last word of the job
        in_burst = Signal()
        word = Signal(range(max(2, g.bus_words)))  # of its beat
        here = Signal(range(max(2, g.burst_beats)))  # its beat in the segment
        end = Signal(range(max(2, g.burst_beats)))  # the last one of the burst
        if g.bus_words > 1:
            m.d.comb += word.eq(place[exact_log2(WORD_BYTES):low])
        segment = exact_log2(SEGMENT_BYTES)
        if g.burst_beats > 1:
            m.d.comb += [here.eq(place[low:segment]), end.eq(Mux(
                place[segment:] == last_place[segment:], last_place[low:segment],
                g.burst_beats - 1))]
        beat_ends = Signal()
        word_accepted = Signal()
        m.d.comb += [
            last_place.eq(place + ((words_remaining - 1) << exact_log2(WORD_BYTES))),
            self.job.ready.eq(words_remaining == 0),
            port.request.valid.eq((words_remaining != 0) & ~in_burst),
            port.request.payload.address.eq(place[low:] << low),
            port.request.payload.extra_beats.eq(end - here),
            self.word.valid.eq(in_burst & port.beat.valid),
            self.word.payload.data.eq(port.beat.payload.data.word_select(word, 32)),
            self.word.payload.error.eq(port.beat.payload.error),
            self.word.payload.last.eq(words_remaining == 1),
            word_accepted.eq(self.word.valid & self.word.ready),
            beat_ends.eq((words_remaining == 1) | (word == g.bus_words - 1)),
            port.beat.ready.eq(word_accepted & beat_ends),
        ]
        with m.If(self.job.valid & self.job.ready):
            m.d.sync += [place.eq(self.job.payload.address),
                         words_remaining.eq(self.job.payload.words)]
        with m.If(port.request.valid & port.request.ready):
            m.d.sync += in_burst.eq(1)
        with m.If(word_accepted):
            m.d.sync += [place.eq(place + WORD_BYTES), words_remaining.eq(words_remaining - 1)]
            with m.If(beat_ends & port.beat.payload.last):
                m.d.sync += in_burst.eq(0)
        return m

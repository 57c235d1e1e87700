"""Segment reader: a queue of (address, words) jobs becomes back-to-back bursts and a stream of
their words."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import ADDRESS_BITS, SEGMENT_BYTES, WORD_BYTES, Geometry
from ...lib.resets import ResetInserter
from ...lib.stream_queue import StreamQueue
from ...memory.ports import ReadInterface, ReadPort
from ..formats.packer import WORD_COUNT_BITS
from ..formats.unpacker import word_beat

__all__ = ["read_job", "SegmentReader"]

def read_job(g: Geometry) -> data.StructLayout:
    """Words to be read from `address` on, a multiple of `bus_bytes`.

    The first `skip` of them only share a beat with what is wanted; the taker of the words drops
    them. `checked` goes with the beats.
    """
    return data.StructLayout({"address": ADDRESS_BITS, "words": WORD_COUNT_BITS,
                              "skip": range(g.chunk_words), "checked": 1})


class SegmentReader(wiring.Component):
    """Reads jobs ahead of their consumer, as far as its buffer has room.

    The buffer covers the memory latency of the geometry: a consumer that keeps up sees one beat per
    cycle. A burst is requested only when there is room for all of it, so that the bus is never
    held.

    Parameters
    ----------
    g : Geometry
    jobs : int
        Jobs that can be under way.

    Attributes
    ----------
    job : stream, in
        A job of no words is taken and gives nothing.
    beat : stream, out
        `unpacker.word_beat`; the beats of a job follow those of the one before.
    clear : Signal, in
        A command begins: forgets `error`.
    error : Signal, out
        Set by a failed beat that is not forgotten, from the cycle after it arrives, until `clear`.
    cancel : Signal, in
        Jobs and beats are forgotten, those too that are still to come; high until `idle`.
    idle : Signal, out
        Memory has answered all that was asked.
    port : ReadPort
    """

    job: stream.Interface
    beat: stream.Interface
    clear: Signal
    error: Signal
    cancel: Signal
    idle: Signal
    port: ReadInterface

    def __init__(self, g: Geometry, jobs: int):
        if jobs < 1:
            raise ValueError(f"jobs must be 1 or more, not {jobs}")
        self.geometry, self.jobs = g, jobs
        self.depth = 1 << (g.memory_latency + 2 * g.burst_beats - 1).bit_length()
        super().__init__({
            "job": In(stream.Signature(read_job(g))),
            "beat": Out(stream.Signature(word_beat(g.bus_words))),
            "clear": In(1), "error": Out(1), "cancel": In(1), "idle": Out(1),
            "port": Out(ReadPort(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, n = self.geometry, self.geometry.bus_words
        lengths = StreamQueue(data.StructLayout({"words": WORD_COUNT_BITS, "checked": 1}),
                              self.jobs)
        beats = StreamQueue(8 * g.bus_bytes, self.depth, buffered=True)
        for name, queue in (("lengths", lengths), ("beats", beats)):
            m.submodules[name] = ResetInserter(self.cancel)(queue)
        self._request(m, lengths, beats)

        m.d.comb += [beats.input.payload.eq(self.port.beat.payload.data),
                     beats.input.valid.eq(self.port.beat.valid),
                     self.port.beat.ready.eq(beats.input.ready | self.cancel)]
        with m.If(self.clear):
            m.d.sync += self.error.eq(0)
        with m.Elif(self.port.beat.valid & self.port.beat.ready & self.port.beat.payload.error
                    & ~self.cancel):
            m.d.sync += self.error.eq(1)

        words_passed = Signal(WORD_COUNT_BITS)
        words_left = Signal(WORD_COUNT_BITS)
        last = Signal()
        beat_taken = Signal()
        m.d.comb += [
            words_left.eq(lengths.output.payload.words - words_passed), last.eq(words_left <= n),
            self.beat.valid.eq(beats.output.valid & lengths.output.valid),
            beat_taken.eq(self.beat.valid & self.beat.ready),
            beats.output.ready.eq(beat_taken), lengths.output.ready.eq(beat_taken & last),
            Value.cast(self.beat.payload.words).eq(beats.output.payload),
            self.beat.payload.count.eq(Mux(last, words_left, n)), self.beat.payload.last.eq(last),
            self.beat.payload.checked.eq(lengths.output.payload.checked),
        ]
        with m.If(beat_taken):
            m.d.sync += words_passed.eq(Mux(last, 0, words_passed + n))
        with m.If(self.cancel):
            m.d.sync += words_passed.eq(0)
        return m

    def _request(self, m: Module, lengths: StreamQueue, beats: StreamQueue):
        """Cut the job in hand into bursts, each when the buffer has room for it."""
        g = self.geometry
        address = Signal(ADDRESS_BITS)
        beats_left = Signal(WORD_COUNT_BITS)
        in_segment = Signal(range(g.burst_beats + 1))
        burst = Signal(range(g.burst_beats + 1))
        reserved = Signal(range(self.depth + 1))
        owed = Signal(range(self.depth + 1))  # beats asked for that are still to come
        request = self.port.request
        sent = Signal()
        freed = Signal()
        job = self.job.payload
        low = (g.bus_bytes - 1).bit_length()
        m.d.comb += [
            in_segment.eq(g.burst_beats - address[low:SEGMENT_BYTES.bit_length() - 1]),
            burst.eq(Mux(beats_left < in_segment, beats_left, in_segment)),
            request.valid.eq((beats_left != 0) & (reserved + burst <= self.depth) & ~self.cancel),
            self.idle.eq(owed == 0),
            request.payload.address.eq(address), request.payload.extra_beats.eq(burst - 1),
            sent.eq(request.valid & request.ready),
            freed.eq(beats.output.valid & beats.output.ready),
            lengths.input.payload.words.eq(job.words),
            lengths.input.payload.checked.eq(job.checked),
            lengths.input.valid.eq(self.job.valid & (beats_left == 0) & (job.words != 0)),
            self.job.ready.eq((beats_left == 0) & lengths.input.ready),
        ]
        m.d.sync += [reserved.eq(reserved + Mux(sent, burst, 0) - freed),
                     owed.eq(owed + Mux(sent, burst, 0)
                             - (self.port.beat.valid & self.port.beat.ready))]
        with m.If(sent):
            m.d.sync += [address.eq(address + (burst << low)), beats_left.eq(beats_left - burst)]
        with m.If(self.job.valid & self.job.ready):
            m.d.sync += [address.eq(job.address),
                         beats_left.eq((job.words + (g.bus_words - 1))
                                       >> (low - WORD_BYTES.bit_length() + 1))]
        with m.If(self.cancel):
            m.d.sync += [reserved.eq(0), beats_left.eq(0)]
        return m

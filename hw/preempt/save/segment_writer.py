"""Segment writer: packed beats and a start address become bursts that end at 128-byte boundaries or
at a flush."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import ADDRESS_BITS, SEGMENT_BYTES, WORD_BYTES, Geometry
from ...interfaces.payloads import below
from ...lib.stream_queue import StreamQueue
from ..formats.packer import packed

__all__ = ["write_job", "data_burst", "write_data", "SegmentWriter"]


def write_job(g: Geometry) -> data.StructLayout:
    """Start address of a unit, a multiple of `bus_bytes`, and the CCB entry it belongs to."""
    return data.StructLayout({"address": ADDRESS_BITS, "entry": below(g.context_entries),
                              "side": 1})


def data_burst(g: Geometry) -> data.StructLayout:
    """A burst of entry `entry` on a side; `final` is its last, with the checksum of the entry."""
    return data.StructLayout({"address": ADDRESS_BITS, "extra_beats": range(g.burst_beats),
                              "entry": below(g.context_entries), "side": 1, "final": 1, "crc": 32})


def write_data(g: Geometry) -> data.StructLayout:
    """A beat of a burst."""
    return data.StructLayout({"data": 8 * g.bus_bytes, "strobe": g.bus_bytes})


class SegmentWriter(wiring.Component):
    """Cuts units of beats into bursts.

    Each unit (the beats up to a flush) takes a start address from `job`. A burst is offered once
    all its beats are held, so that a stalled source never holds the bus; two segments of beats are
    held, so that the next burst is gathered while one is written. A flush beat without a strobe
    only ends the unit.

    A beat a cycle; between units one cycle more, in which the job is taken.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    job : stream, in
        The next unit.
    beat : stream, in
        `packer.packed`; the tag of a flush says that the burst it ends is final.
    crc : Signal, in
        Checksum of the entry that a final flush ends.
    burst : stream, out
        The bursts, in address order.
    data : stream, out
        The beats of the bursts, in order.
    """

    job: stream.Interface
    beat: stream.Interface
    crc: Signal
    burst: stream.Interface
    data: stream.Interface

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "job": In(stream.Signature(write_job(g))),
            "beat": In(stream.Signature(packed(g.bus_words))), "crc": In(32),
            "burst": Out(stream.Signature(data_burst(g))),
            "data": Out(stream.Signature(write_data(g))),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.beats = beats = StreamQueue(write_data(g),
                                                 2 * g.burst_beats + 2, buffered=True)
        m.submodules.bursts = bursts = StreamQueue(data_burst(g), 4)
        wiring.connect(m, beats.output, wiring.flipped(self.data))
        wiring.connect(m, bursts.output, wiring.flipped(self.burst))

        opened = Signal()
        address = Signal(ADDRESS_BITS)
        first = Signal(ADDRESS_BITS)
        count = Signal(range(g.burst_beats + 1))
        entry = Signal(below(g.context_entries))
        side = Signal()
        beat = self.beat.payload
        stored = Signal()
        closes = Signal()
        beat_taken = Signal()
        total = Signal.like(count)
        at_end = (address[:SEGMENT_BYTES.bit_length() - 1] == SEGMENT_BYTES - g.bus_bytes)
        m.d.comb += [
            stored.eq(beat.strobe.any()), total.eq(count + stored),
            closes.eq((total != 0) & (beat.flush | (stored & at_end))),
            self.job.ready.eq(~opened),
            self.beat.ready.eq(opened & beats.input.ready & bursts.input.ready),
            beat_taken.eq(self.beat.valid & self.beat.ready),
            beats.input.valid.eq(beat_taken & stored), bursts.input.valid.eq(beat_taken & closes),
            beats.input.payload.data.eq(Value.cast(beat.words)),
            beats.input.payload.strobe.eq(Cat(bit.replicate(WORD_BYTES) for bit in beat.strobe)),
            bursts.input.payload.address.eq(Mux(count == 0, address, first)),
            bursts.input.payload.extra_beats.eq(total - 1), bursts.input.payload.entry.eq(entry),
            bursts.input.payload.side.eq(side),
            bursts.input.payload.final.eq(beat.flush & beat.tag),
            bursts.input.payload.crc.eq(self.crc),
        ]
        with m.If(~opened & self.job.valid):
            m.d.sync += [opened.eq(1), address.eq(self.job.payload.address),
                         entry.eq(self.job.payload.entry), side.eq(self.job.payload.side),
                         count.eq(0)]
        with m.If(beat_taken):
            m.d.sync += count.eq(Mux(closes, 0, total))
            with m.If(stored):
                m.d.sync += address.eq(address + g.bus_bytes)
                with m.If(count == 0):
                    m.d.sync += first.eq(address)
            with m.If(beat.flush):
                m.d.sync += opened.eq(0)
        return m

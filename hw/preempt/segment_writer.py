"""Segment writer: packed beats and a start address become bursts that end at 128-byte boundaries or at a flush."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import ADDRESS_BITS, SEGMENT_BYTES, WORD_BYTES, Geometry
from ..core.interfaces import index
from .packer import packed
from .stream_queue import StreamQueue

__all__ = ["mark", "marked_burst", "write_data", "SegmentWriter"]


def mark(g: Geometry) -> data.StructLayout:
    """What a flush says of the burst it ends: `final` is the last of the context of CCB entry `entry`."""
    return data.StructLayout({"final": 1, "entry": index(g.tb_slots)})


def marked_burst(g: Geometry) -> data.StructLayout:
    """A burst to be written, with the mark of the flush that ended it."""
    return data.StructLayout({"address": ADDRESS_BITS, "extra_beats": range(g.burst_beats), "mark": mark(g)})


def write_data(g: Geometry) -> data.StructLayout:
    """A beat of a burst."""
    return data.StructLayout({"data": 8 * g.bus_bytes, "strobe": g.bus_bytes})


class SegmentWriter(wiring.Component):
    """Cuts units of beats into bursts.

    Each unit (the beats up to a flush) takes a start address from `job`. A burst is offered once all its
    beats are held, so that a stalled source never holds the bus; two segments of beats are held, so that the
    next burst is gathered while one is written. A flush beat without a strobe only ends the unit.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    job : stream, in
        Start address of the next unit, a multiple of `bus_bytes`.
    beat : stream, in
        `packer.packed` with the mark as tag.
    burst : stream, out
        In address order.
    data : stream, out
        The beats of the bursts, in order.
    """

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "job": In(stream.Signature(ADDRESS_BITS)),
            "beat": In(stream.Signature(packed(g.bus_words, mark(g)))),
            "burst": Out(stream.Signature(marked_burst(g))),
            "data": Out(stream.Signature(write_data(g))),
        })

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        m.submodules.beats = beats = StreamQueue(write_data(g), 2 * g.burst_beats + 2, buffered=True)
        m.submodules.bursts = bursts = StreamQueue(marked_burst(g), 4)
        wiring.connect(m, beats.output, wiring.flipped(self.data))
        wiring.connect(m, bursts.output, wiring.flipped(self.burst))

        opened, address, first = Signal(), Signal(ADDRESS_BITS), Signal(ADDRESS_BITS)
        count = Signal(range(g.burst_beats + 1))
        beat = self.beat.payload
        stored, closes, go, total = Signal(), Signal(), Signal(), Signal.like(count)
        at_end = (address[:SEGMENT_BYTES.bit_length() - 1] == SEGMENT_BYTES - g.bus_bytes)
        m.d.comb += [
            stored.eq(beat.strobe.any()), total.eq(count + stored),
            closes.eq((total != 0) & (beat.flush | (stored & at_end))),
            self.job.ready.eq(~opened),
            self.beat.ready.eq(opened & beats.input.ready & bursts.input.ready),
            go.eq(self.beat.valid & self.beat.ready),
            beats.input.valid.eq(go & stored), bursts.input.valid.eq(go & closes),
            beats.input.payload.data.eq(Value.cast(beat.words)),
            beats.input.payload.strobe.eq(Cat(bit.replicate(WORD_BYTES) for bit in beat.strobe)),
            bursts.input.payload.address.eq(Mux(count == 0, address, first)),
            bursts.input.payload.extra_beats.eq(total - 1),
        ]
        with m.If(beat.flush):
            m.d.comb += Value.cast(bursts.input.payload.mark).eq(Value.cast(beat.tag))
        with m.If(~opened & self.job.valid):
            m.d.sync += [opened.eq(1), address.eq(self.job.payload), count.eq(0)]
        with m.If(go):
            m.d.sync += count.eq(Mux(closes, 0, total))
            with m.If(stored):
                m.d.sync += address.eq(address + g.bus_bytes)
                with m.If(count == 0):
                    m.d.sync += first.eq(address)
            with m.If(beat.flush):
                m.d.sync += opened.eq(0)
        return m

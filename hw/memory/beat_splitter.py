"""Beat splitter: lines from a bus that is wider than what a cache takes in a cycle."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.geometry import Geometry
from ..lib.stream_queue import StreamQueue
from .ports import ReadInterface, ReadPort

__all__ = ["CACHE_BEAT_BYTES", "LINES_AHEAD", "cache_geometry", "connect_cache", "BeatSplitter"]

CACHE_BEAT_BYTES = 16
"""Most bytes of a line that a cache takes in a cycle."""
LINES_AHEAD = 2
"""Most lines that a cache asks for before the first has come."""


def cache_geometry(g: Geometry) -> Geometry:
    """Return the geometry of the caches: the SM's, with beats of `CACHE_BEAT_BYTES` at most."""
    if g.bus_bytes <= CACHE_BEAT_BYTES:
        return g
    return g.replace(bus_bytes=CACHE_BEAT_BYTES,
                     bytes_per_cycle=min(g.bytes_per_cycle, CACHE_BEAT_BYTES))


def connect_cache(m: Module, g: Geometry, cache: ReadInterface, port: ReadInterface):
    """Connect a cache of `cache_geometry` to the read port of its unit, inside module `m`."""
    if cache_geometry(g) == g:
        wiring.connect(m, cache, wiring.flipped(port))
    else:
        m.submodules.splitter = splitter = BeatSplitter(g)
        wiring.connect(m, cache, splitter.cache)
        wiring.connect(m, splitter.port, wiring.flipped(port))


class BeatSplitter(wiring.Component):
    """Reads whole lines and gives each beat out in parts.

    The beats of `LINES_AHEAD` lines are held, so that the bus never waits for the parts. Latency
    one cycle.

    Parameters
    ----------
    g : Geometry
        Geometry with a bus wider than `CACHE_BEAT_BYTES`.

    Attributes
    ----------
    cache : ReadPort, in
        Requests are of whole lines, `LINES_AHEAD` at most that have not come.
    port : ReadPort, out
    """

    cache: ReadInterface
    port: ReadInterface

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({"cache": In(ReadPort(cache_geometry(g))), "port": Out(ReadPort(g))})

    def elaborate(self, platform: Any):
        m = Module()
        g, port, cache = self.geometry, self.port, self.cache
        m.submodules.beats = beats = StreamQueue(port.beat.payload.shape(),
                                                 LINES_AHEAD * g.burst_beats)
        wiring.connect(m, wiring.flipped(port.beat), beats.input)
        part = Signal(exact_log2(g.bus_bytes // CACHE_BEAT_BYTES))
        last = Signal()
        held = beats.output.payload
        m.d.comb += [
            port.request.valid.eq(cache.request.valid), cache.request.ready.eq(port.request.ready),
            port.request.payload.address.eq(cache.request.payload.address),
            port.request.payload.extra_beats.eq(g.burst_beats - 1),
            last.eq(part.all()), cache.beat.valid.eq(beats.output.valid),
            cache.beat.payload.data.eq(held.data.word_select(part, 8 * CACHE_BEAT_BYTES)),
            cache.beat.payload.last.eq(held.last & last), cache.beat.payload.error.eq(held.error),
            beats.output.ready.eq(cache.beat.ready & last),
        ]
        with m.If(cache.beat.valid & cache.beat.ready):
            m.d.sync += part.eq(part + 1)
        return m

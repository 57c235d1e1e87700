"""Which bus beats of a segment its lanes touch."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data
from amaranth.utils import exact_log2

from ...arch.geometry import Geometry
from ...lib.bits import lowest
from .access_size import extra_bytes

__all__ = ["touched_beats"]


def touched_beats(m: Module, g: Geometry, segment: data.View):
    """Return the first and the last bus beat that a lane of `segment` accesses,
    as signals assigned in `m`."""
    touched = Signal(g.burst_beats)
    ends = Signal(g.burst_beats)
    low = exact_log2(g.bus_bytes)
    span = extra_bytes(segment.size)[low:]
    starts = [Mux(segment.mask[i], Const(1, g.burst_beats) << segment.offset[i][low:], 0)
              for i in range(g.warp_size)]
    while len(starts) > 1:
        starts = [left | right for left, right in zip(starts[::2], starts[1::2], strict=True)]
    m.d.comb += [touched.eq(starts[0]), ends.eq(lowest(touched[::-1]))]
    first = Signal(range(g.burst_beats))
    last = Signal(range(g.burst_beats))
    for number in range(g.burst_beats):
        with m.If(lowest(touched)[number]):
            m.d.comb += first.eq(number)
        with m.If(ends[g.burst_beats - 1 - number]):
            m.d.comb += last.eq(number | span)
    return first, last

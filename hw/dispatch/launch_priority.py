"""Launches of restored and of fresh TBs share the way to the core."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.port import Port
from ..interfaces.preemption_port import WarpLaunchPort
from ..lib.stream_priority import StreamPriority

__all__ = ["LaunchPriority"]


class LaunchPriority(wiring.Component):
    """Merges two launch ports; `restored` goes before `fresh`.

    Combinational.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    restored, fresh : WarpLaunchPort, in
        Launches by the preemption engine, and by the launcher.
    merged : WarpLaunchPort, out
        Both of them.
    hold : Signal(1), out
        A restored TB starts in this cycle, so no fresh one may.
    """

    restored: Port
    fresh: Port
    merged: Port
    hold: Signal

    def __init__(self, g: Geometry):
        port = WarpLaunchPort(g)
        super().__init__({"restored": In(port), "fresh": In(port), "merged": Out(port),
                          "hold": Out(1)})

    def elaborate(self, platform: Any):
        m = Module()
        for name in ("warp_init", "stack_push"):
            merged = getattr(self.merged, name)
            m.submodules[name] = merge = StreamPriority(merged.payload.shape())
            wiring.connect(m, wiring.flipped(getattr(self.restored, name)), merge.first)
            wiring.connect(m, wiring.flipped(getattr(self.fresh, name)), merge.second)
            wiring.connect(m, merge.merged, wiring.flipped(merged))
        m.d.comb += [self.hold.eq(self.restored.start.valid),
                     self.merged.start.eq(self.fresh.start)]
        with m.If(self.restored.start.valid):
            m.d.comb += self.merged.start.eq(self.restored.start)
        return m

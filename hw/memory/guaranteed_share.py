"""Guaranteed share: when the last port of a bus channel goes before the others."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry

__all__ = ["SHARE_BITS", "PERIOD", "GuaranteedShare"]

SHARE_BITS = 7
"""Bits of a share."""
PERIOD = 256
"""Beats of which a share is guaranteed."""


class GuaranteedShare(wiring.Component):
    """Guarantees the last port `share` of any `PERIOD` beats that are granted while it waits.

    Only beats that are granted in cycles in which the last port waits count. Each of them adds
    ``share + burst_beats`` to a debt, and one of the last port's own takes `PERIOD` off. The last
    port is `urgent` if the debt could pass ``PERIOD * burst_beats`` with another burst. So the debt
    stays within that, and of n beats that count at least ``n * (share + burst_beats) / PERIOD -
    burst_beats`` are the last port's: of `PERIOD` beats `share`. The others may lose
    ``(share + burst_beats) / PERIOD`` of the beats while the last port always waits.

    Parameters
    ----------
    g : Geometry
        Geometry that gives the beats of a burst.

    Attributes
    ----------
    share : Signal(SHARE_BITS), in
        Beats of `PERIOD`; with 0 the last port always comes last.
    waits : Signal, in
        The last port has a request.
    granted : Signal, in; last : Signal, in; extra_beats : Signal, in
        A burst is granted in this cycle; it is the last port's; its beats less one.
    debt : Signal, out
        Debt to the last port, in units of 1 / `PERIOD` of a beat.
    urgent : Signal, out
        The last port goes first, if it waits.
    """

    share: Signal
    waits: Signal
    granted: Signal
    last: Signal
    extra_beats: Signal
    debt: Signal
    urgent: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({"share": In(SHARE_BITS), "waits": In(1), "granted": In(1), "last": In(1),
                          "extra_beats": In(range(g.burst_beats)),
                          "debt": Out(range(PERIOD * g.burst_beats + 1)), "urgent": Out(1)})

    def elaborate(self, platform: Any):
        m = Module()
        most = self.geometry.burst_beats
        limit = PERIOD * most
        rate = Signal(range((1 << SHARE_BITS) + most))  # debt of a beat
        beats = Signal(range(most + 1))
        paid = Signal(range(limit + 1))
        owed = Signal(range(2 * limit + 1))
        m.d.comb += [
            rate.eq(self.share + most), beats.eq(self.extra_beats + 1),
            self.urgent.eq((self.share != 0) & (self.debt + rate * most > limit)),
            owed.eq(self.debt + rate * beats), paid.eq(Mux(self.last, beats * PERIOD, 0)),
        ]
        with m.If(self.share == 0):
            m.d.sync += self.debt.eq(0)
        with m.Elif(self.waits & self.granted):
            m.d.sync += self.debt.eq(Mux(owed > paid, owed - paid, 0))
        return m

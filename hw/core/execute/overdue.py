"""Overdue: the preemption unit waits at a port of the registers no longer than a few cycles.

Elsewhere it goes last, so that a save or a restore takes nothing from the kernels that run beside
it. A neighbour that uses a port in every cycle must not hold it up for ever.
"""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["MOST_WAIT", "Overdue"]

MOST_WAIT = 8
"""Cycles after which it is its turn."""


class Overdue(wiring.Component):
    """Tells that a request has waited for `MOST_WAIT` cycles in a row.

    Attributes
    ----------
    waits : Signal(1), in
        A request waits in this cycle.
    over : Signal(1), out
        High from the cycle after the last of them on, until after a cycle without a waiting
        request.
    """

    waits: Signal
    over: Signal

    def __init__(self):
        super().__init__({"waits": In(1), "over": Out(1)})

    def elaborate(self, platform: Any):
        m = Module()
        count = Signal(range(MOST_WAIT + 1))
        m.d.comb += self.over.eq(count == MOST_WAIT)
        with m.If(~self.waits):
            m.d.sync += count.eq(0)
        with m.Elif(~self.over):
            m.d.sync += count.eq(count + 1)
        return m

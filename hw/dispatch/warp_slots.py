"""Warp slots for a TB: arbitrary free ones, lowest first."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.payloads import below
from ..lib.bits import encode, lowest

__all__ = ["WarpSlots"]


class WarpSlots(wiring.Component):
    """Collects free warp slots, one per cycle.

    Attributes
    ----------
    occupied : Signal(warps), in
        Vector: slots in use.
    pick : struct, in
        Begins to collect `count` slots and forgets those collected before; there must be enough
        free ones.
    done : Signal, out
        All are collected; held until the next `pick`.
    slots : array, out
        Slot of each warp of the TB.
    mask : Signal(warps), out
        Vector: the slots collected.
    """

    occupied: Signal
    pick: data.View
    done: Signal
    slots: data.View
    mask: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "occupied": In(g.warps),
            "pick": In(data.StructLayout({"valid": 1, "count": range(g.max_block_warps + 1)})),
            "done": Out(1),
            "slots": Out(data.ArrayLayout(below(g.warps), g.max_block_warps)),
            "mask": Out(g.warps),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        count = Signal(range(g.max_block_warps + 1))
        picked = Signal(range(g.max_block_warps + 1))
        choice = Signal(g.warps)
        number = Signal(range(g.warps))  # of the choice
        m.d.comb += [choice.eq(lowest(~(self.occupied | self.mask))), number.eq(encode(choice)),
                     self.done.eq(picked == count)]
        with m.If(self.pick.valid):
            m.d.sync += [count.eq(self.pick.count), picked.eq(0), self.mask.eq(0)]
        with m.Elif(~self.done):
            m.d.sync += [self.mask.eq(self.mask | choice), picked.eq(picked + 1)]
            with m.Switch(picked):
                for k in range(g.max_block_warps):
                    with m.Case(k):
                        m.d.sync += self.slots[k].eq(number)
        return m

"""Generations of the warp slots: which accesses are those of warps that were forgotten."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...interfaces import payloads as payload

__all__ = ["WarpGenerations"]


class WarpGenerations(wiring.Component):
    """A small number for each warp slot, the next one after each warp that is forgotten there.

    A slot may use up all its generations but one while accesses of forgotten warps are left. Then
    its warp has to wait until none is left. Otherwise a number would come again while an access of
    the first such warp has it.

    Attributes
    ----------
    forget : Signal(warps), in
        Vector: the warps of these slots, all `able`, are forgotten in this cycle.
    lingering : Signal(1), in
        Accesses of forgotten warps may be left; low in the cycle of the first `forget`.
    able : Signal(warps), out
        Vector: slots whose warp may be forgotten.
    generations : payloads.generations, out
        Generations of all slots; the next one counts from the cycle after `forget`.
    """

    forget: Signal
    lingering: Signal
    able: Signal
    generations: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({"forget": In(g.warps), "lingering": In(1), "able": Out(g.warps),
                          "generations": Out(payload.generations(g))})

    def elaborate(self, platform: Any):
        m = Module()
        warps = self.geometry.warps
        carry = spent_carry = self.forget
        exhausted = self.lingering.replicate(warps)
        for plane in range(payload.GENERATION_BITS):
            bits = self.generations[plane]
            # how often since nothing was left, as bit planes too
            spent = Signal(warps, name=f"spent_{plane}")
            before = Signal(warps, name=f"before_{plane}")
            m.d.comb += before.eq(spent & self.lingering.replicate(warps))
            m.d.sync += [bits.eq(bits ^ carry), spent.eq(before ^ spent_carry)]
            carry, spent_carry = carry & bits, spent_carry & before
            exhausted = exhausted & spent
        m.d.comb += self.able.eq(~exhausted)
        return m

"""Staying masks: which registers of each warp of a TB are to be there when it comes back."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import MAX_REGISTERS, Geometry
from ...interfaces.staying import staying_mask, staying_warp

__all__ = ["StayingMasks"]


class StayingMasks(wiring.Component):
    """A vector of registers for each warp of each row.

    A vector is written a cycle; reading is combinational.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    write : staying_mask, in
        A warp's registers; they are shown from the next cycle on.
    select : staying_warp, in; mask : Signal(MAX_REGISTERS), out
        Those of a warp. Combinational.
    """

    write: data.View
    select: data.View
    mask: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "write": In(staying_mask(g)),
            "select": In(staying_warp(g)), "mask": Out(MAX_REGISTERS)})

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.masks = masks = Memory(
            shape=MAX_REGISTERS, depth=1 << staying_warp(self.geometry).size, init=[])
        write = masks.write_port()
        read = masks.read_port(domain="comb")
        m.d.comb += [write.addr.eq(self.write.of), write.data.eq(self.write.mask),
                     write.en.eq(self.write.valid), read.addr.eq(self.select),
                     self.mask.eq(read.data)]
        return m

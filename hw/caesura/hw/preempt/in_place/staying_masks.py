"""Staying masks: which registers of each warp of a TB are to be there when it comes back."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import MAX_REGISTERS, Geometry
from ...interfaces.payloads import below

__all__ = ["staying_warp", "staying_mask", "StayingMasks"]


def staying_warp(g: Geometry) -> data.StructLayout:
    """Warp `warp` of the TB in row `row` of the `StayingTable`."""
    return data.StructLayout({"row": below(g.tb_slots), "warp": below(g.max_block_warps)})


def staying_mask(g: Geometry) -> data.StructLayout:
    """Registers of a warp that are remembered; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "of": staying_warp(g), "mask": MAX_REGISTERS})


class StayingMasks(wiring.Component):
    """A vector of registers for each warp of each row.

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

    def elaborate(self, platform):
        m = Module()
        m.submodules.masks = masks = Memory(
            shape=MAX_REGISTERS, depth=1 << staying_warp(self.geometry).size, init=[])
        write = masks.write_port()
        read = masks.read_port(domain="comb")
        m.d.comb += [write.addr.eq(self.write.of), write.data.eq(self.write.mask),
                     write.en.eq(self.write.valid), read.addr.eq(self.select),
                     self.mask.eq(read.data)]
        return m

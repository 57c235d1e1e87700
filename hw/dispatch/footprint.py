"""The footprint of a TB: its share of the SM, and whether it can ever fit."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import REGISTER_BANKS, SEGMENT_BYTES, Geometry
from ..interfaces.payloads import kernel_info

__all__ = ["Footprint", "NEEDS", "footprint"]

NEEDS = ("grid_x", "grid_y", "grid_z", "threads", "registers", "warps", "shared_bytes")
"""Members of `kernel_info` that the footprint depends on."""


def footprint(g: Geometry) -> data.StructLayout:
    """Rows of vector registers and lines of shared memory of a TB."""
    return data.StructLayout({"rows": range(g.register_rows + 1),
                              "lines": range(g.shared_lines + 1)})


class Footprint(wiring.Component):
    """Computes a kernel's footprint from its descriptor; combinational. Its model is
    `arch.tb_footprint.tb_footprint`.

    Timing
    ------
    Within the cycle.

    Attributes
    ----------
    kernel : struct, in
        The members `NEEDS` of a kernel_info.
    fits : Signal, out
        The grid is not empty, the descriptor consistent, and a TB fits the empty SM.
    size : footprint, out
        Meaningful if `fits`.
    """

    kernel: data.View
    fits: Signal
    size: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        members = kernel_info(g).members
        super().__init__({
            "kernel": In(data.StructLayout({name: members[name] for name in NEEDS})),
            "fits": Out(1),
            "size": Out(footprint(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, kernel = self.geometry, self.kernel
        rows = Signal(12)
        lines = Signal(14)
        warps = Signal(11)
        m.d.comb += [
            rows.eq((kernel.warps * kernel.registers + (REGISTER_BANKS - 1)) // REGISTER_BANKS),
            lines.eq((kernel.shared_bytes + (SEGMENT_BYTES - 1)) // SEGMENT_BYTES),
            warps.eq((kernel.threads + (g.warp_size - 1)) // g.warp_size),
            self.size.rows.eq(rows),
            self.size.lines.eq(lines),
            self.fits.eq((kernel.grid_x != 0) & (kernel.grid_y != 0) & (kernel.grid_z != 0)
                         & (kernel.threads != 0) & (kernel.warps == warps)
                         & (warps <= g.max_block_warps)
                         & (kernel.registers != 0) & (kernel.registers <= g.regs_per_thread)
                         & (rows <= g.register_rows) & (lines <= g.shared_lines)),
        ]
        return m

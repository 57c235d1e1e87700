"""What the engine keeps of the command in hand and of its kernel."""

from amaranth.hdl import Mux, Value
from amaranth.lib import data

from ...arch.geometry import ADDRESS_BITS, MAX_REGISTERS, Geometry
from ...interfaces.payloads import below
from ..compress.compressor import PAG_BITS

__all__ = ["accepted_command", "pattern_group"]


def accepted_command(g: Geometry) -> data.StructLayout:
    """Constants of a command.

    `again`: a later pass of a resume. `adopt`: neither preempt nor resume.
    `lines` is the shared memory of a TB in 128-byte lines, `allocated` has a bit for each of a
    thread's `registers`, `generation` is the one that a preempt writes, `pag` the lanes of a
    pattern group.
    """
    return data.StructLayout({
        "kernel": below(g.kernel_slots), "again": 1, "adopt": 1, "mechanism": 4, "scramble": 1,
        "gang": 1, "generation": 32, "ccb_base": ADDRESS_BITS, "area_bytes": 32,
        "registers": 7, "warps": 6, "lines": range(g.shared_lines + 1), "allocated": MAX_REGISTERS,
        "pag": PAG_BITS,
    })


def pattern_group(g: Geometry, block_x) -> Value:
    """Return `arch.patterns.pattern_group` as a combinational expression."""
    groups = (min(32, g.warp_size), min(16, g.warp_size), 8)
    multiple = [~block_x[:bits].any() for bits in (5, 4, 3)]
    return Mux(multiple[0], groups[0],
               Mux(multiple[1], groups[1], Mux(multiple[2], groups[2], groups[0])))

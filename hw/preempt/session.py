"""What the engine keeps of the command in hand and of its kernel."""

from amaranth.lib import data

from ..arch.geometry import ADDRESS_BITS, MAX_REGISTERS, Geometry
from ..core.interfaces import index

__all__ = ["session"]


def session(g: Geometry) -> data.StructLayout:
    """Constants of a command.

    `lines` is the shared memory of a TB in 128-byte lines, `allocated` has a bit for each of a thread's
    `registers`, `generation` is the one that a preempt writes.
    """
    return data.StructLayout({
        "kernel": index(g.kernel_slots), "mechanism": 4, "scramble": 1, "gang": 1, "generation": 16,
        "ccb_base": ADDRESS_BITS, "area_bytes": 32, "local_base": ADDRESS_BITS,
        "registers": 7, "warps": 6, "lines": range(g.shared_lines + 1), "allocated": MAX_REGISTERS,
    })

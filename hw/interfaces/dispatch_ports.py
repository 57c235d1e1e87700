"""Ports between the blocks of one SM's dispatcher."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from .payloads import below
from .preemption import admission

__all__ = ["FaultEventPort", "GridPort"]


class GridPort(wiring.Signature):
    """Fresh TBs of the kernels. Directions are the side's that launches them.

    Attributes
    ----------
    request : Signal(kernel_slots), out
        Vector: kernels of which a TB may be launched. A kernel without further TBs is skipped.
    next_valid : Signal(1), in
        There is a TB of a requested kernel.
    next : admission, in
        That TB. Combinational. On one of several SMs its `kernel` alone is valid.
    advance : struct, out
        The next TB of `kernel` has been launched; visible one cycle later.
    """

    def __init__(self, g: Geometry):
        super().__init__({
            "request": Out(g.kernel_slots), "next_valid": In(1), "next": In(admission(g)),
            "advance": Out(data.StructLayout({"valid": 1, "kernel": below(g.kernel_slots)}))})


class FaultEventPort(wiring.Signature):
    """The bit of register ``event`` for faults. Directions are the fault unit's.

    Attributes
    ----------
    set : Signal(1), out
        A fault has ended a TB.
    pending : Signal(1), in
        The bit: a fault record waits for software.
    clear : Signal(1), in
        Software clears the bit in this cycle.
    """

    def __init__(self):
        super().__init__({"set": Out(1), "pending": In(1), "clear": In(1)})

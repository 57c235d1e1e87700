"""The announcement of a launch: which kernels give way, and when (PEP III-D)."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..arch.image.context import mechanisms_of
from ..arch.registers import UNLIMITED_EXPIRY
from .register_ports import announce_write

__all__ = ["Announcement"]


class Announcement(wiring.Component):
    """Keeps the one announcement of an SM, and counts its time.

    Timing
    ------
    An announcement is `active` from the cycle after its write.

    Parameters
    ----------
    g : Geometry
        One with `Geometry.proactive`.

    Attributes
    ----------
    write : announce_write, in
    running, forget : Signal(kernel_slots), in
        Vectors: kernels that run; kernels that are preempted, end, or of which memory has refused
        a base.
    victims : Signal(kernel_slots), out
        Vector: kernels that are to give way.
    begins : Signal(kernel_slots), out
        Vector: `victims`, in the first cycle of an announcement.
    due : Signal(32), out
        Cycles until the predicted arrival, 0 from then on.
    mechanism, patience, run_on : Signal, out
        How bases are saved; with `run_on` TBs run on as each has its base.
    """

    write: data.View
    running: Signal
    forget: Signal
    victims: Signal
    begins: Signal
    due: Signal
    mechanism: Signal
    patience: Signal
    run_on: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "write": In(announce_write()), "running": In(g.kernel_slots),
            "forget": In(g.kernel_slots), "victims": Out(g.kernel_slots),
            "begins": Out(g.kernel_slots), "due": Out(32), "mechanism": Out(4),
            "patience": Out(32), "run_on": Out(1)})

    def elaborate(self, platform: Any):
        m = Module()
        write = self.write
        left = Signal(32)  # cycles until it is forgotten
        begun = Signal()
        m.d.comb += self.begins.eq(Mux(begun, self.victims, 0))
        m.d.sync += begun.eq(write.valid)
        with m.If(self.due != 0):
            m.d.sync += self.due.eq(self.due - 1)
        with m.If(write.valid):
            known = write.mechanism <= max(mechanisms_of(self.geometry))
            victims = write.victims & self.running & ~self.forget
            m.d.sync += [self.victims.eq(Mux(known, victims, 0)),
                         self.due.eq(write.cycles), left.eq(write.expiry),
                         self.mechanism.eq(write.mechanism), self.patience.eq(write.patience),
                         self.run_on.eq(write.run_on)]
        with m.Else():
            m.d.sync += self.victims.eq(self.victims & ~self.forget)
            with m.If(left == 0):
                m.d.sync += self.victims.eq(0)
            with m.Elif(left != UNLIMITED_EXPIRY):
                m.d.sync += left.eq(left - 1)
        return m

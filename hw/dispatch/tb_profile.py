"""TB profile: how long the TBs of a kernel take, and how far those on the SM are (PEP III-B;
Chimera)."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.payloads import below, tb_event
from ..interfaces.preemption import resident_tb
from ..lib.bits import select

__all__ = ["tb_age", "kernel_profile", "TbProfile"]

MOST = (1 << 32) - 1


def tb_age() -> data.StructLayout:
    """Cycles since a TB was started on the SM and warp instructions it has retired since, neither
    beyond `MOST`; it is `whole` if that was its beginning."""
    return data.StructLayout({"cycles": 32, "instructions": 32, "whole": 1})


def kernel_profile() -> data.StructLayout:
    """Sums over the `tbs` whole TBs of a kernel that have ended by themselves.

    When a sum would reach 2**32 all three are halved first. So their quotients stay means in which
    later TBs weigh more. A sum that reaches 2**32 nevertheless stays at `MOST`.
    """
    return data.StructLayout({"tbs": 32, "cycles": 32, "instructions": 32})


class TbProfile(wiring.Component):
    """Counts the cycles and instructions of each TB on the SM, and adds up those of TBs that ran
    there from beginning to end.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    resident : array, in
        The TB table.
    start : tb_event, in
        The warps of a TB run from the next cycle on; `fresh` if it was never saved.
    fresh : Signal, in
    issued, issuer : Signal, in
        A warp retires an instruction.
    remove : Signal(tb_slots), in
        The TB that leaves the SM, at most one bit.
    ended : Signal, in
        The TB has ended by itself, neither saved nor killed.
    clear : Signal(kernel_slots), in
        Vector: the kernel begins anew, or is taken over from memory.
    ages : array of tb_age, out
        Age by TB slot; a slot whose TB is not started shows the age of its last TB.
    profiles : array of kernel_profile, out
        Profiles by kernel slot; a TB counts two cycles after it has left.
    """

    resident: data.View
    start: data.View
    fresh: Signal
    issued: Signal
    issuer: Signal
    remove: Signal
    ended: Signal
    clear: Signal
    ages: data.View
    profiles: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)),
            "start": In(tb_event(g)), "fresh": In(1), "issued": In(1), "issuer": In(below(g.warps)),
            "remove": In(g.tb_slots), "ended": In(1), "clear": In(g.kernel_slots),
            "ages": Out(data.ArrayLayout(tb_age(), g.tb_slots)),
            "profiles": Out(data.ArrayLayout(kernel_profile(), g.kernel_slots)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        issued = Signal()
        issuer = Signal.like(self.issuer)
        m.d.sync += [issued.eq(self.issued), issuer.eq(self.issuer)]
        for t in range(g.tb_slots):
            row, age = self.resident[t], self.ages[t]
            counts = Signal(name=f"counts_{t}")
            m.d.comb += counts.eq(issued & row.valid & row.warps.bit_select(issuer, 1))
            with m.If(row.valid & row.started & (age.cycles != MOST)):
                m.d.sync += age.cycles.eq(age.cycles + 1)
            with m.If(counts & (age.instructions != MOST)):
                m.d.sync += age.instructions.eq(age.instructions + 1)
            with m.If(self.start.valid & (self.start.tb == t)):
                m.d.sync += [age.cycles.eq(0), age.instructions.eq(0), age.whole.eq(self.fresh)]
        self._add(m)
        return m

    def _add(self, m: Module):
        """Add what leaves to the profile of its kernel, a cycle later."""
        g = self.geometry
        rows = [self.resident[t] for t in range(g.tb_slots)]
        departed = Signal(tb_age())
        kernel = Signal(below(g.kernel_slots))
        valid = Signal()
        m.d.sync += [
            departed.eq(select(self.remove, [Value.cast(self.ages[t]) for t in range(g.tb_slots)])),
            kernel.eq(select(self.remove, [row.kernel for row in rows])),
            valid.eq(self.ended & self.remove.any()),
        ]
        names = "cycles", "instructions"
        old = Signal(kernel_profile())
        full = Signal()  # a sum would not fit
        sums = {name: Signal(33, name=f"sum_{name}") for name in names}
        m.d.comb += [
            old.eq(self.profiles[kernel]),
            full.eq(Cat((old[name] + departed[name])[32] for name in names).any()),
            *(sums[name].eq((old[name] >> full) + departed[name]) for name in names)]
        for k in range(g.kernel_slots):
            profile = self.profiles[k]
            with m.If(valid & departed.whole & (kernel == k)):
                m.d.sync += profile.tbs.eq((old.tbs >> full) + 1)
                m.d.sync += [profile[name].eq(sums[name] | sums[name][32].replicate(32))
                             for name in names]
            with m.If(self.clear[k]):
                m.d.sync += profile.eq(0)

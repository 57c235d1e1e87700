"""Completion: takes ended and saved TBs off the SM."""

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.payloads import tb_event
from ..interfaces.preemption import entry_event, resident_tb
from ..lib.bits import lowest, select

__all__ = ["Completion"]


class Completion(wiring.Component):
    """Frees a started TB once all its warps have exited, and a TB that the engine has saved, one a
    cycle.

    Attributes
    ----------
    resident : array, in
        The TB table.
    exited : Signal(warps), in
    claim : Signal(tb_slots), in
        Vector: TBs the engine is saving; they are not freed when they end.
    release : struct, in
        Free this TB now, without counting it as completed.
    start : Signal(kernel_slots), in
        Vector: the kernel begins anew; its count becomes 0.
    remove : Signal(tb_slots), out
        At most one bit: this TB leaves the SM in this cycle; a TB that ends does two cycles after
        its last warp.
    ended : preemption.entry_event, out
        The TB that leaves has ended.
    free : Signal(warps), out
        Vector: the warp slots of the TB that leaves.
    completed : array, out
        TBs of each kernel that have ended since its start.
    """

    resident: data.View
    exited: Signal
    claim: Signal
    release: data.View
    start: Signal
    remove: Signal
    ended: data.View
    free: Signal
    completed: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)),
            "exited": In(g.warps),
            "claim": In(g.tb_slots),
            "release": In(tb_event(g)),
            "start": In(g.kernel_slots),
            "remove": Out(g.tb_slots),
            "ended": Out(entry_event(g)),
            "free": Out(g.warps),
            "completed": Out(data.ArrayLayout(32, g.kernel_slots)),
        })

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        rows = [self.resident[t] for t in range(g.tb_slots)]
        over = Signal(g.tb_slots)
        ending = Signal(g.tb_slots)
        for t, row in enumerate(rows):
            m.d.comb += over[t].eq(row.valid & row.started & ((row.warps & ~self.exited) == 0))
        m.d.sync += ending.eq(lowest(over & ~self.claim & ~self.remove))

        m.d.comb += self.remove.eq(ending & ~self.claim)
        with m.If(self.release.valid):
            m.d.comb += self.remove.eq(Const(1) << self.release.tb)
        ended = self.ended
        m.d.comb += [self.free.eq(select(self.remove, [row.warps for row in rows])),
                     ended.valid.eq(self.remove.any() & ~self.release.valid),
                     ended.kernel.eq(select(self.remove, [row.kernel for row in rows])),
                     ended.entry.eq(select(self.remove, [row.entry for row in rows]))]
        for k in range(g.kernel_slots):
            with m.If(self.start[k]):
                m.d.sync += self.completed[k].eq(0)
            with m.Elif(ended.valid & (ended.kernel == k)):
                m.d.sync += self.completed[k].eq(self.completed[k] + 1)
        return m

"""Completion: takes ended and saved TBs off the SM."""

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.payloads import tb_event
from ..interfaces.preemption import adoption, entry_event, resident_tb
from ..lib.bits import lowest, select, spread

__all__ = ["Completion"]


class Completion(wiring.Component):
    """Frees TBs, one per cycle. A started TB is freed once all its warps have exited. If it was
    killed with its kernel, it is freed once its warps have exited or can be forgotten. A TB of a
    killed kernel that was never started is freed too, and a TB that the engine has saved.

    Attributes
    ----------
    resident : array, in
        The TB table.
    exited, losable : Signal(warps), in
        Vectors: warps of which nothing is outstanding; those that can be forgotten.
    forsaken : Signal(tb_slots), in
        Vector: TBs killed with their kernel; they are not counted as completed.
    claim : Signal(tb_slots), in
        Vector: TBs the engine is saving; they are not freed when they end.
    release : struct, in
        Free this TB now, without counting it as completed.
    discard : Signal(kernel_slots), in
        Vector: TBs of these kernels that are not started never will be.
    start : Signal(kernel_slots), in
        Vector: the kernel begins anew; its count becomes 0.
    adopted : preemption.adoption, in
        A kernel is taken over from memory, with its count.
    remove : Signal(tb_slots), out
        The TB that leaves the SM in this cycle, at most one bit. A TB that ends leaves two cycles
        after its last warp.
    ended : preemption.entry_event, out
        The TB that leaves has ended, or was killed.
    free : Signal(warps), out
        Vector: the warp slots of the TB that leaves.
    forget : Signal(warps), out
        Vector: those of them whose warp has accesses outstanding.
    completed : array, out
        TBs of each kernel that have ended since its start.
    """

    resident: data.View
    exited: Signal
    losable: Signal
    forsaken: Signal
    claim: Signal
    release: data.View
    discard: Signal
    start: Signal
    adopted: data.View
    remove: Signal
    ended: data.View
    free: Signal
    forget: Signal
    completed: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)),
            "exited": In(g.warps), "losable": In(g.warps), "forsaken": In(g.tb_slots),
            "claim": In(g.tb_slots),
            "release": In(tb_event(g)), "discard": In(g.kernel_slots),
            "start": In(g.kernel_slots), "adopted": In(adoption(g)),
            "remove": Out(g.tb_slots),
            "ended": Out(entry_event(g)),
            "free": Out(g.warps), "forget": Out(g.warps),
            "completed": Out(data.ArrayLayout(32, g.kernel_slots)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        rows = [self.resident[t] for t in range(g.tb_slots)]
        tbs_over = Signal(g.tb_slots)
        ending = Signal(g.tb_slots)
        for t, row in enumerate(rows):
            warps_over = self.exited | self.losable & spread(self.forsaken[t], g.warps)
            m.d.comb += tbs_over[t].eq(row.valid & Mux(row.started, (row.warps & ~warps_over) == 0,
                                                   self.discard.bit_select(row.kernel, 1)))
        m.d.sync += ending.eq(lowest(tbs_over & ~self.claim & ~self.remove))

        m.d.comb += self.remove.eq(ending & ~self.claim)
        with m.If(self.release.valid):
            m.d.comb += self.remove.eq(Const(1) << self.release.tb)
        ended = self.ended
        dropped = Signal()  # the TB that leaves is one of the forsaken
        m.d.comb += dropped.eq((self.remove & self.forsaken).any() & ~self.release.valid)
        with m.If(dropped):
            m.d.comb += self.forget.eq(self.free & ~self.exited)
        m.d.comb += [self.free.eq(select(self.remove, [row.warps for row in rows])),
                     ended.valid.eq(select(self.remove, [row.started for row in rows])
                                    & ~self.release.valid),
                     ended.kernel.eq(select(self.remove, [row.kernel for row in rows])),
                     ended.entry.eq(select(self.remove, [row.entry for row in rows]))]
        for k in range(g.kernel_slots):
            with m.If(self.start[k]):
                m.d.sync += self.completed[k].eq(0)
            with m.Elif(self.adopted.valid & (self.adopted.kernel == k)):
                m.d.sync += self.completed[k].eq(self.adopted.progress.completed)
            with m.Elif(ended.valid & ~dropped & (ended.kernel == k)):
                m.d.sync += self.completed[k].eq(self.completed[k] + 1)
        return m

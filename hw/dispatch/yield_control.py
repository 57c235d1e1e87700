"""Yields of thread blocks (TBs): the yield unit and its watch table."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.gpu_ports import written_event
from ..interfaces.port import Port
from ..interfaces.preemption import resident_tb
from ..interfaces.yielding import LeavePort, YieldPort, notice, watch_event
from ..lib.bits import one_hot
from .tb_table import new_tb
from .watch_table import WatchTable
from .yield_unit import YieldUnit

__all__ = ["YieldControl"]


class YieldControl(wiring.Component):
    """Has TBs leave the SM that wait for memory to change, and come back once it has.

    Parameters
    ----------
    g : Geometry
        Geometry with `watches`.

    Attributes
    ----------
    core : YieldPort, in
        The barriers at which TBs yield.
    watch : watch_event, in
        A TB on the SM watches a segment.
    written : written_event, in; notice : notice, in
        Segments that the SMs and the host have written.
    leaves : LeavePort, out
        The command processor.
    resident : array of resident_tb, in; started : array of Signal(context_entries), in
        The TB table. Vector per kernel: entries of its TBs that have been started.
    insert : new_tb, in; remove : Signal(tb_slots), in
        A TB enters the table. Vector: the TB that leaves it.
    running, resuming, forget, start : Signal(kernel_slots), in
        Described in `YieldUnit`.
    exhausted, blocked, crowded : Signal(kernel_slots), in
        Vectors: kernels without further fresh TBs; kernels of which one has found no room since a
        TB left the SM; kernels of which no entry is free.
    fresh_launched : Signal, in
        A fresh TB is launched.
    away : array of Signal(context_entries), out
        Vector per kernel: entries of TBs that are away.
    yields : array of Signal(32), out
        TBs of each kernel that have left since its start.
    """

    core: Port
    watch: data.View
    written: data.View
    notice: data.View
    leaves: Port
    resident: data.View
    started: data.View
    insert: data.View
    remove: Signal
    running: Signal
    resuming: Signal
    forget: Signal
    start: Signal
    exhausted: Signal
    blocked: Signal
    crowded: Signal
    fresh_launched: Signal
    away: data.View
    yields: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        entries = data.ArrayLayout(g.context_entries, g.kernel_slots)
        super().__init__({
            "core": In(YieldPort(g)), "watch": In(watch_event(g)), "written": In(written_event()),
            "notice": In(notice()), "leaves": Out(LeavePort(g)),
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)), "started": In(entries),
            "insert": In(new_tb(g)), "remove": In(g.tb_slots),
            **dict.fromkeys(("running", "resuming", "forget", "start", "exhausted", "blocked",
                             "crowded"), In(g.kernel_slots)),
            "fresh_launched": In(1), "away": Out(entries),
            "yields": Out(data.ArrayLayout(32, g.kernel_slots)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.watches = watches = WatchTable(g)
        m.submodules.unit = unit = YieldUnit(g)
        wiring.connect(m, watches.tbs, unit.watches)
        wiring.connect(m, unit.leaves, wiring.flipped(self.leaves))
        fresh = Signal(g.kernel_slots)  # kernels that have TBs to be launched
        m.d.comb += [
            watches.resident.eq(self.resident), watches.watch.eq(self.watch),
            watches.cancel.eq(self.core.cancel), watches.written.eq(self.written),
            watches.noticed.eq(self.notice),
            fresh.eq(self.running & ~self.exhausted & ~self.crowded),
            unit.room_wanted.eq((fresh & self.blocked).any() | self.leaves.wake_lacks_room),
            unit.fresh_pending.eq(fresh.any()), unit.fresh_launched.eq(self.fresh_launched),
            unit.resident.eq(self.resident), unit.waits.eq(self.core.waits),
            self.core.hold.eq(unit.hold), unit.started.eq(self.started),
            unit.insert.eq(Mux(self.insert.valid, one_hot(self.insert.tb, g.tb_slots), 0)),
            unit.remove.eq(self.remove), unit.running.eq(self.running),
            unit.resuming.eq(self.resuming), unit.forget.eq(self.forget),
            unit.start.eq(self.start), self.away.eq(unit.watches.away),
            self.yields.eq(unit.yields),
        ]
        return m

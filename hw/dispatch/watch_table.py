"""The watch table: the segments that thread blocks (TBs) watch, both TBs that have left the SM and
TBs on it that are about to wait (GPUpIO VII, "Hardware yield instruction")."""

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.gpu_ports import SEGMENT_BITS, written_event
from ..interfaces.payloads import below
from ..interfaces.port import Port
from ..interfaces.preemption import resident_tb
from ..interfaces.yielding import notice, watch_event
from ..lib.bits import lowest, one_hot

__all__ = ["WatchPort", "WatchTable"]


def _row(g: Geometry) -> data.StructLayout:
    """The TB of `entry` of `kernel` is away until `segment` is written."""
    return data.StructLayout({"valid": 1, "kernel": below(g.kernel_slots),
                              "entry": below(g.context_entries), "segment": SEGMENT_BITS})


class WatchPort(wiring.Signature):
    """Watches of the TBs on the SM, and of those that are away. Directions are the table's.

    Attributes
    ----------
    set, fired : Signal(tb_slots), out
        Vectors: TBs that watch something; TBs whose watch has fired, or that have none and have
        said so themselves.
    clear : Signal(tb_slots), in
        Vector: TBs that watch nothing from the next cycle on; wins.
    leave : In(valid, tb)
        This TB leaves the SM, and its watch has not fired.
    full : Signal(1), out
        No row is free; a TB that leaves is forgotten.
    away : array of Signal(context_entries), in
        Vector per kernel: entries of TBs that are away, from the cycle after `leave` on. A row of
        any other is free.
    wakes : array of Signal(context_entries), out
        Vector per kernel: entries whose row fires in this cycle.
    """

    def __init__(self, g: Geometry):
        entries = data.ArrayLayout(g.context_entries, g.kernel_slots)
        super().__init__({
            "set": Out(g.tb_slots), "fired": Out(g.tb_slots), "clear": In(g.tb_slots),
            "leave": In(data.StructLayout({"valid": 1, "tb": below(g.tb_slots)})),
            "full": Out(1), "away": In(entries), "wakes": Out(entries)})


class WatchTable(wiring.Component):
    """Remembers which segment of memory each TB watches, and whether it was written since.

    A TB on the SM watches one segment, from the cycle after `watch` on. The watch has *fired* when
    that segment was written since, when the TB asks for another one as well, or when it says so
    itself (`cancel`). A write of the same cycle counts in `fired`. When the TB leaves, its watch
    becomes a row of the table if one is free. In the next cycle a write already fires the row, so
    no write is missed. A row that has fired is free again.

    Parameters
    ----------
    g : Geometry
        Geometry with `watches` rows.

    Attributes
    ----------
    resident : array of resident_tb, in
        The TB table.
    watch : watch_event, in
    cancel : Signal(warps), in
        Vector: of the TBs of these warps the watch has fired.
    written : written_event, in; noticed : notice, in
        Segments that the SMs and the host have written.
    tbs : WatchPort, out
        The watches.
    """

    resident: data.View
    watch: data.View
    cancel: Signal
    written: data.View
    noticed: data.View
    tbs: Port

    def __init__(self, g: Geometry):
        self.geometry = g
        self.segments = [Signal(SEGMENT_BITS, name=f"segment_{t}") for t in range(g.tb_slots)]
        self.fired_before = Signal(g.tb_slots)
        self.rows = [Signal(_row(g), name=f"row_{i}") for i in range(g.watches)]
        super().__init__({
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)),
            "watch": In(watch_event(g)), "cancel": In(g.warps), "written": In(written_event()),
            "noticed": In(notice()), "tbs": Out(WatchPort(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        self._residents(m)
        self._rows(m)
        return m

    def _hit(self, segment: Value):
        """Whether a segment is written in this cycle."""
        noticed = self.noticed
        return (self.written.valid & (self.written.segment == segment)
                | noticed.valid & (noticed.first <= segment) & (segment <= noticed.last))

    def _residents(self, m: Module):
        """Follow the watches of TBs on the SM."""
        watch, tbs = self.watch, self.tbs
        segments, fired = self.segments, self.fired_before
        m.d.comb += tbs.fired.eq(fired | tbs.set & Cat(self._hit(s) for s in segments))
        for t, segment in enumerate(segments):
            warps = self.resident[t].warps
            watches = watch.valid & warps.bit_select(watch.warp, 1)
            with m.If(watches & ~tbs.set[t]):
                m.d.sync += [tbs.set[t].eq(1), segment.eq(watch.segment)]
            second = watches & tbs.set[t] & (watch.segment != segment)
            m.d.sync += fired[t].eq(tbs.fired[t] | second | (self.cancel & warps).any())
            with m.If(tbs.clear[t]):
                m.d.sync += [tbs.set[t].eq(0), fired[t].eq(0)]

    def _rows(self, m: Module):
        """Follow the watches of TBs that are away."""
        g, tbs = self.geometry, self.tbs
        chosen = Signal(g.watches)  # the row for a TB that leaves now
        hits = Signal(g.watches)
        tb = Array(self.resident[t] for t in range(g.tb_slots))[tbs.leave.tb]
        free = Cat(~row.valid for row in self.rows)
        m.d.comb += [tbs.full.eq(~free.any()), chosen.eq(lowest(free)),
                     hits.eq(Cat(row.valid & self._hit(row.segment) for row in self.rows))]
        for i, row in enumerate(self.rows):
            away = tbs.away[row.kernel].bit_select(row.entry, 1)
            m.d.sync += row.valid.eq(row.valid & ~hits[i] & away)
            with m.If(tbs.leave.valid & chosen[i]):
                m.d.sync += [row.valid.eq(1), row.kernel.eq(tb.kernel), row.entry.eq(tb.entry),
                             row.segment.eq(Array(self.segments)[tbs.leave.tb])]
        for k in range(g.kernel_slots):
            wakes = Const(0, g.context_entries)
            for hit, row in zip(hits, self.rows, strict=True):
                wakes = wakes | Mux(hit & (row.kernel == k),
                                    one_hot(row.entry, g.context_entries), 0)
            m.d.comb += tbs.wakes[k].eq(wakes)

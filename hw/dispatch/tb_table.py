"""The TB table: the resident TBs."""

import functools
import operator
from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.geometry import SEGMENT_BYTES, Geometry
from ..interfaces.payloads import below, tb_event, tb_info
from ..interfaces.port import Port
from ..interfaces.preemption import resident_tb
from ..lib.bits import one_hot, select, spread

__all__ = ["RoomPort", "TbTable", "entries_of", "new_tb"]


def new_tb(g: Geometry) -> data.StructLayout:
    """A TB that becomes resident in slot `tb`:
    its row, the number of its warps and its bytes of shared memory."""
    return data.StructLayout({"valid": 1, "tb": below(g.tb_slots), "row": resident_tb(g),
                              "warps": range(g.max_block_warps + 1), "shared_bytes": 20})


def entries_of(g: Geometry, rows: Sequence[data.View], chosen: Sequence[Value]) -> Value:
    """Return the vector of the entries of some TBs of a kernel: those of `rows` that are chosen."""
    return functools.reduce(operator.or_, (
        one_hot(row.entry, g.context_entries) & spread(each, g.context_entries)
        for row, each in zip(rows, chosen, strict=True)))


class RoomPort(wiring.Signature):
    """Free rows and warp slots, and the TB that takes some. Directions are the TB table's.

    Attributes
    ----------
    occupied : Signal(tb_slots), out
        Vector: rows in use.
    warps_taken : Signal(warps), out
        Vector: warp slots of resident TBs.
    warp_count : Signal, out
        Warps resident.
    insert : new_tb, in
        Fills a free row.
    """

    def __init__(self, g: Geometry):
        super().__init__({
            "occupied": Out(g.tb_slots), "warps_taken": Out(g.warps),
            "warp_count": Out(range(g.warps + 1)), "insert": In(new_tb(g))})


class TbTable(wiring.Component):
    """One row for each TB slot, and how many TBs and warps are resident.

    Each cycle one TB can be inserted, one started, and any number removed. All changes show in the
    next cycle.

    Attributes
    ----------
    room : RoomPort, out
        Tells the free rows and warp slots; fills a free row.
    start : struct, in
        The TB's warps run: sets `started`.
    remove : Signal(tb_slots), in
        At most one bit: this row becomes free.
    resident, tbs : arrays, out
        The rows, and what the core sees of them; changes are visible one cycle later.
    present : Signal(kernel_slots), out
        Vector: kernels with a TB in the table.
    running : array of Signal(context_entries), out
        Vector per kernel: entries of its started TBs.
    tb_count : Signal, out
        TBs resident.
    """

    room: Port
    start: data.View
    remove: Signal
    resident: data.View
    tbs: data.View
    present: Signal
    running: data.View
    tb_count: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "room": Out(RoomPort(g)),
            "start": In(tb_event(g)),
            "remove": In(g.tb_slots),
            "resident": Out(data.ArrayLayout(resident_tb(g), g.tb_slots)),
            "tbs": Out(data.ArrayLayout(tb_info(g), g.tb_slots)),
            "present": Out(g.kernel_slots),
            "running": Out(data.ArrayLayout(g.context_entries, g.kernel_slots)),
            "tb_count": Out(range(g.tb_slots + 1)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, room, insert = self.geometry, self.room, self.room.insert
        counts = [Signal(range(g.max_block_warps + 1), name=f"warps{t}") for t in range(g.tb_slots)]
        for t in range(g.tb_slots):
            row = self.resident[t]
            self._describe(m, row, self.tbs[t], inserted := Signal(name=f"inserted{t}"))
            m.d.comb += [inserted.eq(insert.valid & (insert.tb == t)),
                         room.occupied[t].eq(row.valid)]
            with m.If(self.start.valid & (self.start.tb == t)):
                m.d.sync += row.started.eq(1)
            with m.If(self.remove[t]):
                m.d.sync += row.valid.eq(0)
            with m.If(inserted):
                m.d.sync += [row.eq(insert.row), row.valid.eq(1), row.started.eq(0),
                             counts[t].eq(insert.warps)]
        warps = present = Const(0)
        for t in range(g.tb_slots):
            row = self.resident[t]
            warps = warps | Mux(row.valid, row.warps, 0)
            present = present | row.valid << row.kernel
        for k in range(g.kernel_slots):
            rows = [self.resident[t] for t in range(g.tb_slots)]
            m.d.comb += self.running[k].eq(entries_of(
                g, rows, [row.started & row.valid & (row.kernel == k) for row in rows]))
        added = Mux(insert.valid, insert.warps, 0)
        m.d.comb += [room.warps_taken.eq(warps), self.present.eq(present)]
        m.d.sync += [
            room.warp_count.eq(room.warp_count + added - select(self.remove, counts)),
            self.tb_count.eq(self.tb_count + insert.valid - self.remove.any()),
        ]
        return m

    def _describe(self, m: Module, row: data.View, tb: data.View, inserted: Value):
        """Show the core's part of a row."""
        m.d.comb += [
            tb.kernel.eq(row.kernel), tb.launch_id.eq(row.launch_id), tb.ctaid_x.eq(row.ctaid_x),
            tb.ctaid_y.eq(row.ctaid_y), tb.ctaid_z.eq(row.ctaid_z),
            tb.shared_base.eq(Cat(Const(0, exact_log2(SEGMENT_BYTES)), row.first_line)),
            tb.local_base.eq(row.local_base),
        ]
        with m.If(inserted):
            m.d.sync += tb.shared_bytes.eq(self.room.insert.shared_bytes)

"""Staying table: the registers and shared memory that preempted TBs have left on the SM
(Lin et al. III-A, Fig. 4)."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...interfaces.payloads import below, tb_event
from ...interfaces.staying import Phase, staying, staying_report, staying_row
from ...lib.bits import lowest, lowest_number

__all__ = ["StayingTable"]


class StayingTable(wiring.Component):
    """As many rows as there are TB slots.

    A row is reserved when its TB is handed to the save pipeline, and counts from when that has been
    committed and leaves; it is free again when the TB has started, when what stays has been written
    to memory, or when the kernel is killed. While its TB is brought back it is lent.

    What happens to a row shows in the next cycle; each row takes one event a cycle.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    reserve : In(valid, tb, what)
        The lowest free row, `next`, is reserved; there is one (`room`).
    next, room : Signal, out
    warp : In(valid, row, warp)
        A warp of a row is remembered: it had not exited.
    leaves : payloads.tb_event, in
        A TB has been saved, and its row counts if it has one.
    settle : Signal, in
        A command has ended: rows that are still reserved become free.
    kernel, entry : Signal, in; admitted : payloads.tb_event, in
        The TB of an entry of the kernel in hand, of which something stays, is in a TB slot again.
    starts, returns : payloads.tb_event, in
        A TB that was brought back starts, or is given back.
    select : Signal, in; shown : staying_row, out
        A row. Combinational.
    evicted : Signal, in
        All of what `select` shows is in memory.
    drop : Signal(kernel_slots), in
        Vector: the kernel is killed, and nothing of it is under way.
    stays, first : Signal, out
        A row of the kernel in hand that is not lent, and its number.
    reserved_registers, reserved_lines : Signal(context_entries), out
        Vectors: entries of TBs that are being saved whose registers, whose lines will stay.
    found : Signal, out
        The row of `entry` of `kernel`, if it has one. Combinational.
    report : staying_report, out
        The rows, and what follows from them.
    """

    reserve: data.View
    next: Signal
    room: Signal
    warp: data.View
    leaves: data.View
    settle: Signal
    kernel: Signal
    entry: Signal
    admitted: data.View
    starts: data.View
    returns: data.View
    select: Signal
    shown: data.View
    evicted: Signal
    drop: Signal
    stays: Signal
    first: Signal
    reserved_registers: Signal
    reserved_lines: Signal
    found: Signal
    report: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        tb, row = below(g.tb_slots), below(g.tb_slots)
        super().__init__({
            "reserve": In(data.StructLayout({"valid": 1, "tb": tb, "what": staying(g)})),
            "next": Out(row), "room": Out(1),
            "warp": In(data.StructLayout({"valid": 1, "row": row,
                                          "warp": below(g.max_block_warps)})),
            "leaves": In(tb_event(g)), "settle": In(1),
            "kernel": In(below(g.kernel_slots)), "entry": In(below(g.context_entries)),
            "admitted": In(tb_event(g)), "starts": In(tb_event(g)), "returns": In(tb_event(g)),
            "select": In(row), "shown": Out(staying_row(g)), "evicted": In(1),
            "drop": In(g.kernel_slots), "stays": Out(1), "first": Out(row),
            "reserved_registers": Out(g.context_entries),
            "reserved_lines": Out(g.context_entries),
            "found": Out(row), "report": Out(staying_report(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        rows = [self.report.rows[s] for s in range(g.tb_slots)]
        free = Signal(g.tb_slots)
        chosen = Signal(g.tb_slots)
        mine = Signal(g.tb_slots)
        m.d.comb += [
            free.eq(Cat(row.phase == Phase.FREE for row in rows)), self.room.eq(free.any()),
            chosen.eq(lowest(free)), self.next.eq(lowest_number(free)),
            mine.eq(Cat((row.phase == Phase.STAYS) & (row.what.kernel == self.kernel)
                        for row in rows)),
            self.stays.eq(mine.any()), self.first.eq(lowest_number(mine)),
            self.found.eq(lowest_number(Cat(
                mine[s] & (row.what.entry == self.entry) for s, row in enumerate(rows)))),
            self.shown.eq(self.report.rows[self.select]),
        ]
        for s, row in enumerate(rows):
            self._follow(m, s, row, chosen)
        for name, reserved in (("registers", self.reserved_registers),
                               ("lines", self.reserved_lines)):
            m.d.comb += reserved.eq(self._entries(name, (Phase.RESERVED,)))
            m.d.comb += [self.report[name][k].eq(
                self._entries(name, (Phase.STAYS, Phase.LENT), k)) for k in range(g.kernel_slots)]
        return m

    def _entries(self, name: str, phases: Sequence[Phase], kernel: int | None = None):
        """Return the vector of the entries of rows in some phases, of a kernel if one is given."""
        g = self.geometry
        there = Const(0, g.context_entries)
        for row in (self.report.rows[s] for s in range(g.tb_slots)):
            counts = row.phase.matches(*phases) & row.what[name]
            if kernel is not None:
                counts &= row.what.kernel == kernel
            there = there | counts << row.what.entry
        return there

    def _follow(self, m: Module, s: int, row: data.View, chosen: Value):
        """What becomes of a row, and of its ranges."""
        slots = self.geometry.tb_slots
        leaves, starts, gone = (Signal(name=f"{name}_{s}") for name in ("leaves", "starts", "gone"))
        m.d.comb += [
            leaves.eq(self.leaves.valid & (row.phase == Phase.RESERVED)
                      & (row.tb == self.leaves.tb)),
            starts.eq(self.starts.valid & (row.phase == Phase.LENT) & (row.tb == self.starts.tb)),
            gone.eq(self.evicted & (self.select == s)
                    | (row.phase != Phase.FREE) & self.drop.bit_select(row.what.kernel, 1)),
            self.report.release[slots + s].eq(gone),
            self.report.evictable[s].eq(row.phase == Phase.STAYS),
        ]
        for name in ("registers", "lines"):
            move = self.report[f"move_{name}"]
            with m.If(leaves & row.what[name]):
                m.d.comb += [move.valid.eq(1), move.owner.eq(row.tb), move.to.eq(slots + s)]
            with m.If(starts & row.what[name]):
                m.d.comb += [move.valid.eq(1), move.owner.eq(slots + s), move.to.eq(row.tb)]
        with m.If(gone | starts | self.settle & (row.phase == Phase.RESERVED)):
            m.d.sync += row.phase.eq(Phase.FREE)
        with m.Elif(leaves):
            m.d.sync += row.phase.eq(Phase.STAYS)
        with m.Elif(self.admitted.valid & (row.phase == Phase.STAYS) & (self.found == s)):
            m.d.sync += [row.phase.eq(Phase.LENT), row.tb.eq(self.admitted.tb)]
        with m.Elif(self.returns.valid & (row.phase == Phase.LENT)
                    & (row.tb == self.returns.tb)):
            m.d.sync += row.phase.eq(Phase.STAYS)
        with m.Elif(self.reserve.valid & chosen[s]):
            m.d.sync += [row.phase.eq(Phase.RESERVED), row.tb.eq(self.reserve.tb),
                         row.live_warps.eq(0), row.what.eq(self.reserve.what)]
        with m.If(self.warp.valid & (self.warp.row == s)):
            m.d.sync += row.live_warps.bit_select(self.warp.warp, 1).eq(1)

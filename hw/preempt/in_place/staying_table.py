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

    An event of a row shows in the next cycle; each row takes one event per cycle.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    row_reserve : In(valid, tb, what)
        The lowest free row, `free_row`, is reserved; there is one (`row_free`).
    free_row, row_free : Signal, out
    warp_remembered : In(valid, row, warp)
        A warp of a row is remembered: it had not exited.
    tb_released : payloads.tb_event, in
        A TB has been saved, and its row counts if it has one.
    command_done : Signal, in
        A command has ended: rows that are still reserved become free.
    kernel, entry : Signal, in; row_lent : payloads.tb_event, in
        The TB of an entry of the kernel in hand, of which something stays, is in a TB slot again.
    tb_started, tb_returned : payloads.tb_event, in
        A TB that was brought back starts, or is given back.
    row_select : Signal, in; row : staying_row, out
        A row. Combinational.
    row_evicted : Signal, in
        All of what `row_select` shows is in memory.
    kernel_discarded : Signal(kernel_slots), in
        Vector: the kernel is killed, and nothing of it is under way.
    rows_stay, first_row : Signal, out
        A row of the kernel in hand that is not lent, and its number.
    reserved_registers, reserved_lines : Signal(context_entries), out
        Vectors: entries of TBs that are being saved whose registers, whose lines will stay.
    row_found : Signal, out
        The row of `entry` of `kernel`, if it has one. Combinational.
    report : staying_report, out
        The rows, and what follows from them.
    """

    row_reserve: data.View
    free_row: Signal
    row_free: Signal
    warp_remembered: data.View
    tb_released: data.View
    command_done: Signal
    kernel: Signal
    entry: Signal
    row_lent: data.View
    tb_started: data.View
    tb_returned: data.View
    row_select: Signal
    row: data.View
    row_evicted: Signal
    kernel_discarded: Signal
    rows_stay: Signal
    first_row: Signal
    reserved_registers: Signal
    reserved_lines: Signal
    row_found: Signal
    report: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        tb, row = below(g.tb_slots), below(g.tb_slots)
        super().__init__({
            "row_reserve": In(data.StructLayout({"valid": 1, "tb": tb, "what": staying(g)})),
            "free_row": Out(row), "row_free": Out(1),
            "warp_remembered": In(data.StructLayout({
                "valid": 1, "row": row, "warp": below(g.max_block_warps)})),
            "tb_released": In(tb_event(g)), "command_done": In(1),
            "kernel": In(below(g.kernel_slots)), "entry": In(below(g.context_entries)),
            **{name: In(tb_event(g)) for name in ("row_lent", "tb_started", "tb_returned")},
            "row_select": In(row), "row": Out(staying_row(g)), "row_evicted": In(1),
            "kernel_discarded": In(g.kernel_slots), "rows_stay": Out(1), "first_row": Out(row),
            "reserved_registers": Out(g.context_entries),
            "reserved_lines": Out(g.context_entries),
            "row_found": Out(row), "report": Out(staying_report(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        rows = [self.report.rows[s] for s in range(g.tb_slots)]
        free = Signal(g.tb_slots)
        chosen = Signal(g.tb_slots)
        kernel_rows = Signal(g.tb_slots)  # that stay, and are not lent
        m.d.comb += [
            free.eq(Cat(row.phase == Phase.FREE for row in rows)), self.row_free.eq(free.any()),
            chosen.eq(lowest(free)), self.free_row.eq(lowest_number(free)),
            kernel_rows.eq(Cat((row.phase == Phase.STAYS) & (row.what.kernel == self.kernel)
                        for row in rows)),
            self.rows_stay.eq(kernel_rows.any()), self.first_row.eq(lowest_number(kernel_rows)),
            self.row_found.eq(lowest_number(Cat(
                kernel_rows[s] & (row.what.entry == self.entry) for s, row in enumerate(rows)))),
            self.row.eq(self.report.rows[self.row_select]),
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
        """Follow the events of a row, and move its ranges."""
        slots = self.geometry.tb_slots
        row_left, row_started, row_freed = (Signal(name=f"{name}_{s}") for name in (
            "row_left", "row_started", "row_freed"))
        m.d.comb += [
            row_left.eq(self.tb_released.valid & (row.phase == Phase.RESERVED)
                      & (row.tb == self.tb_released.tb)),
            row_started.eq(self.tb_started.valid & (row.phase == Phase.LENT)
                           & (row.tb == self.tb_started.tb)),
            row_freed.eq(self.row_evicted & (self.row_select == s)
                         | (row.phase != Phase.FREE)
                         & self.kernel_discarded.bit_select(row.what.kernel, 1)),
            self.report.release[slots + s].eq(row_freed),
            self.report.evictable[s].eq(row.phase == Phase.STAYS),
        ]
        for name in ("registers", "lines"):
            move = self.report[f"move_{name}"]
            with m.If(row_left & row.what[name]):
                m.d.comb += [move.valid.eq(1), move.owner.eq(row.tb), move.to.eq(slots + s)]
            with m.If(row_started & row.what[name]):
                m.d.comb += [move.valid.eq(1), move.owner.eq(slots + s), move.to.eq(row.tb)]
        with m.If(row_freed | row_started | self.command_done & (row.phase == Phase.RESERVED)):
            m.d.sync += row.phase.eq(Phase.FREE)
        with m.Elif(row_left):
            m.d.sync += row.phase.eq(Phase.STAYS)
        with m.Elif(self.row_lent.valid & (row.phase == Phase.STAYS) & (self.row_found == s)):
            m.d.sync += [row.phase.eq(Phase.LENT), row.tb.eq(self.row_lent.tb)]
        with m.Elif(self.tb_returned.valid & (row.phase == Phase.LENT)
                    & (row.tb == self.tb_returned.tb)):
            m.d.sync += row.phase.eq(Phase.STAYS)
        with m.Elif(self.row_reserve.valid & chosen[s]):
            m.d.sync += [row.phase.eq(Phase.RESERVED), row.tb.eq(self.row_reserve.tb),
                         row.live_warps.eq(0), row.what.eq(self.row_reserve.what)]
        with m.If(self.warp_remembered.valid & (self.warp_remembered.row == s)):
            m.d.sync += row.live_warps.bit_select(self.warp_remembered.warp, 1).eq(1)

"""Room for a thread block (TB) on an SM where something has stayed of preempted ones."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.staying import staying_report
from .allocator import allocation
from .cheapest_fit import CheapestFit
from .footprint import footprint
from .place_search import table_searches
from .waiting_kernels import attempt_failure

__all__ = ["RoomMaker"]


class RoomMaker(wiring.Component):
    """Finds what has to be evicted so that a TB has room (Lin et al. III-A; `CheapestFit`).

    A kernel is *stuck* if memory has refused to evict what stays of it, which is then never in a
    plan. A kernel is *hopeless* if only stuck kernels are in the way of a TB of it, and no TB is on
    the SM that could make room.

    Parameters
    ----------
    g : Geometry
        Geometry with `in_place`.

    Attributes
    ----------
    size : footprint, in
        The footprint of the TB that has found no room.
    registers, lines : arrays of allocation, in; searches : table_searches, in
        The allocation tables, and what the search for room has found.
    staying : staying_report, in
        Registers and lines of preempted TBs that stay on the SM.
    stuck : Signal(kernel_slots), in
        Vector: kernels of which nothing can be evicted.
    begin, active : Signal, in
        The search begins in the next cycle; it goes on.
    done : Signal, out
        The search ends.
    attempt, enter : Signal, in
        An attempt to give a TB room begins; a TB enters the SM.
    failure : attempt_failure, in
        An attempt has found no room.
    occupied : Signal(tb_slots), in; remove : Signal(tb_slots), in
        Vectors: TB slots in use; the TB that leaves the SM.
    room_changed : Signal, out
        Something leaves the SM, or `stuck` has changed: all try again.
    evict : Signal(tb_slots), out
        Vector: rows of the staying table that are in the way, each until it is evicted.
    hopeless : Signal(kernel_slots), out
        Vector: kernels of which a TB has found no room since one left the SM, entered it, or
        `stuck` changed, nor can any.
    """

    size: data.View
    registers: data.View
    lines: data.View
    searches: data.View
    staying: data.View
    stuck: Signal
    begin: Signal
    active: Signal
    done: Signal
    attempt: Signal
    enter: Signal
    failure: data.View
    occupied: Signal
    remove: Signal
    room_changed: Signal
    evict: Signal
    hopeless: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "size": In(footprint(g)),
            **{name: In(data.ArrayLayout(allocation(units, 2 * g.tb_slots), 2 * g.tb_slots))
               for name, units in (("registers", g.register_rows), ("lines", g.shared_lines))},
            "searches": In(table_searches()), "staying": In(staying_report(g)),
            "stuck": In(g.kernel_slots), "begin": In(1), "active": In(1), "done": Out(1),
            "attempt": In(1), "enter": In(1), "failure": In(attempt_failure(g)),
            "occupied": In(g.tb_slots), "remove": In(g.tb_slots), "room_changed": Out(1),
            "evict": Out(g.tb_slots), "hopeless": Out(g.kernel_slots),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        stuck_before = Signal(g.kernel_slots)
        only_stuck = Signal()  # only what is stuck is in the way
        movable = Signal(g.tb_slots)  # rows that can be evicted
        m.d.sync += stuck_before.eq(self.stuck)
        m.d.comb += [
            movable.eq(self.staying.evictable & ~Cat(
                self.stuck.bit_select(row.what.kernel, 1) for row in self.staying.rows)),
            self.room_changed.eq(self.remove.any() | self.staying.release.any()
                                 | (self.stuck != stuck_before)),
        ]
        parts = [self._part(m, name, movable) for name in ("registers", "lines")]
        fits = Cat(part_fits for _, part_fits, _ in parts).all()
        rows = parts[0][2] | parts[1][2]
        m.d.comb += self.done.eq(self.active & Cat(done for done, _, _ in parts).all())
        # When something leaves, the TB that lacked room tries again, and may need no eviction.
        m.d.sync += self.evict.eq((Mux(self.room_changed, 0, self.evict)
                                   | Mux(self.done & fits, rows, 0)) & movable)
        with m.If(self.attempt):
            m.d.sync += only_stuck.eq(0)
        with m.If(self.done):
            m.d.sync += only_stuck.eq(~fits & ~self.occupied.any())
        with m.If(self.room_changed | self.enter):
            m.d.sync += self.hopeless.eq(0)
        with m.If(only_stuck & self.failure.valid & ~self.room_changed):
            m.d.sync += self.hopeless.eq(self.hopeless | (Const(1) << self.failure.kernel))
        return m

    def _part(self, m: Module, name: str, movable: Value):
        """Search one table. Return whether that is done, whether there can be room, and the rows
        that are in the way."""
        g, table, search = self.geometry, getattr(self, name), self.searches[name]
        capacity, size = ((g.register_rows, self.size.rows) if name == "registers"
                          else (g.shared_lines, self.size.lines))
        m.submodules[name] = fit = CheapestFit(capacity, 2 * g.tb_slots)
        m.d.comb += [fit.request.valid.eq(self.begin), fit.request.size.eq(size)]
        short = ~search.fits & search.done  # there is no room without an eviction
        rows = Const(0, g.tb_slots)
        for i in range(2 * g.tb_slots):
            entry = table[i]
            row = Signal(g.tb_slots, name=f"{name}_row_{i}")
            # Owners are the TB slots, and after them the rows of the staying table.
            m.d.comb += [
                row.eq(Mux(entry.owner >= g.tb_slots, 1 << entry.owner >> g.tb_slots, 0)),
                fit.occupied[i].valid.eq(entry.valid), fit.occupied[i].start.eq(entry.start),
                fit.occupied[i].size.eq(entry.size),
                fit.occupied[i].movable.eq((row & movable).any())]
            rows = rows | Mux(fit.leave[i], row, 0)
        return search.done & fit.done, ~short | fit.fits, Mux(short, rows, 0)

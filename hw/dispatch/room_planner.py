"""Room planner: selects the preempted TBs that have to leave the SM for a newcomer. The others can
leave registers and shared memory where they are (Lin et al. III-A, IV-C; the model is
`arch.room.make_room`)."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.payloads import below, kernel_info
from ..interfaces.staying import plan, plan_request
from ..lib.bits import one_hot
from .allocator import allocation
from .cheapest_fit import CheapestFit
from .footprint import NEEDS, Footprint

__all__ = ["RangePlanner", "RoomPlanner"]


def _begins(m: Module, request: data.View) -> None:
    """In whatever state this stands, a request begins anew."""
    with m.If(request.valid):
        m.next = "ASK"


class RangePlanner(wiring.Component):
    """Finds room in one resource for `count` ranges of `size` units, one after the other, each
    where the fewest owners are in the way that are not already.

    A range takes ``entries + most + 4`` cycles.

    Parameters
    ----------
    capacity, owners, entries : int
        Described in `AllocationTable`.
    most : int
        Ranges that can be asked for.

    Attributes
    ----------
    table : array of allocation, in
        The allocated ranges, in the cycle of the request.
    movable : Signal(owners), in
        Vector, likewise: owners that can leave.
    request : In(valid, size, count)
        Begins a plan; one under way is dropped.
    done : Signal, out
        The answer is there, and held until the next request.
    placed : Signal, out
        Ranges for which there is room.
    leave : Signal(owners), out
        Vector: owners in their way.
    """

    table: data.View
    movable: Signal
    request: data.View
    done: Signal
    placed: Signal
    leave: Signal

    def __init__(self, capacity: int, owners: int, entries: int, most: int):
        self.capacity, self.owners, self.entries, self.most = capacity, owners, entries, most
        units = range(capacity + 1)
        super().__init__({
            "table": In(data.ArrayLayout(allocation(capacity, owners), entries)),
            "movable": In(owners),
            "request": In(data.StructLayout({"valid": 1, "size": units,
                                             "count": range(most + 1)})),
            "done": Out(1, init=1),  # pyright: ignore[reportCallIssue]
            "placed": Out(range(most + 1)), "leave": Out(owners),
        })

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.fit = fit = CheapestFit(self.capacity, self.entries + self.most)
        rows = Signal.like(fit.occupied)  # what is left of the table, and what has been placed
        of = [Signal(below(self.owners), name=f"owner_{i}") for i in range(self.entries)]
        size = Signal.like(self.request.size)
        count = Signal.like(self.request.count)
        m.d.comb += [fit.occupied.eq(rows), fit.request.size.eq(size)]
        with m.FSM():
            with m.State("IDLE"):
                _begins(m, self.request)
            with m.State("ASK"):
                m.d.comb += fit.request.valid.eq(1)
                m.next = "SEARCH"
                with m.If(self.placed == count):
                    m.d.sync += self.done.eq(1)
                    m.next = "IDLE"
                _begins(m, self.request)
            with m.State("SEARCH"):
                with m.If(fit.done):
                    m.next = "PLACE"
                    with m.If(~fit.fits):
                        m.d.sync += self.done.eq(1)
                        m.next = "IDLE"
                _begins(m, self.request)
            with m.State("PLACE"):
                evicted = Const(0, self.owners)
                for i, owner in enumerate(of):
                    evicted = evicted | Mux(fit.leave[i], one_hot(owner, self.owners), 0)
                    with m.If(fit.leave[i]):
                        m.d.sync += rows[i].valid.eq(0)
                for k in range(self.most):
                    row = rows[self.entries + k]
                    with m.If(self.placed == k):
                        m.d.sync += [row.valid.eq(1), row.movable.eq(0), row.start.eq(fit.start),
                                     row.size.eq(size)]
                m.d.sync += [self.leave.eq(self.leave | evicted), self.placed.eq(self.placed + 1)]
                m.next = "ASK"
        with m.If(self.request.valid):
            m.d.sync += [size.eq(self.request.size), count.eq(self.request.count),
                         self.placed.eq(0), self.leave.eq(0), self.done.eq(0)]
            for i, owner in enumerate(of):
                entry = self.table[i]
                m.d.sync += [
                    rows[i].valid.eq(entry.valid), rows[i].start.eq(entry.start),
                    rows[i].size.eq(entry.size), owner.eq(entry.owner),
                    rows[i].movable.eq(self.movable.bit_select(entry.owner, 1))]
            for k in range(self.most):
                m.d.sync += rows[self.entries + k].valid.eq(0)
        return m


class RoomPlanner(wiring.Component):
    """Makes separate plans for registers and shared memory, side by side. If one has room for fewer
    TBs than the other, both are planned again for that number.

    For a newcomer that has no TB, or none that could ever fit, all stays.

    Timing
    ------
    ``ranges + tb_slots + 4`` cycles for each TB, of ``2 * tb_slots`` ranges, and a few more;
    twice that if it plans twice.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    kernels : array of kernel_info, in
        The sizes of the newcomer count in the cycle of the request.
    registers, lines : arrays of allocation, in
        The allocated ranges (`AllocationTable`).
    evictable : Signal(tb_slots), in
        Vector: rows of the staying table that can be evicted.
    request : plan_request, in
        Asks for a plan; one under way is dropped.
    plan : plan, out
        The answer, held until the next request; from the cycle after that on `done` is low until
        its own is there.
    """

    kernels: data.View
    registers: data.View
    lines: data.View
    evictable: Signal
    request: data.View
    plan: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        owners, entries = 2 * g.tb_slots, 2 * g.tb_slots
        super().__init__({
            "kernels": In(data.ArrayLayout(kernel_info(g), g.kernel_slots)),
            "registers": In(data.ArrayLayout(allocation(g.register_rows, owners), entries)),
            "lines": In(data.ArrayLayout(allocation(g.shared_lines, owners), entries)),
            "evictable": In(g.tb_slots), "request": In(plan_request(g)), "plan": Out(plan(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, request = self.geometry, self.request
        owners, entries = 2 * g.tb_slots, 2 * g.tb_slots
        m.submodules.footprint = fit = Footprint(g)
        parts = [RangePlanner(capacity, owners, entries, g.tb_slots)
                 for capacity in (g.register_rows, g.shared_lines)]
        m.submodules.registers, m.submodules.lines = parts
        chosen = Signal(g.tb_slots)
        sizes = Signal.like(fit.size)
        count = Signal(range(g.tb_slots + 1))
        ask = Signal()
        there = Signal()  # the newcomer's slot is one
        m.d.comb += there.eq(request.newcomer < g.kernel_slots)
        with m.Switch(request.newcomer):
            for k in range(g.kernel_slots):
                with m.Case(k):
                    m.d.comb += [fit.kernel[name].eq(self.kernels[k][name]) for name in NEEDS]
        for part, table, size in zip(parts, (self.registers, self.lines),
                                     (sizes.rows, sizes.lines), strict=True):
            m.d.comb += [part.table.eq(table), part.movable.eq(Cat(chosen, self.evictable)),
                         part.request.valid.eq(ask), part.request.size.eq(size),
                         part.request.count.eq(count)]
        both = parts[0].done & parts[1].done
        least = Mux(parts[0].placed < parts[1].placed, parts[0].placed, parts[1].placed)
        m.d.comb += [self.plan.keep_registers.eq(~parts[0].leave[:g.tb_slots]),
                     self.plan.keep_lines.eq(~parts[1].leave[:g.tb_slots])]
        with m.FSM() as fsm:
            m.d.comb += self.plan.done.eq(fsm.ongoing("IDLE"))
            with m.State("IDLE"):
                _begins(m, request)
            with m.State("ASK"):
                m.d.comb += ask.eq(1)
                m.next = "ASKED"
                _begins(m, request)
            with m.State("ASKED"):
                m.next = "PLAN"
                _begins(m, request)
            with m.State("PLAN"):
                with m.If(both):
                    m.next = "IDLE"
                    with m.If(parts[0].placed != parts[1].placed):
                        m.d.sync += count.eq(least)
                        m.next = "ASK"
                _begins(m, request)
        with m.If(request.valid):
            m.d.sync += [chosen.eq(request.chosen), sizes.eq(fit.size), count.eq(
                Mux(there & fit.fits, Mux(request.tbs > g.tb_slots, g.tb_slots, request.tbs), 0))]
        return m

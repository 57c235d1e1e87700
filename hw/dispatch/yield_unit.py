"""Which thread blocks (TBs) leave the SM because they yield, and which of them are to come back
(GPUpIO VII, "Hardware yield instruction")."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.payloads import below
from ..interfaces.preemption import resident_tb
from ..interfaces.yielding import leaving_tb
from ..lib.bits import encode, lowest, one_hot, select, spread

__all__ = ["YieldUnit"]


class YieldUnit(wiring.Component):
    """Decides at each ``bar.yield`` that a TB has come to whether it leaves.

    It does, unless its watch has fired, if its kernel runs, or is being resumed, others want its
    place, and memory has not refused to save one of the kernel of late: the engine saves it
    (`leave`), while its barrier is held. Until the engine begins, each of these may change and the
    barrier is released. If the save fails it is released too. Once the TB has left it is *away*; it
    is *ready* to be brought back when its watch fires, also while it was being saved. One that
    watches nothing, or finds the watch table full, waits for its turn: it is ready when a fresh TB
    has been launched since, or there is none. Ready TBs of a kernel come back one by one, each at
    the latest after all others.

    Of what is away nothing is held but its entry: it is saved as any preempted TB is, so a resume
    of the kernel brings it back as well, ready or not.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    resident : array of resident_tb, in
        The TB table.
    waits : Signal(tb_slots), in; hold : Signal(tb_slots), out
        Of the `YieldPort`. Combinational.
    set, fired : Signal(tb_slots), in; clear : Signal(tb_slots), out
    full : Signal, in; watch_leaves : Out(valid, tb); wakes : array, in
        The `WatchTable`.
    running, resuming : Signal(kernel_slots), in
        Vectors: kernels in state `KernelState.RUNNING`, `KernelState.RESUMING`.
    keeping : Signal(kernel_slots), in
        Vector: kernels of which no TB is to leave.
    wanted : Signal, in
        A TB has found no room on the SM since one left it last.
    fresh, launched : Signal, in
        There are TBs to be launched; one is launched.
    insert : Signal(tb_slots), in
        Vector: a TB gets this slot.
    remove : Signal(tb_slots), in
        Vector: a TB leaves this slot.
    back : array of Signal(context_entries), in
        Vector a kernel: entries of TBs on the SM that have been started.
    forget, start : Signal(kernel_slots), in
        Vectors: kernels of which no TB is away any more, since they begin anew, are killed, or have
        been preempted: what is saved of these comes back by a resume. Those that begin anew.
    leave : leaving_tb, out; taken : Signal, in
        A TB is to be saved; the engine begins with that.
    ended : Signal, in
        It has been saved, or not.
    away, ready : array of Signal(context_entries), out
        Vector a kernel: entries of TBs that are away; that are to be brought back.
    next : array of Signal(context_entries), out; woken : Signal(kernel_slots), in
        Vector a kernel: the one of `ready` that goes first, if there is any. Vector: of these
        kernels it has just been tried.
    stays : array of Signal(context_entries), out
        Vector a kernel: entries of TBs that have left since its resume began, which is not to
        bring them back.
    yields : array of Signal(32), out
        TBs of each kernel that have left since its start.
    """

    resident: data.View
    waits: Signal
    hold: Signal
    set: Signal
    fired: Signal
    clear: Signal
    full: Signal
    watch_leaves: data.View
    wakes: data.View
    running: Signal
    resuming: Signal
    keeping: Signal
    wanted: Signal
    fresh: Signal
    launched: Signal
    insert: Signal
    remove: Signal
    back: data.View
    forget: Signal
    start: Signal
    leave: data.View
    taken: Signal
    ended: Signal
    away: data.View
    ready: data.View
    next: data.View
    woken: Signal
    stays: data.View
    yields: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        self.going = Signal(g.tb_slots)  # the one that the engine saves
        self.turns = [Signal(g.context_entries, name=f"turn_{k}")  # TBs that wait for their turn
                      for k in range(g.kernel_slots)]
        entries = data.ArrayLayout(g.context_entries, g.kernel_slots)
        super().__init__({
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)),
            "waits": In(g.tb_slots), "hold": Out(g.tb_slots), "set": In(g.tb_slots),
            "fired": In(g.tb_slots), "clear": Out(g.tb_slots), "full": In(1),
            "watch_leaves": Out(data.StructLayout({"valid": 1, "tb": below(g.tb_slots)})),
            "wakes": In(entries), **dict.fromkeys(("running", "resuming", "keeping"),
                                                  In(g.kernel_slots)),
            "wanted": In(1), "stays": Out(entries),
            "fresh": In(1), "launched": In(1),
            "insert": In(g.tb_slots), "remove": In(g.tb_slots), "back": In(entries),
            "forget": In(g.kernel_slots),
            "start": In(g.kernel_slots), "leave": Out(leaving_tb(g)), "taken": In(1),
            "ended": In(1), "away": Out(entries), "ready": Out(entries), "next": Out(entries),
            "woken": In(g.kernel_slots),
            "yields": Out(data.ArrayLayout(32, g.kernel_slots)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        rows = [self.resident[t] for t in range(g.tb_slots)]
        willing = Signal(g.tb_slots)  # may leave
        chosen = Signal(g.tb_slots)  # the one to be taken
        going = self.going
        refused = Signal(g.tb_slots)  # could not be saved
        gone = Signal(g.tb_slots)  # leaves the SM
        released = Signal(g.tb_slots)
        m.d.comb += [
            willing.eq(self.waits & ~self.fired & ~refused & spread(self.wanted, g.tb_slots)
                       & Cat(((self.running | self.resuming) & ~self.keeping)
                             .bit_select(row.kernel, 1) for row in rows)),
            self.hold.eq(willing | going), released.eq(self.waits & ~self.hold),
            self.clear.eq(released | self.insert), chosen.eq(lowest(willing)),
            gone.eq(self.remove & going),
            self.leave.valid.eq(willing.any() & ~going.any()),
            self.leave.kernel.eq(select(chosen, [row.kernel for row in rows])),
            self.leave.entry.eq(select(chosen, [row.entry for row in rows])),
            self.watch_leaves.valid.eq((gone & self.set & ~self.fired).any()),
            self.watch_leaves.tb.eq(encode(gone)),
        ]
        with m.If(self.taken):
            m.d.sync += going.eq(chosen)
        with m.Elif(gone.any() | self.ended):
            m.d.sync += going.eq(0)
        m.d.sync += refused.eq((refused | spread(self.ended, g.tb_slots) & going & ~gone)
                               & ~self.clear)
        self._away(m, rows, gone)
        return m

    def _away(self, m: Module, rows: Sequence[data.View], gone: Value):
        """Who is away, and when they come back."""
        g = self.geometry
        leaves = Signal()
        kernel = Signal(below(g.kernel_slots))
        entry = Signal(g.context_entries)
        fired = Signal()
        watched = Signal()  # it has a row of the table
        m.d.comb += [
            leaves.eq(gone.any()), kernel.eq(select(gone, [row.kernel for row in rows])),
            entry.eq(select(gone, [one_hot(row.entry, g.context_entries) for row in rows])),
            fired.eq((gone & self.fired).any()),
            watched.eq(self.watch_leaves.valid & ~self.full),
        ]
        for k in range(g.kernel_slots):
            turn = self.turns[k]
            new = Mux(leaves & (kernel == k), entry, 0)
            come = Mux(self.launched | ~self.fresh, turn, Const(0))
            stay = ~(self.back[k] | spread(self.forget[k], g.context_entries))
            m.d.sync += [
                self.away[k].eq((self.away[k] & stay | new)
                                & ~spread(self.forget[k], g.context_entries)),
                self.ready[k].eq((self.ready[k] | self.wakes[k] | come) & self.away[k] & stay
                                 | Mux(fired, new, 0)),
                turn.eq(turn & ~come & stay | Mux(fired | watched, 0, new)),
                self.stays[k].eq((self.stays[k] & ~self.back[k] | new)
                                 & spread(self.resuming[k], g.context_entries)),
                self.yields[k].eq(self.yields[k] + (leaves & (kernel == k))),
            ]
            tried = Signal(g.context_entries, name=f"tried_{k}")  # up to the last that was
            later = self.ready[k] & ~tried
            m.d.comb += self.next[k].eq(Mux(later.any(), lowest(later), lowest(self.ready[k])))
            with m.If(self.woken[k]):
                m.d.sync += tried.eq(self.next[k] | (self.next[k] - 1)[:g.context_entries])
            with m.If(self.forget[k]):
                m.d.sync += [turn.eq(0), self.ready[k].eq(0)]
            with m.If(self.start[k]):
                m.d.sync += self.yields[k].eq(0)

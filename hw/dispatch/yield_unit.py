"""The yield unit: decides which thread blocks (TBs) leave the SM because they yield, and which come
back (GPUpIO VII, "Hardware yield instruction")."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.payloads import below
from ..interfaces.port import Port
from ..interfaces.preemption import resident_tb
from ..interfaces.yielding import LeavePort
from ..lib.bits import encode, lowest, one_hot, select, spread
from .watch_table import WatchPort

__all__ = ["YieldUnit"]


class YieldUnit(wiring.Component):
    """Decides at each ``bar.yield`` that a TB has come to whether it leaves.

    The TB leaves if its kernel runs or is being resumed, others want its place, and its watch has
    not fired. Nor must memory have refused lately to save a TB of the kernel. Then the engine saves
    the TB (`leaves.leave`) while its barrier is held. Until the engine begins, each of these
    conditions may change, and then the barrier is released. It is released too if the save fails.
    Once the TB has left it is *away*. It is *ready* to be brought back when its watch fires, even
    while it is being saved. A TB that watches nothing, or finds the watch table full, waits for its
    turn. It is ready when a fresh TB has been launched since, or there is no fresh TB. Ready TBs of
    a kernel come back one by one, each at the latest after all others.

    A TB that is away holds nothing but its entry. It is saved as any preempted TB is, so a resume
    of the kernel brings it back as well, ready or not.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    resident : array of resident_tb, in
        The TB table.
    waits : Signal(tb_slots), in; hold : Signal(tb_slots), out
        Described in `YieldPort`. Combinational.
    watches : WatchPort, in
        The `WatchTable`. Its `away` has the entries of the TBs that are away.
    leaves : LeavePort, out
        The command processor, which has the TBs saved and brought back.
    running, resuming : Signal(kernel_slots), in
        Vectors: kernels in state `KernelState.RUNNING`, `KernelState.RESUMING`.
    forget, start : Signal(kernel_slots), in
        Vectors: kernels of which no TB is away any more; kernels that begin anew. No TB is away of
        kernels that begin anew, are killed, or have been preempted. A resume brings back the saved
        TBs of a preempted kernel.
    room_wanted : Signal, in
        A TB has found no room on the SM since one left it last.
    fresh_pending, fresh_launched : Signal, in
        There are TBs to be launched; one is launched.
    insert : Signal(tb_slots), in
        Vector: a TB gets this slot.
    remove : Signal(tb_slots), in
        Vector: a TB leaves this slot.
    started : array of Signal(context_entries), in
        Vector per kernel: entries of TBs on the SM that have been started.
    ready : array of Signal(context_entries), out
        Vector per kernel: entries of TBs that are to be brought back.
    yields : array of Signal(32), out
        TBs of each kernel that have left since its start.
    """

    resident: data.View
    waits: Signal
    hold: Signal
    watches: Port
    leaves: Port
    running: Signal
    resuming: Signal
    forget: Signal
    start: Signal
    room_wanted: Signal
    fresh_pending: Signal
    fresh_launched: Signal
    insert: Signal
    remove: Signal
    started: data.View
    ready: data.View
    yields: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        self.saving = Signal(g.tb_slots)  # the TB that the engine saves
        self.turns = [Signal(g.context_entries, name=f"turn_{k}")  # TBs that wait for their turn
                      for k in range(g.kernel_slots)]
        entries = data.ArrayLayout(g.context_entries, g.kernel_slots)
        super().__init__({
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)),
            "waits": In(g.tb_slots), "hold": Out(g.tb_slots),
            "watches": In(WatchPort(g)), "leaves": Out(LeavePort(g)),
            **dict.fromkeys(("running", "resuming", "forget", "start"), In(g.kernel_slots)),
            **dict.fromkeys(("room_wanted", "fresh_pending", "fresh_launched"), In(1)),
            "insert": In(g.tb_slots), "remove": In(g.tb_slots), "started": In(entries),
            "ready": Out(entries), "yields": Out(data.ArrayLayout(32, g.kernel_slots)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, watches, leaves, saving = self.geometry, self.watches, self.leaves, self.saving
        rows = [self.resident[t] for t in range(g.tb_slots)]
        willing = Signal(g.tb_slots)  # TBs that may leave
        chosen = Signal(g.tb_slots)  # the one of them that leaves
        refused = Signal(g.tb_slots)  # TBs that could not be saved
        departed = Signal(g.tb_slots)  # the saved TB leaves the SM
        released = Signal(g.tb_slots)
        m.d.comb += [
            willing.eq(self.waits & ~watches.fired & ~refused & spread(self.room_wanted, g.tb_slots)
                       & Cat(((self.running | self.resuming) & ~leaves.leave_pausing)
                             .bit_select(row.kernel, 1) for row in rows)),
            self.hold.eq(willing | saving), released.eq(self.waits & ~self.hold),
            watches.clear.eq(released | self.insert), chosen.eq(lowest(willing)),
            departed.eq(self.remove & saving),
            leaves.leave.valid.eq(willing.any() & ~saving.any()),
            leaves.leave.kernel.eq(select(chosen, [row.kernel for row in rows])),
            leaves.leave.entry.eq(select(chosen, [row.entry for row in rows])),
            watches.leave.valid.eq((departed & watches.set & ~watches.fired).any()),
            watches.leave.tb.eq(encode(departed)),
        ]
        with m.If(leaves.leave_taken):
            m.d.sync += saving.eq(chosen)
        with m.Elif(departed.any() | leaves.leave_ended):
            m.d.sync += saving.eq(0)
        m.d.sync += refused.eq((refused | spread(leaves.leave_ended, g.tb_slots)
                                & saving & ~departed) & ~watches.clear)
        self._away(m, rows, departed)
        return m

    def _away(self, m: Module, rows: Sequence[data.View], departed: Value):
        """Follow the TBs that are away until they come back."""
        g, away, next_entries = self.geometry, self.watches.away, self.leaves.wake_entries
        leaves = Signal()
        kernel = Signal(below(g.kernel_slots))
        entry = Signal(g.context_entries)
        fired = Signal()
        watched = Signal()  # it has a row of the table
        m.d.comb += [
            leaves.eq(departed.any()), kernel.eq(select(departed, [row.kernel for row in rows])),
            entry.eq(select(departed, [one_hot(row.entry, g.context_entries) for row in rows])),
            fired.eq((departed & self.watches.fired).any()),
            watched.eq(self.watches.leave.valid & ~self.watches.full),
        ]
        for k in range(g.kernel_slots):
            turn = self.turns[k]
            forget = spread(self.forget[k], g.context_entries)
            new = Mux(leaves & (kernel == k), entry, 0)
            # Whatever watches nothing has its turn when a fresh TB has had its own.
            come = Mux(self.fresh_launched | ~self.fresh_pending, turn, Const(0))
            stay = ~(self.started[k] | forget)
            m.d.sync += [
                away[k].eq((away[k] & stay | new) & ~forget),
                self.ready[k].eq((self.ready[k] | self.watches.wakes[k] | come) & away[k] & stay
                                 | Mux(fired, new, 0)),
                turn.eq(turn & ~come & stay | Mux(fired | watched, 0, new)),
                self.leaves.resume_excluded[k].eq(
                    (self.leaves.resume_excluded[k] & ~self.started[k] | new)
                    & spread(self.resuming[k], g.context_entries)),
                self.yields[k].eq(self.yields[k] + (leaves & (kernel == k))),
            ]
            before = Signal(g.context_entries, name=f"before_{k}")  # up to the last that came back
            later = self.ready[k] & ~before
            m.d.comb += next_entries[k].eq(Mux(later.any(), lowest(later), lowest(self.ready[k])))
            with m.If(self.leaves.wake_taken[k]):
                m.d.sync += before.eq(next_entries[k] | (next_entries[k] - 1)[:g.context_entries])
            with m.If(self.forget[k]):
                m.d.sync += [turn.eq(0), self.ready[k].eq(0)]
            with m.If(self.start[k]):
                m.d.sync += self.yields[k].eq(0)

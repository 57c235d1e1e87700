"""Preempt sequencer: claims the kernel's TBs, has them saved as they stop,
releases them as they are committed."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.faults import CommandError
from ...arch.geometry import Geometry
from ...arch.image.context import State
from ...interfaces.payloads import below, tb_event
from ...interfaces.preemption import engine_result, resident_tb
from ...interfaces.staying import plan
from ...lib.bits import encode, lowest_number
from ..formats.accepted_command import accepted_command
from ..save.closer import save_tally
from ..save.committer import head_event
from ..save.records import save_target

__all__ = ["PreemptSequencer"]


class _TbSets:
    """Sets of TBs, a bit for each slot."""

    def __init__(self, g: Geometry):
        self.absent = Signal(g.tb_slots)  # ended, or another kernel's
        self.all_stopped = Signal(g.tb_slots)  # no warp runs
        self.some_stopped = Signal(g.tb_slots)  # a warp has stopped
        self.save_begun = Signal(g.tb_slots)  # handed to the save pipeline, or ended before
        self.save_finished = Signal(g.tb_slots)  # saved or ended
        self.ended_early = Signal(g.tb_slots)  # ended before they were handed over
        self.claim_new = Signal(g.tb_slots)  # claimed in this cycle


class PreemptSequencer(wiring.Component):
    """Runs one preempt, of all TBs of a kernel but those that it spares.

    Each started TB of the kernel is claimed. They are saved one at a time, TBs with no running
    warp first; nothing is written before, since the entry of a TB on the SM is never one that can
    be resumed. The claim of a TB that has ended by itself is dropped.

    After a write error no further TB is begun; when everything under way is acknowledged the
    remaining claims are dropped, and those TBs stay. What became of their entries does not matter:
    no resume looks at one that was not committed (`SavedEntries`). The same holds when the preempt
    is withdrawn; warps of the TBs that are begun then stop at once.

    With ``options.checkpoint`` TBs are not released: what they have is clean when it is committed,
    and they run on from the next cycle. With `hold` they run on once the last of them is committed
    (PEP III-D 1).

    With ``options.in_place`` registers and lines of a TB stay on the SM that are to be kept, if a
    row of the `StayingTable` is free for it.

    A TB that a failed resume has left in its room has never been started: it stays there for the
    next resume, and the preempt says so with `CommandError.BUS_ERROR`.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    accepted : in
    begin : Signal, in
        Start, with `accepted` set from this cycle on.
    resident, stopped, exited : in
        The TB table, and the warps.
    withdraw : Signal, in
        No further TB is to be begun; high until `done`.
    kernel_tbs : Signal(tb_slots), out
        Vector: started TBs of the kernel of `accepted` that are not spared.
    stop_pending, stop_now : Signal(tb_slots), out
        Vectors: those of them that are to stop, and at once.
    claim : Signal(tb_slots), out
        Vector: TBs that are being saved.
    bases, base_sides : Signal(context_entries), in
        Vectors: entries whose TB has a base, and on which side.
    base_select : Signal, out; base_crc : Signal(32), in
        The checksum of the base of an entry. Combinational.
    release : out
        A saved TB whose resources are to be freed; `valid` for one cycle.
    clean : out
        A TB that was saved as a base, likewise.
    claim_dropped : Signal, out
        A claim ends, with or without a release.
    done : out
        `valid` for one cycle, with the result.
    draining : Signal, out
        Nothing can be saved because warps still run.
    plan : staying.plan, in
        TBs whose registers, whose shared memory may stay; they are not saved before it is done.
    row_free : Signal, in; free_row : Signal, in; row_reserve : Signal, out
        The `StayingTable`: a row is free; its number; the TB that is handed over in this cycle gets
        that row.
    target, tally, warps_awaited, data_flowing, save_idle
        The `SavePipeline`.
    head_event, write_error, beats_pending, commit_idle
        The `Committer`.
    """

    accepted: data.View
    begin: Signal
    resident: data.View
    stopped: Signal
    exited: Signal
    withdraw: Signal
    kernel_tbs: Signal
    stop_pending: Signal
    stop_now: Signal
    claim: Signal
    bases: Signal
    base_sides: Signal
    base_select: Signal
    base_crc: Signal
    clean: data.View
    release: data.View
    claim_dropped: Signal
    done: data.View
    draining: Signal
    plan: data.View
    row_free: Signal
    free_row: Signal
    row_reserve: Signal
    target: stream.Interface
    tally: data.View
    warps_awaited: Signal
    data_flowing: Signal
    save_idle: Signal
    head_event: data.View
    write_error: Signal
    beats_pending: Signal
    commit_idle: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "accepted": In(accepted_command(g)), "begin": In(1),
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)), "stopped": In(g.warps),
            "exited": In(g.warps), "withdraw": In(1), "kernel_tbs": Out(g.tb_slots),
            "stop_pending": Out(g.tb_slots), "stop_now": Out(g.tb_slots), "claim": Out(g.tb_slots),
            "bases": In(g.context_entries), "base_sides": In(g.context_entries),
            "base_select": Out(below(g.context_entries)), "base_crc": In(32),
            "release": Out(tb_event(g)), "clean": Out(tb_event(g)), "claim_dropped": Out(1),
            "done": Out(engine_result()), "draining": Out(1),
            "plan": In(plan(g)),
            "row_free": In(1), "free_row": In(below(g.tb_slots)), "row_reserve": Out(1),
            "target": Out(stream.Signature(save_target(g))), "tally": In(save_tally(g)),
            "warps_awaited": In(1), "data_flowing": In(1), "save_idle": In(1),
            "head_event": In(head_event(g)), "write_error": In(1),
            "beats_pending": In(1), "commit_idle": In(1),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        rows = [self.resident[k] for k in range(g.tb_slots)]
        active = Signal()
        tbs = _TbSets(g)
        busy = [row.started & (row.warps & ~self.stopped & ~self.exited).any() for row in rows]
        warps_left = [(row.warps & ~self.exited).any() for row in rows]
        kernel = [row.valid & (row.kernel == self.accepted.kernel) for row in rows]
        left_behind = kernel
        if g.watches:  # others may be half launched while one yields
            left_behind = [k & ~(self.accepted.yields
                                 & self.accepted.options.spared.bit_select(row.entry, 1))
                           for row, k in zip(rows, kernel, strict=True)]
        parked = Cat(k & ~row.started for row, k in zip(rows, left_behind, strict=True)).any()
        m.d.comb += [
            self.kernel_tbs.eq(Cat(k & row.started
                             & ~self.accepted.options.spared.bit_select(row.entry, 1)
                             for row, k in zip(rows, kernel, strict=True))),
            tbs.absent.eq(~self.kernel_tbs
                          | Cat(row.started & ~k for row, k in zip(rows, warps_left, strict=True))),
            tbs.all_stopped.eq(Cat(row.started & ~k for row, k in zip(rows, busy, strict=True))),
            tbs.some_stopped.eq(Cat(row.started
                                    & (row.warps & self.stopped).any() for row in rows)),
        ]
        # TBs of which a base is saved run on: what they write counts from then on.
        runs_on = self.accepted.options.checkpoint
        if g.proactive:
            runs_on = runs_on & ~self.accepted.hold
        begin_barred = Signal()  # no further TB is begun
        m.d.comb += [begin_barred.eq(self.write_error | self.withdraw),
                     self.stop_pending.eq(self.kernel_tbs & Mux(self.withdraw, tbs.save_begun, ~0)
                                    & ~Mux(runs_on, tbs.save_finished, 0)),
                     self.stop_now.eq(Mux(self.withdraw, self.stop_pending, 0))]
        self._claims(m, tbs, active, rows, begin_barred)
        chosen = self._choose(m, tbs, active, begin_barred)

        # Patience counts only these cycles, so that a long save does not use it up.
        remaining = self.kernel_tbs & ~tbs.save_finished & ~tbs.save_begun
        m.d.comb += self.draining.eq(
            active & ~self.data_flowing & ~self.beats_pending & (self.warps_awaited | (
                ~chosen & remaining.any()
                & ~(remaining & (tbs.some_stopped | tbs.all_stopped)).any())))
        settled = self.save_idle & self.commit_idle & ~chosen
        finished = Mux(begin_barred, settled,
                       settled & ~self.claim.any() & ~(self.kernel_tbs & ~tbs.save_finished).any())
        m.d.comb += [self.done.valid.eq(active & finished), self.done.error.eq(
            Mux(self.write_error | parked, CommandError.BUS_ERROR, CommandError.NONE))]
        with m.If(self.begin):
            m.d.sync += active.eq(1)
        with m.Elif(self.done.valid):
            m.d.sync += active.eq(0)
        return m

    def _claims(self, m: Module, tbs: _TbSets, active: Value, rows: Sequence[data.View],
                begin_barred: Value):
        """Claim what belongs to the kernel; release what is committed; drop what has ended."""
        event = self.head_event
        slot = Signal.like(self.claim)  # the TB whose entry was written
        committed = Signal.like(self.claim)
        ended = Signal.like(self.claim)
        completed = active & event.valid & (event.state != State.DEMOTED) & ~event.error
        m.d.comb += [
            slot.eq(Cat(row.valid & (row.kernel == self.accepted.kernel)
                        & (row.entry == event.entry) for row in rows)),
            tbs.claim_new.eq(Mux(active & ~begin_barred,
                                 self.kernel_tbs & ~self.claim & ~tbs.save_finished, 0)),
            committed.eq(Mux(completed, slot, 0)),
            ended.eq(tbs.ended_early
                     | Mux(self.tally.valid & self.tally.ended, 1 << self.tally.tb, 0)),
            self.claim_dropped.eq((committed | ended).any()),
            self.release.valid.eq(committed.any() & ~self.accepted.options.checkpoint),
            self.clean.valid.eq(committed.any() & self.accepted.options.checkpoint),
            self.release.tb.eq(encode(committed)), self.clean.tb.eq(self.release.tb),
        ]
        claim_ends = committed | ended
        m.d.sync += [self.claim.eq((self.claim | tbs.claim_new) & ~claim_ends),
                     tbs.save_finished.eq(tbs.save_finished | claim_ends)]
        with m.If(self.begin):
            m.d.sync += tbs.save_finished.eq(0)
        with m.If(self.done.valid):
            m.d.sync += self.claim.eq(0)

    def _choose(self, m: Module, tbs: _TbSets, active: Value, begin_barred: Value):
        """Offer the save pipeline, whenever it is idle, a TB whose warps have stopped,
        else one with a stopped warp."""
        ready = Signal.like(tbs.save_begun)  # may be saved
        whole = Signal.like(tbs.save_begun)  # without waiting for a warp
        pick = Signal(below(self.geometry.tb_slots))  # the next
        chosen = Signal()  # `tb` is offered
        tb = Signal.like(pick)
        tb_taken = Signal()
        planned = (~self.accepted.options.in_place | self.plan.done if self.geometry.in_place
                   else Const(1))
        waiting = Mux(active, self.claim & ~tbs.save_begun, 0)
        m.d.comb += [
            tbs.ended_early.eq(waiting & tbs.absent),
            ready.eq(waiting & ~tbs.absent & (tbs.some_stopped | tbs.all_stopped)),
            whole.eq(ready & tbs.all_stopped),
            pick.eq(lowest_number(Mux(whole.any(), whole, ready))),
            tb_taken.eq(ready.any() & ~chosen & self.target.ready & ~begin_barred & planned),
            self.target.valid.eq(chosen), self.target.payload.tb.eq(tb),
            self.target.payload.row.eq(self.resident[tb]),
        ]
        self._side(m)
        self._stay(m, tb)
        m.d.sync += tbs.save_begun.eq(tbs.save_begun | tbs.ended_early
                                      | Mux(tb_taken, 1 << pick, 0))
        with m.If(tb_taken):
            m.d.sync += [chosen.eq(1), tb.eq(pick)]
        with m.Elif(self.target.ready):
            m.d.sync += chosen.eq(0)
        with m.If(self.begin):
            m.d.sync += tbs.save_begun.eq(0)
        return chosen

    def _side(self, m: Module):
        """Have a TB that has a base saved on the other side, as an increment if that is asked
        for."""
        target, accepted = self.target.payload, self.accepted
        if not self.geometry.checkpoints:
            return
        based = self.bases.bit_select(self.base_select, 1)
        m.d.comb += [
            self.base_select.eq(target.row.entry), target.base_crc.eq(self.base_crc),
            target.side.eq(based & ~self.base_sides.bit_select(self.base_select, 1)),
            target.increment.eq(based & accepted.options.incremental
                                & ~accepted.options.checkpoint & ~accepted.options.restart),
        ]

    def _stay(self, m: Module, tb: Value):
        """Have what is kept of a TB stay where it is."""
        target = self.target.payload
        keeps = Signal()
        if not self.geometry.in_place:
            return
        m.d.comb += [
            keeps.eq(self.accepted.options.in_place & self.row_free),
            target.registers.eq(keeps & self.plan.keep_registers.bit_select(tb, 1)),
            target.lines.eq(keeps & self.plan.keep_lines.bit_select(tb, 1)
                            & (target.row.lines != 0)),
            target.staying.eq(self.free_row),
            self.row_reserve.eq(self.target.valid & self.target.ready
                            & (target.registers | target.lines)),
        ]

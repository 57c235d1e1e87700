"""Preempt sequencer: claims the kernel's TBs, has them saved as they stop,
releases them as they are committed."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.context import State
from ..arch.faults import CommandError
from ..arch.geometry import Geometry
from ..core.interfaces import index
from .bits import lowest
from .closing import save_tally
from .commit import head, head_event
from .messages import resident_tb
from .records import save_target
from .session import session

__all__ = ["PreemptSequencer"]


class PreemptSequencer(wiring.Component):
    """Runs one preempt; the number of a TB's CCB entry is that of its slot.

    Each TB of the kernel is claimed and has its entry written `State.SAVING`, all in a row while
    warps still run. They are saved one at a time, TBs with no running warp first; what is written
    waits until the entry is in `opened`. A TB that has ended by itself has its entry written
    `State.FREE` and its claim dropped. After a write error no further TB is begun; when everything
    under way is acknowledged the remaining claims are dropped, and those TBs stay.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    session : in
    begin : Signal, in
        Start, with the session set from this cycle on.
    resident, stopped, exited : in
        The TB table, and the warps.
    claim : Signal, out
        TBs (bit vector) that are being saved.
    opened : Signal, out
        Entries (bit vector) whose `State.SAVING` head is acknowledged.
    release : out
        A saved TB whose resources are to be freed; `valid` for one cycle.
    dropped : Signal, out
        A claim ends, with or without a release.
    done : out
        `valid` for one cycle, with the result.
    draining : Signal, out
        Nothing can be saved because warps still run.
    target, tally, waiting, flowing, save_idle
        The `SavePipeline`.
    head, head_event, write_error, sending, commit_idle
        The `Committer`.
    """

    session: data.View
    begin: Signal
    resident: data.View
    stopped: Signal
    exited: Signal
    claim: Signal
    opened: Signal
    release: data.View
    dropped: Signal
    done: data.View
    draining: Signal
    target: stream.Interface
    tally: data.View
    waiting: Signal
    flowing: Signal
    save_idle: Signal
    head: stream.Interface
    head_event: data.View
    write_error: Signal
    sending: Signal
    commit_idle: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        tb = index(g.tb_slots)
        super().__init__({
            "session": In(session(g)), "begin": In(1),
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)), "stopped": In(g.warps),
            "exited": In(g.warps), "claim": Out(g.tb_slots), "opened": Out(g.tb_slots),
            "release": Out(data.StructLayout({"valid": 1, "tb": tb})), "dropped": Out(1),
            "done": Out(data.StructLayout({"valid": 1, "error": CommandError})), "draining": Out(1),
            "target": Out(stream.Signature(save_target(g))), "tally": In(save_tally(g)),
            "waiting": In(1), "flowing": In(1), "save_idle": In(1),
            "head": Out(stream.Signature(head(g))),
            "head_event": In(head_event(g)), "write_error": In(1),
            "sending": In(1), "commit_idle": In(1),
        })

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        slots = g.tb_slots
        rows = [self.resident[k] for k in range(slots)]
        active = Signal()
        self._ours = Signal(slots)  # resident TBs of the kernel
        self._over = Signal(slots)  # ended, or another kernel's
        self._still = Signal(slots)  # no warp runs
        self._some = Signal(slots)  # a warp has stopped
        self._saving = Signal(slots)  # head `SAVING` to be written
        self._free = Signal(slots)  # head `FREE` to be written
        self._begun = Signal(slots)  # handed to the save pipeline, or ended before
        self._finished = Signal(slots)  # saved or ended
        self._early = Signal(slots)  # ended before they were handed over
        busy = [row.started & (row.warps & ~self.stopped & ~self.exited).any() for row in rows]
        left = [(row.warps & ~self.exited).any() for row in rows]
        m.d.comb += [
            self._ours.eq(Cat(row.valid & (row.kernel == self.session.kernel) for row in rows)),
            self._over.eq(~self._ours
                          | Cat(row.started & ~k for row, k in zip(rows, left, strict=True))),
            self._still.eq(Cat(row.started & ~k for row, k in zip(rows, busy, strict=True))),
            self._some.eq(Cat(row.started & (row.warps & self.stopped).any() for row in rows)),
        ]
        self._claims(m, active)
        self._heads(m)
        chosen = self._choose(m, active)

        remaining = self._ours & ~self._finished & ~self._begun
        m.d.comb += self.draining.eq(
            active & ~self.flowing & ~self.sending & (self.waiting | (
                ~chosen & remaining.any() & ~(remaining & (self._some | self._still)).any())))
        settled = self.save_idle & self.commit_idle & ~chosen & ~(self._saving | self._free).any()
        finished = Mux(self.write_error, settled,
                       settled & ~self.claim.any() & ~(self._ours & ~self._finished).any())
        m.d.comb += [self.done.valid.eq(active & finished), self.done.error.eq(
            Mux(self.write_error, CommandError.BUS_ERROR, CommandError.NONE))]
        with m.If(self.begin):
            m.d.sync += active.eq(1)
        with m.Elif(self.done.valid):
            m.d.sync += active.eq(0)
        return m

    def _claims(self, m, active):
        """Claim what belongs to the kernel; release what is committed; drop what has ended."""
        event = self.head_event
        slot = Signal.like(self.claim)
        new = Signal.like(slot)
        committed = Signal()
        freed = Signal()
        m.d.comb += [
            slot.eq(1 << event.entry),
            new.eq(Mux(active & ~self.write_error, self._ours & ~self.claim & ~self._finished, 0)),
            committed.eq(active & event.valid & (event.state == State.COMPLETE) & ~event.error),
            freed.eq(active & event.valid & (event.state == State.FREE)),
            self.dropped.eq(committed | freed),
            self.release.valid.eq(committed), self.release.tb.eq(event.entry),
        ]
        gone = Mux(self.dropped, slot, 0)
        m.d.sync += [self.claim.eq((self.claim | new) & ~gone),
                     self._finished.eq(self._finished | gone)]
        with m.If(active & event.valid & (event.state == State.SAVING)):
            m.d.sync += self.opened.eq(self.opened | slot)
        self._new = new
        with m.If(self.begin):
            m.d.sync += [self._finished.eq(0), self.opened.eq(0)]
        with m.If(self.done.valid):
            m.d.sync += self.claim.eq(0)

    def _heads(self, m):
        """Write the heads of newly claimed entries and of those whose TB has ended."""
        head = self.head
        which = Signal.like(self._free)
        written = Signal.like(self._free)
        first = self._saving.any()
        m.d.comb += [
            which.eq(Mux(first, self._saving, self._free)), head.valid.eq(which.any()),
            head.payload.entry.eq(lowest(which)),
            head.payload.generation.eq(self.session.generation),
            head.payload.state.eq(Mux(first, State.SAVING, State.FREE)),
        ]
        with m.If(head.valid & head.ready):
            m.d.comb += written.eq(1 << head.payload.entry)
        ended = Mux(self.tally.valid & self.tally.ended, 1 << self.tally.tb, 0)
        m.d.sync += [self._saving.eq((self._saving & ~written) | self._new),
                     self._free.eq((self._free & ~Mux(first, 0, written)) | ended | self._early)]

    def _choose(self, m, active):
        """Offer the save pipeline, whenever it is idle, a TB whose warps have stopped,
        else one with a stopped warp."""
        ready = Signal.like(self._begun)  # may be saved
        whole = Signal.like(self._begun)  # without waiting for a warp
        pick = Signal(index(self.geometry.tb_slots))  # the next
        chosen = Signal()  # `tb` is offered
        tb = Signal.like(pick)
        take = Signal()
        waiting = Mux(active, self.claim & ~self._begun, 0)
        m.d.comb += [
            self._early.eq(waiting & self._over),
            ready.eq(waiting & ~self._over & (self._some | self._still)),
            whole.eq(ready & self._still), pick.eq(lowest(Mux(whole.any(), whole, ready))),
            take.eq(ready.any() & ~chosen & self.target.ready & ~self.write_error),
            self.target.valid.eq(chosen), self.target.payload.tb.eq(tb),
            self.target.payload.row.eq(self.resident[tb]),
        ]
        m.d.sync += self._begun.eq(self._begun | self._early | Mux(take, 1 << pick, 0))
        with m.If(take):
            m.d.sync += [chosen.eq(1), tb.eq(pick)]
        with m.Elif(self.target.ready):
            m.d.sync += chosen.eq(0)
        with m.If(self.begin):
            m.d.sync += self._begun.eq(0)
        return chosen

"""State of one kernel slot: what each command does to it, and how preempts and resumes end."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, ValueLike
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.commands import Command, KernelState, Switch
from ..arch.faults import CommandError
from ..arch.geometry import Geometry
from ..arch.registers import UNLIMITED_GRACE
from ..interfaces.preemption import engine_result

__all__ = ["KernelSlot"]


class KernelSlot(wiring.Component):
    """State machine of a kernel slot; `CommandProcessor` has its picture.

    A preempt with *grace* is kept from the engine until no started TB of the kernel is left but
    those that it spares, or the cycles of its grace have passed, or `Command.HASTEN` comes
    (draining: Tanasic et al.; Chimera).

    Parameters
    ----------
    g : Geometry
        Says whether there is grace.

    Attributes
    ----------
    takes : struct, in
        A bit for each `Command`: it is taken for this kernel in this cycle.
    mine, resuming, withdrawn : Signal, in
        The engine has a command of this kernel, or gets it in this cycle; it is a pass of a
        resume; it was withdrawn.
    evicting : Signal, in
        The engine writes what has stayed of a TB of this kernel.
    taken : Signal, in
        The engine gets the preempt in this cycle.
    lost : CommandError, in
        With `Geometry.watches` or `in_place`: why a TB that yields cannot leave or come back, or
        one that is fresh or saved gets no room; what is saved of the kernel stays so.
    ended : engine_result, in
        The engine's command was this kernel's, and has ended. Not in a cycle with a command.
    done, present, saved, launching, outstanding : Signal, in
        As of `CommandProcessor`, of this kernel.
    grace : Signal(32), in
        Of a preempt, in the cycle in which it is taken; `UNLIMITED_GRACE` has no end.
    state, error : out
    waits, wants, adopts, hasty : Signal, out
        A preempt waits for the engine; a resume, or an adoption, is to be carried out; the preempt
        is not to wait for preemption points.
    spared, running : Signal(context_entries), in
        Vectors: entries of TBs that a preempt spares, in the cycle in which it is taken; of those
        that run.
    checkpoint : Signal, in
        A preempt saves bases, in the cycle in which it is taken: its TBs run on.
    graceful : Signal, out
        While `waits`: TBs of the kernel run to their end meanwhile.
    grace_left : Signal(32), out
        Cycles left of the last grace; of one without end as if it had one.
    first : Signal, out
        A resume begins: high for one cycle.
    finished, preempted, resumed, killed, adopted : Signal, out
        Events, high for one cycle.
    switched : struct, out
        A preempt or a resume has ended well, in the cycle of `ended`, and how.
    """

    takes: data.View
    mine: Signal
    resuming: Signal
    withdrawn: Signal
    evicting: Signal
    taken: Signal
    lost: Signal
    ended: data.View
    done: Signal
    present: Signal
    saved: Signal
    launching: Signal
    outstanding: Signal
    grace: Signal
    spared: Signal
    checkpoint: Signal
    running: Signal
    state: Signal
    error: Signal
    waits: Signal
    wants: Signal
    adopts: Signal
    hasty: Signal
    graceful: Signal
    grace_left: Signal
    first: Signal
    finished: Signal
    preempted: Signal
    resumed: Signal
    killed: Signal
    adopted: Signal
    switched: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        self.others = Signal()  # TBs run on that preempts have spared, or may: the last may end
        self.keeps = Signal()  # the last preempt is a checkpoint
        inputs = ("mine", "resuming", "withdrawn", "evicting", "taken", "done", "present", "saved",
                  "launching", "outstanding")
        outputs = ("waits", "wants", "adopts", "hasty", "graceful", "first", "finished",
                   "preempted", "resumed", "killed", "adopted")
        super().__init__({
            "takes": In(data.StructLayout({op.name.lower(): 1 for op in Command})),
            "ended": In(engine_result()), **{name: In(1) for name in inputs},
            "grace": In(32), "spared": In(self.geometry.context_entries), "checkpoint": In(1),
            "running": In(self.geometry.context_entries), "grace_left": Out(32),
            "state": Out(KernelState), "error": Out(CommandError),
            "switched": Out(data.StructLayout({"valid": 1, "kind": Switch})),
            **{name: Out(1) for name in outputs},
            **({"lost": In(CommandError)} if g.watches or g.in_place else {}),
        })

    def elaborate(self, platform: Any):
        m = Module()
        takes, state = self.takes, self.state
        with m.If(takes.as_value().any()):
            m.d.sync += self.others.eq(0)
        with m.If(self.taken):
            m.d.sync += self.waits.eq(0)
        if self.geometry.grace:
            self._grant(m)
        with m.If(takes.start):
            m.d.sync += [state.eq(KernelState.RUNNING), self.error.eq(CommandError.NONE)]
        with m.Elif(takes.adopt):
            m.d.sync += [state.eq(KernelState.ADOPTING), self.error.eq(CommandError.NONE),
                         self.adopts.eq(1)]
        with m.Elif(takes.preempt):
            m.d.sync += [state.eq(KernelState.PREEMPTING), self.error.eq(CommandError.NONE),
                         self.waits.eq(1), self.wants.eq(0), self.hasty.eq(0),
                         self.keeps.eq(self.checkpoint if self.geometry.checkpoints else 0)]
        with m.Elif(takes.resume):
            m.d.sync += self.error.eq(CommandError.NONE)
            self._bring_back(m)
        with m.Elif(takes.abort):
            self._abort(m)
        with m.Elif(takes.hasten):
            m.d.sync += self.hasty.eq(1)
        with m.Elif(takes.kill | takes.release):
            m.d.sync += [state.eq(KernelState.KILLING), self.waits.eq(0), self.wants.eq(0),
                         self.adopts.eq(0)]
        with m.Elif(self.ended.valid & (state != KernelState.KILLING)):
            with m.If(self.adopts):
                m.d.sync += [self.adopts.eq(0), self.error.eq(self.ended.error), state.eq(
                    Mux(self.ended.error == CommandError.NONE, KernelState.PREEMPTED,
                        KernelState.IDLE))]
                m.d.comb += self.adopted.eq(1)
            with m.Elif(self.resuming):
                self._resume_ends(m)
            with m.Else():
                self._preempt_ends(m)
        if self.geometry.watches or self.geometry.in_place:
            with m.Elif((self.lost != CommandError.NONE)
                        & ((state == KernelState.RUNNING) | self.wants & ~self.mine)):
                self._stay(m)
                m.d.sync += [self.error.eq(self.lost), self.wants.eq(0)]
                m.d.comb += self.resumed.eq(1)
        # Of one of several SMs, what is left may end on others.
        leftover = 1 if self.geometry.has_uncore else self.others
        with m.Elif(((state == KernelState.RUNNING)
                     | (state == KernelState.PREEMPTED) & leftover) & self.done):
            self._finish(m)
        with m.Elif((state == KernelState.KILLING) & ~self.present & ~self.mine & ~self.launching
                    & ~self.evicting & ~self.outstanding):
            m.d.sync += state.eq(KernelState.IDLE)
            m.d.comb += self.killed.eq(1)
        return m

    def _grant(self, m: Module):
        """Have a preempt wait while its grace lasts."""
        endless = Signal()
        spared = Signal.like(self.spared)
        # Nobody is left to be waited for, and nobody comes.
        over = ~((self.running & ~spared).any() | self.launching | self.mine)
        with m.If(self.takes.preempt):
            m.d.sync += [self.grace_left.eq(self.grace), self.graceful.eq(self.grace != 0),
                         endless.eq(self.grace == UNLIMITED_GRACE), spared.eq(self.spared)]
        with m.Elif(self.graceful):
            with m.If(over | self.hasty):
                m.d.sync += self.graceful.eq(0)
            with m.Else():
                m.d.sync += [self.grace_left.eq(self.grace_left - 1),
                             self.graceful.eq(endless | (self.grace_left != 1))]

    def _finish(self, m: Module):
        m.d.sync += self.state.eq(KernelState.FINISHED)
        m.d.comb += self.finished.eq(1)

    def _switched(self, m: Module, kind: ValueLike):
        m.d.comb += [self.switched.valid.eq(1), self.switched.kind.eq(kind)]

    def _bring_back(self, m: Module):
        """What is saved is to be resumed."""
        m.d.sync += [self.state.eq(KernelState.RESUMING), self.wants.eq(1)]
        m.d.comb += self.first.eq(1)

    def _undo(self, m: Module, error: ValueLike):
        """A preempt has been withdrawn: what it has saved comes back."""
        m.d.sync += self.error.eq(error)
        m.d.comb += self.preempted.eq(1)
        with m.If(self.saved & ~self.keeps):
            self._bring_back(m)
        with m.Elif(self.saved):
            self._stay(m)
        with m.Else():
            m.d.sync += self.state.eq(KernelState.RUNNING)

    def _stay(self, m: Module):
        """Some of the kernel is saved, others may run on."""
        m.d.sync += [self.state.eq(KernelState.PREEMPTED), self.others.eq(self.present)]

    def _abort(self, m: Module):
        """Withdraw what the engine does not have; it says of itself how the rest ends."""
        with m.If(self.state == KernelState.PREEMPTING):
            with m.If(self.waits & ~self.taken):
                m.d.sync += self.waits.eq(0)
                self._undo(m, CommandError.ABORTED)
        with m.Else():
            m.d.sync += self.wants.eq(0)
            with m.If(~self.mine):  # TBs that were spared may run on, or have ended meanwhile
                m.d.sync += [self.state.eq(KernelState.PREEMPTED), self.others.eq(1),
                             self.error.eq(CommandError.ABORTED)]
                m.d.comb += self.resumed.eq(1)

    def _preempt_ends(self, m: Module):
        failed = self.ended.error != CommandError.NONE
        with m.If(self.withdrawn):
            self._undo(m, Mux(failed, self.ended.error, CommandError.ABORTED))
        with m.Else():
            m.d.sync += self.error.eq(self.ended.error)
            m.d.comb += self.preempted.eq(1)
            with m.If(failed):
                m.d.sync += self.state.eq(Mux(self.saved, KernelState.PREEMPTED,
                                              KernelState.RUNNING))
            with m.Elif(self.done):
                self._finish(m)
                self._switched(m, Switch.FINISHED)
            with m.Elif(self.keeps):
                self._switched(m, Switch.CHECKPOINTED)
                with m.If(self.saved):
                    self._stay(m)
                with m.Else():
                    m.d.sync += self.state.eq(KernelState.RUNNING)
            with m.Else():
                self._stay(m)
                self._switched(m, Mux(self.ended.saved, Mux(self.ended.at_once, Switch.AT_ONCE,
                                                            Switch.AT_POINTS), Switch.DRAINED))

    def _resume_ends(self, m: Module):
        """A pass ends; the resume does too, unless TBs still wait for room. A preempt that waits
        for it keeps its state."""
        failed = self.ended.error != CommandError.NONE
        with m.If(~failed & ~self.ended.left):
            self._switched(m, Switch.RESUMED)
        with m.If(failed | ~self.ended.left | ~self.wants):
            m.d.comb += self.resumed.eq(1)
            m.d.sync += [self.wants.eq(0), self.error.eq(
                Mux(self.ended.left & ~failed, CommandError.ABORTED, self.ended.error))]
            with m.If(self.state == KernelState.RESUMING):
                m.d.sync += self.state.eq(Mux(
                    self.ended.left | failed & self.saved, KernelState.PREEMPTED,
                    KernelState.RUNNING))

"""State of one kernel slot: what each command does to it, and how preempts and resumes end."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, ValueLike
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.commands import Command, KernelState, Switch
from ..arch.faults import CommandError
from ..arch.geometry import Geometry
from ..arch.registers import UNLIMITED_GRACE
from ..interfaces.port import Port
from ..interfaces.preemption import engine_result
from .command_ports import EngineRequestPort

__all__ = ["KernelSlot"]


class KernelSlot(wiring.Component):
    """State machine of a kernel slot; `CommandProcessor` has its picture.

    A preempt with *grace* is kept from the engine until the first of three events. No started TB of
    the kernel is left except those that the preempt spares; the cycles of its grace have passed; or
    `Command.HASTEN` comes (draining: Tanasic et al.; Chimera).

    A preempt that *selects* has two passes (PEP III-D 2). The first saves at once the TBs that do
    not drain. The second begins with the grace, and saves what has not drained by its end.

    Parameters
    ----------
    g : Geometry
        Geometry that says whether there is grace.

    Attributes
    ----------
    commands : struct, in
        A bit for each `Command`: it is accepted for this kernel in this cycle.
    select : Signal, in; drain : Signal(context_entries), in
        Likewise: TBs of the entries of `drain` are given the grace, and others are saved before.
        Both exist only with `Geometry.proactive`.
    base_held : Signal, in
        The engine saves bases of this kernel for an announcement. Exists only there.
    grace : Signal(32), in; spared : Signal(context_entries), in; checkpoint : Signal, in
        Parameters that a preempt takes in its cycle. Its `grace` has no end if it is
        `UNLIMITED_GRACE`. `spared` is the vector of the entries whose TBs it spares. With
        `checkpoint` it saves bases, and its TBs run on.
    engine : EngineRequestPort, out
        The wishes of the slot to the engine.
    resuming, withdrawn : Signal, in
        The engine's command is a pass of a resume; it was withdrawn.
    eviction_held : Signal, in
        The engine writes what has stayed of a TB of this kernel, or one leaves or comes back by
        itself.
    failure : CommandError, in
        Reason why a TB that yields cannot leave or come back, or why a fresh or saved TB gets no
        room. What is saved of the kernel stays saved. Exists only with `Geometry.watches` or
        `in_place`.
    ended : engine_result, in
        The engine's command was this kernel's, and has ended. Not in a cycle with a command.
    done, present, saved, launching, outstanding : Signal, in
        The kernel's bits of `DispatchPort` and `EnginePort`.
    running : Signal(context_entries), in
        Vector: entries of its TBs on the SM that have been started.
    state, error : out
        State of the kernel; how its last preempt, resume or adoption has ended.
    hasten_active : Signal, out
        The preempt is not to wait for preemption points.
    finished, preempted, resumed, killed, adopted : Signal, out
        Events, high for one cycle.
    switched : struct, out
        A preempt or a resume has ended well, in the cycle of `ended`, and how.
    """

    commands: data.View
    grace: Signal
    spared: Signal
    checkpoint: Signal
    select: Signal
    drain: Signal
    base_held: Signal
    engine: Port
    resuming: Signal
    withdrawn: Signal
    eviction_held: Signal
    failure: Signal
    ended: data.View
    done: Signal
    present: Signal
    saved: Signal
    launching: Signal
    outstanding: Signal
    running: Signal
    state: Signal
    error: Signal
    hasten_active: Signal
    finished: Signal
    preempted: Signal
    resumed: Signal
    killed: Signal
    adopted: Signal
    switched: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        # TBs that preempts have spared run on, or may: the last of them may end the kernel.
        self.others_running = Signal()
        self.is_checkpoint = Signal()  # the last preempt is one
        self.resume_begins = Signal()
        self.selects = Signal()  # a preempt in this cycle has TBs to save before its grace
        self.first_saves = Signal()  # the preempt selects, and TBs that do not drain are saved
        self.saved_first = Signal()  # its first pass has saved TBs
        self.at_once_first = Signal()  # whose warps stopped at their next instruction
        super().__init__({
            "commands": In(data.StructLayout({op.name.lower(): 1 for op in Command})),
            "grace": In(32), "spared": In(g.context_entries), "checkpoint": In(1),
            "engine": Out(EngineRequestPort(g)), "ended": In(engine_result()),
            **{name: In(1) for name in ("resuming", "withdrawn", "eviction_held", "done", "present",
                                        "saved", "launching", "outstanding")},
            **({"failure": In(CommandError)} if g.watches or g.in_place else {}),
            **({"select": In(1), "drain": In(g.context_entries), "base_held": In(1)}
               if g.proactive else {}),
            "running": In(g.context_entries),
            "state": Out(KernelState), "error": Out(CommandError), "hasten_active": Out(1),
            **{name: Out(1) for name in ("finished", "preempted", "resumed", "killed", "adopted")},
            "switched": Out(data.StructLayout({"valid": 1, "kind": Switch})),
        })

    def elaborate(self, platform: Any):
        m = Module()
        commands, state, engine = self.commands, self.state, self.engine
        # Once a kernel begins, or begins to come back, earlier refusals and want of room of it do
        # not count any more.
        m.d.comb += engine.first_pass.eq(commands.start | commands.adopt | self.resume_begins)
        with m.If(commands.as_value().any()):
            m.d.sync += self.others_running.eq(0)
        with m.If(engine.preempt_taken):
            m.d.sync += engine.preempt_pending.eq(0)
        if self.geometry.grace:
            self._grant(m)
        done = self.done
        if self.geometry.proactive:  # the engine may still speak of TBs that have just ended
            done = Signal(name="done_settled")
            m.d.comb += done.eq(self.done & ~self.base_held)
            self._select(m)
        # A command goes before the end of the engine's, and both before what happens by itself.
        with m.If(commands.start):
            m.d.sync += [state.eq(KernelState.RUNNING), self.error.eq(CommandError.NONE)]
        # An adopted kernel is preempted once the engine has read its record.
        with m.Elif(commands.adopt):
            m.d.sync += [state.eq(KernelState.ADOPTING), self.error.eq(CommandError.NONE),
                         engine.adopt_pending.eq(1)]
        with m.Elif(commands.preempt):
            m.d.sync += [state.eq(KernelState.PREEMPTING), self.error.eq(CommandError.NONE),
                         engine.preempt_pending.eq(1), engine.resume_pending.eq(0),
                         self.hasten_active.eq(0), self.is_checkpoint.eq(
                             self.checkpoint if self.geometry.checkpoints else 0)]
        with m.Elif(commands.resume):
            m.d.sync += self.error.eq(CommandError.NONE)
            self._bring_back(m)
        with m.Elif(commands.abort):
            self._abort(m)
        with m.Elif(commands.hasten):
            m.d.sync += self.hasten_active.eq(1)
        with m.Elif(commands.kill | commands.release):
            m.d.sync += [state.eq(KernelState.KILLING), engine.preempt_pending.eq(0),
                         engine.resume_pending.eq(0), engine.adopt_pending.eq(0)]
        with m.Elif(self.ended.valid & (state != KernelState.KILLING)):
            with m.If(engine.adopt_pending):
                m.d.sync += [engine.adopt_pending.eq(0), self.error.eq(self.ended.error), state.eq(
                    Mux(self.ended.error == CommandError.NONE, KernelState.PREEMPTED,
                        KernelState.IDLE))]
                m.d.comb += self.adopted.eq(1)
            with m.Elif(self.resuming):
                self._resume_ends(m)
            with m.Else():
                self._preempt_ends(m)
        if self.geometry.watches or self.geometry.in_place:
            with m.Elif((self.failure != CommandError.NONE)
                        & ((state == KernelState.RUNNING) | engine.resume_pending & ~engine.held)):
                self._stay(m)
                m.d.sync += [self.error.eq(self.failure), engine.resume_pending.eq(0)]
                m.d.comb += self.resumed.eq(1)
        # On one of several SMs the rest of a preempted kernel may end on others.
        leftover = 1 if self.geometry.has_uncore else self.others_running
        with m.Elif(((state == KernelState.RUNNING)
                     | (state == KernelState.PREEMPTED) & leftover) & done):
            self._finish(m)
        # A killed kernel is idle once nothing can touch its memory any more.
        with m.Elif((state == KernelState.KILLING) & ~self.present & ~engine.held & ~self.launching
                    & ~self.eviction_held & ~self.outstanding):
            m.d.sync += state.eq(KernelState.IDLE)
            m.d.comb += self.killed.eq(1)
        return m

    def _grant(self, m: Module):
        """Have a preempt wait while its grace lasts."""
        engine = self.engine
        endless = Signal()
        spared = Signal.like(self.spared)
        # No TB is left to be waited for, and none comes.
        over = ~((self.running & ~spared).any() | self.launching | engine.held)
        with m.If(self.commands.preempt):
            m.d.sync += [engine.grace_left.eq(self.grace),
                         engine.grace_active.eq((self.grace != 0) & ~self.selects),
                         endless.eq(self.grace == UNLIMITED_GRACE), spared.eq(self.spared)]
        with m.Elif(engine.grace_active):
            with m.If(over | self.hasten_active):
                m.d.sync += engine.grace_active.eq(0)
            with m.Else():
                m.d.sync += [engine.grace_left.eq(engine.grace_left - 1),
                             engine.grace_active.eq(endless | (engine.grace_left != 1))]

    def _select(self, m: Module):
        """Have a preempt that selects save first what does not drain."""
        engine = self.engine
        others = self.running & ~self.spared & ~self.drain
        m.d.comb += self.selects.eq(self.select & others.any())
        with m.If(self.commands.preempt):
            m.d.sync += [self.first_saves.eq(self.selects),
                         engine.drained.eq(Mux(self.selects, self.drain, 0)), engine.again.eq(0),
                         self.saved_first.eq(0), self.at_once_first.eq(0)]
        with m.Elif(self.commands.as_value().any() & ~self.commands.hasten):
            m.d.sync += self.first_saves.eq(0)

    def _wait_for_drained(self, m: Module):
        """Begin the second pass of a preempt that selects."""
        engine = self.engine
        m.d.sync += [self.first_saves.eq(0), engine.drained.eq(0), engine.again.eq(1),
                     engine.preempt_pending.eq(1), engine.grace_active.eq(1),
                     self.saved_first.eq(self.ended.saved),
                     self.at_once_first.eq(self.ended.saved & self.ended.at_once)]

    def _finish(self, m: Module):
        m.d.sync += self.state.eq(KernelState.FINISHED)
        m.d.comb += self.finished.eq(1)

    def _switched(self, m: Module, kind: ValueLike):
        m.d.comb += [self.switched.valid.eq(1), self.switched.kind.eq(kind)]

    def _bring_back(self, m: Module):
        """Resume what is saved."""
        m.d.sync += [self.state.eq(KernelState.RESUMING), self.engine.resume_pending.eq(1)]
        m.d.comb += self.resume_begins.eq(1)

    def _undo(self, m: Module, error: ValueLike):
        """End a preempt that was withdrawn; what it has saved comes back."""
        m.d.sync += self.error.eq(error)
        m.d.comb += self.preempted.eq(1)
        with m.If(self.saved & ~self.is_checkpoint):
            self._bring_back(m)
        with m.Elif(self.saved):
            self._stay(m)
        with m.Else():
            m.d.sync += self.state.eq(KernelState.RUNNING)

    def _stay(self, m: Module):
        """Leave the saved TBs of the kernel away; others may run on."""
        m.d.sync += [self.state.eq(KernelState.PREEMPTED), self.others_running.eq(self.present)]

    def _abort(self, m: Module):
        """Withdraw what the engine does not have; its result tells how the rest ends."""
        with m.If(self.state == KernelState.PREEMPTING):
            with m.If(self.engine.preempt_pending & ~self.engine.preempt_taken):
                m.d.sync += self.engine.preempt_pending.eq(0)
                self._undo(m, CommandError.ABORTED)
        with m.Else():
            m.d.sync += self.engine.resume_pending.eq(0)
            with m.If(~self.engine.held):  # spared TBs may run on, or have ended meanwhile
                m.d.sync += [self.state.eq(KernelState.PREEMPTED), self.others_running.eq(1),
                             self.error.eq(CommandError.ABORTED)]
                m.d.comb += self.resumed.eq(1)

    def _preempt_ends(self, m: Module):
        failed = self.ended.error != CommandError.NONE
        with m.If(self.withdrawn):
            self._undo(m, Mux(failed, self.ended.error, CommandError.ABORTED))
        if self.geometry.proactive:
            with m.Elif(self.first_saves & ~failed & ~self.done):
                self._wait_for_drained(m)
        with m.Else():
            m.d.sync += self.error.eq(self.ended.error)
            m.d.comb += self.preempted.eq(1)
            with m.If(failed):
                m.d.sync += self.state.eq(Mux(self.saved, KernelState.PREEMPTED,
                                              KernelState.RUNNING))
            with m.Elif(self.done):
                self._finish(m)
                self._switched(m, Switch.FINISHED)
            with m.Elif(self.is_checkpoint):
                self._switched(m, Switch.CHECKPOINTED)
                with m.If(self.saved):
                    self._stay(m)
                with m.Else():
                    m.d.sync += self.state.eq(KernelState.RUNNING)
            with m.Else():
                self._stay(m)
                saved = self.ended.saved | self.saved_first
                at_once = self.ended.saved & self.ended.at_once | self.at_once_first
                self._switched(m, Mux(saved, Mux(at_once, Switch.AT_ONCE, Switch.AT_POINTS),
                                      Switch.DRAINED))

    def _resume_ends(self, m: Module):
        """End a pass, and the resume too unless TBs still wait for room. A preempt that waits for
        the pass keeps its state."""
        failed = self.ended.error != CommandError.NONE
        with m.If(~failed & ~self.ended.left):
            self._switched(m, Switch.RESUMED)
        with m.If(failed | ~self.ended.left | ~self.engine.resume_pending):
            m.d.comb += self.resumed.eq(1)
            m.d.sync += [self.engine.resume_pending.eq(0), self.error.eq(
                Mux(self.ended.left & ~failed, CommandError.ABORTED, self.ended.error))]
            with m.If(self.state == KernelState.RESUMING):
                m.d.sync += self.state.eq(Mux(
                    self.ended.left | failed & self.saved, KernelState.PREEMPTED,
                    KernelState.RUNNING))

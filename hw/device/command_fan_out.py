"""Command fan-out: which SMs of a device a command goes to."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from ..arch.commands import REFUSED, Command, KernelState
from ..arch.faults import CommandError
from ..arch.geometry import Geometry
from ..arch.registers import register_map
from ..control.register_ports import register_layout
from ..lib.bits import pick
from .kernel_states import common_state

__all__ = ["CommandFanOut"]


class CommandFanOut(wiring.Component):
    """Judges a command by the state of its kernel on all SMs that the command is for. It passes the
    command to the SMs on which the kernel is in a suitable state; these SMs judge the rest.
    Combinational, except for what it remembers of commands.

    A start or an adoption is for all SMs that are written. It is refused if the kernel is not free
    on every SM of the device. A release is for all SMs of the device, whatever is written. It is
    refused if the kernel is not recorded on each SM that has any of it. After an abort of a
    preempt, SMs that have saved their TBs already resume them.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    valid : Signal, in; word : Signal(32), in
        A command, as in register ``command``.
    from_host : Signal, in
        The host gives it, and learns what becomes of it: `refused`, `error`, `refusing`.
    mask : Signal(sms), in
        SMs that it is for.
    states : array of array of KernelState, in
        Kernel states by SM and kernel.
    recorded : array of Signal(kernel_slots), in
        Vector per SM: the kernel is preempted, and all of it is in memory.
    accepted : Signal(sms), in
        Vector: SMs that take what they are passed, in this cycle.
    targets : Signal(sms), out
        Vector: SMs that it is passed to.
    words : array of Signal(32), out
        Command word that each SM is passed.
    refused : Signal, out
        The command is taken by no SM; high in its cycle.
    error : CommandError, out
        Why no SM was passed the last command, `NONE` if one was.
    refusing : Signal(sms), out
        Vector: SMs that tell why none took the last command; the first of them counts.
    takers : array of Signal(sms), out
        Vector per kernel: SMs that took its last start, preempt, resume or adoption.
    preempted, resumed : Signal(sms), out
        Vectors: SMs that took the last preempt, and the last resume, of any kernel.
    """

    valid: Signal
    from_host: Signal
    word: Signal
    mask: Signal
    states: View
    recorded: View
    accepted: Signal
    targets: Signal
    words: View
    error: Signal
    refused: Signal
    refusing: Signal
    takers: View
    preempted: Signal
    resumed: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        states = data.ArrayLayout(KernelState, g.kernel_slots)
        super().__init__({
            "valid": In(1), "from_host": In(1), "word": In(32), "mask": In(g.sms),
            "states": In(data.ArrayLayout(states, g.sms)), "accepted": In(g.sms),
            "recorded": In(data.ArrayLayout(g.kernel_slots, g.sms)),
            "targets": Out(g.sms), "words": Out(data.ArrayLayout(32, g.sms)),
            "error": Out(CommandError), "refused": Out(1), "refusing": Out(g.sms),
            "takers": Out(data.ArrayLayout(g.sms, g.kernel_slots)),
            "preempted": Out(g.sms), "resumed": Out(g.sms),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        layout = register_layout(register_map()["command"])
        command = Signal(layout)
        # How TBs come back if the last preempt of a kernel is aborted.
        back = [Signal(layout, name=f"back_{k}") for k in range(g.kernel_slots)]
        m.d.comb += command.eq(self.word)
        states = [Signal(KernelState, name=f"state_{i}") for i in range(g.sms)]
        for i, state in enumerate(states):
            m.d.comb += state.eq(pick([self.states[i][k] for k in range(g.kernel_slots)],
                                      command.kernel))
        begins = (command.op == Command.START) | (command.op == Command.ADOPT)
        releases = command.op == Command.RELEASE
        everyone = (1 << g.sms) - 1
        mask = Signal(g.sms)
        m.d.comb += mask.eq(Mux(releases, everyone, self.mask))
        state = common_state(m, states, Mux(begins, everyone, mask), "state")
        lacking = Cat((own != KernelState.IDLE) & ~self.recorded[i].bit_select(command.kernel, 1)
                      for i, own in enumerate(states)).any()
        known = command.kernel < g.kernel_slots
        error = Signal(CommandError)
        suitable = Signal(g.sms)
        with m.Switch(command.op):
            for op in Command:
                with m.Case(op):
                    for each, why in REFUSED[op].items():
                        with m.If(state == each):
                            m.d.comb += error.eq(why)
                    m.d.comb += suitable.eq(Cat(
                        ~Cat(own == each for each in REFUSED[op]).any() for own in states))
            with m.Default():
                m.d.comb += error.eq(CommandError.UNKNOWN)
        with m.If(releases & (state == KernelState.PREEMPTED) & lacking):
            m.d.comb += error.eq(CommandError.NOT_IN_MEMORY)
        with m.If(~known | ~self.mask.any()):
            m.d.comb += error.eq(CommandError.UNKNOWN)
        takers = pick([self.takers[k] for k in range(g.kernel_slots)], command.kernel)
        saved = Signal(g.sms)  # SMs whose part of a preempt that is aborted is over
        with m.If((command.op == Command.ABORT) & (state == KernelState.PREEMPTING)):
            m.d.comb += saved.eq(takers & Cat(own == KernelState.PREEMPTED for own in states))
        again = pick([each.as_value() for each in back], command.kernel)
        m.d.comb += self.targets.eq(Mux(
            self.valid & (error == CommandError.NONE), mask & (suitable | saved), 0))
        m.d.comb += [self.words[i].eq(Mux(saved[i], again, self.word)) for i in range(g.sms)]
        m.d.comb += self.refused.eq(self.valid & self.from_host & ~self.accepted.any())
        with m.If(self.valid & self.from_host):
            m.d.sync += [
                self.error.eq(Mux(error == CommandError.NONE, Mux(
                    self.targets.any(), CommandError.NONE, CommandError.NOT_RUNNING), error)),
                self.refusing.eq(Mux(self.accepted.any(), 0, self.targets))]
        with m.If(self.valid):
            self._remember(m, command, known, back)
        return m

    def _remember(self, m: Module, command: View, known: Value, back: Sequence[View]):
        """Note which SMs take a command."""
        for op, vector in ((Command.PREEMPT, self.preempted), (Command.RESUME, self.resumed)):
            with m.If((command.op == op) & self.accepted.any()):
                m.d.sync += vector.eq(self.accepted)
        for k, resume in enumerate(back):
            with m.If(self.accepted.any() & known & (command.kernel == k)):
                with m.Switch(command.op):
                    with m.Case(Command.START, Command.PREEMPT, Command.RESUME, Command.ADOPT):
                        m.d.sync += self.takers[k].eq(self.accepted)
                with m.If(command.op == Command.PREEMPT):
                    m.d.sync += [resume.op.eq(Command.RESUME), resume.kernel.eq(k),
                                 resume.scramble.eq(command.scramble), resume.gang.eq(command.gang)]

"""The command check: whether a command is taken in the state its kernel is in."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.commands import REFUSED, Command, KernelState
from ..arch.faults import CommandError
from ..arch.geometry import ALIGNED, Geometry
from ..arch.image.context import Capability, lacks, mechanisms_of
from ..dispatch.footprint import NEEDS, Footprint, footprint
from ..interfaces.payloads import kernel_info
from .register_ports import command_write

__all__ = ["CommandCheck"]


class CommandCheck(wiring.Component):
    """Judges a command and gives the reason if it is refused (`arch.commands.REFUSED`).
    Combinational.

    Attributes
    ----------
    command : command_write, in
    grace : Signal(32), in
        The grace of a preempt.
    kernels : array of kernel_info, in
    states : array of KernelState, in
    present : Signal(kernel_slots), in
        Vector: a TB of the kernel is on the SM.
    recorded : Signal(kernel_slots), in
        Vector: the kernel is preempted, and all of it is in memory, with its record.
    error : CommandError, out
        `NONE` if it is taken.
    accepted, refused : Signal(1), out
        There is a command, and it is taken, or not.
    size : footprint, out
        The footprint of a TB of the kernel.
    """

    command: data.View
    grace: Signal
    kernels: data.View
    states: data.View
    present: Signal
    recorded: Signal
    error: Signal
    accepted: Signal
    refused: Signal
    size: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "command": In(command_write()), "grace": In(32),
            "kernels": In(data.ArrayLayout(kernel_info(g), g.kernel_slots)),
            "states": In(data.ArrayLayout(KernelState, g.kernel_slots)),
            "present": In(g.kernel_slots), "recorded": In(g.kernel_slots),
            "error": Out(CommandError), "accepted": Out(1), "refused": Out(1),
            "size": Out(footprint(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, command = self.geometry, self.command
        m.submodules.footprint = fit = Footprint(g)
        state = Signal(KernelState)
        misplaced = Signal()  # what the SM reads at multiples only
        with m.Switch(command.kernel):
            for k in range(g.kernel_slots):
                with m.Case(k):
                    m.d.comb += [state.eq(self.states[k]), misplaced.eq(Cat(
                        self.kernels[k][name][:exact_log2(multiple)].any()
                        for name, multiple in ALIGNED.items()).any())]
                    m.d.comb += [fit.kernel[name].eq(self.kernels[k][name]) for name in NEEDS]
        m.d.comb += [
            self.size.eq(fit.size),
            self.accepted.eq(command.valid & (self.error == CommandError.NONE)),
            self.refused.eq(command.valid & (self.error != CommandError.NONE)),
        ]
        with m.Switch(command.op):
            for op in Command:
                with m.Case(op):
                    self._judge(m, op, state, fit.fits, misplaced)
            with m.Default():
                m.d.comb += self.error.eq(CommandError.UNKNOWN)
        with m.If(command.kernel >= g.kernel_slots):
            m.d.comb += self.error.eq(CommandError.UNKNOWN)
        return m

    def _judge(self, m: Module, op: Command, state: Value, fits: Value, misplaced: Value):
        """Judge a command `op` of a kernel in `state`."""
        command = self.command
        with m.Switch(state):
            for each, error in REFUSED[op].items():
                with m.Case(each):
                    m.d.comb += self.error.eq(error)
            with m.Default():
                if op in (Command.START, Command.ADOPT):
                    m.d.comb += self.error.eq(Mux(fits, Mux(
                        misplaced, CommandError.MISPLACED, CommandError.NONE),
                        CommandError.TOO_LARGE))
        recorded = self.recorded.bit_select(command.kernel, 1)
        if op == Command.RELEASE:
            with m.If((state == KernelState.PREEMPTED) & ~recorded):
                m.d.comb += self.error.eq(CommandError.NOT_IN_MEMORY)
        if op == Command.PREEMPT:
            here = self.present.bit_select(command.kernel, 1)
            here |= ~recorded & ~command.in_place & ~command.checkpoint
            with m.If((state == KernelState.PREEMPTED) & ~here):
                m.d.comb += self.error.eq(CommandError.NOT_RUNNING)
            strange = command.mechanism > max(mechanisms_of(self.geometry))
            if not self.geometry.grace:
                strange |= self.grace != 0
            if not self.geometry.restart:
                strange |= command.restart
            if self.geometry.checkpoints:
                strange |= command.checkpoint & command.restart  # a base without anything in it
            else:
                strange |= command.checkpoint | command.incremental
            if self.geometry.in_place:
                strange |= command.in_place & (command.restart | command.checkpoint
                                               | command.incremental)
            else:
                strange |= command.in_place
            if self.geometry.proactive:
                strange |= command.select & (command.checkpoint | (self.grace == 0))
            else:
                strange |= command.select
            strange |= command.trap & (
                command.restart | lacks(command.mechanism, Capability.STOPS_AT_POINTS)
                if self.geometry.traps else 1)
            with m.If(strange):
                m.d.comb += self.error.eq(CommandError.UNKNOWN)

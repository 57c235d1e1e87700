"""The command processor: checks commands and keeps the state of every kernel."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.context import Mechanism
from ..arch.faults import CommandError
from ..arch.geometry import Geometry
from ..arch.registers import Command, KernelState, register_map
from ..dispatch.footprint import NEEDS, Footprint, footprint
from ..interfaces.payloads import below, kernel_info
from ..interfaces.preemption import command as engine_command

__all__ = ["CommandProcessor"]


class CommandProcessor(wiring.Component):
    """State machine of each kernel slot::

                  start           preempt               ended well
        idle/finished --> running ------> preempting ---------------> preempted
              ^             |  ^              |  |                     |     ^
              |   all done  |  |  ended badly |  | ended, all done     |     | ended badly
              +-------------+  +--------------+  +--> finished  resume v     |
                               ^                                    resuming-+
                               +--------------- ended well ------------+

    A preempt that ends badly after a TB has been saved also leads to preempted: its other TBs run
    on, and a resume brings the saved ones back.

    A command is checked and takes effect in the cycle it is written. Preempts and resumes go to the
    engine, one at a time; a preempt waits until no TB of the kernel is half launched, and has ended
    when its TBs have left the table.

    Attributes
    ----------
    command : struct, in
        A command, `valid` for one cycle.
    kernels : array of kernel_info, in
    done : Signal(kernel_slots), in
        Vector: every TB of the kernel has been launched and completed.
    present : Signal(kernel_slots), in
        Vector: a TB of the kernel is resident.
    launching : struct, in
        A TB of `kernel` is being launched.
    engine : stream, out; result : struct, in
        The preemption engine.
    released : Signal, in
        A saved TB leaves the SM.
    start : Signal(kernel_slots), out
        Vector: the kernel begins anew; high in the cycle of the command.
    invalidate : Signal, out
        High in the cycle in which a start or resume is accepted.
    eligible : Signal(kernel_slots), out
        Vector: kernels of which TBs may be launched.
    footprints : array, out
        Of each started kernel.
    states : array, out
        `KernelState` of each kernel.
    busy : Signal, out
        A preempt or resume is in progress.
    error : CommandError, out
        Of the last command, or how the last preempt or resume ended.
    finished : Signal(kernel_slots), out; preempted, resumed, refused : Signal, out
        Events, high for one cycle; `error` and `states` follow one cycle later.
    """

    command: data.View
    kernels: data.View
    done: Signal
    present: Signal
    launching: data.View
    engine: stream.Interface
    result: data.View
    released: Signal
    start: Signal
    invalidate: Signal
    eligible: Signal
    footprints: data.View
    states: data.View
    busy: Signal
    error: Signal
    finished: Signal
    preempted: Signal
    resumed: Signal
    refused: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        fields = {f.name: f.width for f in register_map()["command"].fields.values()}
        kernel = below(g.kernel_slots)
        super().__init__({
            "command": In(data.StructLayout({"valid": 1, **fields})),
            "kernels": In(data.ArrayLayout(kernel_info(g), g.kernel_slots)),
            "done": In(g.kernel_slots),
            "present": In(g.kernel_slots),
            "launching": In(data.StructLayout({"valid": 1, "kernel": kernel})),
            "engine": Out(stream.Signature(engine_command(g))),
            "result": In(data.StructLayout({"valid": 1, "error": CommandError})),
            "released": In(1),
            "start": Out(g.kernel_slots),
            "invalidate": Out(1),
            "eligible": Out(g.kernel_slots),
            "footprints": Out(data.ArrayLayout(footprint(g), g.kernel_slots)),
            "states": Out(data.ArrayLayout(KernelState, g.kernel_slots)),
            "busy": Out(1),
            "error": Out(CommandError),
            "finished": Out(g.kernel_slots),
            "preempted": Out(1),
            "resumed": Out(1),
            "refused": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        g, command = self.geometry, self.command
        m.submodules.footprint = fit = Footprint(g)
        state = Signal(KernelState)
        with m.Switch(command.kernel):
            for k in range(g.kernel_slots):
                with m.Case(k):
                    m.d.comb += state.eq(self.states[k])
                    m.d.comb += [fit.kernel[name].eq(self.kernels[k][name]) for name in NEEDS]
        error = Signal(CommandError)
        accepted = Signal()
        saved = Signal()
        self._check(m, state, fit.fits, error)
        m.d.comb += [accepted.eq(command.valid & (error == CommandError.NONE)),
                     self.refused.eq(command.valid & (error != CommandError.NONE)),
                     self.invalidate.eq(accepted & (command.op != Command.PREEMPT))]
        with m.If(command.valid):
            m.d.sync += self.error.eq(error)

        ended, result = self._engine(m, accepted, saved)
        target = self.engine.payload.kernel
        for k in range(g.kernel_slots):
            state = self.states[k]
            m.d.comb += [self.eligible[k].eq(state == KernelState.RUNNING),
                         self.start[k].eq(accepted & (command.op == Command.START)
                                          & (command.kernel == k))]
            with m.If(self.start[k]):
                m.d.sync += [state.eq(KernelState.RUNNING), self.footprints[k].eq(fit.size)]
            with m.Elif(accepted & (command.kernel == k)):
                m.d.sync += state.eq(Mux(command.op == Command.PREEMPT,
                                         KernelState.PREEMPTING, KernelState.RESUMING))
            with m.Elif(ended & (target == k)):
                self._end(m, k, result, saved)
            with m.Elif((state == KernelState.RUNNING) & self.done[k]):
                m.d.sync += state.eq(KernelState.FINISHED)
                m.d.comb += self.finished[k].eq(1)
        return m

    def _check(self, m: Module, state, fits, error):
        """Decide why a command is refused, if it is."""
        command = self.command
        unknown = command.kernel >= self.geometry.kernel_slots
        with m.Switch(command.op):
            with m.Case(Command.START):
                with m.If(unknown):
                    m.d.comb += error.eq(CommandError.UNKNOWN)
                with m.Elif((state == KernelState.RUNNING) | (state == KernelState.PREEMPTING)
                            | (state == KernelState.RESUMING)):
                    m.d.comb += error.eq(CommandError.BUSY)
                with m.Elif(state == KernelState.PREEMPTED):
                    m.d.comb += error.eq(CommandError.NOT_RUNNING)
                with m.Elif(~fits):
                    m.d.comb += error.eq(CommandError.TOO_LARGE)
            with m.Case(Command.PREEMPT, Command.RESUME):
                preempt = command.op == Command.PREEMPT
                with m.If(unknown | preempt & (command.mechanism > max(Mechanism))):
                    m.d.comb += error.eq(CommandError.UNKNOWN)
                with m.Elif(self.busy):
                    m.d.comb += error.eq(CommandError.BUSY)
                with m.Elif(state != Mux(preempt, KernelState.RUNNING, KernelState.PREEMPTED)):
                    m.d.comb += error.eq(CommandError.NOT_RUNNING)
            with m.Default():
                m.d.comb += error.eq(CommandError.UNKNOWN)

    def _engine(self, m: Module, accepted, saved):
        """Hand a preempt or resume to the engine; return when it has ended, and its error."""
        waiting = Signal()
        concluding = Signal()
        result = Signal(CommandError)
        payload, command = self.engine.payload, self.command
        launching = self.launching.valid & (self.launching.kernel == payload.kernel)
        with m.If(accepted & (command.op != Command.START)):
            m.d.sync += [waiting.eq(1), self.busy.eq(1), saved.eq(0),
                         payload.kernel.eq(command.kernel),
                         payload.resume.eq(command.op == Command.RESUME),
                         payload.mechanism.eq(command.mechanism),
                         payload.scramble.eq(command.scramble), payload.gang.eq(command.gang)]
        m.d.comb += self.engine.valid.eq(waiting & ~launching)
        with m.If(self.engine.valid & self.engine.ready):
            m.d.sync += waiting.eq(0)
        with m.If(self.released):
            m.d.sync += saved.eq(1)

        with m.If(self.result.valid):
            m.d.sync += [concluding.eq(1), result.eq(self.result.error)]
        ended = Signal()
        left = (payload.resume | (result != CommandError.NONE)
                | ~self.present.bit_select(payload.kernel, 1))
        m.d.comb += ended.eq(concluding & left)
        with m.If(ended):
            m.d.comb += [self.preempted.eq(~payload.resume), self.resumed.eq(payload.resume)]
            m.d.sync += [concluding.eq(0), self.busy.eq(0), self.error.eq(result)]
        return ended, result

    def _end(self, m: Module, k: int, result, saved):
        """Take kernel `k` out of a preempt or resume."""
        state = self.states[k]
        failed = result != CommandError.NONE
        with m.If(self.engine.payload.resume):
            m.d.sync += state.eq(Mux(failed, KernelState.PREEMPTED, KernelState.RUNNING))
        with m.Elif(failed):
            m.d.sync += state.eq(Mux(saved, KernelState.PREEMPTED, KernelState.RUNNING))
        with m.Elif(self.done[k]):
            m.d.sync += state.eq(KernelState.FINISHED)
            m.d.comb += self.finished[k].eq(1)
        with m.Else():
            m.d.sync += state.eq(KernelState.PREEMPTED)

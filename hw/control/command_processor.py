"""The command processor: carries out commands and keeps the state of every kernel."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.commands import BUSY_STATES, Command, KernelState
from ..arch.faults import CommandError
from ..arch.geometry import Geometry
from ..arch.registers import register_map
from ..dispatch.footprint import footprint
from ..interfaces.payloads import below, kernel_info
from ..interfaces.preemption import command as engine_command
from ..interfaces.preemption import engine_result, switch_event
from ..interfaces.staying import staying_report
from ..interfaces.yielding import leaving_tb
from .command_check import CommandCheck
from .engine_queue import EngineQueue
from .kernel_slot import KernelSlot
from .register_block import command_write, register_layout

__all__ = ["CommandProcessor"]


class CommandProcessor(wiring.Component):
    """State machine of each kernel slot; `arch.commands` says which command is taken when::

                  start           preempt               ended well
        idle/finished --> running ------> preempting ---------------> preempted
              ^  ^          |  ^              |  |  |                  |     ^
              |  | all done |  |  ended badly |  |  | ended, all done  |     | ended badly, or
              |  +----------+  +--------------+  |  +--> finished      |     | aborted
              |                                  |                     |     |
              | memory has answered              +--- aborted -----> resuming+
          killing <--- kill, from any                                  |
                                   running <---------- ended well -----+

    A command is checked and takes effect in the cycle it is written. Preempts and resumes go to the
    engine one at a time, each kernel's when its turn comes (`EngineQueue`). A preempt has ended
    when its TBs have left the table; those that it spares run on, and when they have ended with
    nothing saved the kernel has finished. One that ends badly, or is aborted, after a TB has been
    saved leads to preempted, or to resuming; its other TBs run on. While a resume waits for room no
    fresh TB of any kernel is launched, so that it cannot starve.

    An aborted preempt ends as soon as the TB in hand is saved, whose warps stop at once; then what
    it has saved is resumed. A preempt of a kernel that is resuming withdraws the resume first: TBs
    that have their room come back, and are saved again.

    What has stayed on the SM of preempted TBs is evicted between commands when it is in the way of
    others, without a change of its kernel's state; all of it by a preempt that is not in place,
    which is taken for that even if no TB of the kernel is on the SM. So is one that is to write the
    kernel's record: a preempt of some TBs, or one that memory refused, has left none. Only a kernel
    that has one can be released.

    A killed kernel is idle, and its slot and its memory are free, when its TBs have left the table
    and memory has answered everything that was asked on its behalf.

    Attributes
    ----------
    command : command_write, in
    patience, grace, spared : Signal(32), in; newcomer : struct, in
        The registers of these names, taken with a preempt.
    evict : Signal(tb_slots), in; staying : staying_report, in
        Rows of the staying table that are in the way; the table.
    hopeless : Signal(kernel_slots), in; stuck : Signal(kernel_slots), out
        With `Geometry.in_place`, of `Admission` and `EngineQueue`.
    leave : leaving_tb, in; next, stays : arrays, in; leaves, left, woken : Signal, out
        With `Geometry.watches`: the `YieldUnit`'s `leave`, `next`, `stays`, `taken`, `ended` and
        `woken`.
    keeping : Signal(kernel_slots), out
        Likewise: its `keeping`.
    running_kernels, resuming_kernels, forget : Signal(kernel_slots), out; tried : Signal, out
        Likewise: kernels in state RUNNING, RESUMING; those that begin anew, are killed or have been
        preempted; TBs that are to come back have found no room since a TB left.
    kernels : array of kernel_info, in
    done : Signal(kernel_slots), in
        Vector: every TB of the kernel has been launched and completed.
    present, saved : Signal(kernel_slots), in
        Vectors: a TB of the kernel is resident; one is saved.
    in_memory : Signal(kernel_slots), in
        Vector: the record of the kernel is in memory, and nothing of it has run since.
    running : array of Signal(context_entries), in
        Vector a kernel: entries of its TBs on the SM that have been started.
    launching : struct, in
        A TB of `kernel` is being launched.
    room : Signal, in
        A TB leaves the SM.
    outstanding : Signal, in
        Memory still has to answer accesses of TBs that were killed.
    engine : stream, out; result : engine_result, in
        The preemption engine.
    withdraw, hasten, cancel : Signal, out
        The preempt or pass of a resume that the engine has is withdrawn; is not to wait for
        preemption points any more; is of a kernel that is killed. High until its result.
    flushing : Signal, in
        What the engine has is cancelled, and touches no TB any more.
    start : Signal(kernel_slots), out
        Vector: the kernel begins anew; high in the cycle of the command.
    invalidate : Signal, out
        High in the cycle in which a start or resume is accepted.
    eligible : Signal(kernel_slots), out
        Vector: kernels of which TBs may be launched.
    kill : Signal(kernel_slots), out
        Vector: kernels that are being killed.
    discard : Signal(kernel_slots), out
        Vector: those of which nobody launches or restores a TB any more, so that TBs that have
        not been started can be removed.
    footprints : array, out
        Of each started kernel.
    states, errors : arrays, out
        `KernelState` of each kernel; the `CommandError` with which its last preempt or resume
        ended.
    recorded : Signal(kernel_slots), out
        Vector: kernels in state PREEMPTED that are `in_memory`.
    busy : Signal, out
        A preempt, resume or kill is in progress.
    error : CommandError, out
        Why the last command was refused, `NONE` if it was taken.
    finished : Signal(kernel_slots), out
    preempted, resumed, killed, adopted, refused : Signal, out
        Events, high for one cycle; `error`, `errors` and `states` follow one cycle later.
    switched : switch_event, out
    """

    command: data.View
    patience: Signal
    grace: Signal
    spared: Signal
    newcomer: data.View
    evict: Signal
    staying: data.View
    hopeless: Signal
    stuck: Signal
    keeping: Signal
    leave: data.View
    next: data.View
    stays: data.View
    leaves: Signal
    left: Signal
    woken: Signal
    running_kernels: Signal
    resuming_kernels: Signal
    forget: Signal
    tried: Signal
    kernels: data.View
    done: Signal
    present: Signal
    saved: Signal
    in_memory: Signal
    running: data.View
    launching: data.View
    room: Signal
    outstanding: Signal
    engine: stream.Interface
    result: data.View
    withdraw: Signal
    hasten: Signal
    cancel: Signal
    flushing: Signal
    start: Signal
    invalidate: Signal
    eligible: Signal
    kill: Signal
    discard: Signal
    footprints: data.View
    states: data.View
    errors: data.View
    recorded: Signal
    busy: Signal
    error: Signal
    finished: Signal
    preempted: Signal
    resumed: Signal
    killed: Signal
    adopted: Signal
    refused: Signal
    switched: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        slots = g.kernel_slots
        super().__init__({
            "command": In(command_write()), "patience": In(32), "grace": In(32),
            "spared": In(32), "newcomer": In(register_layout(register_map()["newcomer"])),
            "evict": In(g.tb_slots), "staying": In(staying_report(g)),
            **({"leave": In(leaving_tb(g)),
                **dict.fromkeys(("next", "stays"), In(data.ArrayLayout(g.context_entries, slots))),
                "tried": Out(1),
                "leaves": Out(1), "left": Out(1),
                **dict.fromkeys(("woken", "running_kernels", "resuming_kernels", "forget",
                                 "keeping"), Out(slots))}
               if g.watches else {}),
            **({"hopeless": In(slots), "stuck": Out(slots)} if g.in_place else {}),
            "kernels": In(data.ArrayLayout(kernel_info(g), slots)),
            "done": In(slots), "present": In(slots), "saved": In(slots),
            "in_memory": In(slots), "recorded": Out(slots),
            "running": In(data.ArrayLayout(g.context_entries, slots)),
            "launching": In(data.StructLayout({"valid": 1, "kernel": below(slots)})),
            "room": In(1), "outstanding": In(1),
            "engine": Out(stream.Signature(engine_command(g))), "result": In(engine_result()),
            "withdraw": Out(1), "hasten": Out(1), "cancel": Out(1), "flushing": In(1),
            "start": Out(slots), "invalidate": Out(1), "eligible": Out(slots),
            "kill": Out(slots), "discard": Out(slots),
            "footprints": Out(data.ArrayLayout(footprint(g), slots)),
            "states": Out(data.ArrayLayout(KernelState, slots)),
            "errors": Out(data.ArrayLayout(CommandError, slots)),
            "busy": Out(1), "error": Out(CommandError), "finished": Out(slots),
            **{name: Out(1) for name in ("preempted", "resumed", "killed", "adopted", "refused")},
            "switched": Out(switch_event(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, command = self.geometry, self.command
        m.submodules.check = check = CommandCheck(g)
        m.submodules.queue = queue = EngineQueue(g)
        slots = [KernelSlot(g) for _ in range(g.kernel_slots)]
        for k, slot in enumerate(slots):
            m.submodules[f"slot_{k}"] = slot
        wiring.connect(m, queue.engine, wiring.flipped(self.engine))
        launching = Signal(g.kernel_slots)
        withdrawn = Signal()
        ended = Signal(engine_result())
        waiting = Cat(slot.wants for slot in slots).any()  # for room
        aside = queue.evicts
        if g.watches:
            waiting = waiting | self._yields(m, slots, queue, ended)
            aside = aside | queue.aside
        m.d.comb += [
            check.command.eq(command), check.grace.eq(self.grace), check.kernels.eq(self.kernels),
            check.states.eq(self.states), check.present.eq(self.present),
            self.recorded.eq(self.in_memory & Cat(slot.state == KernelState.PREEMPTED
                                                  for slot in slots)),
            check.recorded.eq(self.recorded),
            self.refused.eq(check.refused), launching.eq(
                self.launching.valid << self.launching.kernel),
            self.busy.eq(Cat(slot.state == each for slot in slots for each in BUSY_STATES).any()),
            self.withdraw.eq(withdrawn), self.hasten.eq(Cat(
                slot.hasty & slot.mine for slot in slots).any()),
            self.cancel.eq(queue.held & ((queue.mine | aside) & self.kill).any()),
            self.invalidate.eq(check.accepted & ((command.op == Command.START)
                                                 | (command.op == Command.RESUME))),
        ]
        self._queue(m, check, queue, slots, launching)
        self._conclude(m, check, queue, ended, withdrawn)
        with m.If(command.valid):
            m.d.sync += self.error.eq(check.error)
        for k, slot in enumerate(slots):
            self._slot(m, k, slot, check, queue, ended, withdrawn, launching[k], aside[k])
            m.d.comb += [self.eligible[k].eq((slot.state == KernelState.RUNNING) & ~waiting),
                         self.discard[k].eq(self.kill[k] & ~launching[k]
                                            & (~slot.mine & ~slot.evicting | self.flushing))]
            with m.If(self.start[k]):
                m.d.sync += self.footprints[k].eq(check.size)
            with m.If(slot.switched.valid):  # of one at most: the engine has one command
                m.d.comb += [self.switched.valid.eq(1), self.switched.kernel.eq(k),
                             self.switched.kind.eq(slot.switched.kind)]
        m.d.comb += [getattr(self, event).eq(Cat(getattr(slot, event) for slot in slots).any())
                     for event in ("preempted", "resumed", "killed", "adopted")]
        return m

    def _yields(self, m: Module, slots: Sequence[KernelSlot], queue: EngineQueue, ended: data.View):
        """What yields; returns whether TBs are to come back."""
        wakes = Signal(len(slots))
        m.d.comb += [
            wakes.eq(Cat(ready.any() for ready in self.next) & self.running_kernels),
            queue.leave.eq(self.leave), queue.ready.eq(self.next), queue.stays.eq(self.stays),
            self.woken.eq(queue.woken), self.keeping.eq(queue.keeping),
            queue.wakes.eq(wakes),
            self.leaves.eq(queue.leaves),
            self.left.eq(ended.valid & queue.aside.any()),
            self.resuming_kernels.eq(Cat(slot.state == KernelState.RESUMING for slot in slots)),
            self.running_kernels.eq(Cat(slot.state == KernelState.RUNNING for slot in slots)),
            self.forget.eq(self.kill | self.start | Cat(
                slot.state == KernelState.PREEMPTED for slot in slots)),
            self.tried.eq((queue.tried & (wakes | Cat(slot.wants for slot in slots))).any()),
        ]
        return (wakes & ~queue.pausing).any()

    def _queue(self, m: Module, check: CommandCheck, queue: EngineQueue,
               slots: Sequence[KernelSlot], launching: Value):
        """What the engine is wanted for."""
        command, write = self.command, queue.write
        m.d.comb += [
            write.valid.eq(check.accepted & ((command.op == Command.PREEMPT)
                                             | (command.op == Command.RESUME))),
            write.kernel.eq(command.kernel),
            *(write.options[name].eq(command[name])
              for name in write.options.shape().members if name in command.shape().members),
            write.options.spared.eq(self.spared),
            write.patience.eq(self.patience), write.grace.eq(self.grace),
            queue.graceful.eq(Cat(slot.graceful for slot in slots)),
            *(queue.grace_left[k].eq(slot.grace_left) for k, slot in enumerate(slots)),
            queue.preempts.eq(Cat(slot.waits for slot in slots)),
            queue.resumes.eq(Cat(slot.wants for slot in slots)),
            queue.adopts.eq(Cat(slot.adopts for slot in slots)),
            queue.first.eq(self.start | Cat(slot.first for slot in slots)),
            queue.launching.eq(launching), queue.room.eq(self.room),
        ]
        if self.geometry.in_place:
            m.d.comb += [queue.evict.eq(self.evict), queue.staying.eq(self.staying),
                         queue.hopeless.eq(self.hopeless), self.stuck.eq(queue.stuck),
                         write.options.newcomer.eq(self.newcomer.kernel),
                         write.options.newcomer_tbs.eq(self.newcomer.tbs)]

    def _conclude(self, m: Module, check: CommandCheck, queue: EngineQueue, ended: data.View,
                  withdrawn: Signal):
        """End the engine's command: a preempt when its TBs have left, which the engine waits for if
        it spares some, and nothing in a cycle in which a command comes for its kernel, which so has
        its effect first."""
        concluding = Signal()
        result = Signal(engine_result())
        mine = queue.mine.bit_select(self.command.kernel, 1)
        comes = check.accepted & mine
        left = (queue.resume | queue.evicts.any() | queue.partial
                | (result.error != CommandError.NONE) | withdrawn
                | self.cancel | ~self.present.bit_select(queue.kernel, 1))
        with m.If(self.result.valid):
            m.d.sync += [concluding.eq(1), result.eq(self.result)]
        # What a pass leaves behind that is withdrawn or dropped, or has failed, says nothing of
        # room: the next pass must not wait for some.
        m.d.comb += [ended.eq(result), ended.valid.eq(concluding & left & ~comes),
                     queue.ended.valid.eq(ended.valid),
                     queue.ended.left.eq(result.left & ~withdrawn & ~self.cancel
                                         & (result.error == CommandError.NONE)),
                     queue.ended.refused.eq(~self.cancel
                                            & (result.error == CommandError.BUS_ERROR))]
        with m.If(ended.valid):
            m.d.sync += [concluding.eq(0), withdrawn.eq(0)]
        with m.Elif(comes & ((self.command.op == Command.PREEMPT)
                             | (self.command.op == Command.ABORT))):
            m.d.sync += withdrawn.eq(1)

    def _slot(self, m: Module, k: int, slot: KernelSlot, check: CommandCheck, queue: EngineQueue,
              ended: data.View, withdrawn: Value, launching: Value, aside: Value):
        """Connect the state machine of kernel `k`."""
        for op in Command:
            m.d.comb += slot.takes[op.name.lower()].eq(
                check.accepted & (self.command.op == op) & (self.command.kernel == k))
        m.d.comb += [
            slot.mine.eq(queue.mine[k]), slot.resuming.eq(queue.resume),
            slot.withdrawn.eq(withdrawn), slot.evicting.eq(aside),
            slot.taken.eq(queue.taken[k] & ~queue.engine.payload.resume),
            slot.ended.eq(ended), slot.ended.valid.eq(ended.valid & queue.mine[k]),
            slot.done.eq(self.done[k]), slot.present.eq(self.present[k]),
            slot.saved.eq(self.saved[k]), slot.launching.eq(launching),
            slot.outstanding.eq(self.outstanding), slot.grace.eq(self.grace),
            slot.spared.eq(self.spared), slot.checkpoint.eq(self.command.checkpoint),
            slot.running.eq(self.running[k]),
            self.states[k].eq(slot.state), self.errors[k].eq(slot.error),
            self.start[k].eq(slot.takes.start | slot.takes.adopt),
            self.finished[k].eq(slot.finished),
            self.kill[k].eq(slot.state == KernelState.KILLING),
        ]
        if self.geometry.watches or self.geometry.in_place:
            with m.If(queue.given_up[k]):
                m.d.comb += slot.lost.eq(CommandError.BUS_ERROR)
        if self.geometry.watches:
            with m.If(ended.valid & queue.aside[k] & (ended.error == CommandError.BAD_IMAGE)):
                m.d.comb += slot.lost.eq(CommandError.BAD_IMAGE)

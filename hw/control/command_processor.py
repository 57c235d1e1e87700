"""The command processor: carries out commands and keeps the state of every kernel."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.commands import BUSY_STATES, Command, KernelState
from ..arch.faults import CommandError
from ..arch.geometry import Geometry
from ..interfaces.payloads import kernel_info
from ..interfaces.port import Port
from ..interfaces.preemption import engine_result
from ..interfaces.yielding import LeavePort
from .announcement import Announcement
from .command_check import CommandCheck
from .command_ports import DispatchPort, EnginePort, StatusPort, command_events
from .engine_queue import EngineQueue
from .kernel_slot import KernelSlot
from .register_ports import CommandPort

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
    when its TBs have left the table. TBs that it spares run on; if they end with nothing saved, the
    kernel has finished. A preempt that ends badly, or is aborted, after a TB has been saved leads
    to preempted, or to resuming; its other TBs run on. While a resume waits for room no fresh TB of
    any kernel is launched, so that the resume cannot starve.

    An aborted preempt ends as soon as the TB in hand is saved, whose warps stop at once; then what
    it has saved is resumed. A preempt of a kernel that is resuming withdraws the resume first: TBs
    that have their room come back, and are saved again.

    Registers and lines of preempted TBs that stay on the SM are evicted between commands, when they
    are in the way of others. The state of their kernel does not change. A preempt that is not in
    place evicts all of them, and is accepted for that even if no TB of the kernel is on the SM. A
    preempt that is to write the kernel's record is accepted likewise. A preempt of some TBs, or one
    that memory refused, has left no record. Only a kernel that has a record can be released.

    A killed kernel is idle when its TBs have left the table and memory has answered all accesses
    made on its behalf. Its slot and its memory are free then.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    registers : CommandPort, in
        Commands, and the registers that go with a preempt.
    events : command_events, out
        Events for register ``event``; the status follows one cycle later.
    kernels : array of kernel_info, in
        The kernel slots.
    dispatch : DispatchPort, out
        The dispatcher.
    engine : EnginePort, out
        The preemption engine.
    yields : LeavePort, in
        TBs that leave and come back by themselves; exists only with `Geometry.watches`.
    status : StatusPort, out
        The state of commands and kernels.
    """

    registers: Port
    events: data.View
    kernels: data.View
    dispatch: Port
    engine: Port
    yields: Port
    status: Port

    def __init__(self, g: Geometry):
        self.geometry = g
        self.ended = Signal(engine_result())  # the engine's command, once its end counts
        self.withdrawn = Signal()  # that command is withdrawn
        super().__init__({
            "registers": In(CommandPort(g)), "events": Out(command_events(g)),
            "kernels": In(data.ArrayLayout(kernel_info(g), g.kernel_slots)),
            "dispatch": Out(DispatchPort(g)), "engine": Out(EnginePort(g)),
            **({"yields": In(LeavePort(g))} if g.watches else {}),
            "status": Out(StatusPort(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, command = self.geometry, self.registers.command
        dispatch, engine, status = self.dispatch, self.engine, self.status
        m.submodules.check = check = CommandCheck(g)
        m.submodules.queue = queue = EngineQueue(g)
        slots = [KernelSlot(g) for _ in range(g.kernel_slots)]
        launching = Signal(g.kernel_slots)
        apart = queue.apart_owner
        for k, slot in enumerate(slots):
            m.submodules[f"slot_{k}"] = slot
            self._slot(m, k, slot, check, queue, launching[k], apart[k])
        hastened = Cat(slot.hasten_active & slot.engine.held for slot in slots)
        if g.proactive:  # a preempt that waits for bases
            hastened |= queue.base_owner & Cat(slot.engine.preempt_pending for slot in slots)
        m.d.comb += [
            check.command.eq(command), check.grace.eq(self.registers.grace),
            check.kernels.eq(self.kernels), check.states.eq(status.states),
            check.present.eq(dispatch.present), check.recorded.eq(status.recorded),
            launching.eq(dispatch.launching.valid << dispatch.launching.kernel),
            engine.withdraw.eq(self.withdrawn),
            engine.hasten.eq(hastened.any()),
            engine.cancel.eq(queue.held.valid
                             & ((queue.command_owner | apart) & dispatch.kill).any()),
            dispatch.invalidate.eq(check.accepted & ((command.op == Command.START)
                                                     | (command.op == Command.RESUME))),
        ]
        self._status(m, check, slots)
        self._queue(m, check, queue, slots, launching)
        self._conclude(m, check, queue)
        if g.watches:
            self._yields(m, queue, slots)
        if g.proactive:
            self._announce(m, check, queue, slots)
        return m

    def _status(self, m: Module, check: CommandCheck, slots: Sequence[KernelSlot]):
        """Tell how far commands are, and their events."""
        status = self.status
        preempted = Cat(slot.state == KernelState.PREEMPTED for slot in slots)
        m.d.comb += [
            status.recorded.eq(self.engine.in_memory & preempted),
            status.busy.eq(Cat(slot.state == each for slot in slots
                               for each in BUSY_STATES).any()),
            self.events.refused.eq(check.refused),
            self.events.finished.eq(Cat(slot.finished for slot in slots)),
            *(self.events[name].eq(Cat(getattr(slot, name) for slot in slots).any())
              for name in ("preempted", "resumed", "killed", "adopted")),
        ]
        with m.If(self.registers.command.valid):
            m.d.sync += status.error.eq(check.error)
        for k, slot in enumerate(slots):
            with m.If(slot.switched.valid):  # of one slot at most: the engine has one command
                m.d.comb += [status.switched.valid.eq(1), status.switched.kernel.eq(k),
                             status.switched.kind.eq(slot.switched.kind)]

    def _yields(self, m: Module, queue: EngineQueue, slots: Sequence[KernelSlot]):
        """Connect the TBs that leave and come back by themselves."""
        dispatch = self.dispatch
        wiring.connect(m, wiring.flipped(self.yields), queue.yields)
        states = {state: Cat(slot.state == state for slot in slots)
                  for state in (KernelState.RUNNING, KernelState.RESUMING, KernelState.PREEMPTED)}
        m.d.comb += [
            dispatch.running_kernels.eq(states[KernelState.RUNNING]),
            dispatch.resuming_kernels.eq(states[KernelState.RESUMING]),
            dispatch.forget.eq(dispatch.kill | dispatch.start | states[KernelState.PREEMPTED]),
            queue.running.eq(dispatch.running_kernels),
        ]

    def _announce(self, m: Module, check: CommandCheck, queue: EngineQueue,
                  slots: Sequence[KernelSlot]):
        """Connect what is announced, and what becomes of TBs until it arrives."""
        selection, status, command = self.dispatch.selection, self.status, self.registers.command
        m.submodules.announcement = announcement = Announcement(self.geometry)
        running = Cat(slot.state == KernelState.RUNNING for slot in slots)
        ended = queue.bases_ended
        preempted = Cat(slot.commands.preempt for slot in slots)
        m.d.comb += [
            announcement.write.eq(self.registers.announce), announcement.running.eq(running),
            announcement.forget.eq(~running | preempted | Mux(
                ended.valid & ended.failed, queue.base_owner, 0)),
            selection.victims.eq(announcement.victims), selection.due.eq(announcement.due),
            selection.announced.eq(announcement.begins),
            selection.arrived.eq(announcement.victims & preempted),
            selection.bases_saved.eq(Mux(ended.valid & ~ended.failed, ended.entries, 0)),
            selection.bases_kernel.eq(ended.kernel),
            queue.bases.entries.eq(selection.checkpoint),
            queue.bases.mechanism.eq(announcement.mechanism),
            queue.bases.patience.eq(announcement.patience),
            queue.bases.run_on.eq(announcement.run_on),
            status.announced.eq(announcement.victims),
        ]
        with m.If(queue.base_owner.any()):
            m.d.sync += status.base_cycles.eq(status.base_cycles + 1)
        for k, slot in enumerate(slots):
            m.d.comb += [slot.select.eq(command.select), slot.drain.eq(selection.drain[k]),
                         slot.base_held.eq(queue.base_owner[k])]

    def _queue(self, m: Module, check: CommandCheck, queue: EngineQueue,
               slots: Sequence[KernelSlot], launching: Value):
        """Connect the queue of what the engine is to do."""
        registers, options = self.registers, queue.options
        wiring.connect(m, queue.engine, wiring.flipped(self.engine.command))
        for slot, request in zip(slots, queue.slots, strict=True):
            wiring.connect(m, slot.engine, request)
        command = registers.command
        m.d.comb += [
            options.valid.eq(check.accepted & ((command.op == Command.PREEMPT)
                                               | (command.op == Command.RESUME))),
            options.kernel.eq(command.kernel),
            *(options.options[name].eq(command[name]) for name in options.options.shape().members
              if name in command.shape().members),
            options.options.spared.eq(registers.spared),
            options.patience.eq(registers.patience), options.grace.eq(registers.grace),
            queue.launching.eq(launching), queue.room_freed.eq(self.dispatch.room_freed),
        ]
        if self.geometry.in_place:
            m.d.comb += [queue.evict.eq(self.dispatch.evict),
                         queue.staying.eq(self.engine.staying),
                         queue.hopeless.eq(self.dispatch.hopeless),
                         self.dispatch.stuck.eq(queue.stuck),
                         options.options.newcomer.eq(registers.newcomer.kernel),
                         options.options.newcomer_tbs.eq(registers.newcomer.tbs)]

    def _conclude(self, m: Module, check: CommandCheck, queue: EngineQueue):
        """End the engine's command.

        A preempt ends when its TBs have left; the engine waits for that itself if the preempt
        spares some. Nothing ends in a cycle with a command for its kernel, which has its effect
        first.
        """
        ended, withdrawn, op = self.ended, self.withdrawn, self.registers.command.op
        result_pending = Signal()
        result = Signal(engine_result())
        comes = check.accepted & queue.command_owner.bit_select(self.registers.command.kernel, 1)
        tbs_gone = (queue.held.resume | queue.eviction_owner.any() | queue.held.partial
                    | (result.error != CommandError.NONE) | withdrawn | self.engine.cancel
                    | ~self.dispatch.present.bit_select(queue.held.kernel, 1))
        with m.If(self.engine.result.valid):
            m.d.sync += [result_pending.eq(1), result.eq(self.engine.result)]
        # A pass that was withdrawn or dropped, or has failed, leaves TBs behind for other reasons
        # than room: the next pass must not wait for room.
        m.d.comb += [ended.eq(result), ended.valid.eq(result_pending & tbs_gone & ~comes),
                     queue.ended.valid.eq(ended.valid),
                     queue.ended.tbs_left.eq(result.left & ~withdrawn & ~self.engine.cancel
                                         & (result.error == CommandError.NONE)),
                     queue.ended.refused.eq(~self.engine.cancel
                                            & (result.error == CommandError.BUS_ERROR)),
                     queue.ended.failed.eq(result.error != CommandError.NONE)]
        with m.If(ended.valid):
            m.d.sync += [result_pending.eq(0), withdrawn.eq(0)]
        with m.Elif(comes & ((op == Command.PREEMPT) | (op == Command.ABORT))):
            m.d.sync += withdrawn.eq(1)

    def _slot(self, m: Module, k: int, slot: KernelSlot, check: CommandCheck, queue: EngineQueue,
              launching: Value, apart: Value):
        """Connect the state machine of kernel `k`; the engine does something `apart` from its
        commands for it."""
        registers, dispatch, engine = self.registers, self.dispatch, self.engine
        ended, command = self.ended, registers.command
        for op in Command:
            m.d.comb += slot.commands[op.name.lower()].eq(
                check.accepted & (command.op == op) & (command.kernel == k))
        m.d.comb += [
            slot.resuming.eq(queue.held.resume), slot.withdrawn.eq(self.withdrawn),
            slot.eviction_held.eq(apart), slot.ended.eq(ended),
            slot.ended.valid.eq(ended.valid & queue.command_owner[k]),
            slot.done.eq(dispatch.done[k]), slot.present.eq(dispatch.present[k]),
            slot.saved.eq(engine.saved[k]), slot.launching.eq(launching),
            slot.outstanding.eq(dispatch.accesses_outstanding),
            slot.grace.eq(registers.grace), slot.spared.eq(registers.spared),
            slot.checkpoint.eq(command.checkpoint), slot.running.eq(dispatch.running[k]),
            self.status.states[k].eq(slot.state), self.status.errors[k].eq(slot.error),
            dispatch.start[k].eq(slot.commands.start | slot.commands.adopt),
            dispatch.kill[k].eq(slot.state == KernelState.KILLING),
            dispatch.eligible[k].eq((slot.state == KernelState.RUNNING) & ~queue.returns_waiting),
            dispatch.discard[k].eq(dispatch.kill[k] & ~launching
                                   & (~slot.engine.held & ~slot.eviction_held | engine.flushing)),
        ]
        with m.If(dispatch.start[k]):
            m.d.sync += dispatch.footprints[k].eq(check.size)
        if self.geometry.watches or self.geometry.in_place:
            with m.If(queue.given_up[k]):
                m.d.comb += slot.failure.eq(CommandError.BUS_ERROR)
        if self.geometry.watches:
            with m.If(ended.valid & queue.yield_owner[k] & (ended.error == CommandError.BAD_IMAGE)):
                m.d.comb += slot.failure.eq(CommandError.BAD_IMAGE)

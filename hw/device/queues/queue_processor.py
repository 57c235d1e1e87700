"""Queue processor: takes packets from rings in memory and starts their kernels."""

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.commands import Command, KernelState
from ...arch.faults import CommandError
from ...arch.geometry import ADDRESS_BITS, INSTRUCTION_BYTES, WORD_BYTES, Geometry
from ...arch.packets import KERNEL_OBJECT_MAGIC, QueueError
from ...arch.registers import register_map
from ...control.register_ports import register_layout
from ...interfaces.gpu_ports import SEGMENT_BITS, OrderPort
from ...interfaces.port import Port
from ...lib.bits import lowest_number, one_hot, pick
from ...memory.ports import ReadInterface, ReadPort, WriteInterface, WritePort
from ...memory.word_reader import WordReader
from .flight_preemption import queue_action
from .job_in_hand import JobInHand
from .kernel_describer import KernelDescriber, register_write
from .packet_completion import PacketCompletion
from .packet_states import PacketStates
from .queue_registers import queue_policy, queue_setup, queue_status
from .queue_states import QueueStates

__all__ = ["QueueProcessor"]


class QueueProcessor(wiring.Component):
    """Begins the packets of each queue in order; queues share the processor and the kernel slots
    that they may use.

    ::

            CHOOSE --> ASK --+--> OBJECT --> REACH --> DESCRIBE --> START
          ^ |            +--> DEPEND --> PASSED                   |
          | +-> COMMAND --> SETTLE          |                     v
          +<-------------------+------- COMPLETE <-- (a kernel has finished)

    `QueueStates` chooses the next job. Completions go first, then commands of `QueuePreemption`,
    then the packet of a queue. A barrier whose signals are not met, a packet that is not written
    yet and a dispatch without a free slot give way. A barrier completes before anything behind it
    begins. If a queue is stopped before the start, its fetched packet is dropped, even if the queue
    goes on at once: the packet may be another by then. For a kernel that is away, its packet is
    read again, and an adoption takes the place of the start.

    Parameters
    ----------
    g : Geometry
        Geometry with `queues`.

    Attributes
    ----------
    setups : array of queue_setup, in; slots : Signal(kernel_slots), in
    statuses : array of queue_status, out
        The `QueueRegisters`.
    policy : queue_policy, in
    states, errors : array of array, in
        `KernelState` and `CommandError` by SM and kernel.
    cycle : Signal(64), in
        Cycle of the device's clock, written to signals.
    registers : stream of register_write, out
        Describes and starts kernels.
    accepted : Signal, in
        Some SM takes the command that is transferred in this cycle.
    order : OrderPort, out
        Signals are changed as atomics are.
    read_port : ReadPort, out; write_port : WritePort, out
    wrote : stream of Signal(SEGMENT_BITS), out
        A segment that was written here; only with `Geometry.watches`.
    """

    setups: View
    slots: Signal
    statuses: View
    policy: View
    states: View
    errors: View
    cycle: Signal
    registers: stream.Interface
    accepted: Signal
    order: Port
    read_port: ReadInterface
    write_port: WriteInterface
    wrote: stream.Interface

    def __init__(self, g: Geometry):
        self.geometry = g
        states = data.ArrayLayout(KernelState, g.kernel_slots)
        errors = data.ArrayLayout(CommandError, g.kernel_slots)
        super().__init__({
            "setups": In(data.ArrayLayout(queue_setup(), g.queues)), "slots": In(g.kernel_slots),
            "statuses": Out(data.ArrayLayout(queue_status(g), g.queues)),
            "policy": In(queue_policy()), "states": In(data.ArrayLayout(states, g.sms)),
            "errors": In(data.ArrayLayout(errors, g.sms)), "cycle": In(64),
            "registers": Out(stream.Signature(register_write(g))), "accepted": In(1),
            "order": Out(OrderPort()), "read_port": Out(ReadPort(g)),
            "write_port": Out(WritePort(g)),
            **({"wrote": Out(stream.Signature(SEGMENT_BITS))} if g.watches else {}),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.reader = reader = WordReader(g)
        m.submodules.describer = describer = KernelDescriber(g)
        m.submodules.completion = completion = PacketCompletion(g)
        m.submodules.queues = queues = QueueStates(g)
        wiring.connect(m, reader.port, wiring.flipped(self.read_port))
        wiring.connect(m, completion.write_port, wiring.flipped(self.write_port))
        wiring.connect(m, completion.order, wiring.flipped(self.order))
        if g.watches:
            wiring.connect(m, completion.wrote, wiring.flipped(self.wrote))
        m.d.comb += [
            *(getattr(queues, name).eq(getattr(self, name)) for name in (
                "setups", "slots", "policy", "states", "errors")),
            self.statuses.eq(queues.statuses)]
        job = JobInHand(m, g, queues, reader, self.setups)
        packet_states = PacketStates(job)
        action = Signal(queue_action(g))
        with m.FSM():
            self._choose(m, job, action)
            self._command(m, queues, action)
            packet_states.fetch(m)
            packet_states.depend(m)
            self._describe(m, job, describer)
            self._start(m, job)
            self._complete(m, job, completion)
        return m

    def _choose(self, m: Module, job: JobInHand, action: View):
        """Choose the next job. Completions go first, then commands, then the next packet."""
        next_job = job.queues.next_job
        with m.State("CHOOSE"):
            m.d.comb += [job.idle.eq(1), next_job.settled.eq(1)]
            m.d.sync += job.comes_back.eq(0)
            with m.If(next_job.ended.any()):
                m.d.sync += job.flight.eq(lowest_number(next_job.ended))
                m.next = "COMPLETE"
            with m.Elif(next_job.passed.any()):  # before anything behind the barrier
                m.d.sync += [job.queue.eq(lowest_number(next_job.passed)), job.is_barrier.eq(1)]
                m.next = "COMPLETE"
            with m.Elif(next_job.action.valid):
                m.d.sync += action.eq(next_job.action.what)
                m.next = "COMMAND"
            with m.Elif(next_job.chosen.valid):
                chosen = next_job.chosen
                m.d.sync += [job.queue.eq(chosen.queue), job.flight.eq(chosen.flight),
                             job.comes_back.eq(chosen.comes_back)]
                m.next = "ASK"
            with m.Else():
                m.d.comb += next_job.all_looked_at.eq(1)

    def _command(self, m: Module, queues: QueueStates, action: View):
        """Give the command by which kernels are preempted by priority."""
        port, done = self.registers, queues.next_job.done
        word = Signal(register_layout(register_map()["command"]), name="command_word")
        # The command waits here while the host has the registers.
        with m.State("COMMAND"):
            m.d.comb += word.eq(Mux(action.op == Command.PREEMPT, Mux(
                action.checkpoint, self.policy.checkpoint, self.policy.preempt), 0))
            with m.If(action.whole):
                m.d.comb += [word.in_place.eq(0), word.restart.eq(0), word.incremental.eq(0)]
            with m.If(action.op == Command.RESUME):
                m.d.comb += [word.scramble.eq(self.policy.preempt.scramble),
                             word.gang.eq(self.policy.preempt.gang)]
            m.d.comb += [
                word.checkpoint.eq(action.checkpoint), word.op.eq(action.op),
                word.kernel.eq(action.slot), self._command_port(word)]
            with m.If(port.ready):
                m.d.comb += [done.valid.eq(1), done.what.eq(action),
                             done.accepted.eq(self.accepted)]
                m.next = "SETTLE"
        # The states of the SMs follow the command by a cycle: no choice is made from old ones.
        with m.State("SETTLE"):
            m.next = "CHOOSE"

    def _command_port(self, word: View):
        """Return what gives a command to all SMs."""
        payload = self.registers.payload
        return [self.registers.valid.eq(1), payload.sms.eq((1 << self.geometry.sms) - 1),
                payload.address.eq(register_map()["command"].address), payload.data.eq(word)]

    def _describe(self, m: Module, job: JobInHand, describer: KernelDescriber):
        """Read the kernel object, and have the kernel slot described."""
        packet, found = job.dispatch, job.kernel_object
        m.d.comb += [describer.packet.eq(packet), describer.found.eq(found),
                     describer.setup.eq(job.setup), describer.slot.eq(job.slot),
                     describer.place.eq(job.place)]
        # All that the object and the packet name must lie in the memory that the queue was given.
        reach = Signal(range(3))
        places = Array([found.code_base, found.const_base, packet.kernarg_address[:ADDRESS_BITS]])
        sizes = Array([found.code_words << exact_log2(INSTRUCTION_BYTES), found.const_bytes,
                       found.kernarg_words << exact_log2(WORD_BYTES)])
        # One range is checked per cycle: code, constants, parameters.
        with m.State("REACH"):
            m.d.sync += reach.eq(reach + 1)
            with m.If((sizes[reach] != 0) & job.outside(places[reach], sizes[reach])):
                job.fail(m, Mux(reach == 2, QueueError.BAD_PACKET, QueueError.BAD_OBJECT))
            with m.Elif(reach == 2):
                m.d.comb += describer.begin.eq(1)
                m.next = "DESCRIBE"

        def check_magic():
            with m.If(found.magic != KERNEL_OBJECT_MAGIC):
                job.fail(m, QueueError.BAD_OBJECT)
            with m.Else():
                m.d.sync += reach.eq(0)
                m.next = "REACH"

        job.read(m, "OBJECT", packet.kernel_object[:32], job.object_words, check_magic)
        # The describer refuses a packet before it writes its first register.
        with m.State("DESCRIBE"):
            self._lend(m, (describer.registers, self.registers))
            with m.If(describer.done):
                with m.If(describer.wrong):
                    job.fail(m, QueueError.BAD_PACKET)
                with m.Elif(describer.strange):
                    job.fail(m, QueueError.BAD_OBJECT)
                with m.Else():
                    m.next = "START"

    @staticmethod
    def _lend(m: Module, *streams: tuple[stream.Interface, stream.Interface]):
        """Let a submodule use the ports of this block."""
        for source, target in streams:
            m.d.comb += [target.valid.eq(source.valid), target.payload.eq(source.payload),
                         source.ready.eq(target.ready)]

    def _start(self, m: Module, job: JobInHand):
        """Start the kernel, unless the queue has been stopped."""
        port, packet = self.registers, job.queues.packet
        begin, here = packet.begin, one_hot(job.queue, self.geometry.queues)
        word = Signal(register_layout(register_map()["command"]), name="start_word")
        m.d.comb += [begin.number.eq(job.flight), begin.slot.eq(job.slot),
                     begin.fresh.eq(~job.comes_back), begin.start.eq(self.cycle),
                     begin.signal.eq(job.dispatch.completion_signal)]
        # A stop of the queue counts until here: once the command is taken the kernel runs.
        with m.State("START"):
            with m.If(job.queue_stopped):
                m.next = "CHOOSE"
            with m.Else():
                m.d.comb += [word.op.eq(Mux(job.comes_back, Command.ADOPT, Command.START)),
                             word.kernel.eq(job.slot), self._command_port(word)]
                with m.If(port.ready):
                    with m.If(self.accepted):
                        m.d.comb += [begin.valid.eq(1), packet.served.eq(here)]
                        with m.If(~job.comes_back):
                            m.d.comb += packet.advance.eq(here)
                        m.next = "SETTLE"
                    with m.Else():
                        job.fail(m, QueueError.REFUSED)
        # A barrier whose signals are met, or a checkpoint packet: only its completion is left.
        with m.State("PASSED"):
            with m.If(~job.queue_stopped):
                m.d.comb += [packet.served.eq(here), packet.advance.eq(here),
                             packet.passes.valid.eq(1)]
                m.d.sync += job.is_barrier.eq(1)
                m.next = "COMPLETE"
            with m.Else():
                m.next = "CHOOSE"

    def _complete(self, m: Module, job: JobInHand, completion: PacketCompletion):
        """Have the packet's signal changed, and end the packet unless memory refuses. A barrier
        writes no times. An uncertain completion comes here to be discarded, and its signal is left
        alone."""
        packet, port, reader = job.queues.packet, job.queues.completion, job.reader
        passes, ends = packet.passes, port.event

        def of_job(of_barriers: Value, of_kernels: Value) -> Value:
            return Mux(job.is_barrier, of_barriers.bit_select(job.queue, 1),
                       of_kernels.bit_select(job.flight, 1))

        discard = of_job(port.barrier_discards, port.discards)
        uncertain = of_job(port.barrier_uncertain, port.uncertain)
        refused = completion.refused & ~discard
        m.d.comb += [
            passes.queue.eq(job.queue),
            passes.signal.eq(job.barrier.completion_signal[:ADDRESS_BITS]),
            completion.signal.eq(Mux(job.is_barrier, pick(
                [port.barriers[q] for q in range(self.geometry.queues)], job.queue),
                pick([one.signal for one in packet.flights], job.flight))),
            completion.timed.eq(~job.is_barrier), completion.cycle.eq(self.cycle),
            completion.start.eq(pick([one.start for one in packet.flights], job.flight)),
            completion.give_up.eq(discard), ends.uncertain.eq(completion.uncertain),
            ends.barrier.eq(job.is_barrier), ends.queue.eq(job.queue), ends.flight.eq(job.flight),
            ends.refused.eq(Mux(completion.done, refused, completion.insists)),
            ends.done.eq(completion.done & ~refused)]
        # An uncertain completion ends without a write: the value may have been counted down.
        with m.State("COMPLETE"):
            m.d.comb += completion.begin.eq(~uncertain)
            m.next = "COMPLETING"
            with m.If(uncertain):
                m.d.comb += ends.done.eq(1)
                m.d.sync += job.is_barrier.eq(0)
                m.next = "CHOOSE"
        # The processor fetches nothing meanwhile, so its reader is lent.
        with m.State("COMPLETING"):
            self._lend(m, (completion.job, reader.job), (reader.word, completion.word))
            with m.If(completion.done):
                m.d.sync += job.is_barrier.eq(0)
                m.next = "CHOOSE"

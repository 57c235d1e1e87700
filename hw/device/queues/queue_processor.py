"""Queue processor: takes packets from rings in memory and starts their kernels."""


from collections.abc import Callable, Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.commands import Command, KernelState
from ...arch.faults import CommandError
from ...arch.geometry import ADDRESS_BITS, INSTRUCTION_BYTES, WORD_BYTES, Geometry
from ...arch.packets import (
    BARRIER_AND,
    DEPENDENCIES,
    DISPATCH,
    KERNEL_OBJECT,
    KERNEL_OBJECT_MAGIC,
    PACKET_BYTES,
    PACKET_WORDS,
    SIGNAL_BYTES,
    SIGNAL_VALUE,
    VENDOR_PACKET,
    PacketType,
    QueueError,
    VendorFormat,
)
from ...arch.registers import register_map
from ...control.register_ports import register_layout
from ...interfaces.gpu_ports import SEGMENT_BITS, OrderPort
from ...interfaces.payloads import below
from ...interfaces.port import Port
from ...lib.bits import lowest_number, one_hot, pick
from ...memory.ports import ReadInterface, ReadPort, WriteInterface, WritePort
from ...memory.word_reader import WordReader
from .flight_preemption import queue_action
from .in_flight import flight_number
from .kernel_describer import KernelDescriber, register_write
from .packet_completion import PacketCompletion
from .queue_registers import queue_policy, queue_setup, queue_status
from .queue_states import QueueStates, Wait

__all__ = ["QueueProcessor"]


def _misplaced(address: Value) -> Value:
    """Return whether no signal or kernel object can lie there."""
    return address[:exact_log2(SIGNAL_BYTES)].any()


def _beyond(address: Value) -> Value:
    """Return whether an address of 64 bits is none that there is."""
    return address[ADDRESS_BITS:].any()


class QueueProcessor(wiring.Component):
    """Begins the packets of each queue in order; queues share the processor and the kernel slots
    that they may use.

    ::

            CHOOSE --> ASK --+--> OBJECT --> REACH --> DESCRIBE --> START
          ^ |            +--> DEPEND --> PASSED                   |
          | +-> COMMAND --> SETTLE          |                     v
          +<-------------------+------- COMPLETE <-- (a kernel has finished)

    `QueueStates` says what is next: what has completed goes first, then commands of
    `QueuePreemption`, then the packet of a queue. A barrier whose signals are not as it wants, a
    packet that is not written yet and a dispatch without a free slot give way; a barrier is done
    before anything behind it is begun. What was fetched of a queue that is stopped before the start
    is dropped, also if it goes on at once: its packet may be another by then. A kernel that is away
    comes back by its packet, which is read again, and an adoption in the place of the start.

    Parameters
    ----------
    g : Geometry
        With `queues`.

    Attributes
    ----------
    setups : array of queue_setup, in; slots : Signal(kernel_slots), in
    statuses : array of queue_status, out
        The `QueueRegisters`.
    policy : queue_policy, in
    states, errors : array of array, in
        `KernelState` and `CommandError` by SM and kernel.
    cycle : Signal(64), in
        Of the device's clock, for signals.
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
        m.submodules.describer = self.describer = KernelDescriber(g)
        m.submodules.completion = self.completion = PacketCompletion(g)
        m.submodules.queues = self.queues = QueueStates(g)
        wiring.connect(m, reader.port, wiring.flipped(self.read_port))
        wiring.connect(m, self.completion.write_port, wiring.flipped(self.write_port))
        wiring.connect(m, self.completion.order, wiring.flipped(self.order))
        if g.watches:
            wiring.connect(m, self.completion.wrote, wiring.flipped(self.wrote))
        self.queue = Signal(below(g.queues), name="queue")
        self.flight = Signal(flight_number(g), name="flight")
        self.slot = Signal(below(g.kernel_slots), name="slot")
        self.packet = [Signal(32, name=f"packet_{k}") for k in range(PACKET_WORDS)]
        self.object = [Signal(32, name=f"object_{k}") for k in range(PACKET_WORDS)]
        self.failed = Signal(name="failed")  # a word of the job in hand
        self.comes_back = Signal(name="comes_back")  # what is in hand is away
        self.passed = Signal(name="passed")  # what is in hand is no kernel
        self.stopped = Signal(name="stopped")  # the queue was, since the packet in hand was chosen
        was_stopped = Signal()
        self.chooses = Signal(name="chooses")  # nothing is in hand
        self.action = Signal(queue_action(g), name="action")
        self.setup = Signal(queue_setup(), name="setup")
        m.d.sync += was_stopped.eq(self.stopped)
        m.d.comb += [
            self.stopped.eq(~self.chooses & (~self.setup.enable | was_stopped)),
            self.setup.eq(pick([self.setups[q] for q in range(g.queues)], self.queue)),
            *(getattr(self.queues, name).eq(getattr(self, name)) for name in (
                "setups", "slots", "policy", "states", "errors")),
            self.statuses.eq(self.queues.statuses)]
        with m.FSM():
            self._choose(m)
            self._command(m)
            self._fetch(m, reader)
            self._depend(m, reader)
            self._describe(m, reader)
            self._start(m)
            self._complete(m, reader)
        return m

    def _choose(self, m: Module):
        """What has completed goes first, then commands, then the next packet."""
        queues = self.queues
        with m.State("CHOOSE"):
            m.d.comb += [self.chooses.eq(1), queues.settled.eq(1)]
            m.d.sync += self.comes_back.eq(0)
            with m.If(queues.ended.any()):
                m.d.sync += self.flight.eq(lowest_number(queues.ended))
                m.next = "COMPLETE"
            with m.Elif(queues.passed.any()):  # before anything behind the barrier
                m.d.sync += [self.queue.eq(lowest_number(queues.passed)), self.passed.eq(1)]
                m.next = "COMPLETE"
            with m.Elif(queues.action.valid):
                m.d.sync += self.action.eq(queues.action.what)
                m.next = "COMMAND"
            with m.Elif(queues.chosen.valid):
                m.d.sync += [self.queue.eq(queues.chosen.queue),
                             self.flight.eq(queues.chosen.flight),
                             self.comes_back.eq(queues.chosen.comes_back)]
                m.next = "ASK"
            with m.Else():
                m.d.comb += queues.all_looked_at.eq(1)

    # Preemption by priority

    def _command(self, m: Module):
        """Give the command that was chosen."""
        port, action = self.registers, self.action
        word = Signal(register_layout(register_map()["command"]), name="command_word")
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
                m.d.comb += [self.queues.done.valid.eq(1), self.queues.done.what.eq(action),
                             self.queues.done.accepted.eq(self.accepted)]
                m.next = "SETTLE"
        with m.State("SETTLE"):  # the states of the SMs follow
            m.next = "CHOOSE"

    def _command_port(self, word: View):
        """Return what gives a command to all SMs."""
        payload = self.registers.payload
        return [self.registers.valid.eq(1), payload.sms.eq((1 << self.geometry.sms) - 1),
                payload.address.eq(register_map()["command"].address), payload.data.eq(word)]

    def _give_way(self, m: Module, why: Wait, fails: ValueLike = 0):
        """Let others go first; it `fails` for memory that has refused a read."""
        self._judge(m, waits=1, why=why, fails=fails)
        m.next = "CHOOSE"

    def _fail(self, m: Module, error: ValueLike):
        """The packet cannot be carried out: the queue stays there until it is stopped."""
        self._judge(m, error=error, of=Mux(self.comes_back, self._number() + 1, 0))
        m.next = "CHOOSE"

    def _judge(self, m: Module, **fields: ValueLike):
        """Say what becomes of the packet in hand."""
        verdict = self.queues.verdict
        m.d.comb += [verdict.valid.eq(~self.stopped), verdict.queue.eq(self.queue),
                     *(verdict[name].eq(value) for name, value in fields.items())]

    def _number(self):
        """Return the number of the kernel in hand in its queue."""
        bits = exact_log2(self.geometry.queue_capacity)
        return self.flight[:bits] if bits else Const(0, 1)

    def _outside(self, address: Value, size: ValueLike):
        """Return whether bytes lie outside the memory that the queue in hand was given."""
        first = address[:ADDRESS_BITS]
        return (first < self.setup.system_base) | (first + size > self.setup.system_end)

    # Reading

    def _read(self, m: Module, reader: WordReader, name: str, address: Value, words: int,
              into: Sequence[Signal], then: Callable[[], None],
              fail: Callable[[], None] | None = None):
        """States that read words into registers, and see whether one failed."""
        count = Signal(range(len(into)), name=f"{name}_count")
        with m.State(name):
            m.d.comb += [reader.job.valid.eq(1), reader.job.payload.address.eq(address),
                         reader.job.payload.words.eq(words)]
            m.d.sync += [count.eq(0), self.failed.eq(0)]
            with m.If(reader.job.ready):
                m.next = f"{name}_WORDS"
        with m.State(f"{name}_WORDS"):
            word = reader.word
            m.d.comb += word.ready.eq(1)
            with m.If(word.valid):
                m.d.sync += [count.eq(count + 1), self.failed.eq(
                    self.failed | word.payload.error)]
                with m.Switch(count):
                    for k, target in enumerate(into):
                        with m.Case(k):
                            m.d.sync += target.eq(word.payload.data)
                with m.If(word.payload.last):
                    m.next = f"{name}_READ"
        with m.State(f"{name}_READ"):
            with m.If(self.failed):
                if fail is None:
                    self._fail(m, QueueError.BUS_ERROR)
                else:
                    fail()
            with m.Else():
                then()

    def _fetch(self, m: Module, reader: WordReader):
        """Read the packet and see what it is."""
        g, queues = self.geometry, self.queues
        index = Signal(32)
        mask = Signal(16)
        count = Signal(range(g.queue_capacity + 1))
        m.d.comb += [
            index.eq(Mux(self.comes_back, pick([one.index for one in queues.flights], self.flight),
                         pick([self.statuses[q].unstarted for q in range(g.queues)], self.queue))),
            mask.eq((1 << self.setup.size) - 1),
            count.eq(pick([queues.counts[q] for q in range(g.queues)], self.queue))]
        place = self.setup.base + ((index & mask) << exact_log2(PACKET_BYTES))
        packet = data.View(DISPATCH, Cat(self.packet))  # all have their signal in one place
        header = packet.header

        def judge():
            with m.If(self.stopped):
                m.next = "CHOOSE"
            with m.Elif((self.comes_back & (header.type != PacketType.DISPATCH))
                        | ((header.type != PacketType.INVALID)
                           & (_misplaced(packet.completion_signal)
                              | _beyond(packet.completion_signal) | (
                               (packet.completion_signal[:ADDRESS_BITS] != 0)
                               & self._outside(packet.completion_signal, SIGNAL_BYTES))))):
                self._fail(m, QueueError.BAD_PACKET)
            with m.Elif(~self.comes_back & header.barrier & (count != 0)
                        & (header.type != PacketType.INVALID)):
                self._give_way(m, Wait.DRAIN)
            with m.Else():
                with m.Switch(header.type):
                    with m.Case(PacketType.INVALID):
                        self._give_way(m, Wait.LATER)
                    with m.Case(PacketType.DISPATCH):
                        with m.If(_beyond(packet.kernel_object) | _beyond(packet.kernarg_address)):
                            self._fail(m, QueueError.BAD_PACKET)
                        with m.Elif(_misplaced(packet.kernel_object)
                                  | self._outside(packet.kernel_object, PACKET_BYTES)):
                            self._fail(m, QueueError.BAD_OBJECT)
                        with m.Elif(queues.free.any()):
                            self._judge(m)
                            m.d.sync += self.slot.eq(lowest_number(queues.free))
                            m.next = "OBJECT"
                        with m.Else():
                            self._give_way(m, Wait.ROOM)
                    with m.Case(PacketType.BARRIER_AND, PacketType.BARRIER_OR):
                        m.d.sync += [self.dependency.eq(0), self.unmet.eq(0)]
                        m.next = "DEPEND"
                    with m.Case(PacketType.VENDOR):
                        vendor = data.View(VENDOR_PACKET, Cat(self.packet))
                        with m.If(vendor.format == VendorFormat.CHECKPOINT):
                            m.d.comb += queues.checkpoint.valid.eq(1)
                            m.next = "PASSED"
                        with m.Else():
                            self._fail(m, QueueError.BAD_PACKET)
                    with m.Default():
                        self._fail(m, QueueError.BAD_PACKET)

        m.d.comb += queues.checkpoint.priority.eq(self.setup.priority)
        self.dependency = Signal(range(DEPENDENCIES), name="dependency")
        self.unmet = Signal(name="unmet")  # a signal of a barrier-OR is not 0
        self._read(m, reader, "ASK", place, PACKET_WORDS, self.packet, judge)

    # A barrier

    def _depend(self, m: Module, reader: WordReader):
        """Look at one signal after the other."""
        barrier = data.View(BARRIER_AND, Cat(self.packet))
        address = Signal(64)
        value = [Signal(32, name=f"value_{k}") for k in range(2)]
        m.d.comb += address.eq(Array(barrier.signals[k] for k in range(DEPENDENCIES))[
            self.dependency])
        last = self.dependency == DEPENDENCIES - 1
        one_suffices = barrier.header.type == PacketType.BARRIER_OR

        def next_one(unmet: Value):
            with m.If(~last):
                m.d.sync += [self.dependency.eq(self.dependency + 1), self.unmet.eq(unmet)]
                m.next = "DEPEND"
            with m.Elif(unmet):
                self._give_way(m, Wait.LATER)
            with m.Else():
                m.next = "PASSED"

        def look():
            with m.If((Cat(value) == 0) & one_suffices):
                m.next = "PASSED"
            with m.Elif((Cat(value) != 0) & ~one_suffices):
                self._give_way(m, Wait.LATER)
            with m.Else():
                next_one(one_suffices)

        with m.State("DEPEND"):
            with m.If(address == 0):
                next_one(self.unmet)
            with m.Elif(_misplaced(address) | _beyond(address)
                        | self._outside(address, SIGNAL_BYTES)):
                self._fail(m, QueueError.BAD_PACKET)
            with m.Else():
                m.next = "VALUE"
        self._read(m, reader, "VALUE", address[:ADDRESS_BITS] + SIGNAL_VALUE, 2, value, look,
                   lambda: self._give_way(m, Wait.LATER, fails=1))
        self.value = value

    # A dispatch

    def _describe(self, m: Module, reader: WordReader):
        """Read the kernel object, and have the kernel slot described."""
        describer, packet = self.describer, data.View(DISPATCH, Cat(self.packet))
        found = data.View(KERNEL_OBJECT, Cat(self.object))
        m.d.comb += [describer.packet.eq(packet), describer.found.eq(found),
                     describer.setup.eq(self.setup), describer.slot.eq(self.slot),
                     describer.place.eq(self._number())]

        def check():
            with m.If(found.magic != KERNEL_OBJECT_MAGIC):
                self._fail(m, QueueError.BAD_OBJECT)
            with m.Else():
                m.d.sync += reach.eq(0)
                m.next = "REACH"

        # What the object and the packet name lies where the queue's owner has such things.
        reach = Signal(range(3))
        places = Array([found.code_base, found.const_base, packet.kernarg_address[:ADDRESS_BITS]])
        sizes = Array([found.code_words << exact_log2(INSTRUCTION_BYTES), found.const_bytes,
                       found.kernarg_words << exact_log2(WORD_BYTES)])
        with m.State("REACH"):
            m.d.sync += reach.eq(reach + 1)
            with m.If((sizes[reach] != 0) & self._outside(places[reach], sizes[reach])):
                self._fail(m, Mux(reach == 2, QueueError.BAD_PACKET, QueueError.BAD_OBJECT))
            with m.Elif(reach == 2):
                m.d.comb += describer.begin.eq(1)
                m.next = "DESCRIBE"

        self._read(m, reader, "OBJECT", packet.kernel_object[:32], PACKET_WORDS, self.object, check)
        with m.State("DESCRIBE"):
            self._lend(m, (describer.registers, self.registers))
            with m.If(describer.done):
                with m.If(describer.wrong):
                    self._fail(m, QueueError.BAD_PACKET)
                with m.Elif(describer.strange):
                    self._fail(m, QueueError.BAD_OBJECT)
                with m.Else():
                    m.next = "START"

    @staticmethod
    def _lend(m: Module, *streams: tuple[stream.Interface, stream.Interface]):
        """Let a block of its own use what this one has."""
        for source, target in streams:
            m.d.comb += [target.valid.eq(source.valid), target.payload.eq(source.payload),
                         source.ready.eq(target.ready)]

    def _start(self, m: Module):
        """Start the kernel, unless the queue has been stopped."""
        g, port, packet = self.geometry, self.registers, data.View(DISPATCH, Cat(self.packet))
        begin, here = self.queues.begin, one_hot(self.queue, g.queues)
        word = Signal(register_layout(register_map()["command"]), name="start_word")
        m.d.comb += [begin.number.eq(self.flight), begin.slot.eq(self.slot),
                     begin.fresh.eq(~self.comes_back), begin.start.eq(self.cycle),
                     begin.signal.eq(packet.completion_signal)]
        with m.State("START"):
            with m.If(self.stopped):
                m.next = "CHOOSE"
            with m.Else():
                m.d.comb += [word.op.eq(Mux(self.comes_back, Command.ADOPT, Command.START)),
                             word.kernel.eq(self.slot), self._command_port(word)]
                with m.If(port.ready):
                    with m.If(self.accepted):
                        m.d.comb += [begin.valid.eq(1), self.queues.served.eq(here)]
                        with m.If(~self.comes_back):
                            m.d.comb += self.queues.advance.eq(here)
                        m.next = "SETTLE"
                    with m.Else():
                        self._fail(m, QueueError.REFUSED)
        with m.State("PASSED"):  # a barrier
            with m.If(~self.stopped):
                m.d.comb += [self.queues.served.eq(here), self.queues.advance.eq(here),
                             self.queues.passes.valid.eq(1)]
                m.d.sync += self.passed.eq(1)
                m.next = "COMPLETE"
            with m.Else():
                m.next = "CHOOSE"

    # Completion

    def _complete(self, m: Module, reader: WordReader):
        """Have the packet's signal changed, and be done with it unless memory refuses. A barrier
        writes no times. An uncertain one comes here to be discarded: its signal is left alone."""
        g, completion, queues = self.geometry, self.completion, self.queues
        passes, ends, each = queues.passes, queues.completion, queues.flights
        barrier = data.View(BARRIER_AND, Cat(self.packet))
        discard, uncertain = (Mux(self.passed, barrier.bit_select(self.queue, 1),
                                  kernel.bit_select(self.flight, 1)) for barrier, kernel in (
            (queues.barrier_discards, queues.discards),
            (queues.barrier_uncertain, queues.uncertain)))
        refused = completion.refused & ~discard
        m.d.comb += [
            passes.queue.eq(self.queue),
            passes.signal.eq(barrier.completion_signal[:ADDRESS_BITS]),
            completion.signal.eq(Mux(self.passed, pick(
                [queues.barriers[q] for q in range(g.queues)], self.queue),
                pick([one.signal for one in each], self.flight))),
            completion.timed.eq(~self.passed), completion.cycle.eq(self.cycle),
            completion.start.eq(pick([one.start for one in each], self.flight)),
            completion.give_up.eq(discard), ends.uncertain.eq(completion.uncertain),
            ends.barrier.eq(self.passed), ends.queue.eq(self.queue), ends.flight.eq(self.flight),
            ends.refused.eq(Mux(completion.done, refused, completion.insists)),
            ends.done.eq(completion.done & ~refused)]
        with m.State("COMPLETE"):
            m.d.comb += completion.begin.eq(~uncertain)
            m.next = "COMPLETING"
            with m.If(uncertain):
                m.d.comb += ends.done.eq(1)
                m.d.sync += self.passed.eq(0)
                m.next = "CHOOSE"
        with m.State("COMPLETING"):
            self._lend(m, (completion.job, reader.job), (reader.word, completion.word))
            with m.If(completion.done):
                m.d.sync += self.passed.eq(0)
                m.next = "CHOOSE"

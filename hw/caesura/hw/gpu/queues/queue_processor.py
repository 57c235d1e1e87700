"""Queue processor: takes packets from rings in memory and starts their kernels."""

from functools import reduce
from operator import or_

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.commands import Command, KernelState
from ...arch.faults import CommandError
from ...arch.geometry import ADDRESS_BITS, Geometry
from ...arch.packets import (
    BARRIER_AND,
    DEPENDENCIES,
    DISPATCH,
    KERNEL_OBJECT,
    KERNEL_OBJECT_MAGIC,
    PACKET_BYTES,
    PACKET_WORDS,
    SIGNAL_VALUE,
    VENDOR_PACKET,
    PacketType,
    QueueError,
    QueueState,
    VendorFormat,
)
from ...arch.registers import register_map
from ...device.register_block import register_layout
from ...interfaces.gpu_ports import SEGMENT_BITS, OrderPort
from ...interfaces.payloads import below
from ...interfaces.port import Port
from ...lib.bits import encode, lowest, lowest_number, one_hot, pick
from ...lib.vectors import LeastRecent
from ...memory.ports import ReadInterface, ReadPort, WriteInterface, WritePort
from ...memory.word_reader import WordReader
from .in_flight import InFlight, flight_number
from .kernel_describer import KernelDescriber, register_write
from .packet_completion import PacketCompletion
from .queue_preemption import QueuePreemption, queue_action
from .queue_registers import queue_policy, queue_setup, queue_status

__all__ = ["AGAIN_CYCLES", "QueueProcessor"]

AGAIN_CYCLES = 64
"""Cycles after which a packet that cannot go on is looked at again."""


class QueueProcessor(wiring.Component):
    """Begins the packets of each queue in order; queues share the processor and the kernel slots
    that they may use.

    ::

            CHOOSE --> ASK --+--> OBJECT --> DESCRIBE --> START
          ^ |            +--> DEPEND --> PASSED         |
          | +-> COMMAND --> SETTLE          |           v
          +<-------------------+------- COMPLETE <-- (a kernel has finished)

    A queue may have up to `queue_capacity` kernels in flight (`InFlight`), and as many as its
    register ``capacity`` says; a barrier is done before anything behind it is begun.

    A queue with a packet to begin is chosen by priority, of equals the one whose last packet was
    begun longest ago; what has completed goes first, then commands of `QueuePreemption`. A barrier
    whose signals are not as it wants, a packet that is not written yet and a dispatch without a
    free slot give way, and are looked at again `AGAIN_CYCLES` later, when all others have had their
    turn, or when a slot is free. Until
    the start a queue that is stopped drops what was fetched. A kernel that is away comes back by
    its packet, which is read again, and an adoption in the place of the start.

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

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        m.submodules.reader = reader = WordReader(g)
        m.submodules.describer = self.describer = KernelDescriber(g)
        m.submodules.completion = self.completion = PacketCompletion(g)
        m.submodules.preemption = self.preemption = QueuePreemption(g)
        m.submodules.in_flight = self.in_flight = InFlight(g)
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
        self.again = Signal(range(AGAIN_CYCLES), name="again")
        self.expired = Signal(name="expired")  # who waits is looked at again, after all others
        self.setup = Signal(queue_setup(), name="setup")
        m.d.comb += self.setup.eq(Array(self.setups[q] for q in range(g.queues))[self.queue])
        waiting, chosen, ended = self._choose(m)
        self._preempt(m)
        m.d.sync += self.again.eq(Mux(self.again == 0, AGAIN_CYCLES - 1, self.again - 1))
        with m.FSM():
            with m.State("CHOOSE"):
                m.d.sync += self.comes_back.eq(0)
                with m.If(ended.any()):
                    m.d.sync += self.flight.eq(lowest_number(ended))
                    m.next = "COMPLETE"
                with m.Elif(self.preemption.action.valid):
                    m.d.comb += self.preemption.look.eq(1)
                    m.d.sync += self.action.eq(self.preemption.action.what)
                    m.next = "COMMAND"
                with m.Elif(chosen.any()):
                    m.d.sync += [self.queue.eq(encode(chosen)), *self._place(chosen)]
                    m.next = "ASK"
                with m.Else():  # all others have had their turn, whatever their priority
                    m.d.comb += self.preemption.look.eq(1)
                    with m.If(self.expired):
                        m.d.sync += [waiting.eq(0), self.expired.eq(0)]
            self._command(m)
            self._fetch(m, reader, waiting)
            self._depend(m, reader, waiting)
            self._describe(m, reader)
            self._start(m)
            self._complete(m, reader)
        return m

    # Which queue

    def _of(self, q):
        """Return where a queue's own bits stand in vectors over what is in flight."""
        return slice(q * self.geometry.queue_capacity, (q + 1) * self.geometry.queue_capacity)

    def _place(self, chosen):
        """Take what is to come back to the chosen queue, or else where its next kernel goes."""
        g, back = self.geometry, self.preemption.back
        number = exact_log2(g.queue_capacity)
        places = []
        for q in range(g.queues):
            own = back[self._of(q)]
            places.append(Mux(chosen[q], q << number | Mux(
                own.any(), lowest_number(own), self.in_flight.vacant[q]
                if g.queue_capacity > 1 else 0), 0))
        return [self.flight.eq(reduce(or_, places)), self.comes_back.eq(Cat(
            chosen[q] & back[self._of(q)].any() for q in range(g.queues)).any())]

    def _choose(self, m):
        """Return vectors of queues that wait for what comes by itself, and of the one to begin a
        packet, and that of kernels in flight that have finished."""
        g, preemption, flights = self.geometry, self.preemption, self.in_flight.flights
        waiting = Signal(g.queues)  # for a packet or a signal
        draining = Signal(g.queues)  # for all in flight: the next packet has its barrier bit
        roomless = Signal(g.queues)  # for a kernel slot
        pending = Signal(g.queues)
        ended = Signal(g.flights)
        gone = Signal(g.flights)  # was away, and does not come back
        best = Signal(g.queues)
        over = Signal(g.kernel_slots)  # kernels of which no SM has anything left
        m.submodules.turns = turns = LeastRecent(g.queues, told=True)
        for k in range(g.kernel_slots):
            m.d.comb += over[k].eq(Cat((sm[k] == KernelState.IDLE)
                                       | (sm[k] == KernelState.FINISHED)
                                       for sm in self.states).all())
        self.gone, self.draining, self.roomless = gone, draining, roomless
        self.free = Signal(g.kernel_slots, name="free")
        held = self._hold(m, over, ended)
        m.d.comb += self.free.eq(self.slots & over & ~held)
        for q in range(g.queues):
            setup, status, count = self.setups[q], self.statuses[q], self.in_flight.count[q]
            fresh = ((setup.write_index != self.in_flight.next[q]) & ~waiting[q] & ~status.full
                     & ~(draining[q] & (count != 0)) & (~roomless[q] | self.free.any()))
            m.d.comb += [
                status.full.eq((count != 0) & ((count >= setup.capacity)
                                               | (count == g.queue_capacity))),
                status.passing.eq(self.in_flight.passing[q]),
                pending[q].eq(setup.enable & (status.error == QueueError.NONE)
                              & (fresh | preemption.back[self._of(q)].any())),
                best[q].eq(pending[q] & ~Cat(
                    pending[p] & (self.setups[p].priority > setup.priority)
                    for p in range(g.queues) if p != q).any()),
                status.unstarted.eq(self.in_flight.next[q]),
                status.read_index.eq(self.in_flight.oldest[q]),
                status.flights.eq(flights[q]), status.away.eq(
                    preemption.away[self._of(q)] | gone[self._of(q)])]
            with m.If(preemption.lost[self._of(q)].any()):
                m.d.sync += [status.error.eq(QueueError.BAD_CONTEXT), status.of.eq(
                    lowest_number(preemption.lost[self._of(q)]) + 1)]
            with m.If(~setup.enable):
                m.d.sync += [roomless[q].eq(0), status.error.eq(QueueError.NONE)]
            with m.If(~setup.enable | (count == 0)):
                m.d.sync += draining[q].eq(0)
            self._show_state(m, q)
        self.served = Signal(name="served")  # the queue in hand has had its turn
        m.d.comb += [turns.requests.eq(best), turns.served.eq(
            Mux(self.served, one_hot(self.queue, g.queues), 0))]
        with m.If(self.again == 0):
            m.d.sync += self.expired.eq(1)
        return waiting, turns.grant, ended

    def _hold(self, m, over, ended):
        """See which kernels in flight have finished, and return the kernel slots of all."""
        g, preemption = self.geometry, self.preemption
        m.d.sync += self.gone.eq(self.gone | preemption.dropped)
        taken = []
        for f in range(g.flights):
            one = self.in_flight.flights[f // g.queue_capacity][f % g.queue_capacity]
            has_slot = Signal(name=f"has_slot_{f}")
            m.d.comb += [has_slot.eq(one.busy & ~preemption.away[f] & ~self.gone[f]), ended[f].eq(
                (has_slot & ~preemption.adopting[f] & over.bit_select(one.slot, 1))
                | (one.busy & self.gone[f]))]
            taken.append(Mux(has_slot, one_hot(one.slot, g.kernel_slots), 0))
        return reduce(or_, taken)

    def _show_state(self, m, q):
        """Say what a queue does: a barrier that has been passed runs until it has completed."""
        g, preemption, status = self.geometry, self.preemption, self.statuses[q]
        own = self._of(q)
        busy = Cat(self.in_flight.flights[q][i].busy for i in range(g.queue_capacity))
        runs = (busy & ~(preemption.saved[own] | status.away)).any() | status.passing
        with m.If(status.error != QueueError.NONE):
            m.d.comb += status.state.eq(QueueState.FAILED)
        with m.Elif(runs):
            m.d.comb += status.state.eq(QueueState.RUNNING)
        with m.Elif(busy.any()):
            m.d.comb += status.state.eq(QueueState.PREEMPTED)
        with m.Else():
            m.d.comb += status.state.eq(Mux(self.setups[q].enable, QueueState.WAITING,
                                            QueueState.STOPPED))

    # Preemption by priority

    def _preempt(self, m):
        """Tell `QueuePreemption` how the queues are."""
        g, preemption = self.geometry, self.preemption
        for q in range(g.queues):
            setup, status, queue = self.setups[q], self.statuses[q], preemption.queues[q]
            m.d.comb += [queue.priority.eq(setup.priority), queue.roomless.eq(self.roomless[q]),
                         queue.stuck.eq(~setup.enable | (status.error != QueueError.NONE))]
            for i in range(g.queue_capacity):
                f, one = q * g.queue_capacity + i, self.in_flight.flights[q][i]
                m.d.comb += [preemption.kernels[f].started.eq(one.busy & ~self.gone[f]),
                             preemption.kernels[f].slot.eq(one.slot),
                             preemption.discard[f].eq(setup.discard[i] & ~setup.enable)]
        m.d.comb += [preemption.states.eq(self.states), preemption.errors.eq(self.errors),
                     preemption.enable.eq(self.policy.enable),
                     preemption.keeps.eq(self.policy.preempt.in_place),
                     preemption.free.eq(self.free.any()), preemption.again.eq(self.again == 0)]
        self.action = Signal(queue_action(self.geometry), name="action")

    def _command(self, m):
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
                m.d.comb += [self.preemption.done.valid.eq(1),
                             self.preemption.done.accepted.eq(self.accepted),
                             self.preemption.done.what.eq(action)]
                m.next = "SETTLE"
        with m.State("SETTLE"):  # the states of the SMs follow
            m.next = "CHOOSE"

    def _command_port(self, word):
        """Return what gives a command to all SMs."""
        payload = self.registers.payload
        return [self.registers.valid.eq(1), payload.sms.eq((1 << self.geometry.sms) - 1),
                payload.address.eq(register_map()["command"].address), payload.data.eq(word)]

    def _give_way(self, m, vector):
        """Let others go first."""
        m.d.sync += vector.eq(vector | one_hot(self.queue, self.geometry.queues))
        m.next = "CHOOSE"

    def _fail(self, m, error):
        """The packet cannot be carried out: the queue stays there until it is stopped."""
        for q in range(self.geometry.queues):
            with m.If(self.queue == q):
                m.d.sync += [self.statuses[q].error.eq(error), self.statuses[q].of.eq(
                    Mux(self.comes_back, self._number() + 1, 0))]
        m.next = "CHOOSE"

    def _number(self):
        """Return the number of the kernel in hand in its queue."""
        bits = exact_log2(self.geometry.queue_capacity)
        return self.flight[:bits] if bits else Const(0, 1)

    # Reading

    def _read(self, m, reader, name, address, words, into, then, fail=None):
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

    def _fetch(self, m, reader, waiting):
        """Read the packet and see what it is."""
        g, flights = self.geometry, self.in_flight.flights
        index = Signal(32)
        mask = Signal(16)
        count = Signal(range(g.queue_capacity + 1))
        m.d.comb += [
            index.eq(Mux(self.comes_back,
                         pick([flights[q][i].index for q in range(g.queues)
                               for i in range(g.queue_capacity)], self.flight),
                         pick([self.in_flight.next[q] for q in range(g.queues)], self.queue))),
            mask.eq((1 << self.setup.size) - 1),
            count.eq(pick([self.in_flight.count[q] for q in range(g.queues)], self.queue))]
        place = self.setup.base + ((index & mask) << exact_log2(PACKET_BYTES))
        header = data.View(DISPATCH, Cat(self.packet)).header

        def judge():
            with m.If(~self.setup.enable):
                m.next = "CHOOSE"
            with m.Elif(self.comes_back & (header.type != PacketType.DISPATCH)):
                self._fail(m, QueueError.BAD_PACKET)
            with m.Elif(~self.comes_back & header.barrier & (count != 0)
                        & (header.type != PacketType.INVALID)):
                self._give_way(m, self.draining)
            with m.Else():
                with m.Switch(header.type):
                    with m.Case(PacketType.INVALID):
                        self._give_way(m, waiting)
                    with m.Case(PacketType.DISPATCH):
                        with m.If(self.free.any()):
                            m.d.sync += [self.slot.eq(encode(lowest(self.free))),
                                         self.roomless.eq(self.roomless & ~one_hot(
                                             self.queue, self.geometry.queues))]
                            m.next = "OBJECT"
                        with m.Else():
                            self._give_way(m, self.roomless)
                    with m.Case(PacketType.BARRIER_AND, PacketType.BARRIER_OR):
                        m.d.sync += [self.dependency.eq(0), self.unmet.eq(0)]
                        m.next = "DEPEND"
                    with m.Case(PacketType.VENDOR):
                        vendor = data.View(VENDOR_PACKET, Cat(self.packet))
                        with m.If(vendor.format == VendorFormat.CHECKPOINT):
                            m.d.comb += self.preemption.remind.valid.eq(1)
                            m.next = "PASSED"
                        with m.Else():
                            self._fail(m, QueueError.BAD_PACKET)
                    with m.Default():
                        self._fail(m, QueueError.BAD_PACKET)

        m.d.comb += self.preemption.remind.priority.eq(self.setup.priority)
        self.dependency = Signal(range(DEPENDENCIES), name="dependency")
        self.unmet = Signal(name="unmet")  # a signal of a barrier-OR is not 0
        self._read(m, reader, "ASK", place, PACKET_WORDS, self.packet, judge)

    # A barrier

    def _depend(self, m, reader, waiting):
        """Look at one signal after the other."""
        barrier = data.View(BARRIER_AND, Cat(self.packet))
        address = Signal(32)
        value = [Signal(32, name=f"value_{k}") for k in range(2)]
        m.d.comb += address.eq(Array(barrier.signals[k] for k in range(DEPENDENCIES))[
            self.dependency])
        last = self.dependency == DEPENDENCIES - 1
        one_suffices = barrier.header.type == PacketType.BARRIER_OR

        def next_one(unmet):
            with m.If(~last):
                m.d.sync += [self.dependency.eq(self.dependency + 1), self.unmet.eq(unmet)]
                m.next = "DEPEND"
            with m.Elif(unmet):
                self._give_way(m, waiting)
            with m.Else():
                m.next = "PASSED"

        def look():
            with m.If((Cat(value) == 0) & one_suffices):
                m.next = "PASSED"
            with m.Elif((Cat(value) != 0) & ~one_suffices):
                self._give_way(m, waiting)
            with m.Else():
                next_one(one_suffices)

        with m.State("DEPEND"):
            with m.If(address == 0):
                next_one(self.unmet)
            with m.Else():
                m.next = "VALUE"
        self._read(m, reader, "VALUE", address + SIGNAL_VALUE, 2, value, look)
        self.value = value

    # A dispatch

    def _describe(self, m, reader):
        """Read the kernel object, and have the kernel slot described."""
        describer, packet = self.describer, data.View(DISPATCH, Cat(self.packet))
        found = data.View(KERNEL_OBJECT, Cat(self.object))
        m.d.comb += [describer.packet.eq(packet), describer.found.eq(found),
                     describer.setup.eq(self.setup), describer.slot.eq(self.slot),
                     describer.place.eq(self._number())]

        def check():
            with m.If(found.magic != KERNEL_OBJECT_MAGIC):
                self._fail(m, QueueError.BAD_OBJECT)
            with m.Elif(describer.wrong):
                self._fail(m, QueueError.BAD_PACKET)
            with m.Else():
                m.d.comb += describer.begin.eq(1)
                m.next = "DESCRIBE"

        self._read(m, reader, "OBJECT", packet.kernel_object[:32], PACKET_WORDS, self.object, check)
        with m.State("DESCRIBE"):
            self._lend(m, (describer.registers, self.registers), (describer.job, reader.job),
                       (reader.word, describer.word))
            with m.If(describer.done):
                with m.If(describer.failed):
                    self._fail(m, QueueError.BUS_ERROR)
                with m.Else():
                    m.next = "START"

    @staticmethod
    def _lend(m, *streams):
        """Let a block of its own use what this one has."""
        for source, target in streams:
            m.d.comb += [target.valid.eq(source.valid), target.payload.eq(source.payload),
                         source.ready.eq(target.ready)]

    def _start(self, m):
        """Start the kernel, unless the queue has been stopped."""
        g, port, packet = self.geometry, self.registers, data.View(DISPATCH, Cat(self.packet))
        begin = self.in_flight.begin
        word = Signal(register_layout(register_map()["command"]), name="start_word")
        m.d.comb += [begin.number.eq(self.flight), begin.slot.eq(self.slot),
                     begin.fresh.eq(~self.comes_back), begin.start.eq(self.cycle),
                     begin.signal.eq(packet.completion_signal)]
        with m.State("START"):
            with m.If(~self.setup.enable):
                m.next = "CHOOSE"
            with m.Else():
                m.d.comb += [word.op.eq(Mux(self.comes_back, Command.ADOPT, Command.START)),
                             word.kernel.eq(self.slot), self._command_port(word)]
                with m.If(port.ready):
                    with m.If(self.accepted):
                        m.d.comb += [self.served.eq(1), begin.valid.eq(1)]
                        with m.If(self.comes_back):
                            m.d.comb += self.preemption.brought.eq(one_hot(self.flight, g.flights))
                        with m.Else():
                            m.d.comb += self.in_flight.advance.eq(one_hot(self.queue, g.queues))
                        m.next = "SETTLE"
                    with m.Else():
                        self._fail(m, QueueError.REFUSED)
        with m.State("PASSED"):  # a barrier
            with m.If(self.setup.enable):
                m.d.comb += [self.served.eq(1),
                             self.in_flight.advance.eq(one_hot(self.queue, g.queues))]
                m.d.sync += self.passed.eq(1)
                m.next = "COMPLETE"
            with m.Else():
                m.next = "CHOOSE"

    # Completion

    def _complete(self, m, reader):
        """Have the packet's signal changed, and be done with it."""
        g, completion, flights = self.geometry, self.completion, self.in_flight.flights
        each = [flights[q][i] for q in range(g.queues) for i in range(g.queue_capacity)]
        barrier = data.View(BARRIER_AND, Cat(self.packet))
        m.d.comb += [
            completion.stamp.eq(~self.passed), completion.cycle.eq(self.cycle),
            completion.signal.eq(Mux(self.passed, barrier.completion_signal[:ADDRESS_BITS],
                                     pick([one.signal for one in each], self.flight))),
            completion.start.eq(pick([one.start for one in each], self.flight)),
            self.in_flight.passing.eq(Mux(self.passed, one_hot(self.queue, g.queues), 0)),
            self.in_flight.end.number.eq(self.flight)]
        with m.State("COMPLETE"):
            m.d.comb += completion.begin.eq(1)
            m.next = "COMPLETING"
        with m.State("COMPLETING"):
            self._lend(m, (completion.job, reader.job), (reader.word, completion.word))
            with m.If(completion.done):
                m.d.comb += self.in_flight.end.valid.eq(~self.passed)
                m.d.sync += [self.passed.eq(0), self.gone.eq(
                    self.gone & ~Mux(self.passed, 0, one_hot(self.flight, g.flights)))]
                m.next = "CHOOSE"

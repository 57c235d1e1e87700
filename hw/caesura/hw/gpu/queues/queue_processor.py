"""Queue processor: takes packets from rings in memory and starts their kernels."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.commands import Command, KernelState
from ...arch.faults import CommandError
from ...arch.geometry import Geometry
from ...arch.packets import (
    BARRIER_AND,
    DEPENDENCIES,
    DISPATCH,
    KERNEL_OBJECT,
    KERNEL_OBJECT_MAGIC,
    PACKET_BYTES,
    PACKET_WORDS,
    SIGNAL_END,
    SIGNAL_START,
    SIGNAL_VALUE,
    VENDOR_PACKET,
    PacketType,
    QueueError,
    QueueState,
    VendorFormat,
)
from ...arch.registers import register_map
from ...device.register_block import register_layout
from ...interfaces.gpu_ports import OrderPort
from ...interfaces.payloads import below
from ...interfaces.port import Port
from ...lib.bits import encode, lowest, one_hot
from ...lib.vectors import LeastRecent
from ...memory.pair_writer import PairWriter
from ...memory.ports import ReadInterface, ReadPort, WriteInterface, WritePort
from ...memory.word_reader import WordReader
from .kernel_describer import KernelDescriber, register_write
from .queue_preemption import QueuePreemption, queue_action
from .queue_registers import queue_policy, queue_setup, queue_status

__all__ = ["AGAIN_CYCLES", "QueueProcessor"]

AGAIN_CYCLES = 64
"""Cycles after which a packet that cannot go on is looked at again."""


class QueueProcessor(wiring.Component):
    """Carries out the packets of each queue in order, one at a time; queues share the processor and
    the kernel slots that they may use.

    ::

            CHOOSE --> ASK --+--> OBJECT --> DESCRIBE --> START
          ^ |            +--> DEPEND -------+           |
          | +-> COMMAND --> SETTLE          v           v
          +<-------------------+-------- signal <-- (a kernel has finished)

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
        })

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        m.submodules.reader = reader = WordReader(g)
        m.submodules.writer = writer = PairWriter(g)
        m.submodules.describer = self.describer = KernelDescriber(g)
        wiring.connect(m, reader.port, wiring.flipped(self.read_port))
        wiring.connect(m, writer.port, wiring.flipped(self.write_port))
        self.queue = Signal(below(g.queues), name="queue")
        self.slot = Signal(below(g.kernel_slots), name="slot")
        self.packet = [Signal(32, name=f"packet_{k}") for k in range(PACKET_WORDS)]
        self.object = [Signal(32, name=f"object_{k}") for k in range(PACKET_WORDS)]
        self.failed = Signal(name="failed")  # a word of the job in hand
        self.comes_back = Signal(name="comes_back")  # the kernel of the queue in hand is away
        self.again = Signal(range(AGAIN_CYCLES), name="again")
        self.expired = Signal(name="expired")  # who waits is looked at again, after all others
        self.setup = Signal(queue_setup(), name="setup")
        m.d.comb += self.setup.eq(Array(self.setups[q] for q in range(g.queues))[self.queue])
        signals = [Signal(32, name=f"completion_signal_{q}") for q in range(g.queues)]
        starts = [Signal(64, name=f"start_{q}") for q in range(g.queues)]
        m.submodules.preemption = self.preemption = QueuePreemption(g)
        waiting, chosen, ended = self._choose(m)
        self._preempt(m)
        m.d.sync += self.again.eq(Mux(self.again == 0, AGAIN_CYCLES - 1, self.again - 1))
        with m.FSM():
            with m.State("CHOOSE"):
                with m.If(ended.any()):
                    m.d.sync += [self.queue.eq(encode(lowest(ended)))]
                    m.next = "STAMP"
                with m.Elif(self.preemption.action.valid):
                    m.d.comb += self.preemption.look.eq(1)
                    m.d.sync += self.action.eq(self.preemption.action.what)
                    m.next = "COMMAND"
                with m.Elif(chosen.any()):
                    m.d.sync += self.queue.eq(encode(chosen))
                    m.next = "ASK"
                with m.Else():  # all others have had their turn, whatever their priority
                    m.d.comb += self.preemption.look.eq(1)
                    with m.If(self.expired):
                        m.d.sync += [waiting.eq(0), self.expired.eq(0)]
            self._command(m)
            self._fetch(m, reader, waiting)
            self._depend(m, reader, waiting)
            self._describe(m, reader)
            self._start(m, signals, starts)
            self._complete(m, reader, writer, signals, starts)
        return m

    # Which queue

    def _status(self, m, **values):
        """Change the status of the queue in hand."""
        for q in range(self.geometry.queues):
            with m.If(self.queue == q):
                m.d.sync += [self.statuses[q][name].eq(value) for name, value in values.items()]

    def _choose(self, m):
        """Return vectors of queues that wait for what comes by itself, the one to begin a packet,
        and those whose kernel has finished."""
        g = self.geometry
        waiting = Signal(g.queues)  # for a packet or a signal
        roomless = Signal(g.queues)  # for a kernel slot
        pending = Signal(g.queues)
        ended = Signal(g.queues)
        over = Signal(g.kernel_slots)  # kernels of which no SM has anything left
        m.submodules.turns = turns = LeastRecent(g.queues, told=True)
        for k in range(g.kernel_slots):
            m.d.comb += over[k].eq(Cat((sm[k] == KernelState.IDLE)
                                       | (sm[k] == KernelState.FINISHED)
                                       for sm in self.states).all())
        preemption = self.preemption
        has_slot = [Signal(name=f"has_slot_{q}") for q in range(g.queues)]
        taken = [Mux(has_slot[q], one_hot(self.statuses[q].slot, g.kernel_slots), 0)
                 for q in range(g.queues)]
        held = taken[0]
        for each in taken[1:]:
            held = held | each
        self.free = Signal(g.kernel_slots, name="free")
        m.d.comb += self.free.eq(self.slots & over & ~held)
        best = Signal(g.queues)
        for q in range(g.queues):
            setup, status = self.setups[q], self.statuses[q]
            m.d.comb += [
                has_slot[q].eq(status.started & ~preemption.away[q]),
                pending[q].eq(setup.enable & (status.error == QueueError.NONE) & Mux(
                    status.started, preemption.back[q],
                    (setup.write_index != status.read_index) & ~waiting[q]
                    & (~roomless[q] | self.free.any()))),
                ended[q].eq(has_slot[q] & ~preemption.adopting[q]
                            & over.bit_select(status.slot, 1)),
                best[q].eq(pending[q] & ~Cat(
                    pending[p] & (self.setups[p].priority > setup.priority)
                    for p in range(g.queues) if p != q).any()),
            ]
            with m.If(~setup.enable & ~has_slot[q]):
                m.d.sync += status.error.eq(QueueError.NONE)
            with m.If(preemption.lost[q]):
                m.d.sync += status.error.eq(QueueError.BAD_CONTEXT)
            with m.If(preemption.dropped[q]):
                m.d.sync += status.started.eq(0)
            saved = preemption.saved[q] | preemption.away[q]
            m.d.comb += status.away.eq(preemption.away[q])
            m.d.comb += status.state.eq(Mux(
                status.error != QueueError.NONE, QueueState.FAILED, Mux(
                    status.started, Mux(saved, QueueState.PREEMPTED, QueueState.RUNNING), Mux(
                        setup.enable, QueueState.WAITING, QueueState.STOPPED))))
            with m.If(~setup.enable):
                m.d.sync += roomless[q].eq(0)
        self.roomless = roomless
        self.served = Signal(name="served")  # the queue in hand has had its turn
        m.d.comb += [turns.requests.eq(best), turns.served.eq(
            Mux(self.served, one_hot(self.queue, g.queues), 0))]
        with m.If(self.again == 0):
            m.d.sync += self.expired.eq(1)
        return waiting, turns.grant, ended

    # Preemption by priority

    def _preempt(self, m):
        """Tell `QueuePreemption` how the queues are."""
        preemption = self.preemption
        for q in range(self.geometry.queues):
            setup, status, kernel = self.setups[q], self.statuses[q], preemption.kernels[q]
            m.d.comb += [kernel.started.eq(status.started), kernel.slot.eq(status.slot),
                         kernel.priority.eq(setup.priority), kernel.roomless.eq(self.roomless[q]),
                         kernel.stuck.eq(~setup.enable | (status.error != QueueError.NONE)),
                         preemption.discard[q].eq(setup.discard & ~setup.enable)]
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
        self._status(m, error=error)
        m.next = "CHOOSE"

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
        index = Signal(32)
        mask = Signal(16)
        m.d.comb += [index.eq(Array(
            self.statuses[q].read_index for q in range(self.geometry.queues))[self.queue]),
                     mask.eq((1 << self.setup.size) - 1)]
        place = self.setup.base + ((index & mask) << exact_log2(PACKET_BYTES))
        header = data.View(DISPATCH, Cat(self.packet)).header
        m.d.comb += self.comes_back.eq(self.preemption.away.bit_select(self.queue, 1))

        def judge():
            with m.If(~self.setup.enable):
                m.next = "CHOOSE"
            with m.Elif(self.comes_back & (header.type != PacketType.DISPATCH)):
                self._fail(m, QueueError.BAD_PACKET)
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
                     describer.setup.eq(self.setup), describer.slot.eq(self.slot)]

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
            for target, source in ((self.registers, describer.registers),
                                   (reader.job, describer.job), (describer.word, reader.word)):
                m.d.comb += [target.valid.eq(source.valid), target.payload.eq(source.payload),
                             source.ready.eq(target.ready)]
            with m.If(describer.done):
                with m.If(describer.failed):
                    self._fail(m, QueueError.BUS_ERROR)
                with m.Else():
                    m.next = "START"

    def _start(self, m, signals, starts):
        """Start the kernel, unless the queue has been stopped."""
        port, packet = self.registers, data.View(DISPATCH, Cat(self.packet))
        word = Signal(register_layout(register_map()["command"]), name="start_word")
        with m.State("START"):
            with m.If(~self.setup.enable):
                m.next = "CHOOSE"
            with m.Else():
                m.d.comb += [word.op.eq(Mux(self.comes_back, Command.ADOPT, Command.START)),
                             word.kernel.eq(self.slot), self._command_port(word)]
                with m.If(port.ready):
                    with m.If(self.accepted):
                        m.d.comb += [self.served.eq(1), self.preemption.brought.eq(Mux(
                            self.comes_back, one_hot(self.queue, self.geometry.queues), 0))]
                        self._status(m, started=1, slot=self.slot)
                        for q, (address, start) in enumerate(zip(signals, starts, strict=True)):
                            with m.If((self.queue == q) & ~self.comes_back):
                                m.d.sync += [address.eq(packet.completion_signal),
                                             start.eq(self.cycle)]
                        m.next = "SETTLE"
                    with m.Else():
                        self._fail(m, QueueError.REFUSED)
        with m.State("PASSED"):  # a barrier
            for q, address in enumerate(signals):
                with m.If(self.queue == q):
                    m.d.sync += address.eq(data.View(BARRIER_AND,
                                                     Cat(self.packet)).completion_signal)
            with m.If(self.setup.enable):
                m.d.comb += self.served.eq(1)
                self._status(m, started=1)
                m.next = "COUNT"
            with m.Else():
                m.next = "CHOOSE"

    # Completion

    def _complete(self, m, reader, writer, signals, starts):
        """Write the times of a kernel into its signal, take 1 from its value, and go on."""
        address = Signal(32)
        start = Signal(64)
        pick_signal, pick_start = Array(signals)[self.queue], Array(starts)[self.queue]
        value = [Signal(32, name=f"counted_{k}") for k in range(2)]
        order = self.order
        segment = address[len(address) - len(order.take.payload):]
        m.d.comb += [address.eq(pick_signal), start.eq(pick_start),
                     order.take.payload.eq(segment), order.give.segment.eq(segment)]

        def write(offset, word, then):
            m.d.comb += [writer.pair.valid.eq(1), writer.pair.payload.address.eq(address + offset),
                         writer.pair.payload.data.eq(word)]
            with m.If(writer.pair.ready):
                m.next = then

        def wait(state, then):
            with m.State(state):
                with m.If(writer.done):
                    m.next = then

        with m.State("STAMP"):
            with m.If(address == 0):
                m.next = "ADVANCE"
            with m.Else():
                write(SIGNAL_START, start, "STAMPED")
        wait("STAMPED", "STAMP_END")
        with m.State("STAMP_END"):
            write(SIGNAL_END, self.cycle, "STAMPED_END")
        wait("STAMPED_END", "COUNT")
        with m.State("COUNT"):
            with m.If(address == 0):
                m.next = "ADVANCE"
            with m.Else():
                m.d.comb += order.take.valid.eq(1)
                with m.If(order.take.ready):
                    m.next = "COUNTED"

        def count_down():
            m.next = "COUNT_DOWN"

        # A signal that cannot be read keeps its value; the queue goes on.
        self._read(m, reader, "COUNTED", address + SIGNAL_VALUE, 2, value, count_down, count_down)
        with m.State("COUNT_DOWN"):
            with m.If(self.failed):
                m.next = "GIVE"
            with m.Else():
                write(SIGNAL_VALUE, Cat(value) - 1, "COUNTED_DOWN")
        wait("COUNTED_DOWN", "GIVE")
        with m.State("GIVE"):
            m.d.comb += order.give.valid.eq(1)
            m.next = "ADVANCE"
        with m.State("ADVANCE"):
            for q in range(self.geometry.queues):
                with m.If(self.queue == q):
                    status = self.statuses[q]
                    m.d.sync += [status.read_index.eq(status.read_index + 1), status.started.eq(0)]
            m.next = "CHOOSE"

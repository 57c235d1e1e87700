"""The job in hand: what the queue processor works on, and what its states do with it."""

from collections.abc import Callable, Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data
from amaranth.lib.data import View
from amaranth.utils import exact_log2

from ...arch.geometry import ADDRESS_BITS, Geometry
from ...arch.packets import (
    BARRIER_AND,
    DISPATCH,
    KERNEL_OBJECT,
    PACKET_WORDS,
    SIGNAL_BYTES,
    VENDOR_PACKET,
    QueueError,
)
from ...interfaces.payloads import below
from ...lib.bits import pick
from ...memory.word_reader import WordReader
from .in_flight import flight_number
from .queue_ports import Wait
from .queue_registers import queue_setup
from .queue_states import QueueStates

__all__ = ["JobInHand", "beyond_memory", "misplaced"]


def misplaced(address: Value) -> Value:
    """Return whether no signal or kernel object can lie at an address."""
    return address[:exact_log2(SIGNAL_BYTES)].any()


def beyond_memory(address: Value) -> Value:
    """Return whether an address of 64 bits is higher than all that there are."""
    return address[ADDRESS_BITS:].any()


class JobInHand:
    """Registers of the job in hand, with the verbs of states that handle it.

    It is a part of the queue processor's module, and all its states are states of the processor's
    one machine. A job is a packet that is begun, or a packet that is completed.

    Parameters
    ----------
    m : Module
        The queue processor's.
    g : Geometry
        Geometry with `queues`.
    queues : QueueStates
        Takes the verdict on a packet.
    reader : WordReader
        Reads packets, signals and kernel objects.
    setups : View
        Array of queue_setup.

    Attributes
    ----------
    queue, flight, slot : Signal
        The job's queue, the place of its kernel in flight, and its kernel slot.
    packet_words, object_words : list of Signal(32)
        The packet and the kernel object.
    read_failed : Signal(1)
        Memory has refused a word of the last read.
    comes_back : Signal(1)
        The kernel is away, and comes back.
    is_barrier : Signal(1)
        A barrier is completed, no kernel.
    setup : Signal(queue_setup)
        Registers of the job's queue.
    idle : Signal(1)
        No job is in hand. Combinational; the processor's first state drives it.
    queue_stopped : Signal(1)
        The job's queue was stopped after the job had been chosen. Combinational.
    """

    def __init__(self, m: Module, g: Geometry, queues: QueueStates, reader: WordReader,
                 setups: View):
        self.geometry, self.queues, self.reader = g, queues, reader
        self.queue = Signal(below(g.queues), name="queue")
        self.flight = Signal(flight_number(g), name="flight")
        self.slot = Signal(below(g.kernel_slots), name="slot")
        self.packet_words = [Signal(32, name=f"packet_{k}") for k in range(PACKET_WORDS)]
        self.object_words = [Signal(32, name=f"object_{k}") for k in range(PACKET_WORDS)]
        self.read_failed = Signal(name="read_failed")
        self.comes_back = Signal(name="comes_back")
        self.is_barrier = Signal(name="is_barrier")
        self.setup = Signal(queue_setup(), name="setup")
        self.idle = Signal(name="idle")
        self.queue_stopped = Signal(name="queue_stopped")
        was_stopped = Signal(name="was_stopped")
        m.d.sync += was_stopped.eq(self.queue_stopped)
        m.d.comb += [
            self.setup.eq(pick([setups[q] for q in range(g.queues)], self.queue)),
            self.queue_stopped.eq(~self.idle & (~self.setup.enable | was_stopped))]

    @property
    def dispatch(self) -> View:
        """The packet as a dispatch."""
        return data.View(DISPATCH, Cat(self.packet_words))

    @property
    def barrier(self) -> View:
        """The packet as a barrier."""
        return data.View(BARRIER_AND, Cat(self.packet_words))

    @property
    def vendor(self) -> View:
        """The packet as one of our own."""
        return data.View(VENDOR_PACKET, Cat(self.packet_words))

    @property
    def kernel_object(self) -> View:
        """The kernel object."""
        return data.View(KERNEL_OBJECT, Cat(self.object_words))

    @property
    def place(self) -> Value:
        """The number of the job's kernel in its queue."""
        bits = exact_log2(self.geometry.queue_capacity)
        return self.flight[:bits] if bits else Const(0, 1)

    def outside(self, address: Value, size: ValueLike) -> Value:
        """Return whether bytes lie outside the memory that the queue was given."""
        first = address[:ADDRESS_BITS]
        return (first < self.setup.system_base) | (first + size > self.setup.system_end)

    def judge(self, m: Module, **fields: ValueLike) -> None:
        """Give the verdict on the packet: without fields, it is a dispatch that has a slot."""
        verdict = self.queues.packet.verdict
        m.d.comb += [verdict.valid.eq(~self.queue_stopped), verdict.queue.eq(self.queue),
                     *(verdict[name].eq(value) for name, value in fields.items())]

    def give_way(self, m: Module, why: Wait, fails: ValueLike = 0) -> None:
        """Let other queues go first; it `fails` for memory that has refused a read."""
        self.judge(m, waits=1, why=why, fails=fails)
        m.next = "CHOOSE"

    def fail(self, m: Module, error: ValueLike) -> None:
        """Stop the queue at this packet, which cannot be carried out."""
        self.judge(m, error=error, of=Mux(self.comes_back, self.place + 1, 0))
        m.next = "CHOOSE"

    def read(self, m: Module, name: str, address: Value, into: Sequence[Signal],
             then: Callable[[], None], refused: Callable[[], None] | None = None) -> None:
        """Add states that read words into registers; `then` and `refused` say how they end, which
        without `refused` is an error."""
        count = Signal(range(len(into)), name=f"{name}_count")
        job, word = self.reader.job, self.reader.word
        with m.State(name):
            m.d.comb += [job.valid.eq(1), job.payload.address.eq(address),
                         job.payload.words.eq(len(into))]
            m.d.sync += [count.eq(0), self.read_failed.eq(0)]
            with m.If(job.ready):
                m.next = f"{name}_WORDS"
        # All words are taken, those of a refused read too: the reader is free afterwards.
        with m.State(f"{name}_WORDS"):
            m.d.comb += word.ready.eq(1)
            with m.If(word.valid):
                m.d.sync += [count.eq(count + 1), self.read_failed.eq(
                    self.read_failed | word.payload.error)]
                with m.Switch(count):
                    for k, target in enumerate(into):
                        with m.Case(k):
                            m.d.sync += target.eq(word.payload.data)
                with m.If(word.payload.last):
                    m.next = f"{name}_READ"
        with m.State(f"{name}_READ"):
            with m.If(self.read_failed):
                if refused is None:
                    self.fail(m, QueueError.BUS_ERROR)
                else:
                    refused()
            with m.Else():
                then()

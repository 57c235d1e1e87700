"""States of the queue processor that read a packet, and those of a barrier."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.utils import exact_log2

from ...arch.geometry import ADDRESS_BITS
from ...arch.packets import (
    DEPENDENCIES,
    PACKET_BYTES,
    SIGNAL_BYTES,
    SIGNAL_VALUE,
    PacketType,
    QueueError,
    VendorFormat,
)
from ...lib.bits import lowest_number, pick
from .job_in_hand import JobInHand, beyond_memory, misplaced
from .queue_ports import Wait

__all__ = ["PacketStates"]


class PacketStates:
    """States that read and classify the packet of a queue, and states that wait for the signals of
    a barrier.

    ::

        ASK --> ASK_WORDS --> ASK_READ --+--> OBJECT
                                         +--> DEPEND <--> VALUE --> PASSED

    Parameters
    ----------
    job : JobInHand
        The packet.

    Attributes
    ----------
    dependency : Signal
        Number of the barrier's signal that is looked at.
    signal_unmet : Signal(1)
        A signal of a barrier-OR is not 0.
    """

    def __init__(self, job: JobInHand):
        self.job = job
        self.dependency = Signal(range(DEPENDENCIES), name="dependency")
        self.signal_unmet = Signal(name="signal_unmet")

    def fetch(self, m: Module) -> None:
        """Read the packet, and see what it is."""
        job, queues, packet = self.job, self.job.queues, self.job.queues.packet
        numbers = range(job.geometry.queues)
        index = Signal(32)
        mask = Signal(16)
        m.d.comb += [
            index.eq(Mux(job.comes_back, pick([one.index for one in packet.flights], job.flight),
                         pick([queues.statuses[q].unstarted for q in numbers], job.queue))),
            mask.eq((1 << job.setup.size) - 1),
            packet.checkpoint.priority.eq(job.setup.priority)]
        place = job.setup.base + ((index & mask) << exact_log2(PACKET_BYTES))
        count = Signal(range(job.geometry.queue_capacity + 1))
        m.d.comb += count.eq(pick([packet.counts[q] for q in numbers], job.queue))
        job.read(m, "ASK", place, job.packet_words, lambda: self._judge(m, count))

    def _judge(self, m: Module, count: Value) -> None:
        """See whether the packet can be carried out; `count` kernels of its queue are in flight."""
        job, header = self.job, self.job.dispatch.header
        signal = job.dispatch.completion_signal  # packets of all types have it in one place
        with m.If(job.queue_stopped):
            m.next = "CHOOSE"
        with m.Elif((job.comes_back & (header.type != PacketType.DISPATCH))
                    | ((header.type != PacketType.INVALID)
                       & (misplaced(signal) | beyond_memory(signal) | (
                           (signal[:ADDRESS_BITS] != 0) & job.outside(signal, SIGNAL_BYTES))))):
            job.fail(m, QueueError.BAD_PACKET)
        with m.Elif(~job.comes_back & header.barrier & (count != 0)
                    & (header.type != PacketType.INVALID)):
            job.give_way(m, Wait.DRAIN)
        with m.Else():
            with m.Switch(header.type):
                with m.Case(PacketType.INVALID):
                    job.give_way(m, Wait.LATER)
                with m.Case(PacketType.DISPATCH):
                    self._judge_dispatch(m)
                with m.Case(PacketType.BARRIER_AND, PacketType.BARRIER_OR):
                    m.d.sync += [self.dependency.eq(0), self.signal_unmet.eq(0)]
                    m.next = "DEPEND"
                with m.Case(PacketType.VENDOR):
                    with m.If(job.vendor.format == VendorFormat.CHECKPOINT):
                        m.d.comb += job.queues.packet.checkpoint.valid.eq(1)
                        m.next = "PASSED"
                    with m.Else():
                        job.fail(m, QueueError.BAD_PACKET)
                with m.Default():
                    job.fail(m, QueueError.BAD_PACKET)

    def _judge_dispatch(self, m: Module) -> None:
        """See whether the kernel has an object, and a slot."""
        job, packet, free = self.job, self.job.dispatch, self.job.queues.packet.free
        with m.If(beyond_memory(packet.kernel_object) | beyond_memory(packet.kernarg_address)):
            job.fail(m, QueueError.BAD_PACKET)
        with m.Elif(misplaced(packet.kernel_object)
                    | job.outside(packet.kernel_object, PACKET_BYTES)):
            job.fail(m, QueueError.BAD_OBJECT)
        with m.Elif(free.any()):
            job.judge(m)
            m.d.sync += job.slot.eq(lowest_number(free))
            m.next = "OBJECT"
        with m.Else():
            job.give_way(m, Wait.ROOM)

    def depend(self, m: Module) -> None:
        """Look at the signals of a barrier, one after the other."""
        job, barrier = self.job, self.job.barrier
        address = Signal(64)
        value = [Signal(32, name=f"value_{k}") for k in range(2)]
        m.d.comb += address.eq(Array(barrier.signals[k] for k in range(DEPENDENCIES))[
            self.dependency])
        one_suffices = barrier.header.type == PacketType.BARRIER_OR
        # Address 0 names no signal: it neither satisfies a barrier nor holds one up.
        with m.State("DEPEND"):
            with m.If(address == 0):
                self._next_signal(m, self.signal_unmet)
            with m.Elif(misplaced(address) | beyond_memory(address)
                        | job.outside(address, SIGNAL_BYTES)):
                job.fail(m, QueueError.BAD_PACKET)
            with m.Else():
                m.next = "VALUE"

        def check_value():
            with m.If((Cat(value) == 0) & one_suffices):
                m.next = "PASSED"
            with m.Elif((Cat(value) != 0) & ~one_suffices):
                job.give_way(m, Wait.LATER)
            with m.Else():
                self._next_signal(m, one_suffices)

        job.read(m, "VALUE", address[:ADDRESS_BITS] + SIGNAL_VALUE, value, check_value,
                 lambda: job.give_way(m, Wait.LATER, fails=1))

    def _next_signal(self, m: Module, unmet: Value) -> None:
        """Go on to the next signal; after the last the barrier is passed, unless one is `unmet`."""
        with m.If(self.dependency != DEPENDENCIES - 1):
            m.d.sync += [self.dependency.eq(self.dependency + 1), self.signal_unmet.eq(unmet)]
            m.next = "DEPEND"
        with m.Elif(unmet):
            self.job.give_way(m, Wait.LATER)
        with m.Else():
            m.next = "PASSED"

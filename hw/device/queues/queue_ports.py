"""Ports between the queue processor, whose directions these are, and the states of its queues."""

import enum

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import ADDRESS_BITS, Geometry
from ...arch.packets import QueueError
from ...interfaces.payloads import below
from .flight_preemption import checkpoint_request, queue_action, queue_action_done
from .in_flight import flight, flight_begin, flight_number

__all__ = ["NextJobPort", "PacketPort", "QueueCompletionPort", "Wait", "completion_event",
           "packet_verdict", "passed_barrier"]


class Wait(enum.IntEnum):
    """Reason why the next packet of a queue waits."""

    LATER = 0
    """To be written, or for a signal: it is looked at again when all others have had their turn."""
    DRAIN = 1
    """It has the barrier bit, so it waits for all kernels in flight."""
    ROOM = 2
    """It waits for a kernel slot."""


def packet_verdict(g: Geometry) -> data.StructLayout:
    """Verdict on the packet in hand of a `queue`, while `valid`. The packet `waits`, and `why`; or
    it has failed with an `error`, `of` as of register ``status``; or it is a dispatch that has a
    slot. With `fails` memory has refused a signal that it waits for."""
    return data.StructLayout({"valid": 1, "queue": below(g.queues), "waits": 1, "why": Wait,
                              "fails": 1, "error": QueueError, "of": 3})


def completion_event(g: Geometry) -> data.StructLayout:
    """How the completion in hand goes: of the `barrier` of a `queue`, or the kernel `flight`.

    It is `done` for a cycle, or it was `refused` by memory, for a cycle or longer. A refused
    completion is tried again when others have had their turn. If it is `uncertain` the queue stops.
    """
    return data.StructLayout({"done": 1, "refused": 1, "uncertain": 1, "barrier": 1,
                              "queue": below(g.queues), "flight": flight_number(g)})


def passed_barrier(g: Geometry) -> data.StructLayout:
    """While `valid` the barrier at the next packet of a `queue` has been passed; its `signal`."""
    return data.StructLayout({"valid": 1, "queue": below(g.queues), "signal": ADDRESS_BITS})


class NextJobPort(wiring.Signature):
    """Asks what is to be done next. Combinational.

    Attributes
    ----------
    settled : Signal(1), out
        No job is in hand, and states of the SMs are those after all commands.
    all_looked_at : Signal(1), out
        Only packets that wait are left. They are looked at again then, and after what is begun or
        ends meanwhile: no stream of short kernels keeps them off.
    ended : Signal(flights), in
        Vector: kernels in flight whose packets are to be completed.
    passed : Signal(queues), in
        Vector: queues whose barrier is to be completed.
    action : struct, in
        While `valid` a command is to be given, `what` (queue_action).
    done : queue_action_done, out
        Outcome of the command.
    chosen : struct, in
        While `valid` a `queue` has a packet to begin, in the place `flight`; the kernel
        `comes_back`, or the packet is the next one.
    """

    def __init__(self, g: Geometry):
        super().__init__({
            "settled": Out(1), "all_looked_at": Out(1), "ended": In(g.flights),
            "passed": In(g.queues),
            "action": In(data.StructLayout({"valid": 1, "what": queue_action(g)})),
            "done": Out(queue_action_done(g)),
            "chosen": In(data.StructLayout({
                "valid": 1, "queue": below(g.queues), "flight": flight_number(g),
                "comes_back": 1}))})


class PacketPort(wiring.Signature):
    """Tells what becomes of the packet in hand.

    Attributes
    ----------
    free : Signal(kernel_slots), in
        Vector: vacant kernel slots of the queues.
    counts : array, in
        Kernels in flight of each queue.
    flights : array of flight, in
        All kernels in flight, by queue.
    verdict : packet_verdict, out
        Whether it can be begun.
    checkpoint : checkpoint_request, out
        It has other kernels checkpointed.
    begin : flight_begin, out; advance : Signal(queues), out
        Described in `InFlight`.
    served : Signal(queues), out
        Vector: the packet of a queue has been begun.
    passes : passed_barrier, out
        A barrier has been passed.
    """

    def __init__(self, g: Geometry):
        super().__init__({
            "free": In(g.kernel_slots),
            "counts": In(data.ArrayLayout(range(g.queue_capacity + 1), g.queues)),
            "flights": In(data.ArrayLayout(flight(g), g.flights)),
            "verdict": Out(packet_verdict(g)), "checkpoint": Out(checkpoint_request()),
            "begin": Out(flight_begin(g)), "advance": Out(g.queues), "served": Out(g.queues),
            "passes": Out(passed_barrier(g))})


class QueueCompletionPort(wiring.Signature):
    """Tells how completions go, and asks how they are to be done.

    Attributes
    ----------
    event : completion_event, out
        How the one in hand goes.
    barriers : array of Signal(ADDRESS_BITS), in
        Signals of the barriers of queues.
    discards : Signal(flights), in
        Vector: a kernel that has no slot does not come back, and its packet completes, whatever
        memory answers.
    barrier_discards : Signal(queues), in
        Vector: the barrier of a queue that has been passed completes, whatever memory answers.
    uncertain : Signal(flights), in; barrier_uncertain : Signal(queues), in
        Vectors: it is not known whether the signal was counted down. It completes when it is
        discarded, and its signal is left alone; or it is completed anew when its queue, stopped
        since, goes on.
    """

    def __init__(self, g: Geometry):
        super().__init__({
            "event": Out(completion_event(g)),
            "barriers": In(data.ArrayLayout(ADDRESS_BITS, g.queues)),
            "discards": In(g.flights), "barrier_discards": In(g.queues),
            "uncertain": In(g.flights), "barrier_uncertain": In(g.queues)})

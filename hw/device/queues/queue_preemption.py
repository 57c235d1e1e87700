"""Queue preemption: which kernels leave the SMs for those of queues with a higher priority, and
when they come back."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from ...arch.commands import KernelState
from ...arch.faults import CommandError
from ...arch.geometry import Geometry
from ...lib.bits import encode, lowest, pick
from .flight_preemption import (
    REQUESTS,
    FlightPreemption,
    checkpoint_request,
    queue_action,
    queue_action_done,
    queue_kernel,
)

__all__ = ["QueuePreemption", "queue_demand"]


def queue_demand() -> data.StructLayout:
    """Demand of a queue. A queue is `roomless` while its next packet is a kernel that finds no
    slot. While a queue is `stuck` it begins nothing, and its kernels are left alone."""
    priority = checkpoint_request()["priority"].width
    return data.StructLayout({"priority": priority, "stuck": 1, "roomless": 1})


class QueuePreemption(wiring.Component):
    """Chooses commands for kernels of queues, by the priorities of their queues.

    ::

        runs --preempt--> saved -release-> away         while a queue with a higher priority has
          ^                 |               |           a kernel that runs or wants to
          +-----resume------+ <---adopt-----+           when none has any more

    A kernel that is saved keeps its kernel slot until one of a higher priority needs it: then the
    slot is released, and the kernel is adopted from memory into another slot later (`back`). Memory
    may lack part of a kernel, since some has stayed on the SMs or a write was refused. The SMs
    refuse its release, so such a kernel is preempted once more before, as a whole. A kernel that
    software has preempted is left to software to resume. Kernels of a stopped queue keep their
    slots, and run to their ends. Kernels of one queue have one priority, so they do not preempt
    each other. A kernel that could not be resumed keeps its slot too. It is resumed once more when
    its queue begins to go on.

    Parameters
    ----------
    g : Geometry
        Geometry with `queues`.

    Attributes
    ----------
    enable : Signal, in
        Kernels are preempted by priority.
    in_place : Signal, in
        Kernels that are preempted from now on leave some of their state on the SMs.
    queues : array of queue_demand, in
    kernels : array of queue_kernel, in
        All that can be in flight, by queue; vectors below are over them.
    states, errors : array of array, in
        `KernelState` and `CommandError` by SM and kernel.
    free : Signal, in
        Some kernel slot of the queues is free.
    retry : Signal, in
        Refused commands may be requested again.
    settled : Signal, in
        States are those after all commands.
    checkpoint : checkpoint_request, in
        `valid` for a cycle.
    action : struct, out
        `valid` while there is something to be done, and what.
    done : queue_action_done, in
        `valid` for a cycle.
    adopts : Signal(flights), in
        Vector: the kernel is being adopted into its slot from now on.
    discard : Signal(flights), in
        Vector: a kernel that is away will not come back.
    away : Signal(flights), out
        Vector: the kernel is in memory, and has no slot.
    back : Signal(flights), out
        Vector: it is away, and may come back now.
    saved : Signal(flights), out
        Vector: the kernel is preempted, and has a slot.
    adopting : Signal(flights), out
        Vector: it is being adopted.
    lost : Signal(flights), out
        Vector, for one cycle: the kernel could not be adopted, and is away again, or it could not
        be resumed. This block has failed to resume it, or the SM itself after the kernel had left
        to wait.
    dropped : Signal(flights), out
        Vector, for one cycle: it was away, and is discarded.
    """

    enable: Signal
    in_place: Signal
    queues: View
    kernels: View
    states: View
    errors: View
    free: Signal
    retry: Signal
    settled: Signal
    checkpoint: View
    action: View
    done: View
    adopts: Signal
    discard: Signal
    away: Signal
    back: Signal
    saved: Signal
    adopting: Signal
    lost: Signal
    dropped: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        slots, sms, flights = g.kernel_slots, g.sms, g.flights
        super().__init__({
            "enable": In(1), "in_place": In(1),
            "queues": In(data.ArrayLayout(queue_demand(), g.queues)),
            "kernels": In(data.ArrayLayout(queue_kernel(g), flights)),
            "states": In(data.ArrayLayout(data.ArrayLayout(KernelState, slots), sms)),
            "errors": In(data.ArrayLayout(data.ArrayLayout(CommandError, slots), sms)),
            "free": In(1), "retry": In(1), "settled": In(1),
            "checkpoint": In(checkpoint_request()),
            "action": Out(data.StructLayout({"valid": 1, "what": queue_action(g)})),
            "done": In(queue_action_done(g)),
            "adopts": In(flights), "discard": In(flights),
            **{name: Out(flights) for name in ("away", "back", "saved", "adopting", "lost",
                                               "dropped")},
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        flights = [FlightPreemption(g) for _ in range(g.flights)]
        for f, flight in enumerate(flights):
            m.submodules[f"flight_{f}"] = flight
            self._connect(m, f, flight)
        self._compare(m, flights)
        self._choose(m, flights)
        return m

    def _connect(self, m: Module, f: int, flight: FlightPreemption):
        """Connect what follows a kernel in flight."""
        g, slot, done = self.geometry, self.kernels[f].slot, self.done
        for i in range(g.sms):
            of_slots = ((flight.states, self.states[i]), (flight.errors, self.errors[i]))
            for shown, by_slot in of_slots:
                m.d.comb += shown[i].eq(pick([by_slot[k] for k in range(g.kernel_slots)], slot))
        m.d.comb += [
            flight.kernel.eq(self.kernels[f]), flight.in_place.eq(self.in_place),
            flight.retry.eq(self.retry), flight.settled.eq(self.settled),
            flight.checkpoint.eq(self.checkpoint), flight.adopts.eq(self.adopts[f]),
            flight.discard.eq(self.discard[f]), flight.done.eq(done),
            flight.done.valid.eq(done.valid & (done.what.kernel == f))]
        m.d.comb += [getattr(self, name)[f].eq(getattr(flight, name))
                     for name in ("away", "saved", "adopting", "lost", "dropped")]

    def _compare(self, m: Module, flights: Sequence[FlightPreemption]):
        """Compare the priorities of queues: whose kernels are to leave, which slots others need,
        and which kernels may come back."""
        g = self.geometry
        leave = Signal(g.queues)
        slot_needed = Signal(g.queues)
        active = Signal(g.queues)  # has a kernel that runs, or is to run
        slot_request = Signal(g.queues)
        for q, queue in enumerate(self.queues[q] for q in range(g.queues)):
            own = slice(q * g.queue_capacity, (q + 1) * g.queue_capacity)
            higher = Cat(self.queues[other].priority > queue.priority for other in range(g.queues))
            m.d.comb += [
                active[q].eq(queue.roomless & ~queue.stuck
                             | Cat(flight.active for flight in flights[own]).any()),
                leave[q].eq(self.enable & ~queue.stuck & (active & higher).any()),
                slot_request[q].eq(~queue.stuck & (queue.roomless
                                                   | self.away[own].any() & ~leave[q])),
                # No kernel gives its slot up while another slot is free.
                slot_needed[q].eq((slot_request & higher).any() & ~self.free),
                self.back[own].eq(Cat(flight.away & ~leave[q] & self.free
                                      for flight in flights[own]))]
            for flight in flights[own]:
                m.d.comb += [
                    flight.orders.priority.eq(queue.priority), flight.orders.stuck.eq(queue.stuck),
                    flight.orders.leave.eq(leave[q]),
                    flight.orders.slot_needed.eq(slot_needed[q])]

    def _choose(self, m: Module, flights: Sequence[FlightPreemption]):
        """Show one of the requests: what frees something comes first."""
        what = self.action.what
        # The last assignment counts, so the first purpose of `REQUESTS` comes last.
        for name in reversed(REQUESTS):
            requests = Signal(self.geometry.flights, name=f"requests_{name}")
            chosen = Signal(self.geometry.flights, name=f"chosen_{name}")
            m.d.comb += [requests.eq(Cat(flight.requests[name] for flight in flights)),
                         chosen.eq(lowest(requests))]
            with m.If(requests.any()):
                m.d.comb += [
                    self.action.valid.eq(1), what.op.eq(REQUESTS[name]),
                    what.kernel.eq(encode(chosen)), what.checkpoint.eq(name == "checkpoint"),
                    what.whole.eq(name == "evict"),
                    what.slot.eq(pick([self.kernels[f].slot for f in range(self.geometry.flights)],
                                      encode(chosen)))]

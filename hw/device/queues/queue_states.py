"""Queue states: how far each queue is, and which packet is begun next."""

import enum
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.commands import KernelState
from ...arch.faults import CommandError
from ...arch.geometry import ADDRESS_BITS, Geometry
from ...arch.packets import QueueError, QueueState
from ...interfaces.payloads import below
from ...lib.bits import encode, lowest_number, one_hot
from ...lib.vectors import LeastRecent
from .flight_preemption import checkpoint_request, queue_action, queue_action_done
from .in_flight import InFlight, flight, flight_begin, flight_number
from .queue_preemption import QueuePreemption
from .queue_registers import queue_policy, queue_setup, queue_status

__all__ = ["AGAIN_CYCLES", "TRIES", "QueueStates", "Wait"]

AGAIN_CYCLES = 64
"""Cycles after which a packet that cannot go on is looked at again."""
TRIES = 8
"""Looks in a row at the signals of a barrier that memory refuses, before its queue stops."""


class Wait(enum.IntEnum):
    """What the next packet of a queue waits for."""

    LATER = 0
    """To be written, or for a signal: it is looked at again when all others have had their turn."""
    DRAIN = 1
    """For all that is in flight: it has the barrier bit."""
    ROOM = 2
    """For a kernel slot."""


class QueueStates(wiring.Component):
    """Holds what is in flight and what each queue waits for.

    A queue with a packet to begin is chosen by priority, of equals the one whose last packet was
    begun longest ago. It may have as many kernels in flight as its register ``capacity`` says, and
    `queue_capacity` of the geometry. What comes back goes before what is fresh.

    Parameters
    ----------
    g : Geometry
        With `queues`.

    Attributes
    ----------
    setups : array of queue_setup, in; slots : Signal(kernel_slots), in
    policy : queue_policy, in
    states, errors : array of array, in
        As of the `QueueProcessor`.
    statuses : array of queue_status, out
    flights : array of flight, out; counts : array, out
        All kernels in flight, by queue; how many each queue has.
    free : Signal(kernel_slots), out
        Vector: kernel slots of the queues that nobody is in.
    ended : Signal(flights), out
        Vector: kernels in flight whose packets are to be completed.
    passed : Signal(queues), out; barriers : array of Signal(ADDRESS_BITS), out
        Vector: queues whose barrier is to be completed; its signal.
    discards : Signal(flights), out
        Vector: a kernel that has no slot does not come back, and its packet completes, whatever
        memory answers.
    barrier_discards : Signal(queues), out
        Vector: the barrier of a queue that has been passed completes, whatever memory answers.
    uncertain : Signal(flights), out; barrier_uncertain : Signal(queues), out
        Vectors: nobody knows whether the signal was counted down. It completes when it is
        discarded, and its signal is left alone; or is completed anew when its queue, stopped since,
        goes on.
    chosen : struct, out
        While `valid` a `queue` has a packet to begin, in the place `flight`; it `comes_back`, or is
        the next one. Combinational, as the others are.
    action, settled, done, checkpoint
        Of `QueuePreemption`.
    all_looked_at : Signal, in
        There is nothing to do but for those who wait. They are looked at again then, and after what
        is begun or ends meanwhile: no stream of short kernels keeps them off.
    verdict : struct, in
        While `valid` the packet in hand of a `queue` `waits`, and `why` (`Wait`); or has failed
        with an `error`, `of` as of register ``status``; or is a dispatch that has a slot. With
        `fails` memory has refused a signal that it waits for, which is an error after `TRIES`.
    served : Signal(queues), in
        Vector: the packet of a queue has been begun.
    passes : struct, in
        While `valid` the barrier at the next packet of a `queue` has been passed; its `signal`.
    completion : struct, in
        What is being completed: the `barrier` of a `queue`, or the kernel `flight`. It is `done`
        for a cycle, unless it was `refused` by memory, also for a cycle or longer: then it is
        tried again, when others have had their turn. If that is `uncertain` the queue stops.
    advance, begin
        Of `InFlight`.
    """

    setups: View
    slots: Signal
    policy: View
    states: View
    errors: View
    statuses: View
    flights: View
    counts: View
    free: Signal
    ended: Signal
    chosen: View
    action: View
    settled: Signal
    done: View
    checkpoint: View
    all_looked_at: Signal
    verdict: View
    served: Signal
    passed: Signal
    barriers: View
    discards: Signal
    barrier_discards: Signal
    uncertain: Signal
    barrier_uncertain: Signal
    passes: View
    completion: View
    advance: Signal
    begin: View

    def __init__(self, g: Geometry):
        self.geometry = g
        states = data.ArrayLayout(KernelState, g.kernel_slots)
        errors = data.ArrayLayout(CommandError, g.kernel_slots)
        super().__init__({
            "setups": In(data.ArrayLayout(queue_setup(), g.queues)), "slots": In(g.kernel_slots),
            "policy": In(queue_policy()), "states": In(data.ArrayLayout(states, g.sms)),
            "errors": In(data.ArrayLayout(errors, g.sms)),
            "statuses": Out(data.ArrayLayout(queue_status(g), g.queues)),
            "flights": Out(data.ArrayLayout(flight(g), g.flights)),
            "counts": Out(data.ArrayLayout(range(g.queue_capacity + 1), g.queues)),
            "free": Out(g.kernel_slots), "ended": Out(g.flights), "passed": Out(g.queues),
            "barriers": Out(data.ArrayLayout(ADDRESS_BITS, g.queues)), "discards": Out(g.flights),
            "barrier_discards": Out(g.queues), "uncertain": Out(g.flights),
            "barrier_uncertain": Out(g.queues),
            "passes": In(data.StructLayout({"valid": 1, "queue": below(g.queues),
                                            "signal": ADDRESS_BITS})),
            "completion": In(data.StructLayout({
                "done": 1, "refused": 1, "uncertain": 1, "barrier": 1, "queue": below(g.queues),
                "flight": flight_number(g)})),
            "chosen": Out(data.StructLayout({
                "valid": 1, "queue": below(g.queues), "flight": flight_number(g),
                "comes_back": 1})),
            "action": Out(data.StructLayout({"valid": 1, "what": queue_action(g)})),
            "settled": In(1),
            "done": In(queue_action_done(g)), "checkpoint": In(checkpoint_request()),
            "all_looked_at": In(1),
            "verdict": In(data.StructLayout({"valid": 1, "queue": below(g.queues), "waits": 1,
                                             "why": Wait, "fails": 1, "error": QueueError,
                                             "of": 3})),
            "served": In(g.queues), "advance": In(g.queues), "begin": In(flight_begin(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.in_flight = self.in_flight = InFlight(g)
        m.submodules.preemption = self.preemption = QueuePreemption(g)
        self.waits = {why: Signal(g.queues, name=f"waits_{why.name.lower()}") for why in Wait}
        self.gone = Signal(g.flights, name="gone")  # only its packet is left, to be completed
        self.passing = Signal(g.queues, name="passing")  # a barrier, which is to be completed
        self.owing = Signal(g.flights, name="owing")  # memory has refused its completion
        self.pause = Signal(g.flights, name="pause")  # until it is tried again
        self.barrier_owing = Signal(g.queues, name="barrier_owing")
        self.barrier_pause = Signal(g.queues, name="barrier_pause")
        self.doubts = Signal(g.flights, name="doubts")  # `uncertain`, but for those that begin anew
        self.barrier_doubts = Signal(g.queues, name="barrier_doubts")
        self.errors_kept = [Signal(QueueError, name=f"error_{q}") for q in range(g.queues)]
        self.errors_of = [Signal(3, name=f"error_of_{q}") for q in range(g.queues)]
        again = Signal(range(AGAIN_CYCLES))
        expired = Signal()  # who waits is looked at again, after all others
        moved = Signal()  # something has begun or ended since they were
        m.d.sync += again.eq(Mux(again == 0, AGAIN_CYCLES - 1, again - 1))
        m.d.comb += [
            *(getattr(self.in_flight, name).eq(getattr(self, name)) for name in (
                "advance", "passing", "begin")),
            self.flights.eq(self.in_flight.flights), self.counts.eq(self.in_flight.count)]
        self._preempt(m, again == 0)
        self._hold(m)
        self._choose(m)
        for q in range(g.queues):
            self._wait(m, q)
            self._show(m, q)
        with m.If(again == 0):
            m.d.sync += expired.eq(1)
        look_again = Signal()
        m.d.comb += look_again.eq((self.all_looked_at | moved) & expired)
        with m.If(look_again):
            m.d.sync += [self.waits[Wait.LATER].eq(0), expired.eq(0), moved.eq(0)]
        with m.If(self.served.any() | self.in_flight.end.valid):
            m.d.sync += moved.eq(1)
        self._complete(m, look_again)
        return m

    def _of(self, q: int):
        """Return where a queue's own bits stand in vectors over what is in flight."""
        return slice(q * self.geometry.queue_capacity, (q + 1) * self.geometry.queue_capacity)

    def _doubtful(self, q: int):
        """Return whether a completion of a queue is uncertain: the queue has stopped."""
        return self.uncertain[self._of(q)].any() | self.barrier_uncertain[q]

    def _unfinished(self, q: int):
        """Return whether a completion of a queue waits for memory: nothing else begins there."""
        return self.owing[self._of(q)].any() | self.passing[q]

    def _preempt(self, m: Module, again: Value):
        """Tell `QueuePreemption` how the queues are, and take its commands on."""
        g, preemption = self.geometry, self.preemption
        for q in range(g.queues):
            setup, queue = self.setups[q], preemption.queues[q]
            m.d.comb += [queue.priority.eq(setup.priority),
                         queue.roomless.eq(self.waits[Wait.ROOM][q] & ~self._unfinished(q)),
                         queue.stuck.eq(~setup.enable | self._doubtful(q)
                                        | (self.errors_kept[q] != QueueError.NONE)),
                         self.barrier_discards[q].eq(~setup.enable & setup.discard[-1]),
                         self.discards[self._of(q)].eq(Mux(setup.enable, 0, setup.discard))]
        for f in range(g.flights):
            m.d.comb += [preemption.kernels[f].started.eq(self.flights[f].busy & ~self.gone[f]),
                         preemption.kernels[f].slot.eq(self.flights[f].slot)]
        m.d.comb += [
            *(getattr(preemption, name).eq(getattr(self, name)) for name in (
                "states", "errors", "settled", "done", "checkpoint")),
            preemption.enable.eq(self.policy.enable), preemption.discard.eq(self.discards),
            preemption.in_place.eq(self.policy.preempt.in_place),
            preemption.free.eq(self.free.any()), preemption.retry.eq(again),
            preemption.adopts.eq(Mux(self.begin.valid & ~self.begin.fresh,
                                      one_hot(self.begin.number, g.flights), 0)),
            self.action.eq(preemption.action)]

    def _hold(self, m: Module):
        """See which kernels in flight have finished, and which kernel slots nobody is in."""
        g, preemption = self.geometry, self.preemption
        over = Signal(g.kernel_slots)  # kernels of which no SM has anything left
        for k in range(g.kernel_slots):
            m.d.comb += over[k].eq(Cat((sm[k] == KernelState.IDLE)
                                       | (sm[k] == KernelState.FINISHED)
                                       for sm in self.states).all())
        taken = []
        for f in range(g.flights):
            one = self.flights[f]
            has_slot = Signal(name=f"has_slot_{f}")
            m.d.comb += [has_slot.eq(one.busy & ~preemption.away[f] & ~self.gone[f]),
                         self.ended[f].eq((one.busy & self.gone[f]
                                        & (~(self.pause[f] | self.uncertain[f])
                                           | self.discards[f])) | (
                             has_slot & ~preemption.adopting[f] & over.bit_select(one.slot, 1)))]
            taken.append(Mux(has_slot, one_hot(one.slot, g.kernel_slots), 0))
            with m.If(preemption.dropped[f]):
                m.d.sync += self.gone[f].eq(1)
        m.d.comb += self.free.eq(self.slots & over & ~reduce(or_, taken))

    def _complete(self, m: Module, again: Value):
        """Note what is still to be completed. What memory refuses is tried `again`, or at once if
        it is discarded; a kernel has no kernel slot any more meanwhile."""
        g, completion, end = self.geometry, self.completion, self.in_flight.end
        m.d.comb += [end.valid.eq(completion.done & ~completion.barrier),
                     end.number.eq(completion.flight)]
        for q in range(g.queues):
            self._complete_anew(m, q)
        for f in range(g.flights):
            here = ~completion.barrier & (completion.flight == f)
            self._owe(m, here, self.owing[f], self.pause[f], self.doubts[f], self.gone[f], again)
        for q in range(g.queues):
            here = completion.barrier & (completion.queue == q)
            self._owe(m, here, self.barrier_owing[q], self.barrier_pause[q],
                      self.barrier_doubts[q], self.passing[q], again)
            waits = self.barrier_pause[q] | self.barrier_uncertain[q]
            m.d.comb += self.passed[q].eq(self.passing[q] & (~waits | self.barrier_discards[q]))
            with m.If(self.passes.valid & (self.passes.queue == q)):
                m.d.sync += [self.passing[q].eq(1), self.barriers[q].eq(self.passes.signal)]

    def _complete_anew(self, m: Module, q: int):
        """What was uncertain when a queue was stopped is completed anew when it goes on."""
        own, enable = self._of(q), self.setups[q].enable
        known = Signal(self.geometry.queue_capacity, name=f"known_{q}")
        barrier_known = Signal(name=f"barrier_known_{q}")
        was_enabled = Signal(name=f"was_enabled_{q}")
        m.d.sync += was_enabled.eq(enable)
        with m.If(was_enabled & ~enable):
            m.d.sync += [known.eq(self.uncertain[own]), barrier_known.eq(self.barrier_uncertain[q])]
        begins = enable & ~was_enabled
        m.d.comb += [self.uncertain[own].eq(self.doubts[own] & ~Mux(begins, known, 0)),
                     self.barrier_uncertain[q].eq(self.barrier_doubts[q] & ~(
                         begins & barrier_known))]
        m.d.sync += [self.doubts[own].eq(self.uncertain[own]),
                     self.barrier_doubts[q].eq(self.barrier_uncertain[q])]

    def _owe(self, m: Module, here: Value, owing: Value, pause: Value, uncertain: Value,
             left: Value, again: Value):
        """Note how the completion in hand goes, if it is `here`; nothing else is `left` of it."""
        with m.If(again):
            m.d.sync += pause.eq(0)
        with m.If(self.completion.refused & here):
            m.d.sync += [left.eq(1), owing.eq(1), pause.eq(1)]
            with m.If(self.completion.uncertain):
                m.d.sync += uncertain.eq(1)
        with m.If(self.completion.done & here):
            m.d.sync += [left.eq(0), owing.eq(0), pause.eq(0), uncertain.eq(0)]

    def _choose(self, m: Module):
        """Choose a queue, and what is begun or comes back there."""
        g, back = self.geometry, self.preemption.back
        pending = Signal(g.queues)
        best = Signal(g.queues)
        m.submodules.turns = turns = LeastRecent(g.queues, told=True)
        m.d.comb += [turns.requests.eq(best), turns.served.eq(self.served)]
        places = []
        for q in range(g.queues):
            setup, status, own = self.setups[q], self.statuses[q], back[self._of(q)]
            some = self.counts[q] != 0
            fresh = ((setup.write_index != status.unstarted) & ~status.full
                     & ~self._unfinished(q)
                     & ~self.waits[Wait.LATER][q] & ~(self.waits[Wait.DRAIN][q] & some)
                     & (~self.waits[Wait.ROOM][q] | self.free.any()))
            m.d.comb += [
                pending[q].eq(setup.enable & (self.errors_kept[q] == QueueError.NONE)
                              & ~self._doubtful(q) & (fresh | own.any())),
                best[q].eq(pending[q] & ~Cat(
                    pending[p] & (self.setups[p].priority > setup.priority)
                    for p in range(g.queues) if p != q).any())]
            vacant = self.in_flight.vacant[q] if g.queue_capacity > 1 else 0
            place = q << exact_log2(g.queue_capacity) | Mux(own.any(), lowest_number(own), vacant)
            places.append(Mux(turns.grant[q], place, 0))
        m.d.comb += [
            self.chosen.valid.eq(turns.grant.any()), self.chosen.queue.eq(encode(turns.grant)),
            self.chosen.flight.eq(reduce(or_, places)), self.chosen.comes_back.eq(Cat(
                turns.grant[q] & back[self._of(q)].any() for q in range(g.queues)).any())]

    def _wait(self, m: Module, q: int):
        """Note what became of the packet of a queue."""
        verdict, setup, lost = self.verdict, self.setups[q], self.preemption.lost[self._of(q)]
        error, of = self.errors_kept[q], self.errors_of[q]
        tries = Signal(range(TRIES), name=f"tries_{q}")
        with m.If(verdict.valid & (verdict.queue == q)):
            m.d.sync += tries.eq(Mux(verdict.fails, tries + 1, 0))
            with m.If(verdict.fails & (tries == TRIES - 1)):
                m.d.sync += [error.eq(QueueError.BUS_ERROR), of.eq(0), tries.eq(0)]
            with m.Elif(verdict.waits):
                for why, waits in self.waits.items():
                    with m.If(verdict.why == why):
                        m.d.sync += waits[q].eq(1)
            with m.Else():
                m.d.sync += self.waits[Wait.ROOM][q].eq(0)
                with m.If(verdict.error != QueueError.NONE):
                    m.d.sync += [error.eq(verdict.error), of.eq(verdict.of)]
        with m.If(lost.any()):
            m.d.sync += [error.eq(QueueError.BAD_CONTEXT), of.eq(lowest_number(lost) + 1)]
        with m.If(~setup.enable):
            m.d.sync += [self.waits[Wait.ROOM][q].eq(0), error.eq(QueueError.NONE), tries.eq(0)]
        with m.If(self.served[q]):
            m.d.sync += tries.eq(0)
        with m.If(~setup.enable | (self.counts[q] == 0)):
            m.d.sync += self.waits[Wait.DRAIN][q].eq(0)

    def _show(self, m: Module, q: int):
        """Say what a queue does: what only has to complete runs until it has."""
        g, preemption, status = self.geometry, self.preemption, self.statuses[q]
        own, count = self._of(q), self.counts[q]
        busy = Cat(self.in_flight.flights[q][i].busy for i in range(g.queue_capacity))
        m.d.comb += [
            status.full.eq((count != 0) & ((count >= self.setups[q].capacity)
                                           | (count == g.queue_capacity))),
            status.passing.eq(self.passing[q]), status.unstarted.eq(self.in_flight.next[q]),
            status.read_index.eq(self.in_flight.oldest[q]),
            status.flights.eq(self.in_flight.flights[q]),
            status.away.eq(preemption.away[own] | self.gone[own]),
            status.error.eq(self.errors_kept[q]), status.of.eq(self.errors_of[q]),
            status.uncertain[:g.queue_capacity].eq(self.uncertain[own]),
            status.uncertain[-1].eq(self.barrier_uncertain[q])]
        owing, uncertain = self.owing[own], self.uncertain[own]
        with m.If(self.errors_kept[q] == QueueError.NONE):
            for error, kernels, barrier in (
                    (QueueError.BAD_SIGNAL, owing, self.barrier_owing[q]),
                    (QueueError.UNCERTAIN, uncertain, self.barrier_uncertain[q])):
                with m.If(kernels.any() | barrier):
                    m.d.comb += [status.error.eq(error), status.of.eq(
                        Mux(kernels.any(), lowest_number(kernels) + 1, 0))]
        with m.If((self.errors_kept[q] != QueueError.NONE) | self._doubtful(q)):
            m.d.comb += status.state.eq(QueueState.FAILED)
        with m.Elif((busy & ~(preemption.saved[own] | status.away)).any() | owing.any()
                    | status.passing):
            m.d.comb += status.state.eq(QueueState.RUNNING)
        with m.Elif(busy.any()):
            m.d.comb += status.state.eq(QueueState.PREEMPTED)
        with m.Else():
            m.d.comb += status.state.eq(Mux(self.setups[q].enable, QueueState.WAITING,
                                            QueueState.STOPPED))

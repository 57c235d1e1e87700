"""Queue states: how far each queue is, and which packet is begun next."""

from collections.abc import Sequence
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
from ...arch.geometry import Geometry
from ...arch.packets import QueueError, QueueState
from ...interfaces.port import Port
from ...lib.bits import encode, lowest_number, one_hot
from ...lib.vectors import LeastRecent
from .in_flight import InFlight
from .owed_completions import OwedCompletions
from .queue_ports import NextJobPort, PacketPort, QueueCompletionPort
from .queue_preemption import QueuePreemption
from .queue_registers import queue_policy, queue_setup, queue_status
from .queue_wait import QueueWait

__all__ = ["AGAIN_CYCLES", "QueueStates"]

AGAIN_CYCLES = 64
"""Cycles after which a packet that cannot go on is looked at again."""


class QueueStates(wiring.Component):
    """Holds what is in flight and what each queue waits for.

    ::

        QueueWait (a queue)  OwedCompletions  InFlight   QueuePreemption
               |                    |            |              |
               +---------+----------+------------+--------------+
                         v
          choice of the next job, states of the queues

    A queue with a packet to begin is chosen by priority. Among equals the queue goes first whose
    last packet was begun longest ago. Its register ``capacity``, and `queue_capacity` of the
    geometry, limit its kernels in flight. A kernel that comes back goes before a fresh packet.

    Parameters
    ----------
    g : Geometry
        Geometry with `queues`.

    Attributes
    ----------
    setups : array of queue_setup, in; slots : Signal(kernel_slots), in
    policy : queue_policy, in
    states, errors : array of array, in
        Described in `QueueProcessor`.
    statuses : array of queue_status, out
        Combinational, as outputs of the ports are.
    next_job : NextJobPort, in
        The processor without a job asks here for the next one.
    packet : PacketPort, in
        The processor reports the packet in hand here.
    completion : QueueCompletionPort, in
        The processor reports the completion in hand here.
    """

    setups: View
    slots: Signal
    policy: View
    states: View
    errors: View
    statuses: View
    next_job: Port
    packet: Port
    completion: Port

    def __init__(self, g: Geometry):
        self.geometry = g
        states = data.ArrayLayout(KernelState, g.kernel_slots)
        errors = data.ArrayLayout(CommandError, g.kernel_slots)
        super().__init__({
            "setups": In(data.ArrayLayout(queue_setup(), g.queues)), "slots": In(g.kernel_slots),
            "policy": In(queue_policy()), "states": In(data.ArrayLayout(states, g.sms)),
            "errors": In(data.ArrayLayout(errors, g.sms)),
            "statuses": Out(data.ArrayLayout(queue_status(g), g.queues)),
            "next_job": In(NextJobPort(g)), "packet": In(PacketPort(g)),
            "completion": In(QueueCompletionPort(g))})

    def elaborate(self, platform: Any):
        m = Module()
        g, packet = self.geometry, self.packet
        m.submodules.in_flight = in_flight = InFlight(g)
        m.submodules.preemption = preemption = QueuePreemption(g)
        m.submodules.owed = owed = OwedCompletions(g)
        waits = [QueueWait(g) for _ in range(g.queues)]
        retry_timer = Signal(range(AGAIN_CYCLES))
        m.d.sync += retry_timer.eq(Mux(retry_timer == 0, AGAIN_CYCLES - 1, retry_timer - 1))
        m.d.comb += [
            in_flight.advance.eq(packet.advance), in_flight.begin.eq(packet.begin),
            in_flight.passing.eq(owed.barrier_pending),
            packet.flights.eq(in_flight.flights), packet.counts.eq(in_flight.count)]
        retry = self._retry(m, retry_timer == 0, in_flight)
        self._preempt(m, preemption, waits, owed, retry_timer == 0)
        self._find_ended(m, preemption, owed)
        self._choose(m, in_flight, preemption, waits, owed)
        self._complete(m, owed, preemption, in_flight, retry)
        for q, wait in enumerate(waits):
            m.submodules[f"wait_{q}"] = wait
            verdict = packet.verdict
            m.d.comb += [
                wait.verdict.eq(verdict),
                wait.verdict.valid.eq(verdict.valid & (verdict.queue == q)),
                wait.enable.eq(self.setups[q].enable), wait.lost.eq(preemption.lost[self._of(q)]),
                wait.served.eq(packet.served[q]), wait.empty.eq(packet.counts[q] == 0),
                wait.retry.eq(retry)]
            self._show(m, q, in_flight, preemption, wait, owed)
        return m

    def _of(self, q: int) -> slice:
        """Return where a queue's own bits stand in vectors over what is in flight."""
        return slice(q * self.geometry.queue_capacity, (q + 1) * self.geometry.queue_capacity)

    def _doubtful(self, q: int, owed: OwedCompletions) -> Value:
        """Return whether a completion of a queue is uncertain: the queue has stopped."""
        return owed.uncertain[self._of(q)].any() | owed.barrier_uncertain[q]

    def _unfinished(self, q: int, owed: OwedCompletions) -> Value:
        """Return whether a completion of a queue waits for memory: nothing else begins there."""
        return owed.refused[self._of(q)].any() | owed.barrier_pending[q]

    def _retry(self, m: Module, expires: Value, in_flight: InFlight) -> Signal:
        """Return whether packets that wait are looked at again. Their time must have expired.
        Besides, something must have begun or ended meanwhile, or nothing else is to be done."""
        expired = Signal()
        changed = Signal()  # something has begun or ended since the last look
        retry = Signal()
        with m.If(expires):
            m.d.sync += expired.eq(1)
        m.d.comb += retry.eq((self.next_job.all_looked_at | changed) & expired)
        with m.If(retry):
            m.d.sync += [expired.eq(0), changed.eq(0)]
        with m.If(self.packet.served.any() | in_flight.end.valid):
            m.d.sync += changed.eq(1)
        return retry

    def _preempt(self, m: Module, preemption: QueuePreemption, waits: Sequence[QueueWait],
                 owed: OwedCompletions, retry: Value):
        """Tell `QueuePreemption` how the queues are, and take its commands on."""
        g, begin, completion, job = (self.geometry, self.packet.begin, self.completion,
                                     self.next_job)
        for q, wait in enumerate(waits):
            setup, queue = self.setups[q], preemption.queues[q]
            m.d.comb += [queue.priority.eq(setup.priority),
                         queue.roomless.eq(wait.waits.room & ~self._unfinished(q, owed)),
                         queue.stuck.eq(~setup.enable | self._doubtful(q, owed)
                                        | (wait.error != QueueError.NONE)),
                         completion.barrier_discards[q].eq(~setup.enable & setup.discard[-1]),
                         completion.discards[self._of(q)].eq(Mux(setup.enable, 0, setup.discard))]
        for f in range(g.flights):
            flight, kernel = self.packet.flights[f], preemption.kernels[f]
            m.d.comb += [kernel.started.eq(flight.busy & ~owed.pending[f]),
                         kernel.slot.eq(flight.slot)]
        m.d.comb += [
            preemption.states.eq(self.states), preemption.errors.eq(self.errors),
            preemption.settled.eq(job.settled), preemption.done.eq(job.done),
            preemption.checkpoint.eq(self.packet.checkpoint),
            preemption.enable.eq(self.policy.enable), preemption.discard.eq(completion.discards),
            preemption.in_place.eq(self.policy.preempt.in_place),
            preemption.free.eq(self.packet.free.any()), preemption.retry.eq(retry),
            preemption.adopts.eq(Mux(begin.valid & ~begin.fresh,
                                     one_hot(begin.number, g.flights), 0)),
            job.action.eq(preemption.action)]

    def _find_ended(self, m: Module, preemption: QueuePreemption, owed: OwedCompletions):
        """Find the kernels in flight that have finished, and the vacant kernel slots."""
        g = self.geometry
        over = Signal(g.kernel_slots)  # kernels of which no SM has anything left
        for k in range(g.kernel_slots):
            m.d.comb += over[k].eq(Cat((sm[k] == KernelState.IDLE)
                                       | (sm[k] == KernelState.FINISHED)
                                       for sm in self.states).all())
        used_slots = []
        # A kernel that has a slot ends when no SM has anything of it left. One without a slot has
        # ended before, or was discarded, and only owes its completion.
        for f in range(g.flights):
            one = self.packet.flights[f]
            has_slot = Signal(name=f"has_slot_{f}")
            m.d.comb += [has_slot.eq(one.busy & ~preemption.away[f] & ~owed.pending[f]),
                         self.next_job.ended[f].eq(
                             (one.busy & owed.pending[f] & owed.ready[f]) | (
                                 has_slot & ~preemption.adopting[f]
                                 & over.bit_select(one.slot, 1)))]
            used_slots.append(Mux(has_slot, one_hot(one.slot, g.kernel_slots), 0))
        m.d.comb += self.packet.free.eq(self.slots & over & ~reduce(or_, used_slots))

    def _complete(self, m: Module, owed: OwedCompletions, preemption: QueuePreemption,
                  in_flight: InFlight, retry: Value):
        """Note what is still to be completed."""
        completion, event, end = self.completion, self.completion.event, in_flight.end
        m.d.comb += [
            end.valid.eq(event.done & ~event.barrier), end.number.eq(event.flight),
            owed.event.eq(event), owed.passes.eq(self.packet.passes),
            owed.dropped.eq(preemption.dropped), owed.retry.eq(retry),
            owed.enables.eq(Cat(self.setups[q].enable for q in range(self.geometry.queues))),
            owed.discards.eq(completion.discards),
            owed.barrier_discards.eq(completion.barrier_discards),
            completion.uncertain.eq(owed.uncertain), completion.barriers.eq(owed.barriers),
            completion.barrier_uncertain.eq(owed.barrier_uncertain),
            self.next_job.passed.eq(owed.passed)]

    def _choose(self, m: Module, in_flight: InFlight, preemption: QueuePreemption,
                waits: Sequence[QueueWait], owed: OwedCompletions):
        """Choose a queue, and what is begun or comes back there."""
        g, back, packet, chosen = (self.geometry, preemption.back, self.packet,
                                   self.next_job.chosen)
        pending = Signal(g.queues)
        best = Signal(g.queues)
        m.submodules.turns = turns = LeastRecent(g.queues, told=True)
        m.d.comb += [turns.requests.eq(best), turns.served.eq(packet.served)]
        places = []
        for q, wait in enumerate(waits):
            setup, status, own = self.setups[q], self.statuses[q], back[self._of(q)]
            some = packet.counts[q] != 0
            # A fresh packet waits behind its queue's completions, and for each reason in `waits`.
            fresh = ((setup.write_index != status.unstarted) & ~status.full
                     & ~self._unfinished(q, owed)
                     & ~wait.waits.later & ~(wait.waits.drain & some)
                     & (~wait.waits.room | packet.free.any()))
            # Only queues of the highest priority that have something to begin take turns.
            m.d.comb += [
                pending[q].eq(setup.enable & (wait.error == QueueError.NONE)
                              & ~self._doubtful(q, owed) & (fresh | own.any())),
                best[q].eq(pending[q] & ~Cat(
                    pending[p] & (self.setups[p].priority > setup.priority)
                    for p in range(g.queues) if p != q).any())]
            vacant = in_flight.vacant[q] if g.queue_capacity > 1 else 0
            place = q << exact_log2(g.queue_capacity) | Mux(own.any(), lowest_number(own), vacant)
            places.append(Mux(turns.grant[q], place, 0))
        m.d.comb += [
            chosen.valid.eq(turns.grant.any()), chosen.queue.eq(encode(turns.grant)),
            chosen.flight.eq(reduce(or_, places)), chosen.comes_back.eq(Cat(
                turns.grant[q] & back[self._of(q)].any() for q in range(g.queues)).any())]

    def _show(self, m: Module, q: int, in_flight: InFlight, preemption: QueuePreemption,
              wait: QueueWait, owed: OwedCompletions):
        """Show the state of a queue; it runs until all of its completions are done."""
        g, status = self.geometry, self.statuses[q]
        own, count = self._of(q), self.packet.counts[q]
        busy = Cat(in_flight.flights[q][i].busy for i in range(g.queue_capacity))
        m.d.comb += [
            status.full.eq((count != 0) & ((count >= self.setups[q].capacity)
                                           | (count == g.queue_capacity))),
            status.passing.eq(owed.barrier_pending[q]), status.unstarted.eq(in_flight.next[q]),
            status.read_index.eq(in_flight.oldest[q]), status.flights.eq(in_flight.flights[q]),
            status.away.eq(preemption.away[own] | owed.pending[own]),
            status.error.eq(wait.error), status.of.eq(wait.of),
            status.uncertain[:g.queue_capacity].eq(owed.uncertain[own]),
            status.uncertain[-1].eq(owed.barrier_uncertain[q])]
        refused, uncertain = owed.refused[own], owed.uncertain[own]
        # An error of the next packet goes before those of completions; among these an uncertain
        # one, assigned last, goes before a refused one.
        with m.If(wait.error == QueueError.NONE):
            for error, kernels, barrier in (
                    (QueueError.BAD_SIGNAL, refused, owed.barrier_refused[q]),
                    (QueueError.UNCERTAIN, uncertain, owed.barrier_uncertain[q])):
                with m.If(kernels.any() | barrier):
                    m.d.comb += [status.error.eq(error), status.of.eq(
                        Mux(kernels.any(), lowest_number(kernels) + 1, 0))]
        with m.If((wait.error != QueueError.NONE) | self._doubtful(q, owed)):
            m.d.comb += status.state.eq(QueueState.FAILED)
        with m.Elif((busy & ~(preemption.saved[own] | status.away)).any() | refused.any()
                    | status.passing):
            m.d.comb += status.state.eq(QueueState.RUNNING)
        with m.Elif(busy.any()):
            m.d.comb += status.state.eq(QueueState.PREEMPTED)
        with m.Else():
            m.d.comb += status.state.eq(Mux(self.setups[q].enable, QueueState.WAITING,
                                            QueueState.STOPPED))

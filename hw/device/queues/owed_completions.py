"""Owed completions: which packets are still to be completed, and what memory said of them."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from ...arch.geometry import ADDRESS_BITS, Geometry
from .queue_ports import completion_event, passed_barrier

__all__ = ["OwedCompletions"]


class OwedCompletions(wiring.Component):
    """Remembers the kernels that have ended and the barriers that were passed until their packets
    have been completed.

    What memory refuses is tried again at `retry`, or at once if it is discarded; a kernel has no
    kernel slot any more meanwhile.

    Parameters
    ----------
    g : Geometry
        Geometry with `queues`.

    Attributes
    ----------
    event : completion_event, in
        How the completion in hand goes.
    passes : passed_barrier, in
        A barrier has been passed.
    dropped : Signal(flights), in
        Vector: kernels that were away are discarded.
    enables : Signal(queues), in
        Vector: queues that software has enabled.
    discards : Signal(flights), in; barrier_discards : Signal(queues), in
        Described in `QueueCompletionPort`.
    retry : Signal(1), in
        Completions that memory has refused may be tried again.
    pending : Signal(flights), out; barrier_pending : Signal(queues), out
        Vectors: only the packet of the kernel is left, to be completed; a barrier is.
    refused : Signal(flights), out; barrier_refused : Signal(queues), out
        Vectors: memory has refused the completion.
    ready : Signal(flights), out; passed : Signal(queues), out
        Vectors: the completion of a kernel without a slot, or of a barrier, may be done now.
    uncertain : Signal(flights), out; barrier_uncertain : Signal(queues), out
        Described in `QueueCompletionPort`.
    barriers : array of Signal(ADDRESS_BITS), out
        Signals of the barriers of queues.
    """

    event: View
    passes: View
    dropped: Signal
    enables: Signal
    discards: Signal
    barrier_discards: Signal
    retry: Signal
    pending: Signal
    barrier_pending: Signal
    refused: Signal
    barrier_refused: Signal
    ready: Signal
    passed: Signal
    uncertain: Signal
    barrier_uncertain: Signal
    barriers: View

    def __init__(self, g: Geometry):
        self.geometry = g
        flights, queues = g.flights, g.queues
        super().__init__({
            "event": In(completion_event(g)), "passes": In(passed_barrier(g)),
            "dropped": In(flights), "enables": In(queues), "discards": In(flights),
            "barrier_discards": In(queues), "retry": In(1),
            **{name: Out(flights) for name in ("pending", "refused", "ready", "uncertain")},
            **{name: Out(queues) for name in ("barrier_pending", "barrier_refused", "passed",
                                              "barrier_uncertain")},
            "barriers": Out(data.ArrayLayout(ADDRESS_BITS, queues))})

    def elaborate(self, platform: Any):
        m = Module()
        g, event = self.geometry, self.event
        pauses = Signal(g.flights)  # until it is tried again
        barrier_pauses = Signal(g.queues)
        doubts = Signal(g.flights)  # `uncertain`, but for those that begin anew
        barrier_doubts = Signal(g.queues)
        for q in range(g.queues):
            self._begin_anew(m, q, doubts, barrier_doubts)
        for f in range(g.flights):
            with m.If(self.dropped[f]):
                m.d.sync += self.pending[f].eq(1)
            here = ~event.barrier & (event.flight == f)
            self._follow(m, here, self.refused[f], pauses[f], doubts[f], self.pending[f])
            m.d.comb += self.ready[f].eq(~(pauses[f] | self.uncertain[f]) | self.discards[f])
        for q in range(g.queues):
            here = event.barrier & (event.queue == q)
            self._follow(m, here, self.barrier_refused[q], barrier_pauses[q], barrier_doubts[q],
                         self.barrier_pending[q])
            waits = barrier_pauses[q] | self.barrier_uncertain[q]
            m.d.comb += self.passed[q].eq(self.barrier_pending[q]
                                          & (~waits | self.barrier_discards[q]))
            with m.If(self.passes.valid & (self.passes.queue == q)):
                m.d.sync += [self.barrier_pending[q].eq(1),
                             self.barriers[q].eq(self.passes.signal)]
        return m

    def _begin_anew(self, m: Module, q: int, doubts: Signal, barrier_doubts: Signal):
        """Complete anew, when a queue goes on, what was uncertain when it was stopped."""
        depth, enable = self.geometry.queue_capacity, self.enables[q]
        own = slice(q * depth, (q + 1) * depth)
        known = Signal(depth, name=f"known_{q}")
        barrier_known = Signal(name=f"barrier_known_{q}")
        was_enabled = Signal(name=f"was_enabled_{q}")
        m.d.sync += was_enabled.eq(enable)
        with m.If(was_enabled & ~enable):
            m.d.sync += [known.eq(self.uncertain[own]), barrier_known.eq(self.barrier_uncertain[q])]
        begins = enable & ~was_enabled
        m.d.comb += [self.uncertain[own].eq(doubts[own] & ~Mux(begins, known, 0)),
                     self.barrier_uncertain[q].eq(barrier_doubts[q] & ~(begins & barrier_known))]
        m.d.sync += [doubts[own].eq(self.uncertain[own]),
                     barrier_doubts[q].eq(self.barrier_uncertain[q])]

    def _follow(self, m: Module, here: Value, refused: Value, pauses: Value, doubt: Value,
                pending: Value):
        """Note how the completion in hand goes, if it is `here`."""
        with m.If(self.retry):
            m.d.sync += pauses.eq(0)
        with m.If(self.event.refused & here):
            m.d.sync += [pending.eq(1), refused.eq(1), pauses.eq(1)]
            with m.If(self.event.uncertain):
                m.d.sync += doubt.eq(1)
        with m.If(self.event.done & here):
            m.d.sync += [pending.eq(0), refused.eq(0), pauses.eq(0), doubt.eq(0)]

"""Kernels in flight: what each queue has begun, and how far it is."""

from functools import reduce
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from ...arch.geometry import ADDRESS_BITS, Geometry
from ...interfaces.payloads import below
from ...lib.bits import lowest_number, popcount

__all__ = ["InFlight", "flight", "flight_begin", "flight_end", "flight_number"]

AGE_BITS = 16
"""Bits of the distance in packets between two packets of a queue that have not completed."""


def flight_number(g: Geometry):
    """Shape of the number of a kernel in flight: its queue's, then its own there."""
    return below(g.flights)


def flight(g: Geometry) -> data.StructLayout:
    """A kernel in flight if `busy`: the index of its packet, its signal, its start time and its
    kernel slot. A kernel that is away shows its last slot."""
    return data.StructLayout({"busy": 1, "slot": below(g.kernel_slots), "index": ADDRESS_BITS,
                              "signal": ADDRESS_BITS, "start": 64})


def flight_begin(g: Geometry) -> data.StructLayout:
    """While `valid` a kernel takes the place `number`. If `fresh` it is the kernel of the next
    packet, otherwise a kernel that was away and is now in another `slot`."""
    return data.StructLayout({
        "valid": 1, "fresh": 1, "number": flight_number(g), "slot": below(g.kernel_slots),
        "signal": ADDRESS_BITS, "start": 64})


def flight_end(g: Geometry) -> data.StructLayout:
    """While `valid` the kernel at `number` has completed."""
    return data.StructLayout({"valid": 1, "number": flight_number(g)})


class InFlight(wiring.Component):
    """Holds the kernels in flight of all queues, and counts packets.

    Packets begin in their order and complete in any order. `oldest` is the first packet that has
    not completed: software may write the ring again up to there. A kernel takes the lowest vacant
    place of its queue. So a queue with at most `n` kernels in flight uses its first `n` places.

    Parameters
    ----------
    g : Geometry
        Geometry with `queues`.

    Attributes
    ----------
    advance : Signal(queues), in
        Vector: the packet at `next` is begun in this cycle.
    passing : Signal(queues), in
        Vector: the one before `next` is a barrier that has been passed, and has not completed.
    begin : flight_begin, in; end : flight_end, in
    flights : array of array of flight, out
        Kernels in flight by queue.
    next, oldest : array of Signal(32), out
    count : array, out
        Kernels in flight; combinational, as are the following.
    vacant : array, out
        Where the next one goes.
    """

    advance: Signal
    passing: Signal
    begin: View
    end: View
    flights: View
    next: View
    oldest: View
    count: View
    vacant: View

    def __init__(self, g: Geometry):
        self.geometry = g
        queues, depth = g.queues, g.queue_capacity
        super().__init__({
            "advance": In(queues), "passing": In(queues),
            "begin": In(flight_begin(g)), "end": In(flight_end(g)),
            "flights": Out(data.ArrayLayout(data.ArrayLayout(flight(g), depth), queues)),
            "next": Out(data.ArrayLayout(ADDRESS_BITS, queues)),
            "oldest": Out(data.ArrayLayout(ADDRESS_BITS, queues)),
            "count": Out(data.ArrayLayout(range(depth + 1), queues)),
            "vacant": Out(data.ArrayLayout(below(depth), queues)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        for q in range(self.geometry.queues):
            self._hold(m, q)
            self._count(m, q)
        return m

    def _hold(self, m: Module, q: int):
        """Change what a queue has in flight."""
        begin, end, depth = self.begin, self.end, self.geometry.queue_capacity
        with m.If(self.advance[q]):
            m.d.sync += self.next[q].eq(self.next[q] + 1)
        for i in range(depth):
            one = self.flights[q][i]
            with m.If(end.valid & (end.number == q * depth + i)):
                m.d.sync += one.busy.eq(0)
            with m.If(begin.valid & (begin.number == q * depth + i)):
                m.d.sync += one.slot.eq(begin.slot)
                with m.If(begin.fresh):
                    m.d.sync += [one.busy.eq(1), one.index.eq(self.next[q]),
                                 one.signal.eq(begin.signal), one.start.eq(begin.start)]

    def _count(self, m: Module, q: int):
        """Count the kernels in flight of a queue, and find its oldest packet."""
        depth = self.geometry.queue_capacity
        busy = Signal(depth, name=f"busy_{q}")
        ages = [Signal(AGE_BITS, name=f"age_{q}_{i}") for i in range(depth)]
        m.d.comb += [busy.eq(Cat(self.flights[q][i].busy for i in range(depth))),
                     self.count[q].eq(popcount(busy)), self.vacant[q].eq(lowest_number(~busy))]
        for i, age in enumerate(ages):
            m.d.comb += age.eq(Mux(busy[i], (self.next[q] - self.flights[q][i].index)[:AGE_BITS],
                                   0))
        behind = reduce(lambda a, b: Mux(a > b, a, b), [*ages, self.passing[q]])
        m.d.comb += self.oldest[q].eq(self.next[q] - behind)

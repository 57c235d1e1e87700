"""Cheapest fit: where a range of a resource fits so that the fewest thread blocks (TBs) have to
leave (Lin et al. III-A; the model is `arch.room.cheapest_fit`)."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..lib.bits import pick, popcount

__all__ = ["occupied_range", "CheapestFit"]


def occupied_range(capacity: int) -> data.StructLayout:
    """A range of a resource with `capacity` units that is taken, by a TB that can leave if it is
    `movable`."""
    units = range(capacity + 1)
    return data.StructLayout({"valid": 1, "movable": 1, "start": units, "size": units})


class CheapestFit(wiring.Component):
    """Looks at every place that begins where a range ends, and at 0, one per cycle: `done` rises
    ``ranges + 2`` cycles after the request.

    Parameters
    ----------
    capacity : int
        Units there are.
    ranges : int
        Ranges there can be.

    Attributes
    ----------
    occupied : array of occupied_range, in
        Constant while it searches.
    request : struct, in
        Begins a search for `size` units; one that runs is dropped.
    done, fits, start : Signal, out
        The answer, held until the next request: the place with the fewest ranges in the way, the
        lowest of several. Size 0 fits at 0.
    leave : Signal(ranges), out
        Vector: the ranges in its way.
    """

    occupied: data.View
    request: data.View
    done: Signal
    fits: Signal
    start: Signal
    leave: Signal

    def __init__(self, capacity: int, ranges: int):
        self.capacity, self.ranges = capacity, ranges
        units = range(capacity + 1)
        super().__init__({
            "occupied": In(data.ArrayLayout(occupied_range(capacity), ranges)),
            "request": In(data.StructLayout({"valid": 1, "size": units})),
            "done": Out(1), "fits": Out(1), "start": Out(units), "leave": Out(ranges),
        })

    def elaborate(self, platform: Any):
        m = Module()
        count = self.ranges
        rows = [self.occupied[k] for k in range(count)]
        ends = [(row.start + row.size)[:len(self.start)] for row in rows]
        size = Signal.like(self.start)
        number = Signal(range(count + 2))  # the place in hand: behind a range, or 0, or over
        at = Signal.like(self.start)
        end = Signal(range(2 * self.capacity + 1))
        there = Signal(count)  # ranges in its way
        fixed = Signal()  # one of them stays
        cost = Signal(range(count + 1))
        best = Signal.like(cost)
        better = Signal()
        m.d.comb += [
            at.eq(Mux(number < count, pick(ends, number[:max(1, (count - 1).bit_length())]), 0)),
            end.eq(at + size),
            there.eq(Cat(row.valid & (size != 0) & (row.start < end) & (at < row_end)
                         for row, row_end in zip(rows, ends, strict=True))),
            fixed.eq(Cat(there[k] & ~row.movable for k, row in enumerate(rows)).any()),
            cost.eq(popcount(there)),
            better.eq((end <= self.capacity) & ~fixed & (
                ~self.fits | (cost < best) | (cost == best) & (at < self.start))),
        ]
        real = (number == count) | Cat(row.valid for row in rows).bit_select(number, 1)
        with m.If(self.request.valid):
            m.d.sync += [size.eq(self.request.size), number.eq(0), self.done.eq(0),
                         self.fits.eq(0)]
        with m.Elif(~self.done & (number <= count)):
            m.d.sync += number.eq(number + 1)
            with m.If(real & better):
                m.d.sync += [self.fits.eq(1), self.start.eq(at), best.eq(cost),
                             self.leave.eq(there)]
            with m.If(number == count):
                m.d.sync += self.done.eq(1)
        return m

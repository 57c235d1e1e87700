"""Allocation table: contiguous ranges of a resource, found first-fit (Lin et al. Fig. 4)."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..interfaces.payloads import below
from ..lib.bits import lowest, select

__all__ = ["AllocationTable", "allocation"]


def allocation(capacity: int, owners: int) -> data.StructLayout:
    """One entry: an owner's range of a resource with `capacity` units."""
    units = range(capacity + 1)
    return data.StructLayout({"valid": 1, "owner": below(owners), "start": units, "size": units})


class AllocationTable(wiring.Component):
    """Owner, start and size of every allocated range of one resource, with a first-fit search.

    The search starts at 0 and moves to the end of an overlapping range until none overlaps. It
    takes one step per cycle, so `done` rises at most ``entries + 1`` cycles after the request.

    Parameters
    ----------
    capacity : int
        Units there are (rows of vector registers, lines of shared memory).
    owners : int
        Numbers an owner can have.
    entries : int
        Ranges the table can hold.

    Attributes
    ----------
    request : struct, in
        Begins a search for `size` units; one that runs is dropped.
    done, fits, start : Signal, out
        The answer, held until the next request; ranges released meanwhile do not spoil it. Size 0
        fits at 0.
    insert : struct, in
        Enters a range; size 0 takes no entry. There must be a free entry.
    release : Signal(owners), in
        Vector: the ranges of these owners become free, but for one that is moved.
    move : struct, in
        The range of an owner becomes another's, for one cycle `valid`.
    table : array, out
        The entries.
    """

    request: data.View
    done: Signal
    fits: Signal
    start: Signal
    insert: data.View
    release: Signal
    move: data.View
    table: data.View

    def __init__(self, capacity: int, owners: int, entries: int):
        for name, value in (("capacity", capacity), ("owners", owners), ("entries", entries)):
            if value < 1:
                raise ValueError(f"{name} must be 1 or more, not {value}")
        self.capacity = capacity
        self.entries = entries
        units = range(capacity + 1)
        entry = allocation(capacity, owners)
        super().__init__({
            "request": In(data.StructLayout({"valid": 1, "size": units})),
            "done": Out(1),
            "fits": Out(1),
            "start": Out(units),
            "insert": In(entry),
            "release": In(owners),
            "move": In(data.StructLayout({"valid": 1, "owner": below(owners),
                                          "to": below(owners)})),
            "table": Out(data.ArrayLayout(entry, entries)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        self._search(m)
        free = Signal(self.entries)
        place = Signal(self.entries)
        for i in range(self.entries):
            m.d.comb += free[i].eq(~self.table[i].valid)
        m.d.comb += place.eq(lowest(free))
        for i in range(self.entries):
            entry = self.table[i]
            with m.If(self.move.valid & entry.valid & (entry.owner == self.move.owner)):
                m.d.sync += entry.owner.eq(self.move.to)
            with m.Elif(entry.valid & self.release.bit_select(entry.owner, 1)):
                m.d.sync += entry.valid.eq(0)
            with m.If(self.insert.valid & (self.insert.size != 0) & place[i]):
                m.d.sync += entry.eq(self.insert)
        return m

    def _search(self, m: Module):
        """Step over overlapping ranges."""
        size = Signal(range(self.capacity + 1))
        searching = Signal()
        overlaps = Signal(self.entries)
        end = Signal(range(2 * self.capacity + 1))
        ends = []
        m.d.comb += end.eq(self.start + size)
        for i in range(self.entries):
            entry = self.table[i]
            ends.append((entry.start + entry.size)[:len(self.start)])
            m.d.comb += overlaps[i].eq(entry.valid & (size != 0) & (entry.start < end)
                                       & (self.start < ends[i]))
        with m.If(self.request.valid):
            m.d.sync += [self.start.eq(0), size.eq(self.request.size),
                         searching.eq(1), self.done.eq(0)]
        with m.Elif(searching):
            with m.If((end > self.capacity) | ~overlaps.any()):
                m.d.sync += [searching.eq(0), self.done.eq(1), self.fits.eq(end <= self.capacity)]
            with m.Else():
                m.d.sync += self.start.eq(select(lowest(overlaps), ends))

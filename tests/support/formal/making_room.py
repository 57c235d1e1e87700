"""The search for room finds some whenever it exists, and names the ranges that have to leave."""

from __future__ import annotations

from amaranth.hdl import Cat, Signal, Value

from caesura.hw.dispatch import cheapest_fit
from caesura.hw.dispatch.cheapest_fit import CheapestFit
from caesura.hw.formal.opened import Opened, free

from .faults import Fault
from .harness import Harness
from .property import Property

__all__ = ["RoomIsFound", "PROPERTIES"]


class RoomIsFound(Harness):
    """A search ends; it finds a place if no range there is has to stay; and of the place that it finds each unit is
    free or of a range that it names, which can leave.

    Given: the ranges, which end in the resource, do not change from the request on; no more is asked for than there is.
    """

    def __init__(self, capacity: int, ranges: int):
        super().__init__()
        self.capacity, self.ranges = capacity, ranges

    def state(self, m):
        search = CheapestFit(self.capacity, self.ranges)
        m.submodules.dut = dut = Opened(search)
        free(m, search)
        rows = [search.occupied[k] for k in range(self.ranges)]
        asked, size = Signal(), Signal.like(Value.cast(search.request.size))
        before = Signal(len(Value.cast(search.occupied)))
        m.d.sync += before.eq(Value.cast(search.occupied))
        with m.If(search.request.valid):
            m.d.sync += [asked.eq(1), size.eq(search.request.size)]
        self.given(
            m, ranges_do_not_change=~asked | (before == Value.cast(search.occupied)),
            ranges_end_in_the_resource=Cat(row.start + row.size <= self.capacity for row in rows).all(),
            no_more_is_asked_for_than_there_is=search.request.size <= self.capacity)
        unit = self.something(m, range(self.capacity))
        place = (search.start <= unit) & (unit < search.start + size)
        there = Cat(row.valid & (row.start <= unit) & (unit < row.start + row.size) for row in rows)
        stay = Cat(row.valid & ~row.movable for row in rows)
        number = dut.signal("number")
        found = asked & search.fits
        self.claim(
            m, it_ends=~asked | (search.done == (number == self.ranges + 1)),
            it_goes_on=number <= self.ranges + 1,
            a_place_is_found_if_none_has_to_stay=~(asked & search.done) | search.fits | stay.any(),
            a_place_is_in_the_resource=~found | (search.start + size <= self.capacity),
            whoever_is_in_its_way_is_named=~(found & place) | ~(there & ~search.leave).any(),
            nobody_is_named_who_has_to_stay=~found | ~(stay & search.leave).any(),
            it_looks_for_what_was_asked=~asked | (dut.signal("size") == size),
            and_that_is_no_more_than_there_is=size <= self.capacity)


_CLAIM = ("A search for room ends; it finds a place if no range there is has to stay; each unit of the place is free, "
          "or of a range that is named to leave and can (rows of registers and lines of shared memory)")
_FAULTS = (
    Fault(cheapest_fit, "(end <= self.capacity) & ~fixed", "(end < self.capacity) & ~fixed"),
    Fault(cheapest_fit, "(end <= self.capacity) & ~fixed", "(end <= self.capacity)"),
    Fault(cheapest_fit, "real = (number == count) |", "real = (number == 0) |"),
    Fault(cheapest_fit, "self.leave.eq(there)]", "self.leave.eq(there & (there - 1))]"),
)

PROPERTIES = tuple(
    Property(f"room/{capacity}x{ranges}", _CLAIM, lambda of=(capacity, ranges): RoomIsFound(*of), depth=2,
             faults=_FAULTS if capacity == 8 else (), fault_depth=12)
    for capacity, ranges in ((8, 4), (16, 8), (1024, 4)))

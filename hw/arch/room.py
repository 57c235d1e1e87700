"""Room: where a range of a resource fits, and which thread blocks (TBs) have to leave for it
(Lin et al. III-A, Fig. 4).

The allocation tables of the hardware (`hw.dispatch`) and the golden model find the same. A resource
has `capacity` units in a row: rows of vector registers, lines of shared memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Range", "Fit", "first_fit", "cheapest_fit", "make_room"]


class Range(NamedTuple):
    """An allocated range.

    Attributes
    ----------
    start, size : int
        First unit of the range, and its number of units.
    owner : int or None
        Number of a TB that can leave, None for one that cannot.
    """

    start: int
    size: int
    owner: int | None = None

    @property
    def end(self) -> int:
        """First unit after it."""
        return self.start + self.size

    def overlaps(self, start: int, size: int) -> bool:
        """Return whether it shares a unit with another range."""
        return self.start < start + size and start < self.end


class Fit(NamedTuple):
    """Where a range fits.

    Attributes
    ----------
    start : int
    owners : frozenset of int
        Numbers of the TBs that are in its way.
    """

    start: int
    owners: frozenset[int]


def first_fit(capacity: int, ranges: Iterable[tuple[int, int]], size: int) -> int | None:
    """Return the lowest start at which `size` units fit between the (start, size) `ranges`,
    None if nowhere."""
    start = 0
    for begin, length in sorted(ranges):
        if begin < start + size and start < begin + length:
            start = begin + length
    return start if start + size <= capacity else None


def cheapest_fit(capacity: int, ranges: Iterable[Range], size: int) -> Fit | None:
    """Return where `size` units fit so that the fewest TBs are in the way, the lowest place of
    several; None if nowhere.

    Only places that begin where a range ends, or at 0, are looked at. Any other place can move
    towards 0 until it begins there, and no further range comes to be in its way.
    """
    ranges = [each for each in ranges if each.size]
    best = None
    for start in sorted({0, *(each.end for each in ranges)}):
        there = {each.owner for each in ranges if size and each.overlaps(start, size)}
        if start + size > capacity or None in there:
            continue
        if best is None or len(there) < len(best.owners):
            best = Fit(start, frozenset(owner for owner in there if owner is not None))
    return best


def make_room(capacity: int, ranges: Iterable[Range], size: int, count: int
              ) -> tuple[int, frozenset[int]]:
    """Find room for `count` ranges of `size` units, one after the other, each where the fewest
    TBs are in the way that are not already.

    Returns
    -------
    int
        Number of ranges for which there is room.
    frozenset of int
        The owners that have to leave.
    """
    left, gone = [*ranges], frozenset[int]()
    for placed in range(count):
        fit = cheapest_fit(capacity, left, size)
        if fit is None:
            return placed, gone
        gone |= fit.owners
        left = [each for each in left if each.owner is None or each.owner not in fit.owners]
        left.append(Range(fit.start, size))
    return count, gone

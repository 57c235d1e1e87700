"""Ranges of a resource as models: their table, and the searches for a place that fits and for the cheapest one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["CheapestSearch", "RangeTable", "overlapping"]

Row = dict[str, Any]
"""A range: `valid`, `start`, `size`, and `owner` where there is one."""


def overlapping(rows: Sequence[Row], start: int, size: int) -> list[int]:
    """Return the numbers of the ranges that overlap some units."""
    return [k for k, row in enumerate(rows) if row["valid"] and size
            and row["start"] < start + size and start < row["start"] + row["size"]]


class RangeTable:
    """Ranges in their rows, and the search for the first place that fits (`AllocationTable`)."""

    def __init__(self, capacity: int, rows: int):
        self.capacity = capacity
        self.rows: list[Row] = [dict.fromkeys(("valid", "owner", "start", "size"), 0)] * rows
        self.start, self.size, self.searching = 0, 0, False
        self.done = self.fits = False

    def _search(self) -> None:
        end, there = self.start + self.size, overlapping(self.rows, self.start, self.size)
        if end <= self.capacity and there:
            self.start = self.rows[there[0]]["start"] + self.rows[there[0]]["size"]
        else:
            self.done, self.fits, self.searching = True, end <= self.capacity, False

    def step(self, size: int | None, insert: Row | None, release: int, move: Row) -> None:
        """Go on by a cycle, in which so many units are asked for, and a range is entered."""
        if size is not None:
            self.start, self.size, self.searching, self.done = 0, size, True, False
        elif self.searching:
            self._search()
        place = next((k for k, row in enumerate(self.rows) if not row["valid"]), None)
        for k, row in enumerate(self.rows):
            if row["valid"] and move["valid"] and row["owner"] == move["owner"]:
                self.rows[k] = row | {"owner": move["to"]}
            elif row["valid"] and release >> row["owner"] & 1:
                self.rows[k] = row | {"valid": 0}
        if insert and insert["size"] and place is not None:
            self.rows[place] = insert | {"valid": 1}


class CheapestSearch:
    """The search for the place where the fewest ranges are in the way, a place a cycle (`CheapestFit`)."""

    def __init__(self, capacity: int):
        self.capacity, self.size, self.number, self.start = capacity, 0, 0, 0
        self.done = self.fits = False
        self.places: list[int] = []
        """Rows that are in the way."""

    def step(self, size: int | None, rows: Sequence[Row], movable: Sequence[bool]) -> None:
        """Go on by a cycle, in which so many units are asked for, while some of the ranges can leave."""
        if size is not None:
            self.size, self.number, self.done, self.fits = size, 0, False, False
            return
        if self.done:
            return
        last = self.number == len(rows)
        behind = {"valid": 1, "start": 0, "size": 0} if last else rows[self.number]
        at = behind["start"] + behind["size"]
        there = overlapping(rows, at, self.size)
        possible = at + self.size <= self.capacity and all(movable[k] for k in there)
        if behind["valid"] and possible and (
                not self.fits or (len(there), at) < (len(self.places), self.start)):
            self.fits, self.start, self.places = True, at, there
        self.done, self.number = last, self.number + 1

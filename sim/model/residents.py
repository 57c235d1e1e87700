"""Thread blocks (TBs) on an SM of the model: the room that they take, and how fast they are side by side.

Room is given as the hardware's allocation tables give it: the lowest place for a row of registers and of shared-memory
lines, a TB slot, any warp slots. TBs share the SM: of like ones it was measured how long they take when there are so
many, and how much longer beside others (`KernelCosts.beside`). Where the latter was not, one of another kernel counts
for as many as it takes of what limits the SM (`KernelCosts.share`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from caesura.hw.arch.geometry import REGISTER_BANKS, SEGMENT_BYTES, Geometry
from caesura.hw.arch.room import Range, cheapest_fit, first_fit

from .costs import KernelCosts

__all__ = ["Tb", "Sm", "footprint_of"]


@dataclass(eq=False)
class Tb:
    """A TB that has begun.

    Attributes
    ----------
    launch : object
        To which it belongs.
    costs : KernelCosts
    rows, lines : int
        Of registers and shared memory that it takes.
    factor : float
        Its time over the mean of its kernel.
    left : float
        Part of its work that is left; more than 1 while it finds caches cold.
    stopped : bool
        It is on the SM and does not run.
    base : bool
        It has a base, for an increment.
    saved_as : str
        In which way it was taken off, for what it costs to bring it back.
    """

    launch: object
    costs: KernelCosts
    rows: int
    lines: int
    factor: float = 1.0
    left: float = 1.0
    stopped: bool = False
    base: bool = False
    saved_as: str = ""

    def begin_anew(self) -> None:
        """All it has done is lost."""
        self.left, self.base = 1.0, False


def footprint_of(costs: KernelCosts, shared_bytes: int) -> tuple[int, int]:
    """Return rows of registers and lines of shared memory of a TB with so much shared memory."""
    return -(-costs.warps * costs.registers // REGISTER_BANKS), -(-shared_bytes // SEGMENT_BYTES)


class Sm:
    """An SM.

    Parameters
    ----------
    g : Geometry
    number : int

    Attributes
    ----------
    number : int
    tbs : list of Tb
        With a TB slot, the oldest first.
    staying : list of Tb
        Preempted in place: they have registers and shared memory here, and no slots.
    bus : float
        Times as long as alone that memory makes everything last.
    counted : float
        What its `demand` was when the memory's share was last worked out.
    generation : int
        Counts changes, for who has planned ahead.
    """

    def __init__(self, g: Geometry, number: int):
        self.geometry, self.number = g, number
        self.tbs: list[Tb] = []
        self.staying: list[Tb] = []
        self.bus = 1.0
        self.counted = 0.0
        self.generation = 0
        self._rows: dict[Tb, int] = {}
        self._lines: dict[Tb, int] = {}
        self._since = 0
        self._cycles: dict[int, float] | None = None

    # Room

    @property
    def warps(self) -> int:
        """Warp slots taken."""
        return sum(tb.costs.warps for tb in self.tbs)

    def has_slots(self, costs: KernelCosts) -> bool:
        """Return whether there is a TB slot and there are warp slots for a TB."""
        return len(self.tbs) < self.geometry.tb_slots and self.warps + costs.warps <= self.geometry.warps

    def has_room(self, tb: Tb) -> bool:
        """Return whether there is room for a TB. What stays here of it is its own."""
        return self.has_slots(tb.costs) and (tb in self.staying or None not in self._places(tb))

    def _places(self, tb: Tb) -> tuple[int | None, int | None]:
        return (first_fit(self.geometry.register_rows, self._ranges(self._rows, "rows"), tb.rows),
                first_fit(self.geometry.shared_lines, self._ranges(self._lines, "lines"), tb.lines))

    def enter(self, tb: Tb, now: int) -> bool:
        """Give a TB room; return whether there was any."""
        if not self.has_slots(tb.costs):
            return False
        if tb in self.staying:
            self.staying.remove(tb)
        else:
            row, line = self._places(tb)
            if row is None or line is None:
                return False
            self._rows[tb], self._lines[tb] = row, line
        self.advance(now)
        self.tbs.append(tb)
        self._changed()
        return True

    def leave(self, tb: Tb, now: int, stays: bool = False) -> None:
        """Take a TB's slots away, and its room unless it stays."""
        if tb in self.tbs:
            self.advance(now)
            self.tbs.remove(tb)
            self._changed()
        if stays:
            self.staying.append(tb)
            return
        if tb in self.staying:
            self.staying.remove(tb)
        self._rows.pop(tb, None)
        self._lines.pop(tb, None)

    def in_the_way(self, rows: int, lines: int, candidates: Iterable[Tb]) -> list[Tb] | None:
        """Return which of some TBs have to give up their room for one more of such a size; None if that does not help.
        The fewest (`hw.arch.room`)."""
        able = [*candidates]
        gone: set[int] = set()
        for places, name, capacity, size in ((self._rows, "rows", self.geometry.register_rows, rows),
                                             (self._lines, "lines", self.geometry.shared_lines, lines)):
            ranges = [Range(start, getattr(tb, name), able.index(tb) if tb in able else None)
                      for tb, start in places.items()]
            if first_fit(capacity, self._ranges(places, name), size) is not None:
                continue
            found = cheapest_fit(capacity, ranges, size)
            if found is None:
                return None
            gone |= found.owners
        return [able[number] for number in sorted(gone)]

    @staticmethod
    def _ranges(places: dict[Tb, int], name: str) -> list[tuple[int, int]]:
        return [(start, getattr(tb, name)) for tb, start in places.items()]

    # Time

    def stop(self, tb: Tb, now: int, stopped: bool = True) -> None:
        """Stop a TB, or let it run on."""
        self.advance(now)
        tb.stopped = stopped
        self._changed()

    def slow(self, bus: float, now: int) -> None:
        """Memory makes everything last so many times as long from now on."""
        self.advance(now)
        self.bus = bus
        self._changed()

    def advance(self, now: int) -> None:
        """Do the work of the time until now."""
        passed, self._since = now - self._since, now
        if passed:
            for tb in self.tbs:
                if not tb.stopped:
                    tb.left -= passed / self.cycles(tb)

    def cycles(self, tb: Tb) -> float:
        """Return the cycles that a whole TB takes as things are."""
        if self._cycles is None:
            self._cycles = {}
        key = id(tb.costs)
        if key not in self._cycles:
            crowd, slower = self._company(tb.costs)
            self._cycles[key] = tb.costs.cycles_with(crowd) * max(0.2, slower)
        return self._cycles[key] * tb.factor * self.bus

    def _company(self, costs: KernelCosts) -> tuple[float, float]:
        """Return how many TBs of a kernel run, with others that count as such, and how many times as long they take for
        others of which that was measured."""
        crowd, slower = 0.0, 1.0
        for tb in self.tbs:
            if tb.stopped:
                continue
            if tb.costs is costs:
                crowd += 1
            elif (share := costs.beside.get(tb.costs.name)) is not None:
                slower += share
            else:
                crowd += tb.costs.share / costs.share
        return max(1.0, crowd), slower

    @property
    def demand(self) -> float:
        """Bytes a cycle that its TBs ask of memory, were it theirs alone."""
        return sum(tb.costs.bytes_per_tb * self.bus / self.cycles(tb) for tb in self.tbs if not tb.stopped)

    def next_end(self, now: int) -> int | None:
        """Return the cycles until the first TB has ended, None if none runs; `advance` before."""
        left = [tb.left * self.cycles(tb) for tb in self.tbs if not tb.stopped]
        return max(0, math.ceil(min(left) - 1e-6)) if left else None

    def ended(self) -> list[Tb]:
        """Return the TBs that have nothing left to do."""
        return [tb for tb in self.tbs if not tb.stopped and tb.left * self.cycles(tb) <= 1e-6]

    def _changed(self) -> None:
        self._cycles = None
        self.generation += 1

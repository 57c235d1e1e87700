"""Thread blocks (TBs) on an SM of the model: their room, and their speed side by side.

Room is given as in the hardware's allocation tables. A TB takes the lowest range of register rows and of shared-memory
lines, a TB slot and any warp slots. TBs share the SM. Measurements give the time of a TB among TBs of its own kernel,
and its slow-down by other kernels (`KernelCosts.beside`). Where no slow-down was measured, a TB of another kernel
counts by its share of the SM (`KernelCosts.share`).
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
        Launch to which it belongs.
    costs : KernelCosts
    rows, lines : int
        Register rows and shared-memory lines that it takes.
    factor : float
        Duration over the mean of its kernel.
    left : float
        Part of its work that is left; more than 1 at first if caches are cold.
    stopped : bool
        It is on the SM but does not run.
    base : bool
        It has a base for an incremental save.
    saved_as : str
        Name of the way by which it was preempted; the cost of its return depends on it.
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
        """Lose all its work."""
        self.left, self.base = 1.0, False


def footprint_of(costs: KernelCosts, shared_bytes: int) -> tuple[int, int]:
    """Return the register rows and shared-memory lines of a TB with some bytes of shared memory."""
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
        TBs with a TB slot, the oldest first.
    staying : list of Tb
        TBs preempted in place. They keep registers and shared memory here, and have no slots.
    bus : float
        Factor by which memory slows everything down.
    counted : float
        `demand` at the last update of the memory's slow-down.
    generation : int
        Number of changes; a plan with an older number is void.
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
        """Number of occupied warp slots."""
        return sum(tb.costs.warps for tb in self.tbs)

    def has_slots(self, costs: KernelCosts) -> bool:
        """Return whether there is a TB slot and there are warp slots for a TB."""
        return len(self.tbs) < self.geometry.tb_slots and self.warps + costs.warps <= self.geometry.warps

    def has_room(self, tb: Tb) -> bool:
        """Return whether there is room for a TB. A TB that stays here already has its registers and shared memory."""
        return self.has_slots(tb.costs) and (tb in self.staying or None not in self._places(tb))

    def _places(self, tb: Tb) -> tuple[int | None, int | None]:
        return (first_fit(self.geometry.register_rows, self._ranges(self._rows, "rows"), tb.rows),
                first_fit(self.geometry.shared_lines, self._ranges(self._lines, "lines"), tb.lines))

    def enter(self, tb: Tb, now: int) -> bool:
        """Give a TB its room; return whether there was any."""
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
        """Return the fewest of some TBs that must give up their room for one more TB of a size (`hw.arch.room`).

        The result is None if that does not help.
        """
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
        """Stop a TB or let it run on."""
        self.advance(now)
        tb.stopped = stopped
        self._changed()

    def slow(self, bus: float, now: int) -> None:
        """Set the factor by which memory slows everything down from now on."""
        self.advance(now)
        self.bus = bus
        self._changed()

    def advance(self, now: int) -> None:
        """Advance the work of all TBs to the present cycle."""
        passed, self._since = now - self._since, now
        if passed:
            for tb in self.tbs:
                if not tb.stopped:
                    tb.left -= passed / self.cycles(tb)

    def cycles(self, tb: Tb) -> float:
        """Return the cycles of a whole TB in the present state of the SM."""
        if self._cycles is None:
            self._cycles = {}
        key = id(tb.costs)
        if key not in self._cycles:
            crowd, slower = self._company(tb.costs)
            self._cycles[key] = tb.costs.cycles_with(crowd) * max(0.2, slower)
        return self._cycles[key] * tb.factor * self.bus

    def _company(self, costs: KernelCosts) -> tuple[float, float]:
        """Return the number of TBs of a kernel that run, and their slow-down by TBs of other kernels.

        TBs of kernels without a measured slow-down count in the number, by their share.
        """
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
        """Bytes per cycle that its TBs would move if they had the memory to themselves."""
        return sum(tb.costs.bytes_per_tb * self.bus / self.cycles(tb) for tb in self.tbs if not tb.stopped)

    def next_end(self, now: int) -> int | None:
        """Return the cycles until the first TB ends, None if none runs; call `advance` first."""
        left = [tb.left * self.cycles(tb) for tb in self.tbs if not tb.stopped]
        return max(0, math.ceil(min(left) - 1e-6)) if left else None

    def ended(self) -> list[Tb]:
        """Return the TBs that have nothing left to do."""
        return [tb for tb in self.tbs if not tb.stopped and tb.left * self.cycles(tb) <= 1e-6]

    def _changed(self) -> None:
        self._cycles = None
        self.generation += 1

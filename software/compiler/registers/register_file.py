"""The register file at one point of a kernel: the place of each value, and moves that make room for a group.

Aligned groups of one, two and four registers fill a register file of any size without gaps. For this the widest are
placed first, and each goes to the smallest place that holds it (`pack`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ..ir.kernel import Reg

__all__ = ["RegisterFile", "Pieces", "pack"]

_WIDTHS = 4, 2, 1


@dataclass
class Pieces:
    """The groups that must lie together around one operation.

    Attributes
    ----------
    whole : list of tuple of Reg
        Groups before the operation that keep their places, since one of their words is needed after it.
    read : list of tuple of Reg
        Groups before the operation that end at it.
    made : list of tuple of Reg
        Groups after the operation.
    ending : collection of Reg
        Values that end at the operation.
    """

    whole: list[tuple[Reg, ...]] = field(default_factory=list)
    read: list[tuple[Reg, ...]] = field(default_factory=list)
    made: list[tuple[Reg, ...]] = field(default_factory=list)
    ending: Collection[Reg] = ()


class _NoRoom(Exception):
    pass


def pack(size: int, pieces: Sequence[Sequence[Reg]], free: dict[int, list[int]] | None = None) -> dict[Reg, int]:
    """Place groups in a register file, the widest first; `free` (first registers by width) is used up.

    Raises
    ------
    ValueError
        If they do not fit.
    """
    free = _all_free(size) if free is None else free
    found: dict[Reg, int] = {}
    for piece in sorted(pieces, key=len, reverse=True):
        width = next((w for w in _WIDTHS[::-1] if w >= len(piece) and free[w]), 0)
        if not width:
            raise ValueError(f"no room for {len(piece)} registers")
        base = free[width].pop()
        while width > len(piece):
            width //= 2
            free[width].append(base + width)
        for place, reg in enumerate(piece):
            found[reg] = base + place
    return found


def _all_free(size: int) -> dict[int, list[int]]:
    free: dict[int, list[int]] = {width: [] for width in _WIDTHS}
    start = 0
    for width in _WIDTHS:
        while start + width <= size:
            free[width].append(start)
            start += width
    free[4].reverse()
    return free


class RegisterFile:
    """Places of values.

    Parameters
    ----------
    size : int
        Number of registers.
    place : dict of Reg to int
        Initial register of each value.

    Attributes
    ----------
    place : dict of Reg to int
    holder : list of Reg or None
        Value in each register.
    """

    def __init__(self, size: int, place: dict[Reg, int]):
        self.size = size
        self.place = dict(place)
        self.holder: list[Reg | None] = [None] * size
        for reg, number in place.items():
            self.holder[number] = reg

    def put(self, reg: Reg, number: int) -> None:
        """Put a value that has no place into a free register."""
        self.place[reg] = number
        self.holder[number] = reg

    def drop(self, reg: Reg) -> None:
        """Forget a value."""
        self.holder[self.place.pop(reg)] = None

    def _exchange(self, a: int, b: int) -> None:
        first, second = self.holder[a], self.holder[b]
        self.holder[a], self.holder[b] = second, first
        if first is not None:
            self.place[first] = b
        if second is not None:
            self.place[second] = a

    def blocks(self, width: int) -> range:
        """Return the first registers of the aligned groups."""
        return range(0, self.size - width + 1, width)

    def free_groups(self, width: int, ending: Collection[Reg] = ()) -> list[int]:
        """Return the first registers of groups free of values but those that end."""
        return [base for base in self.blocks(width)
                if all(reg is None or reg in ending for reg in self.holder[base:base + width])]

    def lies(self, group: Sequence[Reg]) -> bool:
        """Return whether a group of values is in consecutive, aligned registers."""
        base = self.place.get(group[0], -1)
        return base % len(group) == 0 and base + len(group) <= self.size and all(
            self.place.get(reg) == base + k for k, reg in enumerate(group))

    def arrange(self, pieces: Pieces) -> None:
        """Move values so that the groups around an operation have their places; few moves if that is easy.

        Afterwards every group read is in place, and every group made has room once the values that end are gone.
        """
        before = self.place
        if not any(not self.lies(group) for group in (*pieces.whole, *pieces.read)) and all(
                self.free_groups(len(group), pieces.ending) for group in pieces.made):
            return
        trial = RegisterFile(self.size, before)
        try:
            trial._make_room(pieces)
        except _NoRoom:
            trial = RegisterFile(self.size, self._repacked(pieces))
        self.place, self.holder = trial.place, trial.holder

    def _make_room(self, pieces: Pieces) -> None:
        fixed: set[int] = set()
        for group in sorted((*pieces.whole, *pieces.read), key=len, reverse=True):
            base = self._cheapest(group, fixed)
            for number, reg in enumerate(group, base):
                self._bring(reg, number, fixed | set(range(base, base + len(group))))
                fixed.add(number)
        for group in pieces.made:
            self._clear(len(group), fixed, pieces.ending)

    def _cheapest(self, group: Sequence[Reg], fixed: set[int]) -> int:
        """Return the place where a group takes the fewest moves, among the registers that are not fixed."""
        best = None
        for base in self.blocks(len(group)):
            numbers = range(base, base + len(group))
            if any(n in fixed and self.holder[n] != reg for n, reg in zip(numbers, group, strict=True)):
                continue
            cost = sum((reg in self.place) + (self.holder[n] is not None and self.holder[n] not in group)
                       for n, reg in zip(numbers, group, strict=True) if self.holder[n] != reg)
            if best is None or (cost, base) < best:
                best = cost, base
        if best is None:
            raise _NoRoom
        return best[1]

    def _bring(self, reg: Reg, number: int, fixed: set[int]) -> None:
        """Put a value into a register; its former value goes to a free register, or to where the new value was."""
        if self.holder[number] == reg:
            return
        if self.holder[number] is not None:
            free = next((n for n in range(self.size) if self.holder[n] is None and n not in fixed), None)
            if free is not None:
                self._exchange(number, free)
        if reg in self.place:
            self._exchange(self.place[reg], number)
        elif self.holder[number] is not None:
            raise _NoRoom

    def _clear(self, width: int, fixed: set[int], ending: Collection[Reg]) -> None:
        """Make room for a group after the operation."""
        best = None
        for base in self.blocks(width):
            staying = [n for n in range(base, base + width)
                       if self.holder[n] is not None and self.holder[n] not in ending]
            if not any(n in fixed for n in staying) and (best is None or (len(staying), base) < best[:2]):
                best = len(staying), base, staying
        if best is None:
            raise _NoRoom
        _, base, staying = best
        others = [n for n in range(self.size) if not base <= n < base + width and n not in fixed]
        goals = [n for n in others if self.holder[n] is None]
        goals += [n for n in others if self.holder[n] is not None and self.holder[n] in ending]
        if len(goals) < len(staying):
            raise _NoRoom
        for number, goal in zip(staying, goals, strict=False):
            self._exchange(number, goal)
        fixed.update(range(base, base + width))

    def _repacked(self, pieces: Pieces) -> dict[Reg, int]:
        """Return places for all values: those that stay first, then those that end, the new ones in their room."""
        grouped = {reg for group in (*pieces.whole, *pieces.read) for reg in group}
        staying = [(reg,) for reg in self.place if reg not in grouped and reg not in pieces.ending]
        going = [(reg,) for reg in self.place if reg not in grouped and reg in pieces.ending]
        free = _all_free(self.size)
        found = pack(self.size, [*pieces.whole, *staying], free)
        found |= pack(self.size, [*pieces.read, *going], free)
        return {reg: number for reg, number in found.items() if reg in self.place}

"""Two circuits, and what has no counterpart in the other."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .circuit import Circuit, Colours

__all__ = ["Comparison", "compare"]

Colour = NDArray[np.uint64]
LINES = 40
"""Told of each side at most."""
WIRES = 10
"""Of them wires."""
ROUNDS = 1000
"""At most."""
LATER = 5
"""Rounds that are still looked at after one with a difference."""


@dataclass
class Comparison:
    """What two circuits have in common.

    Attributes
    ----------
    rounds : int
        Until no colour was split.
    colours : int
        Then, of the second circuit.
    before, after : list of str
        What has no counterpart, what differs first being first.
    """

    rounds: int
    colours: int
    before: list[str]
    after: list[str]

    @property
    def same(self) -> bool:
        """Whether they are one circuit."""
        return not self.before and not self.after


class _Side:
    """One of two circuits while they are compared."""

    def __init__(self, circuit: Circuit):
        self.circuit, self.rounds = circuit, circuit.rounds()
        self.colours = next(self.rounds)
        self.count, self.steady = len(np.unique(circuit.state_seeds)), False
        self.names = [f"{kind} {name}" for kind, name in zip(circuit.kinds, circuit.state_names, strict=True)]
        self.names += circuit.root_names
        self.depths = circuit.depth(np.concatenate((circuit.following, circuit.roots)))
        self.told: dict[int, None] = {}
        self.lines: list[str] = []

    @property
    def all(self) -> Colour:
        """Colours of states and of what is shown."""
        return np.concatenate((self.colours.states, self.colours.roots))

    def count_colours(self) -> None:
        """See whether a round has split a colour."""
        count = len(np.unique(self.colours.states))
        self.steady, self.count = count == self.count, count

    def tell_kinds(self, other: _Side) -> None:
        """Note what is another kind of state, or begins with another value."""
        seeds, others = self.circuit.state_seeds, other.circuit.state_seeds
        self._add(0, _surplus(seeds, self.names, others, other.names))

    def tell(self, number: int, other: _Side) -> None:
        """Note what has no counterpart after a round and had one before."""
        new = [each for each in _surplus(self.all, self.names, other.all, other.names) if each not in self.told]
        if new and not self.lines:
            self.lines += self._wires(other.colours)
        self._add(number, new)

    def _add(self, number: int, places: Iterable[int]) -> None:
        """Note what has no counterpart after a round."""
        new = [*places]
        self.told |= dict.fromkeys(new)
        new.sort(key=lambda each: (self.depths[each], self.names[each]))
        self.lines += [f"round {number}: {name}" for name in grouped(self.names[each] for each in new)]

    def _wires(self, other: Colours) -> list[str]:
        """Return the wires that differ first."""
        literals, there = self.colours.literals, np.unique(other.literals)
        wires = self.circuit.wires
        names = np.repeat(np.arange(len(wires)), [len(value) for value in wires.values()])
        bits = np.concatenate([np.arange(len(value)) for value in wires.values()] or [np.arange(0)])
        values = np.concatenate([*wires.values()] or [np.zeros(0, np.int32)])
        lost = np.flatnonzero((values >= 0) & ~np.isin(literals[np.maximum(values, 0)], there))
        depths = self.circuit.depth(values[lost])
        lost, depths = lost[depths > 0], depths[depths > 0]
        called = [*wires]
        found = (f"wire {called[names[each]]}[{bits[each]}]" for each in lost[np.argsort(depths, kind="stable")])
        return list(itertools.islice(grouped(found), WIRES))


def compare(before: Circuit, after: Circuit) -> Comparison:
    """Compare two circuits."""
    sides = one, other = _Side(before), _Side(after)
    one.tell_kinds(other)
    other.tell_kinds(one)
    until = ROUNDS
    for number in itertools.count(1):
        one.tell(number, other)
        other.tell(number, one)
        if (one.lines or other.lines) and until == ROUNDS:
            until = number + LATER
        for side in sides:
            side.count_colours()
        if number >= until or one.steady and other.steady or min(len(side.lines) for side in sides) > LINES:
            break
        for side in sides:
            side.colours = next(side.rounds)
    if number == ROUNDS:
        raise RuntimeError(f"after {ROUNDS} rounds there are still new colours")
    return Comparison(number, other.count, *(_shortened(side.lines) for side in sides))


def _surplus(mine: Colour, names: list[str], others: Colour, other_names: list[str]) -> list[int]:
    """Return the places of colours that are here more often than there; of several that are alike, first those that are
    not of this colour there by their names."""
    missing = Counter(mine.tolist())
    missing.subtract(Counter(others.tolist()))
    missing = +missing
    if not missing:
        return []
    wanted = np.array([*missing], np.uint64)
    there = {(int(others[place]), other_names[place]) for place in np.flatnonzero(np.isin(others, wanted))}
    places = np.flatnonzero(np.isin(mine, wanted)).tolist()
    found = []
    for place in sorted(places, key=lambda each: (int(mine[each]), names[each]) in there):
        colour = int(mine[place])
        if missing[colour]:
            missing[colour] -= 1
            found.append(place)
    return found


def grouped(names: Iterable[str]) -> Iterable[str]:
    """Return names of bits in the same order, those of one signal in one line."""
    bits: dict[str, list[int]] = {}
    for name in names:
        found = re.fullmatch(r"(.*)\[(\d+)\]", name)
        bits.setdefault(found[1] if found else name, []).extend([int(found[2])] if found else [])
    for name, numbers in bits.items():
        runs: list[list[int]] = []
        for number in sorted(numbers):
            if runs and number == runs[-1][1] + 1:
                runs[-1][1] = number
            else:
                runs.append([number, number])
        ranges = ",".join(f"{first}" if first == last else f"{first}:{last}" for first, last in runs)
        yield f"{name}[{ranges}]" if ranges else name


def _shortened(lines: list[str]) -> list[str]:
    return lines if len(lines) <= LINES else [*lines[:LINES - 1], f"and {len(lines) - LINES + 1} more"]

"""Sums points by room: the covered lines of Python, and the branches and toggles of their SystemVerilog.

A *line* of Python counts if a branch of the generated SystemVerilog comes from it: a statement under a condition, or a
multiplexer. (Others run in every cycle.) It is *covered* if in one of the runs, in one module of that run, all branches
that come from it were taken. Instances of a module count as one. *Branches* and *toggles* are counted in each run
on its own, and added.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.checkout import ROOT

from .points import Place, Point

__all__ = ["REASONS", "Room", "ReasonError", "explained", "rooms", "totals"]

PREFIX = "hw/preempt/"
REASONS = Path(__file__).with_name("reasons.toml")
"""Why lines are not covered: for each file, the text of the line and the reason."""


class ReasonError(ValueError):
    """A reason names a line that is covered, or that does not exist."""


@dataclass
class Room:
    """The counts of a room.

    Attributes
    ----------
    covered, missed : set of Place
        Lines of Python.
    branches, toggles : list of int
        Taken, or seen, and all.
    """

    covered: set[Place] = field(default_factory=set)
    missed: set[Place] = field(default_factory=set)
    branches: list[int] = field(default_factory=lambda: [0, 0])
    toggles: list[int] = field(default_factory=lambda: [0, 0])

    @property
    def lines(self) -> list[int]:
        """Covered lines, and all."""
        return [len(self.covered), len(self.covered | self.missed)]


def _room(place: Place) -> str | None:
    """Return the room that a line is in: its folder, or its file if that is in none."""
    if not place[0].startswith(PREFIX):
        return None
    return place[0].removeprefix(PREFIX).split("/")[0].removesuffix(".py")


def rooms(runs: Iterable[Iterable[Point]]) -> dict[str, Room]:
    """Return the rooms by name, from the points of runs."""
    found: dict[str, Room] = defaultdict(Room)
    covered: set[Place] = set()
    seen: set[Place] = set()
    for run in runs:
        whole: dict[tuple[str, Place], bool] = {}
        for point in _merged(run):
            for place in point.places:
                if point.statements and not point.toggle and _room(place):
                    whole[point.module, place] = whole.get((point.module, place), True) and point.count > 0
            names = {name for place in point.places if (name := _room(place))}
            for name in names:
                tally = found[name].toggles if point.toggle else found[name].branches
                tally[0] += point.count > 0
                tally[1] += 1
        seen |= {place for _, place in whole}
        covered |= {place for (_, place), all_taken in whole.items() if all_taken}
    for place in seen:
        room = found[str(_room(place))]
        (room.covered if place in covered else room.missed).add(place)
    return dict(sorted(found.items()))


def _merged(run: Iterable[Point]) -> Iterable[Point]:
    """Return the points of a run, those of instances of a module added up."""
    found: dict[tuple, Point] = {}
    for point in run:
        key = point.module, point.line, point.what
        before = found.get(key)
        found[key] = point if before is None or point.count > before.count else before
    return found.values()


def totals(all_rooms: Iterable[Room]) -> dict[str, list[int]]:
    """Return lines, branches and toggles of rooms together: how many are covered, and how many there are."""
    kept = list(all_rooms)
    return {name: [sum(getattr(room, name)[k] for room in kept) for k in (0, 1)]
            for name in ("lines", "branches", "toggles")}


def explained(all_rooms: dict[str, Room], reasons: dict[str, Any] | None = None) -> list[tuple[str, str, str]]:
    """Return file, text and reason of each line that is not covered; the reason is empty where none is given.

    Raises
    ------
    ReasonError
        If a reason is for a line that is covered, or that its file does not have.
    """
    given = tomllib.loads(REASONS.read_text()) if reasons is None else reasons
    result, used = [], set()
    for file, number in sorted(place for room in all_rooms.values() for place in room.missed):
        text = (ROOT / file).read_text().splitlines()[number - 1].strip()
        result.append((file, text, given.get(file, {}).get(text, "")))
        used.add((file, text))
    for file, lines in given.items():
        for text in lines:
            if (file, text) not in used:
                raise ReasonError(f"{file} has no line {text!r} that is not covered; take it out of {REASONS.name}")
    return result

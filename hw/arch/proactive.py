"""Proactive preemption: choices for thread blocks (TBs) once a launch is announced (PEP III-D).

A launch is *announced* before it arrives, with a prediction of the cycles until then. Meanwhile a
TB of a kernel that has to give way gets a base checkpoint, or is left to end by itself. `WAITING`
decides between the announcement and the arrival, `ARRIVED` at the arrival; hardware and golden
model derive from both.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass

from .geometry import REGISTER_BANKS, SEGMENT_BYTES, Geometry

__all__ = ["ARRIVED", "CASES", "SETTLED_INSTRUCTIONS", "UNKNOWN", "WAITING", "Case", "Choice",
           "Rule", "Situation", "bus_sixteenths", "case_of", "choose", "cycles_left",
           "switch_cycles"]

SETTLED_INSTRUCTIONS = 1000
"""Warp instructions after which a TB that began after the announcement gets a base (III-D 2)."""
UNKNOWN = (1 << 32) - 1
"""Cycles left of a TB of which nothing is known: it counts as long."""


class Choice(enum.IntEnum):
    """Choice for a TB."""

    DRAIN = 0
    """It ends by itself."""
    SETTLE = 1
    """It runs on, until it is worth a base."""
    CHECKPOINT = 2
    """It is saved as a base, and runs on."""
    RUN = 3
    """It runs on: it has its base."""
    SAVE = 4
    """It is saved, with a base only what it has written since."""


class Case(enum.IntEnum):
    """Course of a TB up to the arrival; the paper has these numbers (Fig. 6)."""

    TWO_CHECKPOINTS = 1
    SINGLE = 2
    DRAIN = 3
    DRAIN_SINGLE = 4
    """It has begun after another had drained, and has no base."""
    DRAIN_TWO = 5


@dataclass(frozen=True)
class Rule:
    """A line of a table: the first whose test holds decides."""

    test: str
    choice: Choice
    reason: str


WAITING = (
    Rule("based", Choice.RUN, "at most one base is saved for an announcement"),
    Rule("ends_before", Choice.DRAIN, "it will have ended when the launch arrives"),
    Rule("drains_sooner", Choice.DRAIN, "it ends sooner than all TBs could be saved"),
    Rule("unsettled", Choice.SETTLE, "it has just begun, and writes much of what it has"),
    Rule("otherwise", Choice.CHECKPOINT, "it is long"),
)
"""Choice between announcement and arrival (Fig. 7)."""
ARRIVED = (
    Rule("based", Choice.SAVE, "an increment is short"),
    Rule("drains_sooner", Choice.DRAIN, "it ends sooner than all TBs could be saved"),
    Rule("otherwise", Choice.SAVE, "it is long"),
)
"""Choice at the arrival."""
CASES: Mapping[tuple[bool, bool, bool], Case] = {
    (successor, based, drains): Case.DRAIN if drains else
    (Case.DRAIN_TWO if based else Case.DRAIN_SINGLE) if successor else
    (Case.TWO_CHECKPOINTS if based else Case.SINGLE)
    for successor in (False, True) for based in (False, True) for drains in (False, True)}
"""The case by whether the TB began after the announcement, has a base from it, and drains."""


@dataclass(frozen=True)
class Situation:
    """Facts about a TB that the SM knows.

    Attributes
    ----------
    left : int
        Cycles that it still takes, `UNKNOWN` if there is no mean.
    due : int
        Cycles until the launch is predicted to arrive.
    switch : int
        Cycles that a save of all TBs of its kernel takes.
    instructions : int
        Warp instructions that it has retired.
    successor : bool
        It began after the announcement.
    based : bool
        It has been saved as a base since the announcement.
    """

    left: int
    due: int
    switch: int
    instructions: int
    successor: bool
    based: bool

    def holds(self, test: str) -> bool:
        """Return whether a test of a `Rule` holds."""
        return {"ends_before": self.left <= self.due, "drains_sooner": self.left <= self.switch,
                "unsettled": self.successor and self.instructions < SETTLED_INSTRUCTIONS,
                "based": self.based, "otherwise": True}[test]


def choose(table: tuple[Rule, ...], situation: Situation) -> Choice:
    """Return what a table says of a TB."""
    return next(rule.choice for rule in table if situation.holds(rule.test))


def case_of(situation: Situation) -> Case:
    """Return the case of a TB at the arrival."""
    drains = choose(ARRIVED, situation) is Choice.DRAIN
    return CASES[situation.successor, situation.based, drains]


def cycles_left(mean: int | None, age: int) -> int:
    """Return the cycles left of a TB: the mean of others less its own (III-B 2), 0 if it has taken
    longer, `UNKNOWN` without a mean."""
    return UNKNOWN if mean is None else max(mean - age, 0)


def bus_sixteenths(g: Geometry, size: int) -> int:
    """Return the cycles that the bus takes for `size` bytes, in sixteenths, rounded up."""
    return math.ceil(16 * size / g.bytes_per_cycle)


def switch_cycles(g: Geometry, tbs: int, rows: int, lines: int) -> int:
    """Return the bound on the time of a save of `tbs` TBs, each with so many rows of registers and
    lines of shared memory: all of it at the pace of the bus, and one answer of memory (III-B 2)."""
    cost = (rows * bus_sixteenths(g, REGISTER_BANKS * g.vector_bytes)
            + lines * bus_sixteenths(g, SEGMENT_BYTES))
    return (tbs * cost >> 4) + g.memory_latency

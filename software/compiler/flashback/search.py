"""Finds the flashback point and the plan of each instruction of a block (CTXBack III-E).

For an interrupted instruction, one walk (`derivations`) per mode of reverting goes back over at most `WINDOW`
instructions. The plan is the best of all candidates of all modes. So a block of N instructions takes O(N W).

Variants for comparison are `live_size`, `strict_size` (CTXBack III-A), the relaxed condition alone
(`Technique.RELAXED`, III-B), with reverting (`Technique.REVERTING`, III-C), with backups of scalar registers as well
(`backup`, III-D).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from .blocks import Block, Effect, FlashbackError, Register, Value
from .costs import Costs, Objective
from .derivations import Mode, Walk
from .handover import Handover, hand_over
from .routines import NoOrder, Routines, schedule

__all__ = ["WINDOW", "Technique", "Plan", "Search", "rank"]

WINDOW = 256
"""Default for the most instructions between a flashback point and the interrupted instruction."""

_TRIES = 16
"""Plans that are tried to find one that hands registers over."""

Backups = tuple[tuple[Value, Register], ...]


class Technique(enum.Enum):
    """The techniques that a plan may use."""

    RELAXED = (Mode(),)
    REVERTING = (Mode(), Mode(True, False), Mode(False, True), Mode(True, True))


@dataclass(frozen=True)
class Plan:
    """The plan for a warp stopped before an instruction.

    Attributes
    ----------
    at : int
        Index of the instruction.
    first : int
        Earliest instruction that the plan may execute again or revert.
    mode : Mode
    backups : tuple of (Value, Register)
        Values that backups keep there, and the registers of the backups (`backup`).
    size : int
        Bytes saved.
    latency : float
        Estimated cycles of the preemption (`Costs.preemption_cycles`).
    """

    at: int
    first: int
    mode: Mode
    backups: Backups
    size: int
    latency: float


class Search:
    """The search in one block.

    Parameters
    ----------
    block : Block
    costs : Costs
    window : int
        Most instructions that a walk goes back, at least 0.

    Raises
    ------
    FlashbackError
        If the window is negative.
    """

    def __init__(self, block: Block, costs: Costs | None = None, window: int = WINDOW):
        if window < 0:
            raise FlashbackError(f"a window has 0 or more instructions, not {window}")
        self.block, self.costs, self.window = block, costs or Costs(), window
        self._sizes = [self.costs.size(reg) for reg in block.register_of]

    def live_size(self, at: int) -> int:
        """Return the bytes of the registers live before an instruction."""
        return sum(self._sizes[value] for value in self.block.live_values(at))

    def candidates(self, at: int) -> range:
        """Return the candidates for the flashback point, the nearest first."""
        return range(at - 1, max(self.block.floor[at], at - self.window) - 1, -1)

    def plans(self, objective: Objective, technique: Technique = Technique.REVERTING) -> Iterator[Plan]:
        """Yield the best plan for each instruction and, last, for the end of the block."""
        for at in range(len(self.block.instructions) + 1):
            yield self.plan(at, objective, technique)

    def plan(self, at: int, objective: Objective, technique: Technique = Technique.REVERTING,
             backups: Backups = ()) -> Plan:
        """Return the best plan before instruction `at`."""
        best: Plan | None = None
        for mode in self._modes(at, technique):
            found = self._best(at, objective, mode, backups)
            if (best is None or rank(found, objective) < rank(best, objective)) and self._has_order(found):
                best = found
        assert best is not None  # without reverting there is always an order
        return best

    def handed_over(self, at: int, objective: Objective, active: frozenset[Register],
                    technique: Technique = Technique.REVERTING) -> tuple[Plan, Handover]:
        """Return the best plan before instruction `at` that hands registers over, and its routine (`handover`).

        It tries the `_TRIES` best plans without reverts at resume, and as many with them.

        Parameters
        ----------
        at : int
        objective : Objective
        active : frozenset of Register
            Registers that the active lanes need there.
        technique : Technique
        """
        found = [plan for mode in self._modes(at, technique) for plan in self._candidates(at, mode, ())]
        best = sorted(found, key=lambda plan: rank(plan, objective))[:_TRIES]
        for plan in (*best, found[0]):  # the latter saves all live registers
            try:
                return plan, hand_over(self.block, at, self.routines(plan), active)
            except NoOrder:
                continue
        raise AssertionError("what is live can always be handed over")

    def routines(self, plan: Plan) -> Routines:
        """Return the two routines of a plan."""
        return schedule(self.block, plan.at, self._walk(plan), plan.backups)

    def strict_size(self, at: int) -> int:
        """Return the least bytes under the strict condition (CTXBack III-A).

        All live registers of the flashback point must be there unchanged, and every instruction since is executed
        again.
        """
        block, best = self.block, self.live_size(at)
        here = set(block.live_values(at))
        for first in self.candidates(at):
            instruction = block.instructions[first]
            again = at <= block.hazard[first] or not instruction.defs and instruction.effect is Effect.FIXED
            if not again and instruction.defs:
                break
            if all(value in here for value in block.live_values(first)):
                best = min(best, self.live_size(first))
        return best

    def _modes(self, at: int, technique: Technique) -> tuple[Mode, ...]:
        """Return the modes of a technique; all equal the first if there is nothing to revert."""
        reversible = any(self.block.instructions[index].recovers is not None for index in self.candidates(at))
        return technique.value if reversible else technique.value[:1]

    def _walk(self, plan: Plan) -> Walk:
        walk = Walk(self.block, plan.at, plan.mode, self._sizes, tuple(value for value, _ in plan.backups))
        while (index := walk.next(plan.first)) is not None:
            walk.step(index)
        return walk

    def _best(self, at: int, objective: Objective, mode: Mode, backups: Backups) -> Plan:
        return min(self._candidates(at, mode, backups), key=lambda plan: rank(plan, objective))

    def _candidates(self, at: int, mode: Mode, backups: Backups) -> Iterator[Plan]:
        """Yield a plan for each flashback point whose save differs from the one before, the nearest first."""
        walk = Walk(self.block, at, mode, self._sizes, tuple(value for value, _ in backups))
        yield Plan(at, at, mode, backups, walk.size, self._latency(walk))
        floor = max(self.block.floor[at], at - self.window)
        while (index := walk.next(floor)) is not None:
            if walk.step(index):
                yield Plan(at, index, mode, backups, walk.size, self._latency(walk))

    def _latency(self, walk: Walk) -> float:
        reverting = sum(self.block.instructions[index].cycles for index in walk.reverted)
        return self.costs.preemption_cycles(walk.size, reverting)

    def _has_order(self, plan: Plan) -> bool:
        if not plan.mode.at_resume:
            return True
        try:
            self.routines(plan)
        except NoOrder:
            return False
        return True


def rank(plan: Plan, objective: Objective) -> tuple[float, float]:
    """Return the sort key of plans, the better one first."""
    return (plan.size, plan.latency) if objective is Objective.SIZE else (plan.latency, plan.size)

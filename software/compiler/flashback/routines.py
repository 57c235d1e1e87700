"""What the routines of a plan do, step by step.

Every value has its place in the register that the block gives it. The preemption routine saves values while they are in
theirs, and reverts the last instruction first. The resume routine obtains values in the order in which the block makes
them, each when something needs it; it keeps track of what each register holds, loads again what another value of the
same register has taken the place of, and ends with every live register as it was. Whatever it reads, so, is there: an
order that does not work is no order (`NoOrder`), and the plan is not taken. Without reverts at resume it always works,
since then registers change as they did in the block. (CTXBack III-B, Fig. 2; III-C, Figs. 3 and 4.)

Loads and stores move all lanes of a register; what is executed again or reverted runs under the mask of the interrupted
warp.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

from .blocks import Block, Register, Value
from .derivations import How, Walk

__all__ = ["NoOrder", "Action", "Step", "Routines", "schedule"]

_TIRELESS = 8
"""Steps that a resume routine may have for each value that is needed, before it is given up."""


class NoOrder(Exception):
    """Two values of one register are needed at once."""


class Action(enum.Enum):
    """What a step does."""

    STORE = "store"
    LOAD = "load"
    EXECUTE = "execute"
    REVERT = "revert"


class Step(NamedTuple):
    """One step of a routine.

    Attributes
    ----------
    action : Action
    number : int
        Of a store or a load the value, whose slot of the save area is meant; else the instruction.
    register : Register or None
        Of a store or a load.
    """

    action: Action
    number: int
    register: Register | None = None


@dataclass(frozen=True)
class Routines:
    """The routines of a plan.

    Attributes
    ----------
    preemption, resume : tuple of Step
    saved : tuple of Value
    """

    preemption: tuple[Step, ...]
    resume: tuple[Step, ...]
    saved: tuple[Value, ...]

    @property
    def flashback(self) -> int | None:
        """The earliest instruction that is executed again; None if there is none."""
        return min((step.number for step in self.resume if step.action is Action.EXECUTE), default=None)


def schedule(block: Block, at: int, walk: Walk, backups: tuple[tuple[Value, Register], ...] = ()) -> Routines:
    """Return the routines of a walk that has gone as far as its flashback point.

    Parameters
    ----------
    block : Block
    at : int
        The interrupted instruction.
    walk : Walk
    backups : tuple of (Value, Register)
        Values in other registers than their own, and in which.

    Raises
    ------
    NoOrder
        If the resume routine cannot have all values where it needs them.
    """
    saved = walk.saved()
    return Routines(tuple(_preemption(block, at, saved, dict(backups))),
                    tuple(_Resume(block, at, walk, backups).steps), tuple(saved))


def _preemption(block: Block, at: int, saved: list[Value], backups: dict[Value, Register]) -> list[Step]:
    here = set(block.live_values(at))
    steps = [Step(Action.STORE, value, backups.get(value, block.register_of[value]))
             for value in saved if value in here or value in backups]
    reverted: set[int] = set()
    pending = [value for value in saved if value not in here and value not in backups]
    wanted = set(pending)
    while pending:
        value = pending.pop()
        index = block.overwritten[value]
        if value not in here and index not in reverted:
            reverted.add(index)
            pending += (*block.results[index], *block.others[index])
    for index in sorted(reverted, reverse=True):
        steps.append(Step(Action.REVERT, index))
        (old,) = block.replaced[index]
        if old in wanted:
            steps.append(Step(Action.STORE, old, block.register_of[old]))
    return steps


class _Resume:
    """The resume routine in the making; `place` is what each register holds."""

    def __init__(self, block: Block, at: int, walk: Walk, backups: tuple[tuple[Value, Register], ...]):
        self.steps: list[Step] = []
        self._block, self._walk = block, walk
        self._place: dict[Register, Value] = {}
        self._done: set[Value] = set()
        self._most = _TIRELESS * len(walk.needed) + _TIRELESS
        live = block.live_values(at)
        for value in sorted(walk.needed):
            if walk.how[value] is How.EXECUTE and value not in self._done:
                self._obtain(value)
        for value in live:
            self._obtain(value)
        if any(self._place.get(block.register_of[value]) != value for value in live):
            raise NoOrder("a live register holds another value at the end")
        self.steps += [Step(Action.LOAD, value, reg) for value, reg in backups]

    def _is_there(self, value: Value) -> bool:
        return self._place.get(self._block.register_of[value]) == value

    def _obtain(self, value: Value) -> None:
        """Bring a value, and before it what it is made of, into its register."""
        pending = [(value, 0)]
        while pending:
            one, tries = pending.pop()
            if self._is_there(one):
                continue
            sources = self._walk.sources_of(one)
            lacking = [source for source in sources if not self._is_there(source)]
            if not lacking:
                self._perform(one)
            elif tries > len(sources):
                raise NoOrder("operands take each other's registers")
            else:
                pending.append((one, tries + 1))
                pending += ((source, 0) for source in sorted(lacking, reverse=True))

    def _perform(self, value: Value) -> None:
        block, how = self._block, self._walk.how[value]
        if len(self.steps) >= self._most:
            raise NoOrder("values are made again and again")
        if how is How.LOAD:
            reg = block.register_of[value]
            self.steps.append(Step(Action.LOAD, value, reg))
            self._place[reg] = value
            return
        index = self._walk.instruction_of(value)
        made = block.results[index] if how is How.EXECUTE else block.replaced[index]
        self.steps.append(Step(Action.EXECUTE if how is How.EXECUTE else Action.REVERT, index))
        self._place |= {block.register_of[one]: one for one in made}
        self._done.update(made)

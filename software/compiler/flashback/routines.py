"""The routines of a plan, step by step.

The block gives every value a register. The preemption routine saves values while they are in their registers, and
reverts the last instruction first. The resume routine obtains values in the order in which the block makes them, each
when an instruction needs it. It keeps track of the value in each register, and reloads values that another value of the
same register has replaced. At its end every live register is as it was. So all its operands are there. If an order does
not work (`NoOrder`), the plan is not taken. Without reverts at resume an order always works, since registers then
change as they did in the block. (CTXBack III-B, Fig. 2; III-C, Figs. 3 and 4.)

Loads and stores move all lanes of a register. Instructions executed again or reverted run under the mask of the
interrupted warp.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

from .blocks import Block, Register, Value
from .derivations import How, Walk

__all__ = ["NoOrder", "Action", "Step", "Routines", "schedule"]

_TIRELESS = 8
"""Most steps of a resume routine for each needed value; with more it is given up."""


class NoOrder(Exception):
    """Two values of one register are needed at once."""


class Action(enum.Enum):
    """The kinds of steps."""

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
        Value of a store or a load, which selects a slot of the save area; else the index of the instruction.
    register : Register or None
        Register of a store or a load.
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
        Index of the interrupted instruction.
    walk : Walk
    backups : tuple of (Value, Register)
        Values in registers other than their own, and those registers.

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
    """A resume routine while it is made; `place` holds the value of each register."""

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
        """Bring a value into its register, and before it the values it is made of."""
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

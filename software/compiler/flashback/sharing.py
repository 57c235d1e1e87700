"""Preemption routines shared among instructions (CTXBack IV-A).

The routine of an instruction reverts and stores. It is often the end of another's routine: the flashback point is the
same, but fewer instructions are reverted before. Then both share one body of code, and the shorter enters it further
down. Each instruction has an entry with its body and its first step. Slots of the save area are counted back from the
last store, so that they are the same from every entry.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from .program import Program
from .routines import Action, Routines

__all__ = ["Entry", "Sharing", "share", "steps_of"]

Steps = tuple[Hashable, ...]


class Entry(NamedTuple):
    """The place where an instruction's routine begins.

    Attributes
    ----------
    body : int
        Number of the body of code.
    offset : int
        Number of its steps that are skipped.
    """

    body: int
    offset: int


class Sharing(NamedTuple):
    """Shared routines.

    Attributes
    ----------
    bodies : list of tuple
        Steps of each body of code; no body is the end of another.
    entries : list of Entry
        Entry of each routine, in the given order.
    """

    bodies: list[Steps]
    entries: list[Entry]

    @property
    def steps(self) -> int:
        """Number of steps of all bodies."""
        return sum(map(len, self.bodies))


def share(routines: Sequence[Steps]) -> Sharing:
    """Share routines: one that is the end of another becomes an entry into it.

    Time is linear in their steps, but for the sorting.
    """
    order = sorted(set(routines), key=lambda steps: tuple(map(repr, reversed(steps))))
    bodies: list[Steps] = []
    place: dict[Steps, Entry] = {}
    for steps in reversed(order):  # sorted backwards, the end of a routine comes right after it
        last = bodies[-1] if bodies else ()
        if bodies and len(steps) <= len(last) and last[len(last) - len(steps):] == steps:
            place[steps] = Entry(len(bodies) - 1, len(last) - len(steps))
        else:
            bodies.append(steps)
            place[steps] = Entry(len(bodies) - 1, 0)
    return Sharing(bodies, [place[steps] for steps in routines])


def steps_of(program: Program, start: int, routines: Routines) -> Steps:
    """Return the preemption routine of an instruction in the block at `start`, as steps that can be compared.

    The steps are registers to store, and addresses of instructions to revert.
    """
    return tuple(program.register_name(step.register) if step.action is Action.STORE and step.register is not None
                 else start + step.number for step in routines.preemption)

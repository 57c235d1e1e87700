"""Preemption routines shared among instructions (CTXBack IV-A).

The routine of an instruction reverts and stores. That of another is often the end of it: the same flashback point, but
less to revert before. Then both are one piece of code, which the second enters further down: an entry for each
instruction, of which body and at which step. Slots of the save area are counted from the last store on, so that they
are the same from every entry.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from .program import Program
from .routines import Action, Routines

__all__ = ["Entry", "Sharing", "share", "steps_of"]

Steps = tuple[Hashable, ...]


class Entry(NamedTuple):
    """Where an instruction's routine begins.

    Attributes
    ----------
    body : int
        Number of the piece of code.
    offset : int
        Steps of it that are left out.
    """

    body: int
    offset: int


class Sharing(NamedTuple):
    """Routines, shared.

    Attributes
    ----------
    bodies : list of tuple
        Steps of each piece of code; none is the end of another.
    entries : list of Entry
        Of each routine given.
    """

    bodies: list[Steps]
    entries: list[Entry]

    @property
    def steps(self) -> int:
        """Steps of all bodies."""
        return sum(map(len, self.bodies))


def share(routines: Sequence[Steps]) -> Sharing:
    """Return routines with those that are the end of another as entries into it; in time linear in their steps, but for
    the sorting."""
    order = sorted(set(routines), key=lambda steps: tuple(map(repr, reversed(steps))))
    bodies: list[Steps] = []
    place: dict[Steps, Entry] = {}
    for steps in reversed(order):  # sorted backwards, what is the end of another comes right after it
        last = bodies[-1] if bodies else ()
        if bodies and len(steps) <= len(last) and last[len(last) - len(steps):] == steps:
            place[steps] = Entry(len(bodies) - 1, len(last) - len(steps))
        else:
            bodies.append(steps)
            place[steps] = Entry(len(bodies) - 1, 0)
    return Sharing(bodies, [place[steps] for steps in routines])


def steps_of(program: Program, start: int, routines: Routines) -> Steps:
    """Return the preemption routine of an instruction in the block at `start`, as steps that can be compared: registers
    that are stored, addresses of instructions that are reverted."""
    return tuple(program.register_name(step.register) if step.action is Action.STORE and step.register is not None
                 else start + step.number for step in routines.preemption)

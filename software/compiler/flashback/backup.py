"""Backups of scalar registers in unused ones (CTXBack III-D, on-chip scalar register backup).

A copy is made just before the instruction that overwrites a scalar register, in the normal course of the program. While
it is kept, it is context like any live register. A place is free for it if, meanwhile,

1. it holds no value that the block still needs, or that lanes need elsewhere, and
2. nothing in the block writes it, and no other backup has it.

The value has to be live before its copy, or a resume before the copy would not have restored it.

A backup is worthwhile if it makes the plan behind the copy better. It is kept as long as no plan is worse with it, its
own bytes counted, and ends at its last use. So it makes no plan worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .blocks import Block, Register, RegisterClass, Value
from .costs import Objective
from .search import Plan, Search, rank

__all__ = ["MOST_AT_ONCE", "Copy", "add_backups"]

MOST_AT_ONCE = 4
"""Backups that are kept at a time; the bound keeps the search linear."""


@dataclass(frozen=True)
class Copy:
    """A copy in the program.

    Attributes
    ----------
    before : int
        The instruction before which the copy is made.
    last : int
        The last instruction before which the copy is kept.
    value : Value
    place : Register
    """

    before: int
    last: int
    value: Value
    place: Register


def add_backups(search: Search, plans: list[Plan], objective: Objective, places: Sequence[Register]) -> list[Copy]:
    """Choose backups, and replace plans by plans that use the backups.

    Parameters
    ----------
    search : Search
    plans : list of Plan
        Plan of each instruction of the block and of its end; changed.
    objective : Objective
    places : sequence of Register
        Scalar registers that a warp has, the preferred places first.

    Returns
    -------
    list of Copy
        Copies in the order of their instructions.
    """
    block, copies = search.block, []
    written: dict[Register, list[int]] = {}
    for index, instruction in enumerate(block.instructions):
        for reg in instruction.defs:
            written.setdefault(reg, []).append(index)
    for index in range(len(block.instructions)):
        for value in block.replaced[index]:
            copy = _backup(search, plans, objective, value, _free(block, index, places, copies), written)
            if copy is not None:
                copies.append(copy)
    return copies


def _free(block: Block, before: int, places: Sequence[Register], copies: list[Copy]) -> Register | None:
    """Return a place that is free just behind an instruction; None if there is none, or enough backups are kept."""
    kept = {copy.place for copy in copies if copy.last > before}
    taken = {*kept, *block.live[before], *block.live[before + 1], *block.instructions[before].defs}
    return next((place for place in places if place not in taken), None) if len(kept) < MOST_AT_ONCE else None


def _backup(search: Search, plans: list[Plan], objective: Objective, value: Value, place: Register | None,
            written: dict[Register, list[int]]) -> Copy | None:
    block = search.block
    before = block.overwritten[value]
    scalar = block.register_of[value].kind is RegisterClass.SCALAR
    if place is None or not scalar or value not in block.live_values(before):
        return None
    ends = [index for index in written.get(place, ()) if index > before]
    better: list[Plan] = []
    gained = 0
    for at in range(before + 1, min(len(block.instructions), before + search.window, *ends) + 1):
        with_it = search.plan(at, objective, backups=(*plans[at].backups, (value, place)))
        new, old = rank(with_it, objective), rank(plans[at], objective)
        if new > old or not gained and new >= old or place in block.live[at]:
            break
        better.append(with_it)
        gained = len(better) if new < old else gained
    for plan in better[:gained]:
        plans[plan.at] = plan
    return Copy(before, before + gained, value, place) if gained else None

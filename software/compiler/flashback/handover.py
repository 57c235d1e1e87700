"""Routines that hand registers over to the hardware, which saves and compresses them.

Such a routine reverts the instructions that its plan names, and stops at a preemption point that names registers. The
hardware saves the contents of these registers, and a resume restores all of them at once. So the save can hold one
value of each register, the one after the reverts, and nothing can be loaded later. A plan of `search` may break this:
it may store a register and then revert it, or load one after another value was made in it. `hand_over` converts a plan,
or says that it cannot be converted (`NoOrder`).
"""

from __future__ import annotations

from typing import NamedTuple

from .blocks import Block, Register, Value
from .routines import Action, NoOrder, Routines, Step

__all__ = ["Handover", "hand_over"]


class Handover(NamedTuple):
    """A routine that hands registers over.

    Attributes
    ----------
    reverted : tuple of int
        Instructions that are reverted before the point, in this order.
    saved : frozenset of Register
        Registers that are saved if lanes may wait elsewhere.
    converged : frozenset of Register
        Subset of `saved` that is saved if all lanes are active.
    resume : tuple of Step
        Steps behind the point that execute instructions again or revert them.
    """

    reverted: tuple[int, ...]
    saved: frozenset[Register]
    converged: frozenset[Register]
    resume: tuple[Step, ...]


def hand_over(block: Block, at: int, routines: Routines, active: frozenset[Register]) -> Handover:
    """Return a plan's routine as one that hands over the registers of instruction `at`.

    Parameters
    ----------
    block : Block
    at : int
    routines : Routines
    active : frozenset of Register
        Registers that the active lanes need there.

    Raises
    ------
    NoOrder
        If it stores or loads a value that is not in a register then.
    """
    place = {block.register_of[value]: value for value in block.live_values(at)}
    reverted = [step.number for step in routines.preemption if step.action is Action.REVERT]
    for index in reverted:
        _need(block, place, (*block.results[index], *block.others[index]))
        place |= {block.register_of[value]: value for value in block.replaced[index]}
    _need(block, place, routines.saved)
    place = {block.register_of[value]: value for value in routines.saved}
    saved = frozenset(place)
    steps = []
    for step in routines.resume:
        if step.action is Action.LOAD:
            if step.register != block.register_of[step.number]:
                raise NoOrder("a backup is loaded into its place")
            _need(block, place, (step.number,))
            continue
        again = step.action is Action.EXECUTE
        index = step.number
        _need(block, place, block.operands[index] if again else (*block.results[index], *block.others[index]))
        made = block.results[index] if again else block.replaced[index]
        place |= {block.register_of[value]: value for value in made}
        steps.append(step)
    _need(block, place, block.live_values(at))
    return Handover(tuple(reverted), saved, saved & _wanted(block, steps, active), tuple(steps))


def _need(block: Block, place: dict[Register, Value], values: tuple[Value, ...] | list[Value]) -> None:
    for value in values:
        if place.get(block.register_of[value]) != value:
            raise NoOrder(f"{block.register_of[value]} holds another value")


def _wanted(block: Block, resume: list[Step], active: frozenset[Register]) -> frozenset[Register]:
    """Return the registers that the active lanes need before the resume."""
    wanted = set(active)
    for step in reversed(resume):
        instruction = block.instructions[step.number]
        keeps = instruction.guard is not None or instruction.partial or step.action is Action.REVERT
        if not keeps:
            wanted.difference_update(instruction.defs)
        wanted.update(instruction.sources())
    return frozenset(wanted)

"""Which registers of a kernel are live, lane by lane.

A lane is *on* at a place if ``exec`` has it there, else *off*. Each place has two sets of vector registers:

1. registers that a lane that is on needs: it reads them before it writes them, on some path;
2. registers that a lane needs that is off and may come on again.

An instruction under the mask reads and writes lanes that are on. Where ``exec`` narrows (`masks`), a lane that is on
stays on or goes off. Where it widens, a lane that is off stays off or comes on. At any other change both may happen. If
a branch is taken when ``exec`` is zero, no lane that is on takes it. Instructions that read other lanes read registers
of both sets. Where ``exec`` is all lanes of the start, no lane is off, so the second set is empty. Registers whose
single lanes are written whatever the mask is are the exception (``v_writelane_b32`` writes spilt scalar registers).

Scalar registers, ``exec`` among them, are live as in any program. A register is live if one of the sets has it.

The old value of a vector result is an operand of its instruction if lanes that are off need the register afterwards
(`Liveness.kept`): a write kills by lane, not by register.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..flashback.blocks import Register
from .accesses import Access
from .flow import BasicBlock
from .masks import Change, Masks
from .operands import is_vector

__all__ = ["Liveness", "liveness"]


@dataclass(frozen=True)
class Liveness:
    """The live registers of a kernel.

    Attributes
    ----------
    before : list of frozenset of Register
        Registers live before each instruction.
    at_end : list of frozenset of Register
        Registers live behind each block.
    kept : list of frozenset of Register
        Vector results of each instruction whose old value lanes need that are off.
    """

    before: list[frozenset[Register]]
    at_end: list[frozenset[Register]]
    kept: list[frozenset[Register]]


_Sets = tuple[frozenset[Register], frozenset[Register]]
"""Registers needed where a lane is on, scalar ones among them; registers needed where it is off."""
_NONE: frozenset[Register] = frozenset()


def liveness(blocks: list[BasicBlock], accesses: list[Access], known: Masks) -> Liveness:
    """Find the live registers of a kernel."""
    steps = _Steps(accesses, known)
    at_start: list[_Sets] = [(_NONE, _NONE)] * len(blocks)
    before = [[number for number, block in enumerate(blocks) if one in block.successors] for one in range(len(blocks))]
    pending = list(range(len(blocks)))
    while pending:
        number = pending.pop()
        sets = _behind(blocks[number], accesses, at_start)
        for index in range(blocks[number].end - 1, blocks[number].start - 1, -1):
            sets = steps.back(index, sets)
        if sets != at_start[number]:
            at_start[number] = sets
            pending += before[number]
    return _collected(blocks, accesses, steps, at_start)


def _behind(block: BasicBlock, accesses: list[Access], at_start: list[_Sets]) -> _Sets:
    """Return the sets behind a block, its branch included."""
    on, off = _NONE, _NONE
    opcode = accesses[block.end - 1].row.opcode
    for place, after in enumerate(block.successors):
        its_on, its_off = at_start[after]
        none_on = len(block.successors) == 2 and opcode == ("s_cbranch_execz", "s_cbranch_execnz")[place]
        on |= frozenset(reg for reg in its_on if not is_vector(reg)) if none_on else its_on
        off |= its_off
    return on, off


def _collected(blocks: list[BasicBlock], accesses: list[Access], steps: _Steps, at_start: list[_Sets]) -> Liveness:
    before, kept, at_end = [_NONE] * len(accesses), [_NONE] * len(accesses), []
    for block in blocks:
        on, off = _behind(block, accesses, at_start)
        at_end.append(on | off)
        for index in range(block.end - 1, block.start - 1, -1):
            kept[index] = frozenset(accesses[index].defs) & off
            on, off = steps.back(index, (on, off))
            before[index] = on | off
    return Liveness(before, at_end, kept)


class _Steps:
    """The backward step of one instruction."""

    def __init__(self, accesses: list[Access], known: Masks):
        self._accesses, self._known = accesses, known
        self._single = frozenset(reg for one in accesses if one.row.opcode == "v_writelane_b32" for reg in one.defs)

    def back(self, index: int, sets: _Sets) -> _Sets:
        """Return the sets before an instruction from the sets behind it."""
        one, change = self._accesses[index], self._known.changes[index]
        on, off = sets
        if change is not Change.NONE:
            vectors = frozenset(reg for reg in on if is_vector(reg))
            later_on, later_off = on, off
            on = later_on | later_off if change is not Change.WIDENING else later_on
            off = later_off | vectors if change is not Change.NARROWING else later_off
        killed = frozenset(reg for reg in one.defs if not is_vector(reg) or one.masked and not one.keeps)
        on = (on - killed) | frozenset(one.uses)
        if one.across:
            off |= frozenset(reg for reg in one.uses if is_vector(reg))
        if self._known.full[index]:
            off &= self._single
        return on, off

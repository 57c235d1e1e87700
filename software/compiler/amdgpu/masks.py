"""Analysis of the masks of lanes: it finds when ``exec`` is all of the lanes that the wave started with.

Masks are pairs of scalar registers; ``exec`` is one. The analysis knows at each place

1. the masks that are *within* the lanes of the start: they have no other lane set; and
2. pairs of masks that *cover* these lanes: each lane of the start is in one of the two. A mask that covers them with
   itself, and is within them, is all of them.

The analysis follows copies, bitwise operations, comparisons and the saving forms (``s_and_saveexec_b64``). Any other
write to a register makes it unknown. Where paths meet, facts known on both are kept. So after ``s_and_saveexec_b64
s[0:1], vcc``, ``s[0:1]`` covers if ``exec`` did. After ``s_xor_b64 s[0:1], exec, s[0:1]``, it covers together with
``exec``. A later ``s_or_b64 exec, exec, s[0:1]`` makes ``exec`` cover.

A change of ``exec`` is *narrowing* if it only drops lanes, *widening* if it only adds some. If ``exec`` may ever have
lanes from outside the start (whole-wave operations), the analysis says nothing about any place.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from ..flashback.blocks import Register
from .accesses import Access
from .flow import BasicBlock
from .operands import EXEC, scalar

__all__ = ["Change", "Masks", "masks"]

Pair = tuple[Register, ...]
_OTHER: Pair = (scalar(-2), scalar(-1))
"""Stands for an intermediate mask."""
_NOTHING, _ALL = "0", "-1"


class Change(enum.Enum):
    """The effect of an instruction on ``exec``."""

    NONE = "none"
    NARROWING = "narrowing"
    WIDENING = "widening"
    ANY = "any"


@dataclass(frozen=True)
class Masks:
    """The facts about masks at each instruction of a kernel.

    Attributes
    ----------
    full : list of bool
        Whether ``exec`` is all lanes of the start before the instruction.
    changes : list of Change
    """

    full: list[bool]
    changes: list[Change]


class _Facts:
    """The facts known at a place (module, 1 and 2)."""

    def __init__(self, within: Iterable[Pair] = (), covers: Iterable[frozenset[Pair]] = ()):
        self.within, self.covers = set(within), set(covers)

    def meet(self, other: _Facts) -> _Facts:
        """Return the facts that both know: masks that cover with fewer others cover with more."""
        return _Facts(self.within & other.within, {cover for cover in self.covers | other.covers
                                                   if self._holds(cover) and other._holds(cover)})

    def _holds(self, cover: frozenset[Pair]) -> bool:
        return any(part <= cover for part in self.covers)

    def __eq__(self, other) -> bool:
        return self.within == other.within and self.covers == other.covers

    def forget(self, registers: tuple[Register, ...]) -> None:
        gone = {pair for pair in chain(self.within, *self.covers) if any(reg in registers for reg in pair)}
        self.within -= gone
        self.covers = {cover for cover in self.covers if not cover & gone}

    def covered(self, one: Pair, other: Pair) -> bool:
        return not self.covers.isdisjoint((frozenset((one, other)), frozenset((one,)), frozenset((other,))))

    def partners(self, one: Pair) -> set[Pair]:
        """Return the masks that cover together with this one; this one itself if it covers alone."""
        return {next(iter(cover - {one}), one) for cover in self.covers if one in cover}

    def assign(self, result: Pair, operation: str, a: Pair | str, b: Pair | str) -> None:
        """Note that an operation makes a mask of two others; words stand for constants."""
        within, covers = self._within(operation, a, b), self._covers(operation, a, b)
        self.forget(result)
        if within:
            self.within.add(result)
        self.covers |= {frozenset((result, *others)) for others in covers
                        if not any(set(one) & set(result) for one in others)}

    def _within(self, operation: str, a: Pair | str, b: Pair | str) -> bool:
        inside = [one == _NOTHING or one in self.within for one in (a, b)]
        return {"and": any(inside), "andn2": inside[0], "or": all(inside), "xor": all(inside)}.get(operation, False)

    def _covers(self, operation: str, a: Pair | str, b: Pair | str) -> set[frozenset[Pair]]:
        """Return the masks that cover together with the result; none for a result that covers alone."""
        known: list[Pair] = [one for one in (a, b) if not isinstance(one, str)]
        alone = [one for one in known if frozenset((one,)) in self.covers]
        together = len(known) == 2 and self.covered(known[0], known[1])
        partners = [self.partners(one) for one in known]
        if operation == "or" or operation == "and" and (a == b or _ALL in (a, b)):
            return {frozenset()} if together or alone else {frozenset((one,)) for one in set().union(*partners)}
        if operation == "and" and len(known) == 2:
            if alone:
                other = known[1] if known[0] == alone[0] else known[0]
                return {frozenset()} if len(alone) == 2 else {frozenset((one,)) for one in self.partners(other)}
            return {frozenset((one,)) for one in partners[0] & partners[1]}
        # andn2 and xor: the result and b together are at least a and b. xor: the result and a as well
        if operation in ("andn2", "xor") and together:
            return {frozenset((known[1],))} | ({frozenset((known[0],))} if operation == "xor" else set())
        return set()


_SAVING = {"and": ("and", False), "or": ("or", False), "xor": ("xor", False), "andn2": ("andn2", False),
           "andn1": ("andn2", True)}
"""The word in ``s_..._saveexec_b64``, to its operation and whether ``exec`` is the first operand."""


def masks(blocks: list[BasicBlock], accesses: list[Access]) -> Masks:
    """Find the facts about the masks of a kernel."""
    at_start: list[_Facts | None] = [None] * len(blocks)
    at_start[0] = _Facts({EXEC}, {frozenset((EXEC,))})
    pending = [0]
    while pending:
        number = pending.pop()
        before = at_start[number]
        assert before is not None
        facts = _Facts(before.within, before.covers)
        for index in range(blocks[number].start, blocks[number].end):
            _follow(accesses[index], facts)
        for after in blocks[number].successors:
            old = at_start[after]
            new = facts if old is None else old.meet(facts)
            if old is None or new != old:
                at_start[after] = _Facts(new.within, new.covers)
                pending.append(after)
    return _collected(blocks, accesses, at_start)


def _collected(blocks: list[BasicBlock], accesses: list[Access], at_start: list[_Facts | None]) -> Masks:
    full, changes, trusted = [False] * len(accesses), [Change.NONE] * len(accesses), True
    for block, before in zip(blocks, at_start, strict=True):
        facts = _Facts() if before is None else _Facts(before.within, before.covers)
        for index in range(block.start, block.end):
            trusted = trusted and (before is None or EXEC in facts.within)
            full[index] = frozenset((EXEC,)) in facts.covers
            changes[index] = _follow(accesses[index], facts)
            trusted = trusted and (before is None or EXEC in facts.within)
    return Masks(full if trusted else [False] * len(full), changes)


def _follow(access: Access, facts: _Facts) -> Change:
    """Apply an instruction to the facts; return what it does to ``exec``."""
    opcode, operands = access.row.opcode, access.statement.operands
    change = Change.ANY if set(EXEC) & set(access.defs) else Change.NONE
    word = opcode.removeprefix("s_").removesuffix("_b64")
    if word.endswith("_saveexec") and word.removesuffix("_saveexec") in _SAVING:
        return _follow_saving(word.removesuffix("_saveexec"), access, facts)
    if opcode == "s_mov_b64" or word in ("and", "or", "xor", "andn2") and opcode.startswith("s_"):
        result = access.operand(0)
        a, b = (_mask(access, place) for place in (1, len(operands) - 1))
        operation = "and" if word == "mov" else word
        if change is Change.ANY:
            change = _change(operation, a, b)
        facts.assign(result, operation, a, b)
        return change
    compares = opcode.startswith("v_cmp")
    inside = compares and EXEC in facts.within
    facts.forget(access.defs)
    if inside:
        facts.within.add(access.operand(0))
    if opcode.startswith("v_cmpx"):
        facts.within |= {EXEC} if inside else set()
        return Change.NARROWING
    return change


def _follow_saving(word: str, access: Access, facts: _Facts) -> Change:
    """Follow ``s_<word>_saveexec_b64 d, s``: d becomes ``exec``, and ``exec`` the result of the operation on both."""
    operation, swapped = _SAVING[word]
    saved, source = access.operand(0), _mask(access, 1)
    if not isinstance(source, str):
        facts.assign(_OTHER, "and", source, source)
        source = _OTHER
    facts.assign(saved, "and", EXEC, EXEC)
    a, b = (saved, source) if swapped else (source, saved)
    facts.assign(EXEC, operation, a, b)
    facts.forget(_OTHER)
    facts.forget(tuple(reg for reg in access.defs if reg not in (*EXEC, *saved)))
    return {"and": Change.NARROWING, "andn1": Change.NARROWING, "or": Change.WIDENING}.get(word, Change.ANY)


def _mask(access: Access, place: int) -> Pair | str:
    regs = access.operand(place)
    return regs if len(regs) == 2 else access.statement.operands[place]


def _change(operation: str, a: Pair | str, b: Pair | str) -> Change:
    if operation == "and" and EXEC in (a, b) or operation == "andn2" and a == EXEC:
        return Change.NARROWING
    return Change.WIDENING if operation == "or" and EXEC in (a, b) else Change.ANY

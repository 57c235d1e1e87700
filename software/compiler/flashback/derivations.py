"""Derivations of the values that are needed before an instruction: the walk backwards from it.

Before instruction ``c``, live values are *held*: an earlier resume in the block restored every register with a live
value, and need not have restored any other. A value is *obtainable* at resume

1. by ``LOAD``: it is held, or can be recovered before the save, and is then saved and loaded. To recover it, the
   routine reverts instructions between its overwriting and ``c``, the last first. Each needs its result and its other
   operands held or recovered;
2. by ``EXECUTE``: its instruction can be executed again (`blocks`) and its operands are obtainable,
3. by ``REVERT``: a reversible instruction overwrote it, whose result and other operands are obtainable.

The walk goes back from ``c`` and lets one instruction after the other take part. Each is a candidate for the flashback
point, the earliest instruction that is executed again. The set of obtainable values only grows. `Walk.missing` maps a
value that is not obtainable to the instructions that wait for it. When the value becomes obtainable, the walk examines
them again, and so on (the hash map of CTXBack III-E). Executing again is preferred to saving (III-B), so a value
changes at most once from ``LOAD`` to ``EXECUTE``. So the whole walk takes time linear in the number of instructions.

A value recovered at resume must not depend on itself. So when a ``REVERT`` is taken, all values that it depends on
become *fixed*: their derivations do not change any more. An instruction executed again depends on earlier values or,
through a revert, on fixed ones. So there is no cycle of dependences.
"""

from __future__ import annotations

import enum
import heapq
from typing import NamedTuple

from .blocks import ENTRY, Block, Value

__all__ = ["How", "Mode", "Walk"]


class How(enum.Enum):
    """The way in which a value is obtained (module)."""

    LOAD = "load"
    EXECUTE = "execute"
    REVERT = "revert"


class Mode(NamedTuple):
    """When instructions are reverted.

    Attributes
    ----------
    at_preemption, at_resume : bool
    """

    at_preemption: bool = False
    at_resume: bool = False


class Walk:
    """The walk back from instruction `at` (CTXBack III-B to III-E).

    Parameters
    ----------
    block : Block
    at : int
        Index of the interrupted instruction.
    mode : Mode
    sizes : list of int
        Bytes of each value.
    backups : tuple of Value
        Values that a backup holds as well (III-D).

    Attributes
    ----------
    how : dict of Value to How
        Obtainable values, and their derivations.
    needed : set of Value
        Values that have to be obtained.
    reverted : set of int
        Instructions reverted before the save.
    size : int
        Bytes that are saved.
    missing : dict of Value to list of int
        Actions that wait for a value: n executes instruction n again, ~n reverts it.
    """

    def __init__(self, block: Block, at: int, mode: Mode, sizes: list[int], backups: tuple[Value, ...] = ()):
        self._block, self._at, self._mode, self._sizes = block, at, mode, sizes
        held = block.live_values(at)
        self.how: dict[Value, How] = dict.fromkeys((*held, *backups), How.LOAD)
        self.needed: set[Value] = {*held, *backups}
        self.size = sum(sizes[value] for value in held) + sum(sizes[value] for value in backups)
        self.reverted: set[int] = set()
        self.missing: dict[Value, list[int]] = {}
        self._in_registers = set(held)
        self._held = frozenset(held)
        self._fixed: set[Value] = set(backups)
        self._pending: list[int] = []
        self._tried: set[int] = set()
        self._first = at
        self._coming: list[int] = []
        for value in self.how:
            self._expect(value)

    def _expect(self, value: Value) -> None:
        """Note that a value is wanted; instructions that make it may take part once the walk reaches them."""
        block, index = self._block, self._block.defined[value]
        if ENTRY < index < self._first and (
                self._at <= block.hazard[index]
                or self._mode.at_preemption and block.instructions[index].recovers is not None):
            heapq.heappush(self._coming, -index)

    def next(self, floor: int) -> int | None:
        """Return the next instruction, from `floor` on, that can take part; None if there is none."""
        coming = self._coming
        while coming and -coming[0] >= self._first:
            heapq.heappop(coming)
        return -coming[0] if coming and -coming[0] >= floor else None

    def step(self, index: int) -> bool:
        """Let instruction `index`, before those so far, take part, none between; return whether the save changes."""
        block, self._first = self._block, index
        size, count = self.size, len(self.needed)
        if self._mode.at_preemption and block.instructions[index].recovers is not None:
            self._recover(index)
        if self._at <= block.hazard[index]:
            for value in block.results[index]:
                if value in self.how or value in self.missing:
                    self._pending.append(index)
                    self._look()
                    break
        return self.size != size or len(self.needed) != count

    def _recover(self, index: int) -> None:
        """Note the value that is recovered by reverting an instruction before the save, if it can be reverted then."""
        block = self._block
        (result,), (old,) = block.results[index], block.replaced[index]
        here = self._in_registers
        if result in here and here.issuperset(block.others[index]):
            here.add(old)
            if old not in self.how:
                self._obtained(old, How.LOAD)
                self._look()

    def _sources(self, action: int) -> tuple[Value, ...]:
        """Return the operands of an action: number n executes instruction n again, ~n reverts it."""
        block = self._block
        return block.operands[action] if action >= 0 else (*block.results[~action], *block.others[~action])

    def _look(self) -> None:
        """Take the pending actions whose operands are obtainable, and the actions that waited for their values.

        Other actions go on waiting.
        """
        how, tried = self.how, self._tried
        while self._pending:
            action = self._pending.pop()
            if action in tried:
                continue
            tried.add(action)
            for value in self._sources(action):
                if value not in how:
                    if value not in self.missing:
                        self.missing[value] = []
                        self._expect(value)
                    self.missing[value].append(action)
                    self._pending += self._ways(value)
                    break
            else:
                self._take(action)

    def _ways(self, value: Value) -> list[int]:
        """Return the actions of instructions already passed that could obtain a newly wanted value."""
        block, found = self._block, []
        index, after = block.defined[value], block.overwritten[value]
        if index >= self._first and self._at <= block.hazard[index]:
            found.append(index)
        if self._mode.at_resume and after < self._at and block.instructions[after].recovers is not None:
            found.append(~after)
        return found

    def _take(self, action: int) -> None:
        how = self.how
        if action < 0:
            (value,) = self._block.replaced[~action]
            if value not in how:
                self._obtained(value, How.REVERT, action)
            return
        for value in self._block.results[action]:
            if value not in how:
                self._obtained(value, How.EXECUTE)
            elif how[value] is How.LOAD and value not in self._fixed:
                how[value] = How.EXECUTE
                if value in self.needed:
                    self.size -= self._sizes[value]
                    self._need(self._block.operands[action])

    def _obtained(self, value: Value, how: How, action: int = 0) -> None:
        """Note that a value is obtainable now, and examine the actions again that waited for it."""
        self.how[value] = how
        self._expect(value)
        if how is How.REVERT:
            self._fix((value, *self._sources(action)))
        waiting = self.missing.pop(value, ())
        self._tried.difference_update(waiting)
        self._pending += waiting

    def _fix(self, values: tuple[Value, ...]) -> None:
        pending = list(values)
        while pending:
            value = pending.pop()
            if value not in self._fixed:
                self._fixed.add(value)
                pending += self.sources_of(value)

    def sources_of(self, value: Value) -> tuple[Value, ...]:
        """Return the values that a value is obtained from; nothing if it is loaded."""
        how, block = self.how[value], self._block
        if how is How.LOAD:
            return ()
        return self._sources(block.defined[value] if how is How.EXECUTE else ~block.overwritten[value])

    def instruction_of(self, value: Value) -> int:
        """Return the instruction that is executed again or reverted to obtain a value that is not loaded."""
        return self._block.defined[value] if self.how[value] is How.EXECUTE else self._block.overwritten[value]

    def _need(self, values: tuple[Value, ...]) -> None:
        pending = list(values)
        while pending:
            value = pending.pop()
            if value in self.needed:
                continue
            self.needed.add(value)
            if self.how[value] is How.LOAD:
                self.size += self._sizes[value]
                self._revert_for(value)
            else:
                pending += self.sources_of(value)

    def _revert_for(self, value: Value) -> None:
        """Note the instructions to revert before the save, so that a value is in its register then."""
        block = self._block
        pending = [value]
        while pending:
            one = pending.pop()
            if one not in self._held and block.overwritten[one] not in self.reverted:
                index = block.overwritten[one]
                self.reverted.add(index)
                pending += (*block.results[index], *block.others[index])

    def saved(self) -> list[Value]:
        """Return the values that are saved, sorted."""
        return sorted(value for value in self.needed if self.how[value] is How.LOAD)

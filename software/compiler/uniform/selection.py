"""Chooses the warp-uniform values that are kept in uniform registers.

A value can be chosen if every operation that defines it can run on the uniform data path. Its operands must then be in
uniform registers: there is no way back from a vector register. Where a vector operation has no place for a uniform
register, a move is needed. An operation counts ``10 ** d`` inside d loops.

1. A value is chosen, with its operands, if that adds no operations.
2. Then values are chosen that are live where most registers are, those first that add the fewest operations. This goes
   on while it lowers the vector registers needed at once, and the added operations are within `BUDGET`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterable

from ..analysis.liveness import Liveness
from ..analysis.loops import loop_depth
from ..analysis.uniformity import Uniformity
from ..ir.kernel import Block, Kernel, Op, Reg
from ..ir.spec import is_constant
from .operations import is_scalar, misplaced, runs_uniform, swapped

__all__ = ["BUDGET", "choose"]

BUDGET = 0.02
"""Moves that may be added to save vector registers, for each operation executed."""
_DEEPEST = 4
"""Most loops that count in the weight of an operation."""
_LARGEST = 32
"""Most values that are chosen together."""
_SWEEPS = 4
"""Most rounds in which rule 1 examines the neighbours of a new choice."""
_ROUNDS = 40
"""Most registers that rule 2 saves."""
_OPTIONS = 12
"""Most values that rule 2 compares at a place."""


def choose(kernel: Kernel, facts: Uniformity, excluded: Collection[Reg] = ()) -> set[Reg]:
    """Return the registers of `kernel` (stage ``narrow``, immediates selected) that go to uniform registers.

    Parameters
    ----------
    kernel : Kernel
    facts : Uniformity
        Uniformity of the kernel.
    excluded : collection of Reg
        Registers that stay vector registers, and with them all values computed from them.
    """
    choice = _Choice(kernel, facts, excluded)
    choice.take_free()
    choice.save_registers()
    return choice.chosen


class _Choice:
    def __init__(self, kernel: Kernel, facts: Uniformity, excluded: Collection[Reg]):
        self.chosen: set[Reg] = set()
        self._kernel = kernel
        self._facts = facts
        self._known: dict[Op, int] = {}
        self._weight: dict[Op, int] = {}
        self._users: dict[Reg, list[Op]] = {}
        self._definitions: dict[Reg, list[Op]] = {}
        self._swapped = functools.cache(swapped)  # no operation changes meanwhile
        depth = loop_depth(kernel)
        for block in kernel.blocks:
            for op in block.ops:
                self._weight[op] = 10 ** min(depth[block.label], _DEEPEST)
                for reg in op.written():
                    self._definitions.setdefault(reg, []).append(op)
                for reg in _operands(op):
                    self._users.setdefault(reg, []).append(op)
        self._candidates = self._possible(excluded)

    def _possible(self, excluded: Collection[Reg]) -> dict[Reg, None]:
        """Return the registers that can be uniform registers, in the order of the code."""
        found = {reg: None for reg in self._definitions
                 if reg.kind == "r" and reg in self._facts.registers and reg not in excluded}
        pending = list(found)
        while pending:
            reg = pending.pop()
            if reg in found and not all(is_scalar(op, found, self._facts.registers) for op in self._definitions[reg]):
                del found[reg]
                pending += [d for op in self._users.get(reg, ()) for d in op.written() if d in found]
        return found

    # Rule 1

    def take_free(self) -> None:
        """Choose values that add no operations."""
        pending = dict.fromkeys(self._candidates)
        for _ in range(_SWEEPS):
            changed: set[Reg] = set()
            for reg in reversed(pending):
                group = self._with_sources(reg)
                if group and self._added(group) <= 0:
                    self._choose(group)
                    changed |= group
            pending = {reg: None for reg in self._candidates if reg not in self.chosen and self._beside(reg, changed)}

    def _beside(self, reg: Reg, others: Collection[Reg]) -> bool:
        """Return whether an operation that reads or writes `reg` reads or writes one of `others`."""
        return any(x in others for op in (*self._users.get(reg, ()), *self._definitions[reg])
                   for x in (*op.defs, *op.uses))

    def _with_sources(self, reg: Reg) -> set[Reg]:
        """Return `reg` and all unchosen values it is computed from; nothing if they are too many."""
        found: set[Reg] = set()
        pending = [reg]
        while pending and len(found) < _LARGEST:
            reg = pending.pop()
            if reg not in found and reg not in self.chosen:
                found.add(reg)
                pending += [use for op in self._definitions[reg] for use in _operands(op)]
        return set() if pending else found

    def _added(self, group: set[Reg]) -> int:
        """Return the operations executed in addition if `group` is chosen too; negative if they become fewer."""
        new = group - self.chosen
        self.chosen |= new
        added = sum(self._weight[op] * (self._cost(op) - self._known.get(op, 0)) for op in self._touched(new))
        added -= sum(map(self._saved, new))
        self.chosen -= new
        return added

    def _touched(self, registers: Collection[Reg]) -> set[Op]:
        return {op for reg in registers for op in (*self._users.get(reg, ()), *self._definitions[reg])}

    def _choose(self, group: set[Reg]) -> None:
        self.chosen |= group
        self._known.update((op, self._cost(op)) for op in self._touched(group))

    def _cost(self, op: Op) -> int:
        """Return the operations that are needed besides `op` itself."""
        if runs_uniform(op, self.chosen, self._facts.registers):
            return op.name == "sel" and op.dest not in op.uses
        return len(misplaced(op, self.chosen, self._swapped)[1])

    def _needs_move(self, reg: Reg, op: Op) -> bool:
        """Return whether `op` needs a move from `reg`, if that is chosen too."""
        if reg not in op.uses:
            return False
        new = reg not in self.chosen
        self.chosen.add(reg)
        needs = not runs_uniform(op, self.chosen, self._facts.registers) \
            and reg in misplaced(op, self.chosen, self._swapped)[1]
        if new:
            self.chosen.discard(reg)
        return needs

    def _saved(self, reg: Reg) -> int:
        """Return the gain if the only definition of `reg` has no operands.

        It can leave its loops, or be repeated where a move would be needed.
        """
        definition, *others = self._definitions[reg]
        if others or not is_constant(definition):
            return 0
        everywhere = all(self._needs_move(reg, op) for op in self._users.get(reg, ()))
        return self._weight[definition] - (not everywhere)

    # Rule 2

    def save_registers(self) -> None:
        """Choose values that lower the number of registers needed at once."""
        if self.chosen.issuperset(self._candidates):
            return
        limit = BUDGET * sum(self._weight.values())
        pressure = _Pressure(self._kernel, self._facts.live, self._candidates)
        pressure.remove(self.chosen, self._needs_move)
        for _ in range(_ROUNDS):
            groups: set[Reg] = set()
            for crowd in pressure.crowds(self._needs_move):
                if crowd.isdisjoint(groups):
                    few = sorted(crowd, key=lambda reg: (len(self._users.get(reg, ())), reg))[:_OPTIONS]
                    options = [(self._added(group), min(group), group) for reg in few
                               if (group := self._with_sources(reg))]
                    if not options:
                        return
                    groups |= min(options)[2]
            added = self._added(groups)
            if added > limit:
                return
            limit -= added
            self._choose(groups)
            pressure.remove(groups, self._needs_move)


class _Pressure:
    """The number of vector registers live before each operation, and the candidates among them."""

    def __init__(self, kernel: Kernel, live: Liveness, candidates: Collection[Reg]):
        self._ops: list[Op] = []
        self._count: list[int] = []
        self._live: list[set[Reg]] = []
        self._spans: dict[Reg, list[range]] = {reg: [] for reg in candidates}
        self._reads: dict[Reg, list[int]] = {reg: [] for reg in candidates}
        self._removed: set[Reg] = set()
        for block in kernel.blocks:
            self._walk(block, {reg for reg in live.live_out[block.label] if reg.kind == "r"})
        self._fewer = [0] * (len(self._ops) + 1)  # by how much a place is relieved of more than the one before

    def _walk(self, block: Block, live: set[Reg]) -> None:
        """Process a block from its end, where `live` are live."""
        spans = self._spans
        inside = live & spans.keys()
        begun = dict.fromkeys(inside, len(self._ops))
        for op in reversed(block.ops):
            place = len(self._ops)
            read = [reg for reg in op.read() if reg.kind == "r"]
            gone = op.killed()
            live.difference_update(gone)
            live.update(read)
            inside.difference_update(gone)
            wanted = [reg for reg in read if reg in spans]
            inside.update(wanted)
            for reg in gone:
                if reg in begun and reg not in inside:
                    spans[reg].append(range(begun.pop(reg), place))
            for reg in wanted:
                begun.setdefault(reg, place)
                self._reads[reg].append(place)
            self._ops.append(op)
            self._count.append(len(live))
            self._live.append(inside.copy())
        for reg, start in begun.items():
            spans[reg].append(range(start, len(self._ops)))

    def remove(self, registers: Iterable[Reg], needs_move: Callable[[Reg, Op], bool]) -> None:
        """Remove registers, except where an operation needs a move from them."""
        for reg in registers:
            self._removed.add(reg)
            for span in self._spans[reg]:
                self._relieve(span, 1)
            for place in set(self._reads[reg]):
                if needs_move(reg, self._ops[place]):
                    self._relieve(range(place, place + 1), -1)

    def _relieve(self, places: range, count: int) -> None:
        self._fewer[places.start] += count
        self._fewer[places.stop] -= count

    def crowds(self, needs_move: Callable[[Reg, Op], bool]) -> list[set[Reg]]:
        """Return, for each place with the most live registers, the candidates whose removal makes them fewer."""
        left = [count - fewer for count, fewer in zip(self._count, itertools.accumulate(self._fewer), strict=False)]
        most = max(left, default=0)
        places = (place for place, count in enumerate(left) if count == most)
        return [{reg for reg in self._live[place] - self._removed if not needs_move(reg, self._ops[place])}
                for place in places]


def _operands(op: Op) -> dict[Reg, None]:
    """Return the registers that an operation reads, each once, in their order."""
    return {use: None for use in op.uses if isinstance(use, Reg)}

"""The definitions and uses of registers, and conclusions about their values elsewhere.

The IR is not SSA, so two places see the same value of a register only if a rule says so. If an operation sees a value
of ``a``, a later one sees the same value

1. in the same block, if no operation between them, nor the first itself, writes ``a``; or
2. anywhere that the first operation dominates, if ``a`` has one definition, without guard, which dominates the first
operation. (Suppose that a path from the first operation to the second executed the definition again. That path would
avoid the first operation, as the path from the entry to the definition does. Then the first operation would not
dominate the second.)

Neither case covers a register whose definition does not dominate the operation, as one of a loop that is read before it
is written.
"""

from __future__ import annotations

import functools
import itertools
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from ..ir.cfg import graph as flow_graph
from ..ir.cfg import kept, memoized
from ..ir.digraph import DiGraph
from ..ir.kernel import Kernel, Op, Reg
from .dominance import dominators_of

__all__ = ["Place", "DominatorTree", "Definitions", "definitions_of"]


class Place(NamedTuple):
    """The place of an operation: its block and its index there; a terminator's index is the number of operations."""

    label: str
    index: int


_place = functools.partial(tuple.__new__, Place)
"""A `Place` from a pair, for whole blocks at once."""


class DominatorTree:
    """The dominator tree of a control-flow graph, whose first node is the entry, with dominance in constant time.

    Attributes
    ----------
    children : dict of str to list of str
        Blocks that a block dominates immediately, in layout order.
    """

    def __init__(self, graph: DiGraph):
        parents = dominators_of(graph)
        entry = next(iter(graph))
        self.children: dict[str, list[str]] = {label: [] for label in parents}
        for label in graph:
            if label in parents and label != entry:
                self.children[parents[label]].append(label)
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        pending = [(entry, False)]
        while pending:
            label, left = pending.pop()
            if left:
                self._last[label] = len(self._first)
            else:
                self._first[label] = len(self._first)
                pending.append((label, True))
                pending += ((child, False) for child in reversed(self.children[label]))

    def dominates(self, a: str, b: str) -> bool:
        """Return whether block `a` is on every path from the entry to block `b`; a block dominates itself."""
        first = self._first.get(b, -1)
        return a in self._first and self._first[a] <= first < self._last[a]


@memoized
def _tree(graph: DiGraph) -> DominatorTree:
    return DominatorTree(graph)


class Definitions:
    """Definitions and uses of every register of a kernel; invalid once operations are added, moved or removed.

    Attributes
    ----------
    tree : DominatorTree
    reads : dict of str to list of tuple of Reg
        Registers that each operation of a block reads.
    only : dict of Reg to (Op or None)
        The single definition of a register, if it has one without guard; else None. Registers never written are
        missing.
    """

    def __init__(self, kernel: Kernel):
        self.tree = _tree(flow_graph(kernel))
        self._ops = {block.label: block.ops[:] for block in kernel.blocks}
        self.reads = {block.label: [op.read() for op in block.ops] for block in kernel.blocks}
        only: dict[Reg, Op | None] = {}
        self.only = only
        self._written: dict[str, dict[Reg, list[int]]] = {}
        self._conditions: set[Reg] = set()
        for block in kernel.blocks:
            for op in block.ops:
                for reg in op.written():
                    only[reg] = op if reg not in only and op.guard is None else None
            if block.end.condition is not None and block.end.condition.reg is not None:
                self._conditions.add(block.end.condition.reg)

    @functools.cached_property
    def places(self) -> dict[Op, Place]:
        """The place of each operation."""
        found: dict[Op, Place] = {}
        for label, ops in self._ops.items():
            found.update(zip(ops, map(_place, zip(itertools.repeat(label), range(len(ops)))), strict=True))
        return found

    @functools.cached_property
    def _readers(self) -> dict[Reg, list[Op]]:
        found: dict[Reg, list[Op]] = {}
        for label, ops in self._ops.items():
            for op, read in zip(ops, self.reads[label], strict=True):
                for reg in read:
                    if reg not in found:
                        found[reg] = [op]
                    elif found[reg][-1] is not op:
                        found[reg].append(op)
        return found

    def _indices(self, label: str, reg: Reg) -> Sequence[int]:
        """Return the indices at which a block writes a register that has several definitions, or one under a guard."""
        written = self._written.get(label)
        if written is None:
            written = self._written[label] = {}
            for index, op in enumerate(self._ops[label]):
                for other in op.written():
                    if self.only[other] is None:
                        written.setdefault(other, []).append(index)
        return written.get(reg, ())

    def single(self, reg: Reg) -> Op | None:
        """Return the single definition of a register, if it has one without guard; else None."""
        return self.only.get(reg)

    def readers(self, reg: Reg) -> list[Op]:
        """Return the operations that read `reg`, in layout order; a terminator is not among them."""
        return self._readers.get(reg, [])

    def is_condition(self, reg: Reg) -> bool:
        """Return whether a terminator reads `reg`."""
        return reg in self._conditions

    def before(self, op: Op, place: Place) -> bool:
        """Return whether every path from the entry to `place` executes `op` first."""
        at = self.places[op]
        if at.label == place.label:
            return at.index < place.index
        return self.tree.dominates(at.label, place.label)

    def reaching(self, reg: Reg, place: Place) -> Op | None:
        """Return the definition without guard that wrote the value of `reg` at `place`; None if it is not known.

        It is the last one in the same block, or the only one, if it dominates.
        """
        op = self.only.get(reg)
        if op is not None:
            return op if self.before(op, place) else None
        indices = self._indices(place.label, reg)
        before = bisect_left(indices, place.index)
        if not before:
            return None
        op = self._ops[place.label][indices[before - 1]]
        return op if op.guard is None else None

    def unchanged(self, reg: Reg, since: Op, place: Place) -> bool:
        """Return whether `reg` has the same value at `place` as when `since`, which dominates it, was last executed."""
        at = self.places[since]
        op = self.only.get(reg)
        if at.label != place.label or at.index >= place.index:
            return op is not None and self.before(op, at)
        if op is not None:
            made = self.places[op]
            return made.label != at.label or not at.index <= made.index < place.index
        indices = self._indices(place.label, reg)
        return bisect_left(indices, at.index) == bisect_left(indices, place.index)


@kept
def definitions_of(kernel: Kernel) -> Definitions:
    """Return the definitions of a kernel; they are computed once, until the kernel changes."""
    return Definitions(kernel)

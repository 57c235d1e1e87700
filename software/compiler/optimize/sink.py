"""Sinking: cheap values are computed late, so that they are not live, and saved, before.

A parameter load, special register or constant that is defined once moves down, to the last place that dominates all its
uses. It never moves into another loop.
"""

from __future__ import annotations

from ..analysis.dominance import immediate_dominators
from ..analysis.loops import loops_of
from ..ir.kernel import Kernel, Op, Reg
from ..ir.spec import is_constant

__all__ = ["sink"]


def sink(kernel: Kernel) -> None:
    """Move such operations of `kernel` (stage ``narrow``)."""
    sinking = _defined_once(kernel)
    if not sinking:
        return
    uses: dict[Reg, set[str]] = {}
    for block in kernel.blocks:
        for op in block.ops:
            if not sinking.isdisjoint(op.read()):
                for reg in op.read():
                    uses.setdefault(reg, set()).add(block.label)
        if block.end.condition is not None and block.end.condition.reg is not None:
            uses.setdefault(block.end.condition.reg, set()).add(block.label)
    above = _Above(immediate_dominators(kernel), kernel.blocks[0].label)
    loops = loops_of(kernel)
    moved: dict[str, list[Op]] = {}
    for block in kernel.blocks:
        for op in reversed(block.ops):
            if not sinking.isdisjoint(op.defs) and op.dest in uses:
                label = above.common(sorted(uses[op.dest]))
                while not loops[label] <= loops[block.label]:
                    label = above.dominators[label]
                if above.common([block.label, label]) == block.label:
                    moved.setdefault(label, []).append(op)
    gone = {op for ops in moved.values() for op in ops}
    for block in kernel.blocks:
        if not gone.isdisjoint(block.ops):
            block.ops = [op for op in block.ops if op not in gone]
        if block.label in moved:
            block.ops = _with_moved(block.ops, moved[block.label])


def _defined_once(kernel: Kernel) -> set[Reg]:
    """Return the registers whose only definition is a constant."""
    found = {op.dest for op in kernel.ops() if is_constant(op)}
    seen: set[Reg] = set()
    for op in kernel.ops():
        if not found.isdisjoint(op.defs):
            found -= seen.intersection(op.defs)
            seen.update(op.written())
    return found


class _Above:
    """The dominance of blocks."""

    def __init__(self, dominators: dict[str, str], entry: str):
        self.dominators = dominators
        self._depth = {entry: 0}
        for label in dominators:
            path = []
            while label not in self._depth:
                path.append(label)
                label = dominators[label]
            for below, step in enumerate(reversed(path), self._depth[label] + 1):
                self._depth[step] = below

    def common(self, labels: list[str]) -> str:
        """Return the last block that dominates all of `labels`."""
        found = labels[0]
        for label in labels[1:]:
            while label != found:
                if self._depth[label] > self._depth[found]:
                    label = self.dominators[label]
                else:
                    found = self.dominators[found]
        return found


def _with_moved(ops: list[Op], moved: list[Op]) -> list[Op]:
    """Return `ops` with each moved operation before the first use of its result, or at the end."""
    waiting = {op.dest: (k, op) for k, op in enumerate(moved)}
    result: list[Op] = []
    for op in ops:
        wanted = {reg for reg in op.read() if reg in waiting}
        result += [other for _, other in sorted((waiting.pop(reg) for reg in wanted), key=lambda x: x[0])]
        result.append(op)
    return result + [op for _, op in waiting.values()]

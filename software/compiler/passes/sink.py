"""Sinking: what costs nothing to compute late is computed late, so that it is not live, and saved, before.

A parameter load, a special register or a constant that is defined once moves down to the last place that dominates all
its uses, never into a loop that it is not in.
"""

from __future__ import annotations

from caesura.hw.arch.isa import Special

from ..analysis.dominance import immediate_dominators
from ..analysis.loops import loops_of
from ..ir.cfg import by_label
from ..ir.kernel import Block, Imm, Kernel, Op, Reg

__all__ = ["sink"]

_VOLATILE = (Special.CLOCK, Special.SMID)


def sink(kernel: Kernel) -> None:
    """Move such operations of `kernel` (stage ``narrow``)."""
    blocks = by_label(kernel)
    definitions: dict[Reg, int] = {}
    uses: dict[Reg, set[str]] = {}
    for block in kernel.blocks:
        for op in block.ops:
            for reg in op.written():
                definitions[reg] = definitions.get(reg, 0) + 1
            for reg in op.read():
                uses.setdefault(reg, set()).add(block.label)
        if block.end.condition is not None and block.end.condition.reg is not None:
            uses.setdefault(block.end.condition.reg, set()).add(block.label)
    dominators = immediate_dominators(kernel)
    loops = loops_of(kernel)
    for block in kernel.blocks:
        for op in reversed(block.ops[:]):
            if _movable(op) and definitions[op.dest] == 1 and op.dest in uses:
                label = _common(uses[op.dest], dominators)
                while not loops[label] <= loops[block.label]:
                    label = dominators[label]
                if _dominates(dominators, block.label, label):
                    block.ops.remove(op)
                    _insert(blocks[label], op)


def _movable(op: Op) -> bool:
    if op.guard is not None or len(op.defs) != 1:
        return False
    if op.name == "mov":
        return isinstance(op.uses[0], Imm)
    return op.name == "ldp" or (op.name == "s2r" and op.imm not in _VOLATILE)


def _chain(label: str, dominators: dict[str, str]) -> list[str]:
    chain = [label]
    while dominators[chain[-1]] != chain[-1]:
        chain.append(dominators[chain[-1]])
    return chain[::-1]


def _common(labels: set[str], dominators: dict[str, str]) -> str:
    """Return the last block that dominates all of `labels`."""
    chains = [_chain(label, dominators) for label in labels]
    common = chains[0][0]
    for level in zip(*chains, strict=False):
        if len(set(level)) > 1:
            break
        common = level[0]
    return common


def _dominates(dominators: dict[str, str], a: str, b: str) -> bool:
    return a in _chain(b, dominators)


def _insert(block: Block, op: Op) -> None:
    """Put `op` before the first use of its result in `block`, or at its end."""
    for k, other in enumerate(block.ops):
        if op.dest in other.read():
            block.ops.insert(k, op)
            return
    block.ops.append(op)

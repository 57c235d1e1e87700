"""Atomics with an unused result become reductions, which write no register."""

from __future__ import annotations

from caesura.hw.arch.isa.opcodes import BY_NAME

from ..analysis.liveness import liveness
from ..ir.kernel import Kernel
from ..ir.spec import is_atomic

__all__ = ["drop_atomic_results"]


def drop_atomic_results(kernel: Kernel) -> bool:
    """Rewrite `kernel` (stage ``narrow``); return whether anything changed."""
    if not any(map(is_atomic, kernel.ops())):
        return False
    result, changed = liveness(kernel), False
    for block in kernel.blocks:
        for _, op, live in result.backward(block):
            name = "red." + op.name.removeprefix("atom.")
            if op.name.startswith("atom.") and name in BY_NAME and not any(reg in live for reg in op.written()):
                op.name, op.defs, changed = name, (), True
    return changed

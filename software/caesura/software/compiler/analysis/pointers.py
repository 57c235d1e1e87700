"""Which parameters are pointers: those whose 64-bit value reaches an address by moves and additions only."""

from __future__ import annotations

import dataclasses

from caesura.hw.arch.isa import BY_NAME
from caesura.hw.arch.operations import Space

from ..ir.kernel import Kernel, Op, Reg
from ..ir.spec import is_memory

__all__ = ["mark_pointers"]

_CARRIES = {"mov", "mov.64", "add.64", "sub.64", "sel.64", "iadd", "lo.64"}


def mark_pointers(kernel: Kernel) -> None:
    """Set `Parameter.pointer` in `kernel` (stage ``wide``)."""
    definitions: dict[Reg, list[Op]] = {}
    pending: list[Reg] = []
    for op in kernel.ops():
        for reg in op.written():
            definitions.setdefault(reg, []).append(op)
        if is_memory(op) and BY_NAME[op.name].space is Space.GLOBAL and isinstance(op.uses[0], Reg):
            pending.append(op.uses[0])
    seen: set[Reg] = set()
    offsets: set[int] = set()
    while pending:
        reg = pending.pop()
        if reg in seen:
            continue
        seen.add(reg)
        for op in definitions.get(reg, ()):
            if op.name == "pack.64":  # the two words of a 64-bit parameter
                words = [d for half in op.uses if isinstance(half, Reg) for d in definitions.get(half, ())]
                if len(words) == 2 and all(d.name == "ldp" for d in words) and words[1].imm == words[0].imm + 4:
                    offsets.add(words[0].imm)
            elif op.name in _CARRIES:
                pending += [use for use in op.uses if isinstance(use, Reg)]
    kernel.parameters = tuple(
        dataclasses.replace(p, pointer=p.type in ("u64", "s64", "b64") and p.offset in offsets)
        for p in kernel.parameters)

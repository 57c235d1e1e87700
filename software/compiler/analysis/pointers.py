"""Finds the parameters that are pointers or texture objects: moves and additions carry their 64-bit value there."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from caesura.hw.arch.isa.opcodes import BY_NAME
from caesura.hw.arch.isa.operations import Space

from ..ir.kernel import Kernel, Op, Reg, Use
from ..ir.spec import is_memory

__all__ = ["mark_pointers", "mark_textures"]

_CARRIES = {"mov", "mov.64", "add.64", "sub.64", "sel.64", "iadd", "lo.64"}
_TYPES = ("u64", "s64", "b64")


def mark_pointers(kernel: Kernel) -> None:
    """Set `Parameter.pointer` in `kernel` (stage ``wide``)."""
    offsets = _sources(kernel, (op.uses[0] for op in kernel.ops()
                                if is_memory(op) and BY_NAME[op.name].space is Space.GLOBAL))
    kernel.parameters = tuple(
        dataclasses.replace(p, pointer=p.type in _TYPES and p.offset in offsets) for p in kernel.parameters)


def mark_textures(kernel: Kernel, handles: Iterable[Reg]) -> None:
    """Set `Parameter.texture` in `kernel` (stage ``wide``), given the registers with texture objects."""
    offsets = _sources(kernel, handles)
    kernel.parameters = tuple(
        dataclasses.replace(p, texture=p.type in _TYPES and p.offset in offsets) for p in kernel.parameters)


def _sources(kernel: Kernel, uses: Iterable[Use]) -> set[int]:
    """Return offsets in the parameter space of 64-bit values that reach one of some registers."""
    definitions: dict[Reg, list[Op]] = {}
    for op in kernel.ops():
        for reg in op.written():
            definitions.setdefault(reg, []).append(op)
    pending = [use for use in uses if isinstance(use, Reg)]
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
    return offsets

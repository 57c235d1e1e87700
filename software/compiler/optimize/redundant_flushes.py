"""Removal of ``fftz`` where no subnormal can occur: code compiled with ``.ftz`` throughout flushes each value once.

A register never holds a subnormal if each of its definitions is one of

1. ``fftz``, a conversion from an integer, a rounding to an integral value, or a constant that is not subnormal; or
2. a move, selection, minimum, maximum, change of sign or saturation of registers and constants that never do.
"""

from __future__ import annotations

from ..ir.kernel import Imm, Kernel, Op, Reg, Use

__all__ = ["drop_flushes"]

_NORMAL = ("i2f.", "frnd.")
_CHOICES = {"mov", "sel", "fmin", "fmax", "fneg", "fabs", "fsat"}


def drop_flushes(kernel: Kernel) -> bool:
    """Turn such operations of `kernel` (stage ``narrow``) into moves; return whether there were any."""
    flushes = [op for op in kernel.ops() if op.name == "fftz"]
    if not flushes:
        return False
    definitions: dict[Reg, list[Op]] = {}
    for op in kernel.ops():
        for reg in op.written():
            definitions.setdefault(reg, []).append(op)
    normal = {reg for reg in definitions if reg.kind == "r"}
    pending = True
    while pending:
        pending = {reg for reg in normal if not all(_never_subnormal(op, normal) for op in definitions[reg])}
        normal -= pending
    changed = False
    for op in flushes:
        if _is_normal(op.uses[0], normal):
            op.name, changed = "mov", True
    return changed


def _is_normal(use: Use, normal: set[Reg]) -> bool:
    if isinstance(use, Imm):
        return use.value & 0x7F80_0000 != 0 or use.value & 0x7FFF_FFFF == 0
    return use in normal


def _never_subnormal(op: Op, normal: set[Reg]) -> bool:
    if op.name == "fftz" or op.name.startswith(_NORMAL):
        return True
    sources = op.uses[:2] if op.name == "sel" else op.uses
    return op.name in _CHOICES and all(_is_normal(use, normal) for use in sources)

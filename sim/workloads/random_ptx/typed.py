"""Puts registers of type f32 wherever an instruction takes or makes an f32, as compilers do.

PTX lets an instruction on f32 use untyped registers (``.b32``). Some assemblers give such a register the type of its
use, and convert the number where another instruction takes a part of it. In a case that was seen, a stored byte was
that of the number rounded to an integer.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["through_floats"]

_OPERAND = re.compile(r"%r\d+")
_ADDRESS = re.compile(r"\[[^\]]*\]")


def through_floats(text: str, fresh: Callable[[str], str], guarded: bool) -> tuple[list[str], str, list[str]]:
    """Return an instruction with f32 registers in place of 32-bit ones, and the moves to them before and back after it.

    Parameters
    ----------
    text : str
        An instruction without its guard.
    fresh : callable
        Returns a fresh register of a kind, such as ``%f``.
    guarded : bool
        The instruction has a guard. Where the guard does not hold, the result is unchanged.
    """
    opcode, _, operands = text.partition(" ")
    parts = opcode.split(".")
    if "f32" not in parts:
        return [], text, []
    head, _, rest = operands.partition("}" if operands.lstrip().startswith("{") else ",")
    cut = len(operands) - len(rest)
    makes = parts[0] not in ("st", "setp") and (parts[0] != "cvt" or parts[-2] == "f32")
    takes = parts[0] != "ld" and (parts[0] != "cvt" or parts[-1] == "f32")
    before, after, written = [], [], []
    addresses = [match.span() for match in _ADDRESS.finditer(operands)]
    last = 0
    for match in _OPERAND.finditer(operands):
        start, end = match.span()
        result = start < cut and parts[0] not in ("st", "setp")
        if any(low <= start < high for low, high in addresses) or not (makes if result else takes):
            continue
        register = fresh("%f")
        if not result or guarded:
            before.append(f"mov.b32 \t{register}, {match[0]}")
        if result:
            after.append(f"mov.b32 \t{match[0]}, {register}")
        written += [operands[last:start], register]
        last = end
    return before, f"{opcode} {''.join(written)}{operands[last:]}", after

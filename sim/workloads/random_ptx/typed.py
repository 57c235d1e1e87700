"""Registers of type f32 wherever an instruction takes or makes one, as compilers write it.

PTX lets an instruction on f32 use untyped registers (``.b32``). An assembler that gives such a register the type of its
use converts the number where another instruction takes part of it (seen: a byte stored of it is that of the number
rounded to an integer).
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["through_floats"]

_OPERAND = re.compile(r"%r\d+")
_ADDRESS = re.compile(r"\[[^\]]*\]")


def through_floats(text: str, fresh: Callable[[str], str], guarded: bool) -> tuple[list[str], str, list[str]]:
    """Return an instruction with f32 registers in the place of 32-bit ones, what moves values to them before, and what
    moves results back after.

    Parameters
    ----------
    text : str
        An instruction without its guard.
    fresh : callable
        Returns a register that was not used yet, of a kind: ``%f``.
    guarded : bool
        It has a guard: where that does not hold, the result is what it was.
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

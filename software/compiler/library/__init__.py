"""Arithmetic without a single machine instruction: routines in PTX, one per file, named as the file."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple

from ..ptx.parser import parse
from ..ptx.syntax import Function, opcode_parts

__all__ = ["Routine", "ROUTINES", "routine", "routine_of"]


class Routine(NamedTuple):
    """The routine that computes an instruction.

    Attributes
    ----------
    name : str
        Function of the library.
    result : int
        Index of the result among those of the function.
    flush : bool
        Whether subnormal f32 sources and results become zero.
    """

    name: str
    result: int = 0
    flush: bool = False


ROUTINES: dict[str, Routine] = {
    **{f"{op}.{'ftz.' if flush else ''}f32": Routine(f"{op.replace('.', '_')}_f32", 0, flush)
       for op in ("div.rn", "div.full", "rcp.rn", "sqrt.rn") for flush in (False, True)},
    **{f"{op}.f64": Routine(f"{op.replace('.', '_')}_f64") for op in ("div.rn", "rcp.rn", "sqrt.rn", "rsqrt.approx")},
    **{f"{op}.{type}": Routine(f"divide_{type}", k)
       for k, op in enumerate(("div", "rem")) for type in ("s16", "u16", "s32", "u32", "s64", "u64")},
}
"""PTX opcode to routine."""


@functools.lru_cache(4096)
def routine_of(opcode: str) -> Routine | None:
    """Return the routine of an opcode, its modifiers in any order; None if no routine computes it."""
    base, *modifiers = opcode_parts(opcode)
    if base not in _BASES:
        return None
    options = sorted(modifiers[:-1], key=lambda m: m == "ftz")
    return ROUTINES.get(".".join((base, *options, *modifiers[-1:])))


_BASES = {opcode.split(".")[0] for opcode in ROUTINES}


@functools.cache
def routine(name: str) -> Function | None:
    """Return a function of the library; None if it has none of that name."""
    path = Path(__file__).with_name(f"{name}.ptx")
    if not path.is_file():
        return None
    return parse(path.read_text(), path.name).functions[0]

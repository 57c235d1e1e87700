"""Payload layouts of instruction words: bits 53..0, below the opcode."""

from __future__ import annotations

import enum

from ..geometry import PC_BITS
from .liveness import LIVE_BITS

__all__ = ["FIELDS", "Format"]


class Format(enum.Enum):
    """Payload layout; the fields are in `FIELDS`."""

    R = "register"
    I = "immediate"  # noqa: E741 - the field's usual name
    M = "memory"
    A = "atomic"
    B = "branch"
    G = "guard only"
    C = "call"
    L = "liveness"


_GUARD = {"guard": (50, 3), "guard_not": (53, 1)}

FIELDS: dict[Format, dict[str, tuple[int, int]]] = {
    Format.R: _GUARD | {"d": (44, 6), "a": (38, 6), "b": (32, 6), "c": (26, 6),
                        "pa": (22, 3), "pa_not": (25, 1), "pb": (18, 3),
                        "pb_not": (21, 1), "pd": (15, 3), "b_uniform": (14, 1)},
    Format.I: _GUARD | {"d": (44, 6), "pd": (44, 3), "a": (38, 6),
                        "pa": (34, 3), "pa_not": (37, 1), "imm": (0, 32)},
    Format.M: _GUARD | {"d": (44, 6), "a": (38, 6), "base_uniform": (33, 1),
                        "no_base": (32, 1), "imm": (0, 32)},
    Format.A: _GUARD | {"d": (44, 6), "a": (38, 6), "b": (32, 6),
                        "c": (26, 6), "base_uniform": (25, 1),
                        "no_base": (24, 1), "imm": (0, 24)},
    Format.B: _GUARD | {"target": (PC_BITS, PC_BITS), "reconv": (0, PC_BITS)},
    Format.G: dict(_GUARD), Format.C: {"d": (44, 6), "a": (38, 6), "target": (0, PC_BITS)},
    Format.L: {"live": (0, LIVE_BITS)},
}
"""Field name to (lowest payload bit, width) for each format.

`b_uniform`: operand b is uniform register b. `base_uniform`: the address is U[a] + imm (`no_base`
must be 0). The 24-bit `imm` of an atomic is signed.
"""

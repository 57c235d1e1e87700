"""Decoded controls of the f64 pipeline: what an operation means to it."""

from __future__ import annotations

from typing import Any

from amaranth.lib import data, enum

from ....arch.isa.opcodes import F64Op
from ..floating.controls import COMPARISON_ROWS

__all__ = ["Addend", "Place", "CONTROL", "ROWS"]


class Addend(enum.Enum, shape=3):
    """Third operand of the multiply-add."""

    ZERO = 0
    """Zero with the sign of the product, which it then leaves unchanged."""
    B = 1
    MINUS_B = 2
    C = 3
    CHOSEN = 4
    """The smaller or the greater of a and b."""
    INTEGER = 5
    """The magnitude of integer b."""


class Place(enum.Enum, shape=2):
    """Exponent that the number is moved against, of a conversion."""

    LOWEST = 0
    """Exponent of the smallest binary64 number: nothing moves."""
    LOWEST_SINGLE = 1
    """Exponent of the smallest normal binary32 number."""
    INTEGER = 2
    """The integer part then stands in the 64 highest bits of the window."""


CONTROL = data.StructLayout({
    "enable": 1, "multiply": 1, "convert": 1, "addend": Addend,
    "place": Place, "from_single": 1, "to_single": 1,
    "to_integer": 1, "to_integral": 1, "signed": 1,
    "word": 1, "nearest": 1, "up": 1, "down": 1, "maximum": 1,
    "on_less": 1, "on_equal": 1, "on_greater": 1, "on_unordered": 1,
})
"""Controls of an operation, which move on with it.

`multiply`: x * y is a * b, not a * 1. `convert`: it is 0. `from_single`: operand b is binary32.
`to_single`, `to_integer`, `to_integral`: the result is binary32, an integer, a number of integral
value. `signed`, `word`: the integer is signed, has 32 bits. The direction of rounding; the
relations of a and b for which the predicate is true.
"""

_MODES: dict[str, dict[str, Any]] = {"RN": {"nearest": 1}, "RZ": {},
                                     "RM": {"down": 1}, "RP": {"up": 1}}
_TO_INTEGER = {"convert": 1, "addend": Addend.B, "place": Place.INTEGER, "to_integer": 1}
_FROM_INTEGER = {"convert": 1, "addend": Addend.INTEGER, "place": Place.INTEGER}
_CHOICE = {"convert": 1, "addend": Addend.CHOSEN}
_ROUNDED: dict[str, dict[str, Any]] = {
    "DADD": {"addend": Addend.B},
    "DSUB": {"addend": Addend.MINUS_B},
    "DMUL": {"multiply": 1, "addend": Addend.ZERO},
    "DFMA": {"multiply": 1, "addend": Addend.C},
    "DRND": {"convert": 1, "addend": Addend.B, "place": Place.INTEGER, "to_integral": 1},
    "D2F": {"convert": 1, "addend": Addend.B, "place": Place.LOWEST_SINGLE, "to_single": 1},
    "D2I_S": _TO_INTEGER | {"signed": 1, "word": 1},
    "D2I_U": _TO_INTEGER | {"word": 1},
    "D2L_S": _TO_INTEGER | {"signed": 1},
    "D2L_U": _TO_INTEGER,
    "F2L_S": _TO_INTEGER | {"signed": 1, "from_single": 1},
    "F2L_U": _TO_INTEGER | {"from_single": 1},
    "L2D_S": _FROM_INTEGER | {"signed": 1},
    "L2D_U": _FROM_INTEGER,
    "L2F_S": _FROM_INTEGER | {"signed": 1, "to_single": 1},
    "L2F_U": _FROM_INTEGER | {"to_single": 1},
}
ROWS: dict[F64Op, dict[str, Any]] = {
    F64Op[f"{name}_{mode}"]: row | controls
    for name, row in _ROUNDED.items() for mode, controls in _MODES.items()
} | {
    F64Op.F2D: {"convert": 1, "addend": Addend.B, "from_single": 1},
    F64Op.I2D_S: _FROM_INTEGER | {"signed": 1, "word": 1},
    F64Op.I2D_U: _FROM_INTEGER | {"word": 1},
    F64Op.DMIN: _CHOICE,
    F64Op.DMAX: _CHOICE | {"maximum": 1},
} | {
    F64Op[f"D{op.name[1:]}"]: row
    for op, row in COMPARISON_ROWS.items() if op.name.startswith("FSETP")
}
"""Controls by operation; what is left out is 0."""

"""Decoded controls of the floating-point lanes: what an operation means to them."""

from __future__ import annotations

from typing import Any

from amaranth.lib import data, enum

from ....arch.isa.opcodes import AluOp

__all__ = ["Addend", "Choice", "COMPARISON", "STAGES", "ARITHMETIC_ROWS", "COMPARISON_ROWS"]


class Addend(enum.Enum, shape=2):
    """Third operand of the multiply-add."""

    ZERO = 0
    """Zero with the sign of the product, which it then leaves unchanged."""
    B = 1
    MINUS_B = 2
    C = 3


class Choice(enum.Enum, shape=3):
    """Register result of a comparison lane."""

    MINIMUM = 0
    MAXIMUM = 1
    NEGATE = 2
    ABSOLUTE = 3
    SATURATE = 4
    FLUSH = 5
    """A subnormal number becomes zero."""


_ROUNDING = {"nearest": 1, "up": 1, "down": 1}
STAGES = (
    data.StructLayout({"enable": 1, "multiply": 1, "convert": 1,
                       "from_integer": 1, "signed": 1, "addend": Addend}),
    data.StructLayout({"enable": 1}),
    data.StructLayout({"enable": 1, "to_integer": 1, "to_integral": 1} | _ROUNDING),
    data.StructLayout({"enable": 1, "to_integer": 1, "signed": 1, "down": 1}),
    data.StructLayout({"enable": 1, "to_integer": 1} | _ROUNDING),
)
"""Controls of the five stages of an arithmetic lane: operands; nothing; where the integer rounded
at a fixed place goes; clamping and the sign of an exact zero; rounding. Registers stand still
unless ``enable``."""
COMPARISON = data.StructLayout({"enable": 1, "choice": Choice, "on_less": 1,
                                "on_equal": 1, "on_greater": 1, "on_unordered": 1})
"""Controls of a comparison lane: register result, and the relations of a and b for which the
predicate is true."""

_MODES: dict[str, dict[str, Any]] = {"RN": {"nearest": 1}, "RZ": {},
                                     "RM": {"down": 1}, "RP": {"up": 1}}
_ROUNDED: dict[str, dict[str, Any]] = {
    "FADD": {"addend": Addend.B},
    "FSUB": {"addend": Addend.MINUS_B},
    "FMUL": {"multiply": 1, "addend": Addend.ZERO},
    "FFMA": {"multiply": 1, "addend": Addend.C},
    "F2I_S": {"convert": 1, "addend": Addend.B, "to_integer": 1, "signed": 1},
    "F2I_U": {"convert": 1, "addend": Addend.B, "to_integer": 1},
    "I2F_S": {"convert": 1, "addend": Addend.ZERO, "from_integer": 1, "signed": 1},
    "I2F_U": {"convert": 1, "addend": Addend.ZERO, "from_integer": 1},
    "FRND": {"convert": 1, "addend": Addend.B, "to_integral": 1},
}
_RELATIONS: dict[str, tuple[str, ...]] = {
    "EQ": ("on_equal",), "NE": ("on_less", "on_greater"),
    "LT": ("on_less",), "LE": ("on_less", "on_equal"),
    "GT": ("on_greater",), "GE": ("on_greater", "on_equal"),
}
ARITHMETIC_ROWS: dict[AluOp, dict[str, Any]] = {
    AluOp[f"{name}_{mode}"]: row | controls
    for name, row in _ROUNDED.items() for mode, controls in _MODES.items()
}
"""Controls by operation; what is left out is 0. Each stage takes the names that its layout has."""
COMPARISON_ROWS: dict[AluOp, dict[str, Any]] = {
    AluOp[f"FSETP_{name}{suffix}"]: dict.fromkeys((*relations, *unordered), 1)
    for name, relations in _RELATIONS.items()
    for suffix, unordered in (("", ()), ("U", ("on_unordered",)))
} | {
    AluOp.FSETP_NUM: {"on_less": 1, "on_equal": 1, "on_greater": 1},
    AluOp.FSETP_NAN: {"on_unordered": 1},
    AluOp.FMIN: {"choice": Choice.MINIMUM},
    AluOp.FMAX: {"choice": Choice.MAXIMUM},
    AluOp.FNEG: {"choice": Choice.NEGATE},
    AluOp.FABS: {"choice": Choice.ABSOLUTE},
    AluOp.FSAT: {"choice": Choice.SATURATE},
    AluOp.FFTZ: {"choice": Choice.FLUSH},
}
"""The same for comparison lanes."""

"""PTX scalar types and the kinds of registers for their values."""

from __future__ import annotations

__all__ = ["REGISTER_TYPES", "UNUSED_TYPES", "KINDS", "WIDTHS", "DATA_TYPES", "DECLARED_WIDTHS", "HALF_TYPES",
           "OPAQUE_TYPES", "ROUNDINGS", "width_of"]

WIDTHS: dict[str, int] = {f"{letter}{bits}": bits for letter in "bus" for bits in (8, 16, 32, 64)}
"""Integer type to bits."""
DATA_TYPES: dict[str, int] = {**WIDTHS, "f32": 32, "f64": 64}
"""Types that moves, loads and stores take, to bits."""
DECLARED_WIDTHS: dict[str, int] = {**DATA_TYPES, "f16": 16}
"""Types that a parameter or a variable may be declared with, to bits."""
OPAQUE_TYPES = ("texref", "samplerref", "surfref")
"""Types of variables that are not memory."""
ROUNDINGS = ("rn", "rz", "rm", "rp")
"""Rounding modifiers: to nearest even, to zero, down, up."""
HALF_TYPES: dict[str, int] = {"f16": 16, "f16x2": 32, "bf16": 16, "bf16x2": 32}
"""Types of one or two floating-point numbers of 16 bits, to bits."""
REGISTER_TYPES: dict[str, int] = {"pred": 1, **DATA_TYPES, **HALF_TYPES}
"""Types that a used register can have, to bits; a predicate has 1."""
UNUSED_TYPES = ("tf32", "b128")
"""Further types that registers may be declared with, as long as nothing uses them."""
KINDS: dict[int, str] = {1: "p", 8: "r", 16: "r", 32: "r", 64: "w"}
"""Declared bits to register kind; bits above a value of 8 or 16 bits in its register are undefined."""


def width_of(type: str) -> int:
    """Return the bits of a type."""
    return DATA_TYPES[type]

"""PTX scalar types of integer kernels and where their values live."""

from __future__ import annotations

__all__ = ["REGISTER_TYPES", "KINDS", "WIDTHS", "INTEGER_TYPES", "width_of"]

WIDTHS: dict[str, int] = {f"{letter}{bits}": bits for letter in "bus" for bits in (8, 16, 32, 64)}
"""Integer type to bits."""
INTEGER_TYPES = tuple(WIDTHS)
REGISTER_TYPES: dict[str, int] = {"pred": 1, **{t: bits for t, bits in WIDTHS.items() if bits >= 16}}
"""Types a register that is used can have, to bits; a predicate has 1."""
KINDS: dict[int, str] = {1: "p", 16: "r", 32: "r", 64: "w"}
"""Declared bits to register kind; the upper half of a 16-bit value's register is undefined."""


def width_of(type: str) -> int:
    """Return the bits of an integer type."""
    return WIDTHS[type]

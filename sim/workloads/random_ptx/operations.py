"""Meaning of the PTX integer instructions in plain Python integers (PTX ISA 9.7.1, 9.7.5, 9.7.7, 9.7.8).

Operands are unsigned numbers of the operation's width; results are taken modulo the destination's width.
"""

from __future__ import annotations

from collections.abc import Callable

from .bits import BIT_TERNARY, BIT_UNARY

__all__ = ["signed", "UNARY", "BINARY", "SHIFTS", "TERNARY", "COMPARISONS", "compare", "unary_table",
           "binary_table", "shift_table"]


def signed(value: int, bits: int) -> int:
    """Return a `bits`-wide number read as two's complement."""
    return value - (1 << bits) if value >> bits - 1 & 1 else value


def _clamped(bits: int, shift: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda a, n: shift(a, min(n, bits))


def unary_table(bits: int) -> dict[str, Callable[[int], int]]:
    """Return the meanings of the one-operand instructions of a width, by mnemonic."""
    return {f"not.b{bits}": lambda a: ~a, f"neg.s{bits}": lambda a: -a,
            f"abs.s{bits}": lambda a: abs(signed(a, bits)), f"cnot.b{bits}": lambda a: int(a == 0),
            f"mov.b{bits}": lambda a: a}


def binary_table(bits: int) -> dict[str, Callable[[int, int], int]]:
    """Return the two-operand instructions of a width whose operands and result have that width."""
    def s(x):
        return signed(x, bits)

    table: dict[str, Callable[[int, int], int]] = {
        f"mul.hi.s{bits}": lambda a, b: s(a) * s(b) >> bits, f"mul.hi.u{bits}": lambda a, b: a * b >> bits,
        f"min.s{bits}": lambda a, b: min(s(a), s(b)), f"min.u{bits}": min,
        f"max.s{bits}": lambda a, b: max(s(a), s(b)), f"max.u{bits}": max,
        f"and.b{bits}": lambda a, b: a & b, f"or.b{bits}": lambda a, b: a | b, f"xor.b{bits}": lambda a, b: a ^ b,
    }
    for letter in "su":
        table[f"add.{letter}{bits}"] = lambda a, b: a + b
        table[f"sub.{letter}{bits}"] = lambda a, b: a - b
        table[f"mul.lo.{letter}{bits}"] = lambda a, b: a * b
    return table


def shift_table(bits: int) -> dict[str, Callable[[int, int], int]]:
    """Return the shifts of a width; the amount has 32 bits and is clamped to the width."""
    return {f"shl.b{bits}": _clamped(bits, lambda a, n: a << n), f"shr.u{bits}": _clamped(bits, lambda a, n: a >> n),
            f"shr.s{bits}": _clamped(bits, lambda a, n: signed(a, bits) >> n)}


UNARY = {bits: unary_table(bits) for bits in (16, 32, 64)}
BINARY = {bits: binary_table(bits) for bits in (16, 32, 64)}
SHIFTS = {bits: shift_table(bits) for bits in (16, 32, 64)}
for _bits, _table in BIT_UNARY.items():
    UNARY[_bits] |= _table
BINARY[32] |= {"mul24.lo.u32": lambda a, b: (a & 0xFF_FFFF) * (b & 0xFF_FFFF),
               "mul24.lo.s32": lambda a, b: signed(a & 0xFF_FFFF, 24) * signed(b & 0xFF_FFFF, 24)}

TERNARY: dict[str, Callable[[int, int, int], int]] = {
    "mad.lo.s32": lambda a, b, c: a * b + c, "mad.lo.u32": lambda a, b, c: a * b + c,
    "mad.hi.s32": lambda a, b, c: (signed(a, 32) * signed(b, 32) >> 32) + c,
    "mad.hi.u32": lambda a, b, c: (a * b >> 32) + c,
    "shf.l.wrap.b32": lambda a, b, c: (b << 32 | a) << (c & 31) >> 32,
    "shf.r.wrap.b32": lambda a, b, c: (b << 32 | a) >> (c & 31),
    "shf.l.clamp.b32": lambda a, b, c: (b << 32 | a) << min(c, 32) >> 32,
    "shf.r.clamp.b32": lambda a, b, c: (b << 32 | a) >> min(c, 32),
} | BIT_TERNARY
"""32-bit instructions of three operands."""

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def compare(test: str, a: int, b: int) -> bool:
    """Return whether a comparison holds between two numbers."""
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[test]

"""Combinational parts of the floating-point lane."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from .model import INFINITY

__all__ = ["BIAS", "Number", "increment", "shift_right_sticky", "leading_zeros", "shift_left"]

BIAS = 127


class Number:
    """Fields of a binary32 operand.

    Attributes
    ----------
    sign, zero, infinite, nan : 1 bit
    exponent : 8 bits
        Biased; 1 for subnormal numbers.
    significand : 24 bits
        With its hidden bit.
    """

    def __init__(self, m: Module, name: str, bits: Value):
        magnitude, exponent = bits[:31], bits[23:31]
        normal = Signal(name=f"{name}_normal")
        m.d.comb += normal.eq(exponent.any())
        self.sign = bits[31]
        self.exponent = exponent | ~normal
        self.significand = Cat(bits[:23], normal)
        self.zero = magnitude == 0
        self.infinite = magnitude == int(INFINITY)
        self.nan = magnitude > int(INFINITY)


def increment(rounding, sign: Value, odd: Value, guard: Value, rest: Value) -> Value:
    """Return whether a magnitude is to be rounded away from zero.

    `rounding` has ``nearest``, ``up`` and ``down``; `odd` is the lowest bit kept, `guard` the next, `rest`
    whether anything stands below.
    """
    outward = rounding.up & ~sign | rounding.down & sign
    return rounding.nearest & guard & (rest | odd) | outward & (guard | rest)


def shift_right_sticky(value: Value, count: Value) -> tuple[Value, Value]:
    """Return ``value >> count`` and whether a one was shifted out; `count` may be all its bits can say."""
    reach = (1 << len(count)) - 1
    lost = Const((1 << reach) - 1, reach) >> ~count
    return value >> count, (value & lost).any()


def leading_zeros(m: Module, value: Value, name: str) -> Value:
    """Return the number of zeros above the highest one of `value`, whose width is a power of two; it is not 0."""
    count: list[Value] = []
    while (width := len(value) // 2) > 0:
        high = value[width:]
        empty = Signal(name=f"{name}_{width}")
        half = Signal(width, name=f"{name}_half_{width}")
        m.d.comb += [empty.eq(high == 0), half.eq(Mux(empty, value[:width], high))]
        count.insert(0, empty)
        value = half
    return Cat(count)


def shift_left(m: Module, value: Value, count: Value, name: str) -> tuple[Value, Value]:
    """Return the high and the low word of a 64-bit value shifted left; no signal is wider than 64 bits."""
    coarse = Signal(64, name=name)
    m.d.comb += coarse.eq(Mux(count[5], Cat(Const(0, 32), value[:32]), value))
    return (coarse >> (32 - count[:5])[:6])[:32], (coarse[:32] << count[:5])[:32]

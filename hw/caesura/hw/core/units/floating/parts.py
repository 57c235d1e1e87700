"""Combinational parts of the floating-point lane."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

__all__ = ["BIAS", "Number", "Order", "increment", "shift_right_sticky", "leading_zeros",
           "shift_left"]

BIAS = 127
_FRACTIONS = {32: 23, 64: 52}
"""Bits of the fraction by those of a number."""


def _infinity(bits: Value) -> int:
    """Return the magnitude of an infinite number as wide as `bits`."""
    fraction = _FRACTIONS[len(bits)]
    return (1 << len(bits) - 1) - (1 << fraction)


class Number:
    """Fields of a binary32 or, if `bits` are 64, of a binary64 operand.

    Attributes
    ----------
    sign, zero, infinite, nan : 1 bit
    exponent : 8 or 11 bits
        Biased; 1 for subnormal numbers.
    significand : 24 or 53 bits
        With its hidden bit.
    """

    def __init__(self, m: Module, name: str, bits: Value):
        fraction, infinity = _FRACTIONS[len(bits)], _infinity(bits)
        magnitude, exponent = bits[:-1], bits[fraction:-1]
        normal = Signal(name=f"{name}_normal")
        m.d.comb += normal.eq(exponent.any())
        self.sign = bits[-1]
        self.exponent = exponent | ~normal
        self.significand = Cat(bits[:fraction], normal)
        self.zero = magnitude == 0
        self.infinite = magnitude == infinity
        self.nan = magnitude > infinity


class Order:
    """How two operands of one format compare.

    Attributes
    ----------
    a_nan, b_nan, equal, less : 1 bit
        Zeros are equal, yet -0 is less than +0; `equal` and `less` mean nothing for what is not a
        number.
    """

    def __init__(self, m: Module, a: Value, b: Value):
        self.a_nan = Signal()
        self.b_nan = Signal()
        self.equal = Signal()
        self.less = Signal()
        infinity = _infinity(a)
        m.d.comb += [
            self.a_nan.eq(a[:-1] > infinity), self.b_nan.eq(b[:-1] > infinity),
            self.equal.eq((a == b) | ((a[:-1] | b[:-1]) == 0)),
            self.less.eq(Mux(a[-1] ^ b[-1], a[-1], ((a[:-1] < b[:-1]) ^ a[-1]) & (a != b))),
        ]


def increment(rounding, sign: Value, odd: Value, guard: Value, rest: Value) -> Value:
    """Return whether a magnitude is to be rounded away from zero.

    `rounding` has ``nearest``, ``up`` and ``down``; `odd` is the lowest bit kept, `guard` the next,
    `rest` whether anything stands below.
    """
    outward = rounding.up & ~sign | rounding.down & sign
    return rounding.nearest & guard & (rest | odd) | outward & (guard | rest)


def shift_right_sticky(value: Value, count: Value) -> tuple[Value, Value]:
    """Return ``value >> count`` and whether a one was shifted out;
    `count` may be all its bits can say."""
    reach = (1 << len(count)) - 1
    lost = Const((1 << reach) - 1, reach) >> ~count
    return value >> count, (value & lost).any()


def leading_zeros(m: Module, value: Value, name: str) -> Value:
    """Return the number of zeros above the highest one of `value`, whose width is a power of two;
    it is not 0."""
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
    """Return the high and the low word of a 64-bit value shifted left;
    no signal is wider than 64 bits."""
    coarse = Signal(64, name=name)
    m.d.comb += coarse.eq(Mux(count[5], Cat(Const(0, 32), value[:32]), value))
    return (coarse >> (32 - count[:5])[:6])[:32], (coarse[:32] << count[:5])[:32]

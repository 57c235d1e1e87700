"""Combinational parts of the floating-point lane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

__all__ = ["BIAS", "Number", "Order", "increment", "shift_right_sticky", "leading_zeros",
           "shift_left", "align", "add"]

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
        Significand with its hidden bit.
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


def increment(rounding: data.View, sign: Value, odd: Value, guard: Value, rest: Value) -> Value:
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


def align(m: Module, s: Mapping[str, Any], width: int, point: int) -> dict[str, tuple[int, Value]]:
    """Return the two addends of a fused sum in a window of `width` bits, the lower one moved.

    `s` has the ``product``, the ``addend``, which stands `point` bits higher, whether the product
    is ``below`` it, and by how much (``count``). In the result, `sticky` says that a one was
    shifted out of ``lower``.
    """
    product = Signal(width, name="product_window")
    addend = Signal(width, name="addend_window")
    lower = Signal(width)
    m.d.comb += [product.eq(Cat(Const(0, width - len(s["product"])), s["product"])),
                 addend.eq(Cat(Const(0, point), s["addend"])),
                 lower.eq(Mux(s["below"], product, addend))]
    moved, sticky = shift_right_sticky(lower, s["count"])
    return {"upper": (width, Mux(s["below"], addend, product)), "lower": (width, moved),
            "sticky": (1, sticky)}


def add(m: Module, control: data.View, s: Mapping[str, Any], width: int, point: int,
        word: int) -> dict[str, tuple[int, Value]]:
    """Return the sum or difference of what `align` gives: ``magnitude`` (``width + 1`` bits),
    ``sticky``, ``sign`` and ``subtract``.

    What was lost below makes a difference smaller, so then no 1 completes the complement. A result
    that is to be an integer, of `word` bits from `point` up, is rounded here.
    """
    upper, lower, sticky, subtract = s["upper"], s["lower"], s["sticky"], s["subtract"]
    total = Signal(width + 1)
    integer = Signal(word)
    negative = Signal()
    fixed = Signal()
    lowest = increment(control, s["sign"], lower[point],
                       lower[point - 1], lower[:point - 1].any() | sticky)
    m.d.comb += [
        total.eq(upper + Mux(subtract, ~lower, lower) + (subtract & ~sticky)),
        negative.eq(subtract & ~total[width]), integer.eq(lower[point:] + lowest),
        fixed.eq(control.to_integer | control.to_integral & ~s["special"].huge),
    ]
    difference = Mux(negative, (lower - upper)[:width], total[:width])
    magnitude = Mux(fixed, Cat(Const(0, point), integer),
                    Cat(difference, total[width] & ~subtract))
    return {"magnitude": (width + 1, magnitude), "sticky": (1, sticky & ~fixed),
            "sign": (1, s["sign"] ^ negative), "subtract": (1, subtract)}

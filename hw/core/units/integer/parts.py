"""Combinational parts of the integer lane, and the counter of bits."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....lib.bits import spread

__all__ = ["below", "field_sign", "permuted", "DigitCounts", "DIGITS"]

DIGITS = 8
"""Digits of four bits in a word."""


def below(count: Value) -> Value:
    """Return a word whose bits below bit `count` are ones."""
    within = Mux(count[5:].any(), 32, count[:5])
    return ~(Const(0xFFFF_FFFF, 32) << within)[:32]


def field_sign(a: Value, b: Value) -> Value:
    """Return the highest bit of the field of a that b names, bit 31 if it ends above,
    0 if it is empty."""
    end = b[:8] + b[8:16]
    bit = Mux(end[5:].any(), a[31], a.bit_select((end - 1)[:5], 1))
    return bit & b[8:16].any()


def permuted(a: Value, b: Value, c: Value) -> Value:
    """Return the four bytes of {b, a} that c selects, or copies of their signs
    (PTX ISA `prmt`, default mode)."""
    found = []
    for k in range(4):
        byte = Cat(a, b).word_select(c[4 * k:4 * k + 3], 8)
        found.append(Mux(c[4 * k + 3], spread(byte[7], 8), byte))
    return Cat(found)


class DigitCounts(wiring.Component):
    """Leading zeros or ones of a word: those of each digit a cycle later, their sum combinational
    from there.

    Attributes
    ----------
    word : Signal(32), in
    enable : Signal(1), in
        Take `word`.
    leading_digit : Signal(1), in
        Count the leading zeros of each digit, not its ones; taken with `word`.
    leading : Signal(1), in
        A digit counts only if all above it are zero; applies to `total`.
    total : Signal(6), out
    """

    word: Signal
    enable: Signal
    leading_digit: Signal
    leading: Signal
    total: Signal

    def __init__(self):
        super().__init__({"word": In(32), "enable": In(1), "leading_digit": In(1),
                          "leading": In(1), "total": Out(6)})

    def elaborate(self, platform: Any):
        m = Module()
        counts = Signal(data.ArrayLayout(unsigned(3), DIGITS), reset_less=True)
        with m.If(self.enable):
            for k in range(DIGITS):
                digit = self.word.word_select(k, 4)
                zeros = Mux(digit[3], 0, Mux(digit[2], 1, Mux(digit[1], 2, Mux(digit[0], 3, 4))))
                m.d.sync += counts[k].eq(Mux(self.leading_digit, zeros,
                                             sum(digit[i] for i in range(4))))
        counted = [Mux(Cat(counts[j][2] for j in range(k + 1, DIGITS)).all() | ~self.leading,
                       counts[k], 0) for k in range(DIGITS - 1)]
        counted.append(counts[DIGITS - 1])
        while len(counted) > 1:
            counted = [low + high for low, high in zip(counted[::2], counted[1::2], strict=True)]
        m.d.comb += self.total.eq(counted[0])
        return m

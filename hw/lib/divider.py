"""A divider of one bit per cycle."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Divider"]


class Divider(wiring.Component):
    """Divides by repeated subtraction; it takes as many cycles as the dividend has bits.

    Parameters
    ----------
    width, by : int
        Bits of dividend and divisor.

    Attributes
    ----------
    start : Signal, in; dividend, divisor : Signal, in
        Starts a division of these operands; a divisor of 0 gives all ones.
    done : Signal, out
        High while the results are valid, from the cycle after the last step until the next start.
    quotient, remainder : Signal, out
    """

    start: Signal
    dividend: Signal
    divisor: Signal
    done: Signal
    quotient: Signal
    remainder: Signal

    def __init__(self, width: int, by: int):
        self.width = width
        super().__init__({"start": In(1), "dividend": In(width), "divisor": In(by),
                          "done": Out(1), "quotient": Out(width), "remainder": Out(by)})

    def elaborate(self, platform: Any):
        m = Module()
        divisor = Signal.like(self.divisor)
        left = Signal(range(self.width + 1))
        next_one = Signal(len(self.remainder) + 1)
        fits = Signal()
        m.d.comb += [next_one.eq(Cat(self.quotient[-1], self.remainder)),
                     fits.eq(next_one >= divisor), self.done.eq(left == 0)]
        with m.If(self.start):
            m.d.sync += [self.quotient.eq(self.dividend), divisor.eq(self.divisor),
                         self.remainder.eq(0), left.eq(self.width)]
        with m.Elif(left != 0):
            m.d.sync += [left.eq(left - 1), self.quotient.eq(Cat(fits, self.quotient[:-1])),
                         self.remainder.eq(next_one - divisor)]
            with m.If(~fits):
                m.d.sync += self.remainder.eq(next_one)
        return m

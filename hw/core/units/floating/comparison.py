"""One thread's comparisons and operations that only choose between numbers or change a sign."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....lib.bits import spread
from .controls import COMPARISON, Choice
from .model import NAN, ONE
from .parts import Order

__all__ = ["ComparisonLane"]


class ComparisonLane(wiring.Component):
    """Predicates, minimum, maximum, sign and saturation: results one cycle later.

    Attributes
    ----------
    control : in
        Comes with the operands; the results stand still unless ``control.enable``.
    a, b : Signal(32), in
    result : Signal(32), out
    predicate : Signal(1), out
    """

    control: data.View
    a: Signal
    b: Signal
    result: Signal
    predicate: Signal

    def __init__(self):
        super().__init__({"control": In(COMPARISON), "a": In(32), "b": In(32),
                          "result": Out(32), "predicate": Out(1)})

    def elaborate(self, platform: Any):
        m = Module()
        control, a, b = self.control, self.a, self.b
        order = Order(m, a, b)
        a_nan, b_nan, less = order.a_nan, order.b_nan, order.less
        take_a = Signal(name="take_a")
        chosen = Signal(32, name="chosen")
        result = Signal(32, reset_less=True)
        predicate = Signal(reset_less=True)
        m.d.comb += [self.result.eq(result), self.predicate.eq(predicate)]
        m.d.comb += [
            take_a.eq((less ^ (control.choice == Choice.MAXIMUM)) & ~a_nan | b_nan),
            chosen.eq(Mux(a_nan & b_nan, int(NAN), Mux(take_a, a, b))),
        ]
        with m.If(control.enable):
            with m.If(a_nan | b_nan):
                m.d.sync += predicate.eq(control.on_unordered)
            with m.Elif(order.equal):
                m.d.sync += predicate.eq(control.on_equal)
            with m.Else():
                m.d.sync += predicate.eq(Mux(less, control.on_less, control.on_greater))
            with m.Switch(control.choice):
                for kind, value in (
                    (Choice.MINIMUM, chosen), (Choice.MAXIMUM, chosen),
                    (Choice.NEGATE, Cat(b[:31], ~b[31])), (Choice.ABSOLUTE, b[:31]),
                    (Choice.SATURATE, Mux(b[31] | b_nan, 0, Mux(b > int(ONE), int(ONE), b))),
                    (Choice.FLUSH,
                     Mux(b_nan, int(NAN), Cat(b[:23] & spread(b[23:31].any(), 23), b[23:]))),
                ):
                    with m.Case(kind):
                        m.d.sync += result.eq(value)
        return m

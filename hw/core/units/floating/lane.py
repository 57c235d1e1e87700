"""One thread's arithmetic: a fused multiply-add of binary32 numbers that every operation passes
through.

::

    stage 1   unpack x, y, z; product x * y; distance of the exponents
    stage 2   the operand of lower exponent moves right, what falls out is kept in one sticky bit
    stage 3   sum or difference                      |  or: rounding to an integer at a fixed place
    stage 4   normalisation, as the exponent allows  |  or: clamping of the integer
    stage 5   rounding, packing

An addition multiplies by 1, a multiplication adds 0. The window of 62 bits suffices for exact
rounding without normalising subnormal operands: bits are lost only from an operand that is far
below the other, unless the other is subnormal, when the place of rounding is fixed. Conversions
move the number against a fixed exponent: its integer part then stands in bits 61..30 of the window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .controls import STAGES, Addend
from .model import INFINITY, NAN, ONE
from .parts import BIAS, Number, add, align, increment, leading_zeros, shift_left

__all__ = ["ArithmeticLane"]

WINDOW = 62
"""Bits in which two aligned operands stand."""
POINT = 30
"""Bit of the window that stands for 1 when the window holds a converted number."""
INTEGER_EXPONENT = BIAS + 31
"""Exponent of the window's highest bit then."""
FRACTION_BITS = 23
SPECIAL = data.StructLayout({"nan": 1, "infinite": 1, "huge": 1})
"""The result is not a number, or infinite; the number is above all integers."""


class ArithmeticLane(wiring.Component):
    """Sums, products, multiply-adds and conversions: a new operation every cycle, its result
    `LATENCY` cycles later.

    IEEE 754-2019 without flags: subnormal operands and results, four rounding directions. A stage
    changes only in cycles in which its control ``enable`` is set, its combinational part included.

    Attributes
    ----------
    stage_1, stage_2, stage_3, stage_4, stage_5 : in
        Controls; those of stage k come k - 1 cycles after the operands (`FloatUnit` does so).
    a, b, c : Signal(32), in
        Register operands.
    result : Signal(32), out
        `LATENCY` cycles after the operands.
    """

    stage_1: data.View
    stage_2: data.View
    stage_3: data.View
    stage_4: data.View
    stage_5: data.View
    a: Signal
    b: Signal
    c: Signal
    result: Signal

    LATENCY = 5

    def __init__(self):
        stages = {f"stage_{number}": In(layout) for number, layout in enumerate(STAGES, 1)}
        super().__init__(stages | {"a": In(32), "b": In(32), "c": In(32), "result": Out(32)})

    def elaborate(self, platform: Any):
        m = Module()
        values = {}
        for number, work in enumerate(
            (self._unpack, self._align, self._add, self._normalise, self._round), 1):
            with m.If(getattr(self, f"stage_{number}").enable):
                results = work(m, values)
                values = {name: Signal(shape, name=f"{name}_{number}", reset_less=True)
                          for name, (shape, _) in results.items()}
                m.d.sync += [values[name].eq(value) for name, (_, value) in results.items()]
        m.d.comb += self.result.eq(values["result"])
        return m

    def _unpack(self, m: Module, _: Mapping[str, Any]):
        """Stage 1: operands of the multiply-add; those of a conversion are 0, 1 and b."""
        control, a, b = self.stage_1, self.a, self.b
        x_bits = Signal(32)
        y_bits = Signal(32)
        z_bits = Signal(32)
        m.d.comb += [x_bits.eq(Mux(control.convert, 0, a)),
                     y_bits.eq(Mux(control.multiply, b, int(ONE)))]
        with m.Switch(control.addend):
            for kind, value in ((Addend.ZERO, Cat(Const(0, 31), a[31] ^ b[31])), (Addend.B, b),
                                (Addend.MINUS_B, Cat(b[:31], ~b[31])), (Addend.C, self.c)):
                with m.Case(kind):
                    m.d.comb += z_bits.eq(value)
        x, y, z = Number(m, "x", x_bits), Number(m, "y", y_bits), Number(m, "z", z_bits)

        product_sign = Signal()
        subtract = Signal()
        infinite = Signal()
        above = Signal()
        below = Signal()
        top = Signal(range(-BIAS + 2, 2 * 255 - BIAS + 2))
        distance = Signal(range(-400, 512))
        far = Signal(range(512))
        exponent = Signal(8)
        special = Signal(SPECIAL)
        m.d.comb += [
            product_sign.eq(x.sign ^ y.sign),
            subtract.eq((product_sign ^ z.sign) & ~control.convert),
            top.eq(Mux(control.convert, INTEGER_EXPONENT, x.exponent + y.exponent - (BIAS - 1))),
            exponent.eq(Mux(control.from_integer, INTEGER_EXPONENT, z.exponent)),
            distance.eq(top - exponent), above.eq(distance < 0),
            far.eq(Mux(above, -distance, distance)),
            below.eq(above | (x.zero | y.zero) & ~control.convert),
            infinite.eq(x.infinite | y.infinite),
            special.infinite.eq(infinite | z.infinite), special.huge.eq(above),
            special.nan.eq(x.nan | y.nan | z.nan | x.infinite & y.zero | x.zero & y.infinite
                           | infinite & z.infinite & subtract),
        ]
        negative = control.signed & b[31]
        sign = Mux(control.from_integer, negative,
                   Mux((below | control.convert | z.infinite) & ~infinite, z.sign, product_sign))
        addend = Mux(control.from_integer, Mux(negative, -b, b)[:32],
                     Cat(Const(0, 8), z.significand))
        return {
            "product": (48, x.significand * y.significand),
            "addend": (32, addend), "below": (1, below),
            "count": (6, Mux(far > 63, 63, far)), "exponent": (9, Mux(below, exponent, top)),
            "subtract": (1, subtract & ~special.infinite),
            "sign": (1, sign), "special": (SPECIAL, special),
        }

    def _align(self, m: Module, s: Mapping[str, Any]):
        """Stage 2."""
        return align(m, s, WINDOW, POINT) | {
            "exponent": (9, s["exponent"]), "subtract": (1, s["subtract"]), "sign": (1, s["sign"]),
            "special": (SPECIAL, s["special"])}

    def _add(self, m: Module, s: Mapping[str, Any]):
        """Stage 3."""
        added = add(m, self.stage_3, s, WINDOW, POINT, 32)
        _, magnitude = added["magnitude"]
        return added | {"magnitude": (64, Cat(Const(0, 1), magnitude)),
                        "exponent": (9, s["exponent"]), "special": (SPECIAL, s["special"])}

    def _normalise(self, m: Module, s: Mapping[str, Any]):
        """Stage 4. A one where the exponent reaches its minimum ends the search for the leading
        one."""
        control, magnitude, sign, exponent, special = (
            self.stage_4, s["magnitude"], s["sign"], s["exponent"], s["special"])
        limited = Signal(64)
        zero = Signal()
        lowest = Const(1 << 63, 64) >> Mux(exponent > 63, 63, exponent)[:6]
        m.d.comb += [limited.eq(magnitude | lowest), zero.eq(magnitude == 0)]
        count = leading_zeros(m, limited, "empty")
        high, low = shift_left(m, magnitude, count, "coarse")
        kept = Signal(32)
        m.d.comb += kept.eq(high[7:])
        with m.If(control.to_integer):
            m.d.comb += kept.eq(self._clamped(magnitude[POINT + 1:][:32], sign, special))
        return {
            "kept": (32, kept), "rest": (1, high[:7].any() | low.any() | s["sticky"]),
            "exponent": (9, Mux(zero, 0, exponent - count)),
            "sign": (1, Mux(zero & ~s["sticky"] & s["subtract"], control.down, sign)),
            "special": (SPECIAL, special),
        }

    def _clamped(self, integer: Value, sign: Value, special: data.View):
        """Stage 4: the nearest integer that the result's type has."""
        signed = self.stage_4.signed
        over = special.huge | signed & integer[31]
        limit = Mux(signed, Mux(sign, 1 << 31, (1 << 31) - 1), Mux(sign, 0, (1 << 32) - 1))
        exact = Mux(sign, Mux(signed, -integer, 0), integer)[:32]
        return Mux(special.nan, 0, Mux(over, limit, exact))

    def _round(self, m: Module, s: Mapping[str, Any]):
        """Stage 5."""
        control, kept, sign, special = self.stage_5, s["kept"], s["sign"], s["special"]
        lowest = increment(control, sign, kept[1], kept[0], s["rest"])
        packed = Signal(33)
        result = Signal(32)
        m.d.comb += packed.eq(Cat(Const(0, FRACTION_BITS), s["exponent"]) + kept[1:25] + lowest)
        to_infinity = control.nearest | Mux(sign, control.down, control.up)
        greatest = Mux(special.infinite | to_infinity, int(INFINITY), int(INFINITY) - 1)
        with m.If(control.to_integer):
            m.d.comb += result.eq(kept)
        with m.Elif(special.nan):
            m.d.comb += result.eq(int(NAN))
        with m.Elif(special.infinite | (packed[FRACTION_BITS:] >= 255)):
            m.d.comb += result.eq(Cat(Const(0, 31), sign) | greatest)
        with m.Else():
            m.d.comb += result.eq(Cat(packed[:31], sign))
        return {"result": (32, result)}

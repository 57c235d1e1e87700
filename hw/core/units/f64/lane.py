"""The f64 pipeline: a fused multiply-add of binary64 numbers that every operation passes through.

::

    stage 1   comparison; choice of the operands x, y, z
    stage 2   unpack x, y, z; distance of the exponents
    stage 3   nine partial products of x * y
    stage 4   their sum
    stage 5   the operand of lower exponent moves right, what falls out is kept in one sticky bit
    stage 6   sum or difference                 |  or: rounding to an integer at a fixed place
    stage 7   leading zeros, as far as the exponent allows
    stage 8   normalisation                     |  or: clamping of the integer
    stage 9   rounding, packing

The method is that of `floating.lane`. The window has 110 bits: 106 of the product, and enough below
that bits are lost only from an operand that is far below the other, or where the place of rounding
is fixed. If z is lost from, it is at least 2 ** 57 times below the window's highest bit, and a
product with one subnormal factor at most 2 ** 54 times. Conversions move the number against a fixed
exponent; to integers, the integer part then stands in bits 109..46. A binary32 result has its
exponent in binary32's bias from stage 2 on, so that subnormal ones come out of stage 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..floating.model import NAN as SINGLE_NAN
from ..floating.parts import BIAS as SINGLE_BIAS
from ..floating.parts import Number, Order, add, align, increment, leading_zeros
from .controls import CONTROL, ROWS, Addend, Place
from .model import NAN, ONE

__all__ = ["F64Lane"]

BIAS = 1023
WINDOW = 110
"""Bits in which two aligned operands stand."""
POINT = WINDOW - 64
"""Bit of the window that stands for 1 when the window holds an integer."""
PLACES = {Place.LOWEST: 1, Place.LOWEST_SINGLE: BIAS - SINGLE_BIAS + 1, Place.INTEGER: BIAS + 63}
"""Biased exponents that conversions move against."""
PART = 18
"""Bits of a factor of the partial products: those of a DSP block."""
SPECIAL = data.StructLayout({"nan": 1, "infinite": 1, "huge": 1})
"""The result is not a number, or infinite; the number is above all integers."""


class F64Lane(wiring.Component):
    """All operations of `F64Op`: a new one every cycle, its result `LATENCY` cycles later.

    IEEE 754-2019 without flags: subnormal operands and results, four rounding directions. A stage,
    its combinational part included, changes only in cycles in which an operation gets to it.

    Attributes
    ----------
    valid : Signal(1), in
        There is an operation.
    function : Signal(7), in
        `F64Op`.
    a, b, c : Signal(64), in
        Operands of 32 bits in the lower half; the upper is then ignored.
    result : Signal(64), out
        `LATENCY` cycles after the operands; the upper half of a result of 32 bits is 0.
    tested : Signal(1), out
        Predicate of a comparison, at the same time.
    """

    valid: Signal
    function: Signal
    a: Signal
    b: Signal
    c: Signal
    result: Signal
    tested: Signal

    LATENCY = 9

    def __init__(self):
        super().__init__({"valid": In(1), "function": In(7), "a": In(64), "b": In(64),
                          "c": In(64), "result": Out(64), "tested": Out(1)})

    def elaborate(self, platform: Any):
        m = Module()
        control, values = self._decode(m), {}
        stages = (self._select, self._unpack, self._multiply, self._sum, self._align, self._add,
                  self._count, self._normalise, self._round)
        for number, work in enumerate(stages, 1):
            later = Signal(CONTROL, name=f"control_{number}")
            with m.If(control.enable):
                results = work(m, control, values)
                if "tested" in values:
                    results["tested"] = (1, values["tested"])
                values = {name: Signal(shape, name=f"{name}_{number}", reset_less=True)
                          for name, (shape, _) in results.items()}
                m.d.sync += [values[name].eq(value) for name, (_, value) in results.items()]
                m.d.sync += later.eq(control)
            m.d.sync += later.enable.eq(control.enable)
            control = later
        m.d.comb += [self.result.eq(values["result"]), self.tested.eq(values["tested"])]
        return m

    def _decode(self, m: Module):
        """Return the controls of the operation that comes in."""
        control = Signal(CONTROL)
        m.d.comb += control.enable.eq(self.valid)
        with m.Switch(self.function):
            for op, row in ROWS.items():
                with m.Case(op):
                    m.d.comb += [control[name].eq(value) for name, value in row.items()]
        return control

    def _select(self, m: Module, control: data.View, _: Mapping[str, Any]):
        """Stage 1: operands of the multiply-add x * y + z;
        those of a conversion are 0, 1 and what is converted."""
        a, b = self.a, self.b
        order = Order(m, a, b)
        negative = Signal()
        z = Signal(64)
        integer = Cat(b[:32], Mux(control.word, negative.replicate(32), b[32:]))
        take_a = (order.less ^ control.maximum) & ~order.a_nan | order.b_nan
        m.d.comb += negative.eq(control.signed & Mux(control.word, b[31], b[63]))
        with m.Switch(control.addend):
            for kind, value in ((Addend.ZERO, Cat(Const(0, 63), a[63] ^ b[63])), (Addend.B, b),
                                (Addend.MINUS_B, Cat(b[:63], ~b[63])), (Addend.C, self.c),
                                (Addend.CHOSEN, Mux(take_a, a, b)),
                                (Addend.INTEGER, Mux(negative, -integer, integer)[:64])):
                with m.Case(kind):
                    m.d.comb += z.eq(value)
        ordered = Mux(order.equal, control.on_equal,
                      Mux(order.less, control.on_less, control.on_greater))
        return {
            "x": (64, Mux(control.convert, 0, a)), "y": (64, Mux(control.multiply, b, int(ONE))),
            "z": (64, z), "negative": (1, negative),
            "tested": (1, Mux(order.a_nan | order.b_nan, control.on_unordered, ordered)),
        }

    def _unpack(self, m: Module, control: data.View, s: Mapping[str, Any]):
        """Stage 2."""
        x, y = Number(m, "x", s["x"]), Number(m, "y", s["y"])
        z_sign, z_exponent, z_significand, z_infinite, z_nan = self._addend(m, control, s)
        product_sign = Signal()
        subtract = Signal()
        infinite = Signal()
        above = Signal()
        below = Signal()
        top = Signal(range(-BIAS + 2, 2 * 2047 - BIAS + 2))
        distance = Signal(range(-3100, 4096))
        far = Signal(12)
        place = Signal(11)
        highest = Signal(12)
        special = Signal(SPECIAL)
        with m.Switch(control.place):
            for kind, exponent in PLACES.items():
                with m.Case(kind):
                    m.d.comb += place.eq(exponent)
        m.d.comb += [
            product_sign.eq(x.sign ^ y.sign),
            subtract.eq((product_sign ^ z_sign) & ~control.convert),
            top.eq(Mux(control.convert, place, x.exponent + y.exponent - (BIAS - 1))),
            distance.eq(top - z_exponent), above.eq(distance < 0),
            far.eq(Mux(above, -distance, distance)),
            below.eq(above | (x.zero | y.zero) & ~control.convert),
            highest.eq(Mux(below, z_exponent, top)),
            infinite.eq(x.infinite | y.infinite),
            special.infinite.eq(infinite | z_infinite), special.huge.eq(above),
            special.nan.eq(x.nan | y.nan | z_nan | x.infinite & y.zero | x.zero & y.infinite
                           | infinite & z_infinite & subtract),
        ]
        return {
            "x": (53, x.significand), "y": (53, y.significand), "addend": (64, z_significand),
            "below": (1, below), "count": (7, Mux(far > 127, 127, far)),
            "exponent": (12, Mux(control.to_single, highest - (BIAS - SINGLE_BIAS), highest)),
            "subtract": (1, subtract & ~special.infinite), "special": (SPECIAL, special),
            "sign": (1,
                     Mux((below | control.convert | z_infinite) & ~infinite, z_sign, product_sign)),
        }

    def _addend(self, m: Module, control: data.View, s: Mapping[str, Any]):
        """Stage 2: sign, exponent, significand in the 64 highest bits, infinite, not a number."""
        wide, single = Number(m, "wide", s["z"]), Number(m, "single", s["z"][:32])
        sign = Signal()
        exponent = Signal(11)
        significand = Signal(64)
        infinite = Signal()
        nan = Signal()
        with m.If(control.addend == Addend.INTEGER):
            m.d.comb += [sign.eq(s["negative"]),
                         exponent.eq(PLACES[Place.INTEGER]), significand.eq(s["z"])]
        with m.Elif(control.from_single):
            m.d.comb += [sign.eq(single.sign), exponent.eq(single.exponent + (BIAS - SINGLE_BIAS)),
                         significand.eq(Cat(Const(0, 40), single.significand)),
                         infinite.eq(single.infinite), nan.eq(single.nan)]
        with m.Else():
            m.d.comb += [sign.eq(wide.sign), exponent.eq(wide.exponent),
                         significand.eq(Cat(Const(0, 11), wide.significand)),
                         infinite.eq(wide.infinite), nan.eq(wide.nan)]
        return sign, exponent, significand, infinite, nan

    def _multiply(self, m: Module, control: data.View, s: Mapping[str, Any]):
        """Stage 3."""
        kept = ("addend", "below", "count", "exponent", "subtract", "special", "sign")
        parts = {f"part_{i}{j}": (2 * PART,
                                  s["x"][PART * i:PART * (i + 1)] * s["y"][PART * j:PART * (j + 1)])
                 for i in range(3) for j in range(3)}
        return parts | {name: (s[name].shape(), s[name]) for name in kept}

    def _sum(self, m: Module, control: data.View, s: Mapping[str, Any]):
        """Stage 4."""
        kept = ("addend", "below", "count", "exponent", "subtract", "special", "sign")
        rows = [Cat(s[f"part_{i}0"], s[f"part_{i}2"]) + (s[f"part_{i}1"] << PART) for i in range(3)]
        product = rows[0] + (rows[1] << PART) + (rows[2] << 2 * PART)
        return {"product": (106, product[:106])} | {name: (s[name].shape(), s[name])
                                                    for name in kept}

    def _align(self, m: Module, control: data.View, s: Mapping[str, Any]):
        """Stage 5."""
        kept = ("exponent", "subtract", "sign", "special")
        return (align(m, s, WINDOW, POINT)
                | {name: (s[name].shape(), s[name]) for name in kept})

    def _add(self, m: Module, control: data.View, s: Mapping[str, Any]):
        """Stage 6."""
        return add(m, control, s, WINDOW, POINT, 64) | {
            "exponent": (12, s["exponent"]), "special": (SPECIAL, s["special"])}

    def _count(self, m: Module, control: data.View, s: Mapping[str, Any]):
        """Stage 7. A one where the exponent reaches its minimum ends the search for the leading
        one."""
        magnitude, exponent = s["magnitude"], s["exponent"]
        zero = Signal()
        limited = Signal(128)
        lowest = Const(1 << 127, 128) >> Mux(exponent > 127, 127, exponent)[:7]
        m.d.comb += [limited.eq(Cat(Const(0, 127 - WINDOW), magnitude) | lowest),
                     zero.eq(magnitude == 0)]
        count = leading_zeros(m, limited, "empty")
        return {
            "magnitude": (WINDOW + 1, magnitude), "sticky": (1, s["sticky"]), "count": (7, count),
            "exponent": (12, Mux(zero, 0, exponent - count)),
            "sign": (1, Mux(zero & ~s["sticky"] & s["subtract"], control.down, s["sign"])),
            "special": (SPECIAL, s["special"]),
        }

    def _normalise(self, m: Module, control: data.View, s: Mapping[str, Any]):
        """Stage 8: what is kept has the bit below the lowest of the result as its own lowest."""
        shifted = Signal(128, name="shifted_7")
        m.d.comb += shifted.eq(Cat(Const(0, 127 - WINDOW), s["magnitude"]))
        for bit in reversed(range(7)):
            before = shifted
            shifted = Signal(128, name=f"shifted_{bit}")
            m.d.comb += shifted.eq(Mux(s["count"][bit], before << (1 << bit), before))
        wide, single = 128 - 54, 128 - 25
        kept = Signal(64)
        m.d.comb += kept.eq(Mux(control.to_single, shifted[single:], shifted[wide:]))
        with m.If(control.to_integer):
            m.d.comb += kept.eq(self._clamped(control, s["magnitude"][POINT:][:64],
                                              s["sign"], s["special"]))
        return {
            "kept": (64, kept),
            "rest": (1,
                     shifted[:wide].any() | control.to_single & shifted[wide:single].any()
                     | s["sticky"]),
        } | {name: (s[name].shape(), s[name]) for name in ("exponent", "sign", "special")}

    def _clamped(self, control: data.View, integer: Value, sign: Value, special: data.View):
        """Stage 8: the nearest integer that the result's type has."""
        signed = control.signed
        over = special.huge | Mux(control.word, integer[32:].any() | signed & integer[31],
                                  signed & integer[63])
        limits = [Mux(signed, Mux(sign, 1 << bits - 1, (1 << bits - 1) - 1),
                      Mux(sign, 0, (1 << bits) - 1)) for bits in (64, 32)]
        exact = Mux(sign, Mux(signed, -integer, 0), integer)[:64]
        clamped = Mux(over, Mux(control.word, limits[1], limits[0]), exact)
        return Mux(special.nan, 0, Mux(control.word, clamped[:32], clamped))

    def _round(self, m: Module, control: data.View, s: Mapping[str, Any]):
        """Stage 9."""
        kept, sign, special, single = s["kept"], s["sign"], s["special"], control.to_single
        lowest = increment(control, sign, kept[1], kept[0], s["rest"])
        base = Mux(single, s["exponent"] << 23, s["exponent"] << 52)
        packed = Signal(65)
        result = Signal(64)
        m.d.comb += packed.eq(base + kept[1:54] + lowest)
        to_infinity = special.infinite | control.nearest | Mux(sign, control.down, control.up)
        overflow = Mux(single, packed[23:] >= 255, packed[52:] >= 2047)
        nan, infinity = (Mux(single, *values)
                         for values in ((int(SINGLE_NAN), int(NAN)), (255 << 23, 2047 << 52)))
        magnitude = Mux(special.infinite | overflow, infinity - ~to_infinity, packed)[:63]
        with m.If(control.to_integer):
            m.d.comb += result.eq(kept)
        with m.Elif(special.nan):
            m.d.comb += result.eq(nan)
        with m.Else():
            m.d.comb += result.eq(magnitude | Mux(single, sign << 31, sign << 63))
        return {"result": (64, result)}

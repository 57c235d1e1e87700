"""One thread's special functions.

::

    stage 1   unpack, normalise a subnormal operand; results of special operands; window of 2 / pi
    stage 2   angle times window       |  or: exponent of a power of two to fixed point
    stage 3   place in the table: interval and t; exponent
    stage 4   coefficients; t * t
    stage 5   c1 * t; c2 * t * t
    stage 6   sum; a logarithm's integer part; sign
    stage 7   normalisation
    stage 8   rounding, packing
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ....arch.isa.opcodes import SfuOp
from ..floating.parts import leading_zeros, shift_left
from .model import (
    INFINITY,
    KEPT,
    LARGE_POWER,
    NAN,
    ROW_OF,
    SMALL_SINE,
    TRIGONOMETRIC,
    WIDE,
    WIDE_INFINITY,
)
from .tables import (
    C1_BITS,
    C2_BITS,
    FRACTION_BITS,
    INDEX_BITS,
    T_BITS,
    VALUE_BITS,
    WINDOW_BITS,
    rows,
    windows,
)

__all__ = ["SpecialFunctionLane"]

PLACE_BITS = INDEX_BITS + T_BITS
HALF_WINDOW = WINDOW_BITS // 2
POWER_BITS = LARGE_POWER + 25
ROOTS = (SfuOp.SQRT, SfuOp.RSQ, SfuOp.RSQ64H)
RECIPROCALS = (SfuOp.RCP, SfuOp.RSQ, SfuOp.RCP64H, SfuOp.RSQ64H)
COEFFICIENT_BITS = 31, 18, 13
"""Bits of c0, and of c1 and c2 with their signs."""


def _is(op: Value, *ops: SfuOp) -> Value:
    return op.matches(*ops)


class _Products:
    """Data that stage 2 makes of an angle, or of a power, for stage 3."""

    def __init__(self):
        self.low = Signal(24 + HALF_WINDOW, reset_less=True)
        self.high = Signal(HALF_WINDOW, reset_less=True)
        self.shifted = Signal(POWER_BITS, reset_less=True)


class SpecialFunctionLane(wiring.Component):
    """Special functions: a new operand every cycle, its result `LATENCY` cycles later.

    A stage changes only in cycles in which it has an operand. The lane holds a table of
    coefficients (1536 words of 62 bits) and one of windows of 2 / pi (256 words of 54 bits). Its
    multipliers are 24 by 27 bits and 24 by 27 bits modulo 2**27 (angles), 17 by 17, 18 by 17 and 13
    by 17 bits.

    Attributes
    ----------
    enable : Signal(1), in
        There is an operand.
    op : Signal(SfuOp), in
    b : Signal(32), in
    result : Signal(32), out
        `LATENCY` cycles later; stands still until the next.
    """

    enable: Signal
    op: Signal
    b: Signal
    result: Signal

    LATENCY = 8

    def __init__(self):
        super().__init__({"enable": In(1), "op": In(SfuOp), "b": In(32), "result": Out(32)})

    def elaborate(self, platform: Any):
        m = Module()
        enable, values = self.enable, {"op": (4, Value.cast(self.op)), "b": (32, self.b)}
        values = {name: value for name, (_, value) in values.items()}
        m.submodules.windows = table = memory.Memory(shape=WINDOW_BITS, depth=256,
                                                     init=windows().tolist())
        window = table.read_port()
        coefficients = self._coefficients(m)
        products = _Products()
        stages = (partial(self._unpack, window), partial(self._reduce, window, products),
                  partial(self._place, products), partial(self._look_up, coefficients),
                  partial(self._multiply, coefficients), self._add, self._normalise, self._round)
        for number, work in enumerate(stages, 1):
            with m.If(enable):
                results = work(m, values, enable)
                values = {name: Signal(shape, name=f"{name}_{number}", reset_less=True)
                          for name, (shape, _) in results.items()}
                m.d.sync += [values[name].eq(value) for name, (_, value) in results.items()]
            later = Signal(name=f"enable_{number}")
            m.d.sync += later.eq(enable)
            enable = later
        m.d.comb += self.result.eq(values["result"])
        return m

    def _unpack(self, window: memory.ReadPort, m: Module, s: Mapping[str, Value], enable: Value):
        """Stage 1."""
        op, b = s["op"], s["b"]
        wide = _is(op, *WIDE)
        subnormal = Signal()
        fraction = Signal(23)
        count = Signal(5)
        exponent = Signal(signed(12))
        m.d.comb += [subnormal.eq(~wide & (b[23:31] == 0)),
                     count.eq(leading_zeros(m, Cat(Const(1, 9), b[:23]), "zeros"))]
        with m.If(subnormal):
            m.d.comb += [fraction.eq(Cat(Const(0, 1), (b[:23] << count)[:22])),
                         exponent.eq(-127 - count)]
        with m.Elif(wide):
            m.d.comb += [fraction.eq(Cat(Const(0, 3), b[:20])), exponent.eq(b[20:31] - 1023)]
        with m.Else():
            m.d.comb += [fraction.eq(b[:23]), exponent.eq(b[23:31] - 127)]
        special, override = self._special(m, op, b, wide)
        m.d.comb += [window.addr.eq(b[23:31]), window.en.eq(enable & _is(op, *TRIGONOMETRIC))]
        return {"op": (4, op), "negative": (1, b[31]),
                "fraction": (23, fraction), "exponent": (signed(12), exponent),
                "special": (1, special), "override": (32, override)}

    def _special(self, m: Module, op: Value, b: Value, wide: Value):
        """Return whether an operand's result comes from no table, and that result."""
        magnitude, negative = b[:31], b[31]
        infinity = Mux(wide, WIDE_INFINITY, INFINITY)
        zero = Signal()
        infinite = Signal()
        nan = Signal()
        special = Signal()
        override = Signal(32)
        m.d.comb += [
            zero.eq(Mux(wide, b[20:31] == 0, magnitude == 0)), infinite.eq(magnitude == infinity),
            nan.eq(magnitude > infinity), special.eq(zero | infinite | nan),
        ]
        invalid = (nan | negative & ~zero & _is(op, *ROOTS, SfuOp.LG2)
                   | infinite & _is(op, *TRIGONOMETRIC))
        with m.If(invalid):
            m.d.comb += [special.eq(1), override.eq(NAN)]
        with m.Elif(_is(op, *RECIPROCALS)):
            m.d.comb += override.eq(Mux(zero, infinity, 0) | negative << 31)
        with m.Elif(_is(op, SfuOp.SQRT)):
            m.d.comb += override.eq(b)
        with m.Elif(_is(op, SfuOp.LG2)):
            m.d.comb += override.eq(INFINITY | zero << 31)
        with m.Elif(_is(op, SfuOp.EX2)):
            m.d.comb += [special.eq(b[23:31] >= 127 + LARGE_POWER),
                         override.eq(Mux(negative, 0, INFINITY))]
        with m.Elif(_is(op, SfuOp.SIN)):
            m.d.comb += [special.eq(b[23:31] < 127 + SMALL_SINE), override.eq(b)]
        with m.Else():
            m.d.comb += special.eq(0)
        return special, override

    def _reduce(self, window: memory.ReadPort, products: _Products, m: Module,
                s: Mapping[str, Value], enable: Value):
        """Stage 2: all but the top of an angle's product falls to whole turns,
        so it is not made."""
        significand = Signal(24)
        power = Signal(POWER_BITS)
        count = Signal(range(-LARGE_POWER - 128, 256))
        m.d.comb += [
            significand.eq(Cat(s["fraction"], 1)), count.eq(LARGE_POWER - 1 - s["exponent"]),
            power.eq(Cat(Const(0, LARGE_POWER + 1), significand) >> Mux(count > 63, 63, count)[:6])]
        with m.If(enable & _is(s["op"], *TRIGONOMETRIC)):
            m.d.sync += [products.low.eq(significand * window.data[:HALF_WINDOW]),
                         products.high.eq(significand * window.data[HALF_WINDOW:])]
        with m.If(enable & _is(s["op"], SfuOp.EX2)):
            m.d.sync += products.shifted.eq(power)
        names = {"op": 4, "negative": 1, "fraction": 23,
                 "exponent": signed(12), "special": 1, "override": 32}
        return {name: (shape, s[name]) for name, shape in names.items()}

    def _place(self, products: _Products, m: Module, s: Mapping[str, Value], enable: Value):
        """Stage 3."""
        op, fraction, x_exponent = s["op"], s["fraction"], s["exponent"]
        shifted = products.shifted
        turns = Signal(WINDOW_BITS)
        quadrant = Signal(2)
        power = Signal(signed(len(shifted) + 1))
        row = Signal(range(max(ROW_OF.values()) + 1))
        place = Signal(PLACE_BITS)
        exponent = Signal(signed(12))
        negative = Signal()
        m.d.comb += [
            turns.eq(products.low + (products.high << HALF_WINDOW)),
            quadrant.eq(turns[FRACTION_BITS:] + _is(op, SfuOp.COS)),
            power.eq(Mux(s["negative"], -shifted, shifted)),
        ]
        with m.Switch(op):
            for number in SfuOp:
                with m.Case(number):
                    m.d.comb += row.eq(ROW_OF[number])
        with m.If(_is(op, *TRIGONOMETRIC)):
            m.d.comb += [place.eq(turns[FRACTION_BITS - PLACE_BITS:FRACTION_BITS]
                                  ^ quadrant[0].replicate(PLACE_BITS)),
                         negative.eq(quadrant[1] ^ (s["negative"] & _is(op, SfuOp.SIN)))]
        with m.Elif(_is(op, SfuOp.EX2)):
            m.d.comb += [place.eq(power), exponent.eq(power >> PLACE_BITS)]
        with m.Elif(_is(op, *ROOTS)):
            half = x_exponent >> 1
            m.d.comb += [place.eq(Cat(Const(0, 1), fraction, x_exponent[0])),
                         exponent.eq(Mux(_is(op, SfuOp.SQRT), half, -half))]
        with m.Else():
            m.d.comb += [place.eq(Cat(Const(0, 2), fraction)), negative.eq(s["negative"]),
                         exponent.eq(Mux(_is(op, SfuOp.LG2), x_exponent, -x_exponent))]
        return self._passed(s, negative=negative, exponent=exponent) | {
            "place": (PLACE_BITS, place), "row": (row.shape(), row)}

    @staticmethod
    def _passed(s: Mapping[str, Value], **changed: Value):
        """Return what goes through the later stages, with what this one changed."""
        names = {"negative": 1, "exponent": signed(12), "special": 1, "override": 32}
        passed = {name: (shape, changed.get(name, s[name])) for name, shape in names.items()}
        if "op" in s:
            return passed | {"wide": (1, _is(s["op"], *WIDE)),
                             "logarithm": (1, _is(s["op"], SfuOp.LG2))}
        return passed | {name: (1, s[name]) for name in ("wide", "logarithm")}

    @staticmethod
    def _coefficients(m: Module):
        """Return the read port of the tables."""
        table_rows = [c0 | (c1 & (1 << 18) - 1) << 31 | (c2 & (1 << 13) - 1) << 49
                      for c0, c1, c2 in rows()]
        m.submodules.table = table = memory.Memory(shape=sum(COEFFICIENT_BITS),
                                                   depth=len(table_rows), init=table_rows)
        port = table.read_port()  # named so in the export
        return port

    def _look_up(self, coefficients: memory.ReadPort, m: Module, s: Mapping[str, Value],
                 enable: Value):
        """Stage 4."""
        m.d.comb += [coefficients.addr.eq(Cat(s["place"][T_BITS:], s["row"])),
                     coefficients.en.eq(enable)]
        t = s["place"][:T_BITS]
        return self._passed(s) | {"t": (T_BITS, t), "square": (T_BITS, (t * t) >> T_BITS)}

    def _multiply(self, coefficients: memory.ReadPort, m: Module, s: Mapping[str, Value],
                  enable: Value):
        """Stage 5."""
        row = coefficients.data
        c0, c1, c2 = row[:31], row[31:49].as_signed(), row[49:].as_signed()
        first = (c1 * s["t"]) >> C1_BITS + T_BITS - VALUE_BITS
        second = (c2 * s["square"]) >> C2_BITS + T_BITS - VALUE_BITS
        return self._passed(s) | {"c0": (31, c0), "first": (first.shape(), first),
                                  "second": (second.shape(), second)}

    def _add(self, m: Module, s: Mapping[str, Value], enable: Value):
        """Stage 6: an integer part makes a logarithm negative,
        and leaves nothing for the exponent."""
        total = Signal(signed(40))
        whole = Mux(s["logarithm"], s["exponent"], 0)
        m.d.comb += total.eq((s["c0"] + s["first"] + s["second"]) + (whole << VALUE_BITS))
        negative = Mux(s["logarithm"], total[-1], s["negative"])
        exponent = Mux(s["logarithm"], 0, s["exponent"])
        return self._passed(s, negative=negative, exponent=exponent) | {
            "magnitude": (38, Mux(total[-1], -total, total)[:38])}

    def _normalise(self, m: Module, s: Mapping[str, Value], enable: Value):
        """Stage 7."""
        magnitude = s["magnitude"]
        count = leading_zeros(m, Cat(Const(1, 26), magnitude), "empty")
        high, _ = shift_left(m, Cat(Const(0, 26), magnitude), count, "coarse")
        exponent = s["exponent"] + Mux(s["wide"], 1023, 127) + 37 - VALUE_BITS - count
        return {"kept": (KEPT, high[32 - KEPT:]), "exponent": (signed(13), exponent),
                **{name: (width, s[name]) for name, width in
                   (("wide", 1), ("negative", 1), ("special", 1), ("override", 32))}}

    def _round(self, m: Module, s: Mapping[str, Value], enable: Value):
        """Stage 8: to nearest, ties up."""
        kept, exponent, wide = s["kept"], s["exponent"], s["wide"]
        below = Signal(signed(14))
        count = Signal(5)
        rounded = Signal(KEPT)
        packed = Signal(signed(38))
        result = Signal(32)
        m.d.comb += [
            below.eq(1 - exponent), count.eq(Mux(below > 31, 31, Mux(below < 0, 0, below))),
            rounded.eq(((kept >> Mux(wide, 3, count)) + 1) >> 1),
            packed.eq(Mux(wide, (exponent - 1) << 20, Mux(exponent < 1, 0, exponent - 1) << 23)
                      + rounded),
        ]
        with m.If(s["special"]):
            m.d.comb += result.eq(s["override"])
        with m.Else():
            m.d.comb += result.eq(Cat(packed[:31], s["negative"]))
            with m.If(Mux(wide, packed < 1 << 20, kept == 0)):
                m.d.comb += result[:31].eq(0)
            with m.Elif(~wide & (packed > INFINITY)):
                m.d.comb += result[:31].eq(INFINITY)
        return {"result": (32, result)}

"""Integer arithmetic: the lane, and the unit of `lanes` lanes that executes a beat a cycle.

::

    stage 1            stage 2                    stage 3
    adder ----------> sum, carry ---> choice --> simple ------+
    funnel shifter -> shifted ------>    |                    +--> result
    logic ----------> other -------->    |                    |
    4 products -----> add up --------------> product + addend-+

What an operation means to the three stages is one row of `_ROWS`; the lanes are identical and see decoded
controls only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..arch.isa import AluOp

__all__ = ["IntegerLane", "IntegerUnit"]


class High(enum.Enum, shape=2):
    """Upper word that the funnel shifter shifts in."""

    ZERO = 0
    SIGN_A = 1
    A = 2
    B = 3


class Logic(enum.Enum, shape=3):
    """Operation that needs neither adder, shifter nor multiplier."""

    B = 0
    AND = 1
    OR = 2
    XOR = 3
    NOT_B = 4
    SEXT_8 = 5
    SEXT_16 = 6
    SELECT = 7


class Choice(enum.Enum, shape=3):
    """What stage 2 passes on."""

    OTHER = 0
    SUM = 1
    SHIFTED = 2
    MINIMUM = 3
    MAXIMUM = 4
    ABSOLUTE = 5


class Test(enum.Enum, shape=3):
    """Source of the predicate result; the first four use a and b, the others pa and pb."""

    CARRY = 0
    EQUAL = 1
    LESS = 2
    LESS_EQUAL = 3
    AND = 4
    OR = 5
    XOR = 6


STAGE_1 = data.StructLayout({
    "zero_x": 1, "invert_x": 1, "invert_y": 1, "carry": 1, "carry_pa": 1,
    "high": High, "zero_low": 1, "count_c": 1, "left": 1, "pass_a": 1,
    "logic": Logic, "signed_product": 1, "accumulate": 1,
})
"""Controls of stage 1: adder (x = a, y = b), funnel shifter, logic, correction added to the product."""
STAGE_2 = data.StructLayout({"choice": Choice, "test": Test, "signed": 1, "negate": 1})
"""Controls of stage 2: what to pass on, which comparison."""
STAGE_3 = data.StructLayout({"multiply": 1, "high_half": 1, "correct": 1})
"""Controls of stage 3: product or not, which half, carry into the (negative) correction."""

_A_MINUS_B: dict[str, object] = {"invert_y": 1, "carry": 1}
_PASS_B: dict[str, object] = {"logic": Logic.B, "choice": Choice.OTHER}
_ROWS: dict[AluOp, dict[str, object]] = {
    AluOp.MOV: _PASS_B,
    AluOp.IADD: {"choice": Choice.SUM},
    AluOp.ISUB: _A_MINUS_B | {"choice": Choice.SUM},
    AluOp.IRSUB: {"invert_x": 1, "carry": 1, "choice": Choice.SUM},
    AluOp.IADDC: {"carry_pa": 1, "choice": Choice.SUM},
    AluOp.ISUBC: {"invert_y": 1, "carry_pa": 1, "choice": Choice.SUM},
    AluOp.IMUL_LO: {"multiply": 1},
    AluOp.IMUL_HI_S: {"multiply": 1, "high_half": 1, "signed_product": 1, "correct": 1},
    AluOp.IMUL_HI_U: {"multiply": 1, "high_half": 1},
    AluOp.IMAD_LO: {"multiply": 1, "accumulate": 1},
    AluOp.AND: {"logic": Logic.AND},
    AluOp.OR: {"logic": Logic.OR},
    AluOp.XOR: {"logic": Logic.XOR},
    AluOp.NOT: {"logic": Logic.NOT_B},
    AluOp.SHL: {"high": High.A, "zero_low": 1, "left": 1, "choice": Choice.SHIFTED},
    AluOp.SHR_U: {"high": High.ZERO, "choice": Choice.SHIFTED},
    AluOp.SHR_S: {"high": High.SIGN_A, "choice": Choice.SHIFTED},
    AluOp.SHF_L: {"high": High.B, "count_c": 1, "left": 1, "choice": Choice.SHIFTED},
    AluOp.SHF_R: {"high": High.B, "count_c": 1, "choice": Choice.SHIFTED},
    AluOp.IMIN_S: _PASS_B | _A_MINUS_B | {"pass_a": 1, "signed": 1, "choice": Choice.MINIMUM},
    AluOp.IMIN_U: _PASS_B | _A_MINUS_B | {"pass_a": 1, "choice": Choice.MINIMUM},
    AluOp.IMAX_S: _PASS_B | _A_MINUS_B | {"pass_a": 1, "signed": 1, "choice": Choice.MAXIMUM},
    AluOp.IMAX_U: _PASS_B | _A_MINUS_B | {"pass_a": 1, "choice": Choice.MAXIMUM},
    AluOp.IABS: _PASS_B | _A_MINUS_B | {"zero_x": 1, "choice": Choice.ABSOLUTE},
    AluOp.SEXT_8: {"logic": Logic.SEXT_8},
    AluOp.SEXT_16: {"logic": Logic.SEXT_16},
    AluOp.SEL: {"logic": Logic.SELECT},
    AluOp.SETP_EQ: _A_MINUS_B | {"test": Test.EQUAL},
    AluOp.SETP_NE: _A_MINUS_B | {"test": Test.EQUAL, "negate": 1},
    AluOp.SETP_LT_S: _A_MINUS_B | {"test": Test.LESS, "signed": 1},
    AluOp.SETP_LE_S: _A_MINUS_B | {"test": Test.LESS_EQUAL, "signed": 1},
    AluOp.SETP_GT_S: _A_MINUS_B | {"test": Test.LESS_EQUAL, "signed": 1, "negate": 1},
    AluOp.SETP_GE_S: _A_MINUS_B | {"test": Test.LESS, "signed": 1, "negate": 1},
    AluOp.SETP_LT_U: _A_MINUS_B | {"test": Test.LESS},
    AluOp.SETP_LE_U: _A_MINUS_B | {"test": Test.LESS_EQUAL},
    AluOp.SETP_GT_U: _A_MINUS_B | {"test": Test.LESS_EQUAL, "negate": 1},
    AluOp.SETP_GE_U: _A_MINUS_B | {"test": Test.LESS, "negate": 1},
    AluOp.S2R: _PASS_B,
    AluOp.LDP: _PASS_B,
    AluOp.PAND: {"test": Test.AND},
    AluOp.POR: {"test": Test.OR},
    AluOp.PXOR: {"test": Test.XOR},
}
"""Controls by operation; what is left out is 0. `S2R` and `LDP` pass operand b, where `special` puts the value."""


def _signed(x: np.ndarray) -> np.ndarray:
    return x.view(np.int32)


def _low(x: np.ndarray) -> np.ndarray:
    return (x & np.uint64(0xFFFF_FFFF)).astype(np.uint32)


def _high(x: np.ndarray) -> np.ndarray:
    return (x >> np.uint64(32)).astype(np.uint32)


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.uint64)


def _funnel(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    return _wide(high) << np.uint64(32) | low


def _shift_count(c: np.ndarray) -> np.ndarray:
    return _wide(c & np.uint32(31))


_VALUES: dict[AluOp, Callable[..., np.ndarray]] = {
    AluOp.MOV: lambda a, b, c, p: b,
    AluOp.IADD: lambda a, b, c, p: a + b,
    AluOp.ISUB: lambda a, b, c, p: a - b,
    AluOp.IRSUB: lambda a, b, c, p: b - a,
    AluOp.IADDC: lambda a, b, c, p: a + b + p,
    AluOp.ISUBC: lambda a, b, c, p: a + ~b + p,
    AluOp.IMUL_LO: lambda a, b, c, p: a * b,
    AluOp.IMUL_HI_S: lambda a, b, c, p: _high((_signed(a).astype(np.int64) * _signed(b)).view(np.uint64)),
    AluOp.IMUL_HI_U: lambda a, b, c, p: _high(_wide(a) * b),
    AluOp.IMAD_LO: lambda a, b, c, p: a * b + c,
    AluOp.AND: lambda a, b, c, p: a & b,
    AluOp.OR: lambda a, b, c, p: a | b,
    AluOp.XOR: lambda a, b, c, p: a ^ b,
    AluOp.NOT: lambda a, b, c, p: ~b,
    AluOp.SHL: lambda a, b, c, p: _low(_wide(a) << _wide(np.minimum(b, 32))),
    AluOp.SHR_U: lambda a, b, c, p: _low(_wide(a) >> _wide(np.minimum(b, 32))),
    AluOp.SHR_S: lambda a, b, c, p: (_signed(a) >> np.minimum(b, 31).astype(np.int32)).view(np.uint32),
    AluOp.SHF_L: lambda a, b, c, p: _high(_funnel(b, a) << _shift_count(c)),
    AluOp.SHF_R: lambda a, b, c, p: _low(_funnel(b, a) >> _shift_count(c)),
    AluOp.IMIN_S: lambda a, b, c, p: np.minimum(_signed(a), _signed(b)).view(np.uint32),
    AluOp.IMIN_U: lambda a, b, c, p: np.minimum(a, b),
    AluOp.IMAX_S: lambda a, b, c, p: np.maximum(_signed(a), _signed(b)).view(np.uint32),
    AluOp.IMAX_U: lambda a, b, c, p: np.maximum(a, b),
    AluOp.IABS: lambda a, b, c, p: np.where(_signed(b) < 0, ~b + np.uint32(1), b),
    AluOp.SEXT_8: lambda a, b, c, p: b.astype(np.int8).astype(np.int32).view(np.uint32),
    AluOp.SEXT_16: lambda a, b, c, p: b.astype(np.int16).astype(np.int32).view(np.uint32),
    AluOp.SEL: lambda a, b, c, p: np.where(p, a, b),
}
_TESTS: dict[AluOp, Callable[..., np.ndarray]] = {
    AluOp.IADDC: lambda a, b, p, q: _wide(a) + b + p > 0xFFFF_FFFF,
    AluOp.ISUBC: lambda a, b, p, q: _wide(a) + ~b + p > 0xFFFF_FFFF,
    AluOp.SETP_EQ: lambda a, b, p, q: a == b,
    AluOp.SETP_NE: lambda a, b, p, q: a != b,
    AluOp.SETP_LT_S: lambda a, b, p, q: _signed(a) < _signed(b),
    AluOp.SETP_LE_S: lambda a, b, p, q: _signed(a) <= _signed(b),
    AluOp.SETP_GT_S: lambda a, b, p, q: _signed(a) > _signed(b),
    AluOp.SETP_GE_S: lambda a, b, p, q: _signed(a) >= _signed(b),
    AluOp.SETP_LT_U: lambda a, b, p, q: a < b,
    AluOp.SETP_LE_U: lambda a, b, p, q: a <= b,
    AluOp.SETP_GT_U: lambda a, b, p, q: a > b,
    AluOp.SETP_GE_U: lambda a, b, p, q: a >= b,
    AluOp.PAND: lambda a, b, p, q: p & q,
    AluOp.POR: lambda a, b, p, q: p | q,
    AluOp.PXOR: lambda a, b, p, q: p ^ q,
}


class IntegerLane(wiring.Component):
    """One thread's integer ALU: a new operation every cycle, its result three cycles later.

    Attributes
    ----------
    stage_1, stage_2, stage_3 : in
        Controls; `stage_2` comes one cycle, `stage_3` two cycles after the operands (`IntegerUnit` does so).
    a, b, c : Signal(32), in
        Register operands.
    pa, pb : Signal(1), in
        Predicate operands.
    result : Signal(32), out
        Register result, `LATENCY` cycles after the operands.
    predicate : Signal(1), out
        Predicate result, with `result`.
    """

    stage_1: data.View
    stage_2: data.View
    stage_3: data.View
    a: Signal
    b: Signal
    c: Signal
    pa: Signal
    pb: Signal
    result: Signal
    predicate: Signal

    LATENCY = 3

    def __init__(self):
        super().__init__({
            "stage_1": In(STAGE_1), "stage_2": In(STAGE_2), "stage_3": In(STAGE_3),
            "a": In(32), "b": In(32), "c": In(32), "pa": In(1), "pb": In(1),
            "result": Out(32), "predicate": Out(1),
        })

    @staticmethod
    def compute(op: AluOp, a, b, c, pa, pb) -> tuple[np.ndarray, np.ndarray]:
        """Return what the hardware computes, for arrays of lanes.

        Parameters
        ----------
        op : AluOp
            Any operation but `S2R` and `LDP`, whose operands do not come from registers.
        a, b, c : array of uint32
        pa, pb : array of bool

        Returns
        -------
        tuple of numpy.ndarray
            Register result (uint32) and predicate result (bool), zeros where the operation has none.

        Raises
        ------
        ValueError
            If `op` is not an operation of the integer lane.
        """
        a, b, c = (np.atleast_1d(np.asarray(x, np.uint32)) for x in (a, b, c))
        pa, pb = (np.atleast_1d(np.asarray(x, bool)) for x in (pa, pb))
        if op not in _VALUES and op not in _TESTS:
            raise ValueError(f"{op!r} is not an operation of the integer lane")
        value = _VALUES[op](a, b, c, pa) if op in _VALUES else np.zeros_like(a)
        test = _TESTS[op](a, b, pa, pb) if op in _TESTS else np.zeros(a.shape, bool)
        return value, test

    def elaborate(self, platform):
        m = Module()
        total, differ = self._adder(m)
        shifted, other = self._shifter(m), self._logic(m)
        product, addend = self._multiplier(m)
        pa = Signal(reset_less=True)
        pb = Signal(reset_less=True)
        m.d.sync += [pa.eq(self.pa), pb.eq(self.pb)]

        less = Signal()
        equal = Signal()
        test = Signal()
        m.d.comb += [equal.eq(total[:32] == 0), less.eq(~total[32] ^ (differ & self.stage_2.signed))]
        with m.Switch(self.stage_2.test):
            for kind, value in ((Test.CARRY, total[32]), (Test.EQUAL, equal), (Test.LESS, less),
                                (Test.LESS_EQUAL, less | equal), (Test.AND, pa & pb), (Test.OR, pa | pb),
                                (Test.XOR, pa ^ pb)):
                with m.Case(kind):
                    m.d.comb += test.eq(value)
        simple = Signal(32, reset_less=True)
        predicate = Signal(reset_less=True)
        m.d.sync += predicate.eq(test ^ self.stage_2.negate)
        with m.Switch(self.stage_2.choice):
            for kind, value in ((Choice.OTHER, other), (Choice.SUM, total[:32]), (Choice.SHIFTED, shifted),
                                (Choice.MINIMUM, Mux(less, shifted, other)),
                                (Choice.MAXIMUM, Mux(less, other, shifted)),
                                (Choice.ABSOLUTE, Mux(other[31], total[:32], other))):
                with m.Case(kind):
                    m.d.sync += simple.eq(value)

        half = Mux(self.stage_3.high_half, product[32:], product[:32])
        result = Signal(32, reset_less=True)
        final = Signal(reset_less=True)
        m.d.sync += final.eq(predicate)
        with m.If(self.stage_3.multiply):
            m.d.sync += result.eq(half + addend + self.stage_3.correct)
        with m.Else():
            m.d.sync += result.eq(simple)
        m.d.comb += [self.result.eq(result), self.predicate.eq(final)]
        return m

    def _adder(self, m):
        """Stage 1: 33-bit sum of the conditioned a and b, and whether their signs differ, registered."""
        control = self.stage_1
        total = Signal(33, reset_less=True)
        differ = Signal(reset_less=True)
        x = Mux(control.zero_x, 0, self.a) ^ control.invert_x.replicate(32)
        y = self.b ^ control.invert_y.replicate(32)
        m.d.sync += [total.eq(x + y + (control.carry | control.carry_pa & self.pa)),
                     differ.eq(self.a[31] ^ self.b[31])]
        return total, differ

    def _shifter(self, m):
        """Stage 1: low word of {high, low} >> count, or a unchanged, registered."""
        control = self.stage_1
        high = Signal(32)
        low = Signal(32)
        within = Signal(6)
        count = Signal(6)
        shifted = Signal(32, reset_less=True)
        with m.Switch(control.high):
            for kind, value in ((High.ZERO, Const(0, 32)), (High.SIGN_A, self.a[31].replicate(32)),
                                (High.A, self.a), (High.B, self.b)):
                with m.Case(kind):
                    m.d.comb += high.eq(value)
        m.d.comb += low.eq(Mux(control.zero_low, 0, self.a))
        with m.If(control.count_c):
            m.d.comb += within.eq(self.c[:5])
        with m.Else():
            m.d.comb += within.eq(Mux(self.b[5:].any(), 32, self.b[:5]))
        m.d.comb += count.eq(Mux(control.left, 32 - within, within))
        m.d.sync += shifted.eq(Mux(control.pass_a, self.a, Cat(low, high) >> count))
        return shifted

    def _logic(self, m):
        """Stage 1: bitwise operations, extensions, selection, registered."""
        a, b = self.a, self.b
        other = Signal(32, reset_less=True)
        with m.Switch(self.stage_1.logic):
            for kind, value in ((Logic.B, b), (Logic.AND, a & b), (Logic.OR, a | b), (Logic.XOR, a ^ b),
                                (Logic.NOT_B, ~b), (Logic.SEXT_8, Mux(b[7], b[:8] | 0xFFFF_FF00, b[:8])),
                                (Logic.SEXT_16, Mux(b[15], b[:16] | 0xFFFF_0000, b[:16])),
                                (Logic.SELECT, Mux(self.pa, a, b))):
                with m.Case(kind):
                    m.d.sync += other.eq(value)
        return other

    def _multiplier(self, m):
        """Stages 1 and 2: unsigned 64-bit product of four 16-bit products, and what stage 3 adds to it.

        The high half of a signed product is that of the unsigned one, minus b where a < 0, minus a where b < 0.
        """
        halves = [[Signal(32, name=f"product_{i}{j}", reset_less=True) for j in range(2)] for i in range(2)]
        for i in range(2):
            for j in range(2):
                m.d.sync += halves[i][j].eq(self.a.word_select(i, 16) * self.b.word_select(j, 16))
        product = Signal(64, reset_less=True)
        m.d.sync += product.eq(Cat(halves[0][0], halves[1][1]) + ((halves[0][1] + halves[1][0]) << 16))

        first = Signal(32, reset_less=True)
        addend = Signal(32, reset_less=True)
        excess = (self.a & self.b[31].replicate(32)) + (self.b & self.a[31].replicate(32))
        with m.If(self.stage_1.accumulate):
            m.d.sync += first.eq(self.c)
        with m.Else():
            m.d.sync += first.eq(Mux(self.stage_1.signed_product, ~excess, 0))
        m.d.sync += addend.eq(first)
        return product, addend


class IntegerUnit(wiring.Component):
    """`lanes` integer lanes under one control: a beat a cycle, results `IntegerLane.LATENCY` cycles later.

    Attributes
    ----------
    op : Signal(AluOp), in
    a, b, c : Array of `lanes` words, in
    pa, pb : Signal(lanes), in
    result : Array of `lanes` words, out
    predicate : Signal(lanes), out
    """

    op: Signal
    a: data.View
    b: data.View
    c: data.View
    pa: Signal
    pb: Signal
    result: data.View
    predicate: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        words = data.ArrayLayout(32, g.lanes)
        super().__init__({
            "op": In(AluOp), "a": In(words), "b": In(words), "c": In(words), "pa": In(g.lanes), "pb": In(g.lanes),
            "result": Out(words), "predicate": Out(g.lanes),
        })

    def elaborate(self, platform):
        m = Module()
        stage_1 = Signal(STAGE_1)
        next_2 = Signal(STAGE_2)
        stage_2 = Signal(STAGE_2)
        next_3 = Signal(STAGE_3)
        last_3 = Signal(STAGE_3)
        stage_3 = Signal(STAGE_3)
        with m.Switch(self.op):
            for op, row in _ROWS.items():
                with m.Case(op):
                    for name, value in row.items():
                        for control in (stage_1, next_2, next_3):
                            if name in control.shape().members:
                                m.d.comb += control[name].eq(value)
        m.d.sync += [stage_2.eq(next_2), last_3.eq(next_3), stage_3.eq(last_3)]
        for lane in range(self.geometry.lanes):
            m.submodules[f"lane_{lane}"] = unit = IntegerLane()
            m.d.comb += [
                unit.stage_1.eq(stage_1), unit.stage_2.eq(stage_2), unit.stage_3.eq(stage_3),
                unit.a.eq(self.a[lane]), unit.b.eq(self.b[lane]), unit.c.eq(self.c[lane]),
                unit.pa.eq(self.pa[lane]), unit.pb.eq(self.pb[lane]),
                self.result[lane].eq(unit.result), self.predicate[lane].eq(unit.predicate),
            ]
        return m

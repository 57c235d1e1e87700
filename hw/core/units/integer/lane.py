"""One thread's integer ALU.

::

    stage 1              stage 2                    stage 3
    adder ------------> sum, carry ---> choice --> simple ------+
    funnel shifter ---> shifted ------>    |                    +--> result
    logic ------------> other -------->    |                    |
    bit-field mask ---> mask --------->    |                    |
    counts of digits -> add up ------->    |                    |
    4 products -------> add up --------------> product + addend-+
"""

from __future__ import annotations

from typing import Any

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import ArrayLike

from ....arch.isa.opcodes import AluOp
from ....lib.bits import spread
from .controls import STAGE_1, STAGE_2, STAGE_3, Choice, High, Logic, Test
from .model import compute
from .parts import DigitCounts, below, field_sign, permuted

__all__ = ["IntegerLane"]


class IntegerLane(wiring.Component):
    """One thread's integer ALU: a new operation every cycle, its result three cycles later.

    Stages 1 and 2 change only in cycles in which their control ``enable`` is set, the multiplier
    with ``multiply``.

    Attributes
    ----------
    stage_1, stage_2, stage_3 : in
        Controls; `stage_2` comes one cycle, `stage_3` two cycles after the operands (`IntegerUnit`
        does so).
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
    def compute(op: AluOp, a: ArrayLike, b: ArrayLike, c: ArrayLike, pa: ArrayLike,
                pb: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return what the hardware computes, for arrays of lanes.

        Parameters
        ----------
        op : AluOp
            Any operation but `S2R` and `BALLOT`, whose operands do not come from registers.
        a, b, c : array of uint32
        pa, pb : array of bool

        Returns
        -------
        tuple of numpy.ndarray
            Register result (uint32) and predicate result (bool), zeros where the operation has
            none.

        Raises
        ------
        ValueError
            If `op` is not an operation of the integer lane.
        """
        return compute(op, a, b, c, pa, pb)

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.digits = digits = DigitCounts()
        m.d.comb += [digits.word.eq(self.b), digits.enable.eq(self.stage_1.count),
                     digits.leading_digit.eq(self.stage_1.leading_digit),
                     digits.leading.eq(self.stage_2.leading)]
        with m.If(self.stage_1.enable):
            total, differ = self._adder(m)
            shifted, other, mask = self._shifter(m), self._logic(m), self._mask(m)
            pa = Signal(reset_less=True)
            pb = Signal(reset_less=True)
            m.d.sync += [pa.eq(self.pa), pb.eq(self.pb)]
        product, addend = self._multiplier(m)
        with m.If(self.stage_2.enable):
            less, predicate = self._test(m, total, differ, pa, pb)
            simple = Signal(32, reset_less=True)
            with m.Switch(self.stage_2.choice):
                for kind, value in (
                    (Choice.OTHER, other), (Choice.SUM, total[:32]), (Choice.SHIFTED, shifted),
                    (Choice.MINIMUM, Mux(less, shifted, other)),
                    (Choice.MAXIMUM, Mux(less, other, shifted)),
                    (Choice.ABSOLUTE, Mux(other[31], total[:32], other)),
                    (Choice.MERGED, shifted & mask | other & ~mask), (Choice.COUNT, digits.total)):
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

    def _test(self, m: Module, total: Value, differ: Value, pa: Value, pb: Value):
        """Stage 2: whether a < b, combinational, and the predicate result, registered."""
        less = Signal()
        equal = Signal()
        test = Signal()
        predicate = Signal(reset_less=True)
        m.d.comb += [equal.eq(total[:32] == 0),
                     less.eq(~total[32] ^ (differ & self.stage_2.signed))]
        with m.Switch(self.stage_2.test):
            for kind, value in ((Test.CARRY, total[32]), (Test.EQUAL, equal), (Test.LESS, less),
                                (Test.LESS_EQUAL, less | equal), (Test.AND, pa & pb),
                                (Test.OR, pa | pb), (Test.XOR, pa ^ pb)):
                with m.Case(kind):
                    m.d.comb += test.eq(value)
        m.d.sync += predicate.eq(test ^ self.stage_2.negate)
        return less, predicate

    def _adder(self, m: Module):
        """Stage 1: 33-bit sum of the conditioned a and b, and whether their signs differ,
        registered."""
        control = self.stage_1
        total = Signal(33, reset_less=True)
        differ = Signal(reset_less=True)
        x = Mux(control.zero_x, 0, self.a) ^ control.invert_x.replicate(32)
        y = self.b ^ control.invert_y.replicate(32)
        m.d.sync += [total.eq(x + y + (control.carry | control.carry_pa & self.pa)),
                     differ.eq(self.a[31] ^ self.b[31])]
        return total, differ

    def _shifter(self, m: Module):
        """Stage 1: low word of {high, low} >> count, or a unchanged, registered. For a bit field
        the count is its start."""
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
            beyond = self.b[5:8].any() | self.b[8:].any() & ~control.field
            m.d.comb += within.eq(Mux(beyond, 32, self.b[:5]))
        m.d.comb += count.eq(Mux(control.left, 32 - within, within))
        m.d.sync += shifted.eq(Mux(control.pass_a, self.a, Cat(low, high) >> count))
        return shifted

    def _logic(self, m: Module):
        """Stage 1: bitwise operations, extensions, selection, rearranged bits and bytes,
        registered."""
        a, b, c = self.a, self.b, self.c
        other = Signal(32, reset_less=True)
        with m.Switch(self.stage_1.logic):
            for kind, value in (
                (Logic.B, b), (Logic.AND, a & b), (Logic.OR, a | b), (Logic.XOR, a ^ b),
                (Logic.NOT_B, ~b), (Logic.SEXT_8, Mux(b[7], b[:8] | 0xFFFF_FF00, b[:8])),
                (Logic.SEXT_16, Mux(b[15], b[:16] | 0xFFFF_0000, b[:16])),
                (Logic.SELECT, Mux(self.pa, a, b)), (Logic.C, c), (Logic.REVERSED, b[::-1]),
                (Logic.PERMUTED, permuted(a, b, c)), (Logic.ZERO, Const(0, 32)),
                (Logic.FIELD_SIGN, spread(field_sign(a, b), 32))):
                with m.Case(kind):
                    m.d.sync += other.eq(value)
        return other

    def _mask(self, m: Module):
        """Stage 1: the bits of the result that belong to the bit field, registered."""
        first = Signal(8)
        mask = Signal(32, reset_less=True)
        m.d.comb += first.eq(Mux(self.stage_1.insert, self.b[:8], 0))
        with m.If(self.stage_1.field):
            m.d.sync += mask.eq(below(first + self.b[8:16]) & ~below(first))
        return mask

    def _multiplier(self, m: Module):
        """Stages 1 and 2: unsigned 64-bit product of four 16-bit products, and what stage 3 adds to
        it.

        The high half of a signed product is that of the unsigned one, minus b where a < 0, minus a
        where b < 0.
        """
        halves = [[Signal(32, name=f"product_{i}{j}", reset_less=True) for j in range(2)]
                  for i in range(2)]
        first = Signal(32, reset_less=True)
        excess = (self.a & self.b[31].replicate(32)) + (self.b & self.a[31].replicate(32))
        with m.If(self.stage_1.multiply & self.stage_1.enable):
            for i in range(2):
                for j in range(2):
                    m.d.sync += halves[i][j].eq(self.a.word_select(i, 16)
                                                * self.b.word_select(j, 16))
            with m.If(self.stage_1.accumulate):
                m.d.sync += first.eq(self.c)
            with m.Else():
                m.d.sync += first.eq(Mux(self.stage_1.signed_product, ~excess, 0))
        product = Signal(64, reset_less=True)
        addend = Signal(32, reset_less=True)
        with m.If(self.stage_2.multiply & self.stage_2.enable):
            m.d.sync += [product.eq(Cat(halves[0][0], halves[1][1])
                                    + ((halves[0][1] + halves[1][0]) << 16)),
                         addend.eq(first)]
        return product, addend

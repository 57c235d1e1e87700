"""Arithmetic of an atomic on one word of memory."""

from typing import Any

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import ArrayLike

from ....arch.isa.opcodes import AluOp, AtomicOp
from ....lib.bits import spread
from ...units.floating import FloatUnit
from ...units.floating.controls import Addend
from ...units.floating.lane import ArithmeticLane

__all__ = ["AtomicLane"]

_SIGNED = (AtomicOp.MIN_S, AtomicOp.MAX_S)
_MINIMUM = (AtomicOp.MIN_S, AtomicOp.MIN_U)
_WORD = np.uint64(0xFFFF_FFFF)


class AtomicLane(wiring.Component):
    """The new value of a 32- or 64-bit word: integers one cycle after the operands, `AtomicOp.FADD`
    `FLOAT_LATENCY`.

    A new operation of the same kind begins every cycle; the user waits before one of the other
    kind. A 32-bit operation ignores the upper halves of its operands, and the upper half of its
    result is 0.

    Attributes
    ----------
    valid : Signal(1), in
    function : Signal(AtomicOp), in
    wide : Signal(1), in
        64 bits.
    old, b, c : Signal(64), in
        The word in memory, and the operands.
    integer : Signal(64), out
        Result of every operation but FADD.
    changed : Signal(1), out
        The result differs from `old`; valid with `integer`.
    real : Signal(32), out
        Result of FADD.
    """

    valid: Signal
    function: Signal
    wide: Signal
    old: Signal
    b: Signal
    c: Signal
    integer: Signal
    changed: Signal
    real: Signal

    FLOAT_LATENCY = ArithmeticLane.LATENCY

    def __init__(self):
        super().__init__({
            "valid": In(1), "function": In(4), "wide": In(1),
            "old": In(64), "b": In(64), "c": In(64),
            "integer": Out(64), "changed": Out(1), "real": Out(32),
        })

    @staticmethod
    def compute(function: AtomicOp, wide: bool, old: ArrayLike, b: ArrayLike,
                c: ArrayLike) -> np.ndarray:
        """Return what memory holds after the operation.

        Parameters
        ----------
        function : AtomicOp
        wide : bool
            64 bits instead of 32.
        old, b, c : array of uint64
            The word in memory and the operands; upper halves of 32-bit ones are ignored.

        Returns
        -------
        numpy.ndarray
            uint64, the upper half 0 unless `wide`.
        """
        mask = ~np.uint64(0) if wide else _WORD
        old, b, c = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, np.uint64)) & mask
                                          for x in (old, b, c)))
        if function is AtomicOp.FADD:
            return FloatUnit.compute(AluOp.FADD_RN, old.astype(np.uint32),
                                     b.astype(np.uint32), 0)[0].astype(np.uint64)
        sign = np.uint64(1 << 63 if wide else 1 << 31) * np.uint64(function in _SIGNED)
        less, one, zero = (old ^ sign) < (b ^ sign), np.uint64(1), np.uint64(0)
        if function in (AtomicOp.MIN_S, AtomicOp.MIN_U):
            return np.where(less, old, b)
        if function in (AtomicOp.MAX_S, AtomicOp.MAX_U):
            return np.where(less, b, old)
        return mask & {
            AtomicOp.ADD: lambda: old + b, AtomicOp.AND: lambda: old & b,
            AtomicOp.OR: lambda: old | b, AtomicOp.XOR: lambda: old ^ b,
            AtomicOp.EXCH: lambda: b.copy(),
            AtomicOp.CAS: lambda: np.where(old == b, c, old),
            AtomicOp.INC: lambda: np.where(old >= b, zero, old + one),
            AtomicOp.DEC: lambda: np.where((old == 0) | (old > b), b, old - one),
        }[function]()

    def elaborate(self, platform: Any):
        m = Module()
        is_float = self.function == AtomicOp.FADD
        before = Signal(64)
        after = Signal(64)
        old, b, value = self._operands(m)
        self._integer(m, old, b, value)
        with m.If(self.valid & ~is_float):
            m.d.sync += [before.eq(Cat(old[:32], Mux(self.wide, old[32:], 0))),
                         after.eq(Cat(value[:32], Mux(self.wide, value[32:], 0)))]
        m.d.comb += [self.integer.eq(after), self.changed.eq(before != after)]
        self._real(m, self.valid & is_float)
        return m

    def _operands(self, m: Module):
        """Narrow operands extended as the operation compares them; these are 65-bit numbers."""
        signed = Signal()
        m.d.comb += signed.eq((self.function == AtomicOp.MIN_S) | (self.function == AtomicOp.MAX_S))
        extended = []
        for name in ("old", "b"):
            word = getattr(self, name)
            wider = Signal(64, name=f"{name}_wider")
            with m.If(self.valid):
                m.d.comb += wider.eq(Cat(
                    word[:32], Mux(self.wide, word[32:], spread(signed & word[31], 32))))
            extended.append(Cat(wider, signed & wider[63]).as_signed())
        return *extended, Signal(64, name="value")

    def _integer(self, m: Module, old: Value, b: Value, value: Value):
        """The result of every operation but FADD."""
        less = Signal()
        equal = Signal()
        nothing = Signal()
        with m.If(self.valid):
            m.d.comb += [less.eq(old < b), equal.eq(old == b), nothing.eq(old == 0)]
        results = {
            AtomicOp.ADD: old + b, AtomicOp.AND: old & b,
            AtomicOp.OR: old | b, AtomicOp.XOR: old ^ b,
            AtomicOp.EXCH: b, AtomicOp.CAS: Mux(equal, self.c, old[:64]),
            AtomicOp.INC: Mux(less, old + 1, 0),
            AtomicOp.DEC: Mux(nothing | ~(less | equal), b, old - 1),
            **{op: Mux(less == Const(op in _MINIMUM, 1), old, b)
               for op in (*_MINIMUM, AtomicOp.MAX_S, AtomicOp.MAX_U)},
        }
        with m.If(self.valid):
            with m.Switch(self.function):
                for op, result in results.items():
                    with m.Case(op):
                        m.d.comb += value.eq(result)

    def _real(self, m: Module, start: Value):
        """The sum of two binary32 numbers."""
        m.submodules.adder = adder = ArithmeticLane()
        enable = start
        for number in range(1, self.FLOAT_LATENCY + 1):
            control = getattr(adder, f"stage_{number}")
            m.d.comb += control.enable.eq(enable)
            if "nearest" in control.shape().members:
                m.d.comb += control.nearest.eq(1)
            if number < self.FLOAT_LATENCY:
                later = Signal(name=f"adding_{number}")
                m.d.sync += later.eq(enable)
                enable = later
        m.d.comb += [adder.stage_1.addend.eq(Addend.B), adder.a.eq(self.old[:32]),
                     adder.b.eq(self.b[:32]), self.real.eq(adder.result)]

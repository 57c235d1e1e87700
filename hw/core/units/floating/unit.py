"""The floating-point unit of the SM: lanes under one control.

::

    a, b, c --> arithmetic lanes, 5 stages ----------------------------------+--> result
          +---> comparison lanes, 1 stage --> result, predicate, 4 registers-+--> predicate
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import ArrayLike

from ....arch.geometry import Geometry
from ....arch.isa.opcodes import AluOp
from ....lib.delay import delayed
from .comparison import ComparisonLane
from .controls import ARITHMETIC_ROWS, COMPARISON, COMPARISON_ROWS, STAGES
from .lane import ArithmeticLane
from .model import TESTS, VALUES

__all__ = ["FloatUnit"]


class FloatUnit(wiring.Component):
    """Floating point of `lanes` threads: one beat per cycle, results `LATENCY` cycles later.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    op : Signal(AluOp), in
    valid : Signal(1), in
        There is an ALU operation; the lanes stand still unless it is one of theirs.
    a, b, c : Array of `lanes` words, in
    result : Array of `lanes` words, out
    predicate : Signal(lanes), out
    """

    op: Signal
    valid: Signal
    a: data.View
    b: data.View
    c: data.View
    result: data.View
    predicate: Signal

    LATENCY = ArithmeticLane.LATENCY

    def __init__(self, g: Geometry):
        self.geometry = g
        words = data.ArrayLayout(32, g.lanes)
        super().__init__({
            "op": In(AluOp), "valid": In(1), "a": In(words), "b": In(words), "c": In(words),
            "result": Out(words), "predicate": Out(g.lanes),
        })

    @staticmethod
    def compute(op: AluOp, a: ArrayLike, b: ArrayLike,
                c: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return what the hardware computes, for arrays of lanes.

        Parameters
        ----------
        op : AluOp
            A floating-point operation (`AluOp.is_float`).
        a, b, c : array of uint32
            Bit patterns; an operand that the operation does not have is ignored.

        Returns
        -------
        tuple of numpy.ndarray
            Register result (uint32) and predicate result (bool), zeros where the operation has
            none.

        Raises
        ------
        ValueError
            If `op` is not a floating-point operation.
        """
        a, b, c = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, np.uint32)) for x in (a, b, c)))
        if op not in VALUES and op not in TESTS:
            raise ValueError(f"{op!r} is not a floating-point operation")
        with np.errstate(all="ignore"):
            value = VALUES[op](a, b, c) if op in VALUES else np.zeros(a.shape, np.uint32)
            test = TESTS[op](a, b) if op in TESTS else np.zeros(a.shape, bool)
        return value, test

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        words = data.ArrayLayout(32, g.lanes)
        stages = [delayed(m, f"control_{number}",
                          self._decode(m, f"stage_{number}", layout, rows), number - 1)
                  for number, (layout, rows) in enumerate(
                      ((stage, ARITHMETIC_ROWS) for stage in STAGES), 1)]
        control = self._decode(m, "comparison", COMPARISON, COMPARISON_ROWS)
        chosen = Signal(words)
        tested = Signal(g.lanes)
        for lane in range(g.lanes):
            m.submodules[f"lane_{lane}"] = arithmetic = ArithmeticLane()
            m.submodules[f"comparison_{lane}"] = comparison = ComparisonLane()
            m.d.comb += [getattr(arithmetic, f"stage_{number}").eq(stage)
                         for number, stage in enumerate(stages, 1)]
            m.d.comb += [
                arithmetic.a.eq(self.a[lane]),
                arithmetic.b.eq(self.b[lane]), arithmetic.c.eq(self.c[lane]),
                comparison.control.eq(control),
                comparison.a.eq(self.a[lane]), comparison.b.eq(self.b[lane]),
                chosen[lane].eq(comparison.result), tested[lane].eq(comparison.predicate),
                self.result[lane].eq(arithmetic.result),
            ]
        later = self.LATENCY - 1
        is_comparison = delayed(m, "compared", control, self.LATENCY)
        chosen = delayed(m, "chosen", chosen, later)
        with m.If(is_comparison.enable):
            m.d.comb += self.result.eq(chosen)
        m.d.comb += self.predicate.eq(delayed(m, "tested", tested, later))
        return m

    def _decode(self, m: Module, name: str, layout: data.StructLayout,
                rows: Mapping[AluOp, Mapping[str, Any]]) -> Any:
        """Return the controls of the operation that comes in."""
        control = Signal(layout, name=name)
        with m.Switch(self.op):
            for op, row in rows.items():
                with m.Case(op):
                    m.d.comb += control.enable.eq(self.valid)
                    m.d.comb += [control[key].eq(value) for key, value in row.items()
                                 if key in layout.members]
        return control

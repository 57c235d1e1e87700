"""Integer unit: `lanes` integer lanes under one control."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....arch.geometry import Geometry
from ....arch.isa.opcodes import AluOp
from .controls import ROWS, STAGE_1, STAGE_2, STAGE_3
from .lane import IntegerLane

__all__ = ["IntegerUnit"]


class IntegerUnit(wiring.Component):
    """Integer lanes under one control: one beat per cycle, results `IntegerLane.LATENCY` cycles
    later.

    Parameters
    ----------
    g : Geometry
    lanes : int, optional
        Number of lanes, ``g.lanes`` if not given.

    Attributes
    ----------
    op : Signal(AluOp), in
    valid : Signal(1), in
        There is an operation; the lanes stand still unless it is one of theirs.
    a, b, c : Array of `lanes` words, in
    pa, pb : Signal(lanes), in
    result : Array of `lanes` words, out
    predicate : Signal(lanes), out
    """

    op: Signal
    valid: Signal
    a: data.View
    b: data.View
    c: data.View
    pa: Signal
    pb: Signal
    result: data.View
    predicate: Signal

    def __init__(self, g: Geometry, lanes: int | None = None):
        self.lanes = g.lanes if lanes is None else lanes
        words = data.ArrayLayout(32, self.lanes)
        super().__init__({
            "op": In(AluOp), "valid": In(1), "a": In(words), "b": In(words), "c": In(words),
            "pa": In(self.lanes), "pb": In(self.lanes),
            "result": Out(words), "predicate": Out(self.lanes),
        })

    def elaborate(self, platform: Any):
        m = Module()
        stage_1 = Signal(STAGE_1)
        next_2 = Signal(STAGE_2)
        stage_2 = Signal(STAGE_2)
        next_3 = Signal(STAGE_3)
        last_3 = Signal(STAGE_3)
        stage_3 = Signal(STAGE_3)
        with m.Switch(self.op):
            for op, row in ROWS.items():
                with m.Case(op):
                    m.d.comb += [stage_1.enable.eq(self.valid), next_2.enable.eq(self.valid)]
                    for name, value in row.items():
                        for control in (stage_1, next_2, next_3):
                            if name in control.shape().members:
                                m.d.comb += control[name].eq(value)
        m.d.sync += [stage_2.eq(next_2), last_3.eq(next_3), stage_3.eq(last_3)]
        for lane in range(self.lanes):
            m.submodules[f"lane_{lane}"] = unit = IntegerLane()
            m.d.comb += [
                unit.stage_1.eq(stage_1), unit.stage_2.eq(stage_2), unit.stage_3.eq(stage_3),
                unit.a.eq(self.a[lane]), unit.b.eq(self.b[lane]), unit.c.eq(self.c[lane]),
                unit.pa.eq(self.pa[lane]), unit.pb.eq(self.pb[lane]),
                self.result[lane].eq(unit.result), self.predicate[lane].eq(unit.predicate),
            ]
        return m

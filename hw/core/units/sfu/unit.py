"""The special-function unit of the SM: a few lanes behind which warp instructions queue."""

from __future__ import annotations

from typing import Any

import numpy as np
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import ArrayLike

from ....arch.geometry import Geometry
from ....arch.isa.opcodes import SfuOp
from ....interfaces.payloads import lane_op, register_write
from ..serializer import Serial
from .lane import SpecialFunctionLane
from .model import evaluate

__all__ = ["SpecialFunctionUnit"]


class SpecialFunctionUnit(wiring.Component):
    """Special functions of warps, `sfu_lanes` threads a cycle.

    Latency and throughput are those of `Serial` around lanes of `SpecialFunctionLane.LATENCY`
    stages. How far results are from the exact ones: `errors.ERRORS`.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    op : stream of lane_op, in
        `function` is an `SfuOp`, operand b its argument. Comes only after `room` (one place after
        reset).
    room : Signal(1), out
        One cycle: the next instruction may come.
    write : stream of register_write, out
    """

    op: stream.Interface
    room: Signal
    write: stream.Interface

    OPERANDS = ("b",)

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({"op": In(stream.Signature(lane_op(g, self.OPERANDS), always_ready=True)),
                          "room": Out(1), "write": Out(stream.Signature(register_write(g)))})

    @staticmethod
    def compute(op: SfuOp, b: ArrayLike) -> np.ndarray:
        """Return what the hardware computes.

        Parameters
        ----------
        op : SfuOp
        b : array of uint32
            Binary32 numbers; for `SfuOp.RCP64H` and `SfuOp.RSQ64H` high words of binary64 numbers.

        Returns
        -------
        numpy.ndarray
            uint32, of the shape of `b` (at least one dimension).
        """
        return evaluate(SfuOp(op), np.atleast_1d(np.asarray(b, np.uint32)))

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.serial = serial = Serial(g, threads=g.sfu_lanes, operands=self.OPERANDS,
                                              registers=1, latency=SpecialFunctionLane.LATENCY)
        wiring.connect(m, wiring.flipped(self.op), serial.op)
        wiring.connect(m, serial.write, wiring.flipped(self.write))
        m.d.comb += self.room.eq(serial.room)
        enter = serial.enter
        for thread in range(g.sfu_lanes):
            m.submodules[f"lane_{thread}"] = lane = SpecialFunctionLane()
            m.d.comb += [lane.enable.eq(enter.valid & enter.active[thread]),
                         lane.op.eq(enter.function),
                         lane.b.eq(enter.b[thread]), serial.result[0][thread].eq(lane.result)]
        return m

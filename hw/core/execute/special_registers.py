"""Values that ``s2r`` and ``ballot`` read: special registers, the vector of lanes.

A value that is the same in all lanes becomes operand b, which the lanes pass on (`ScalarSource`).
The thread index within the block is computed beside the lanes (`ThreadIndex`) and replaces their
result.
"""

from typing import Any

import numpy as np
from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.geometry import Geometry
from ...arch.isa.opcodes import AluOp, Special
from ...interfaces.gpu_ports import sm_number
from ...interfaces.payloads import below, kernel_info, tb_info
from .operands import operation

__all__ = ["ScalarSource", "ThreadIndex", "RECIPROCAL_BITS"]

RECIPROCAL_BITS = 20
"""Fraction bits of `reciprocal_x` and `reciprocal_y`:
ceil(2**20 / n) divides every thread number exactly."""
INDEX_BITS = 10
"""Bits of a thread number within its block."""


def _of(rows: data.View, field: str, number: Value):
    """Return one field of row `number` of an array of layouts."""
    values = [rows[k][field] for k in range(rows.shape().length)]
    return Cat(values).word_select(number, len(values[0]))


class ScalarSource(wiring.Component):
    """Value of operand b where it is not a register; combinational.

    Attributes
    ----------
    kernels, tbs, cycle : in
        Where special registers come from.
    sm_index : Signal(SM_BITS), in
        The number of the SM on its device; only with `Geometry.has_uncore`, else it is 0.
    operation : in
        ``s2r`` gives special register `imm`, or 0 if `imm` names none or one of a lane. ``ballot``
        gives its field `ballot`, any other operation `imm`.
    value : Signal(32), out
    """

    kernels: data.View
    tbs: data.View
    cycle: Signal
    sm_index: Signal
    operation: data.View
    value: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "kernels": In(data.ArrayLayout(kernel_info(g), g.kernel_slots)),
            "tbs": In(data.ArrayLayout(tb_info(g), g.tb_slots)),
            "cycle": In(64), **sm_number(g), "operation": In(operation(g)), "value": Out(32),
        })

    def elaborate(self, platform: Any):
        m = Module()
        op, offset = self.operation, self.operation.imm
        with m.If(op.alu == AluOp.S2R):
            with m.Switch(offset):
                for special, value in self._specials().items():
                    with m.Case(special):
                        m.d.comb += self.value.eq(value)
        with m.Elif(op.alu == AluOp.BALLOT):
            m.d.comb += self.value.eq(op.ballot)
        with m.Else():
            m.d.comb += self.value.eq(offset)
        return m

    def _specials(self):
        """Return the special registers that are the same in all lanes."""
        op, g = self.operation, self.geometry
        found = {Special.WARPID: op.block_warp, Special.CLOCK: self.cycle[:32],
                 Special.CLOCK_HIGH: self.cycle[32:], Special.NSMID: g.sms,
                 Special.SMID: self.sm_index if g.has_uncore else 0}
        for first, rows, name, number in (
            (Special.NTID_X, self.kernels, "block", op.kernel),
            (Special.CTAID_X, self.tbs, "ctaid", op.tb),
            (Special.NCTAID_X, self.kernels, "grid", op.kernel),
        ):
            for axis, letter in enumerate("xyz"):
                found[Special(first + axis)] = _of(rows, f"{name}_{letter}", number)
        return found


class ThreadIndex(wiring.Component):
    """Lane number and three-dimensional thread index of the `lanes` threads of a beat.

    The linear thread number of lane l of beat b of warp w is ``w * warp_size + b * lanes + l``. It
    is divided by the block's width and height by multiplying with their reciprocals. One beat is
    taken per cycle.

    Attributes
    ----------
    kernels : in
    operation : in
        Beat whose operands arrive (`OperandCollector.arriving`); taken when `enable`.
    enable : Signal(1), in
    result : Array of `lanes` words, out
        `LATENCY` cycles after the operation was taken, of stages 2 to `LATENCY` that advance every
        cycle.
    selected : Signal(1), out
        The operation of `result` was ``s2r`` of `LANEID` or `TID_X`, `TID_Y`, `TID_Z`.
    """

    kernels: data.View
    operation: data.View
    enable: Signal
    result: data.View
    selected: Signal

    LATENCY = 4

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "kernels": In(data.ArrayLayout(kernel_info(g), g.kernel_slots)),
            "operation": In(operation(g)), "enable": In(1),
            "result": Out(data.ArrayLayout(INDEX_BITS, g.lanes)), "selected": Out(1),
        })

    @staticmethod
    def compute(linear: np.ndarray, block_x: int, block_y: int
                ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return x, y and z of the threads numbered `linear`, as the hardware computes them."""
        linear = np.asarray(linear, np.uint64)
        reciprocal_x, reciprocal_y = (np.uint64(-(-(1 << RECIPROCAL_BITS) // n))
                                      for n in (block_x, block_y))
        row = linear * reciprocal_x >> np.uint64(RECIPROCAL_BITS)
        plane = row * reciprocal_y >> np.uint64(RECIPROCAL_BITS)
        x, y = linear - row * np.uint64(block_x), row - plane * np.uint64(block_y)
        return x.astype(np.uint32), y.astype(np.uint32), plane.astype(np.uint32)

    def elaborate(self, platform: Any):
        m = Module()
        g, op = self.geometry, self.operation
        block = data.StructLayout({"warp": below(g.max_block_warps),
                                   "beat": below(g.beats), "which": 2,
                                   "selected": 1, "x": 11, "y": 11, "by_x": 21, "by_y": 21})
        first = Signal(block)
        second = Signal(block)
        third = Signal(block)
        with m.If(self.enable):
            m.d.sync += [
                first.warp.eq(op.block_warp), first.beat.eq(op.beat),
                first.selected.eq((op.alu == AluOp.S2R)
                                  & ((op.imm == Special.LANEID)
                                     | (op.imm >= Special.TID_X) & (op.imm <= Special.TID_Z))),
                first.which.eq(Mux(op.imm == Special.LANEID, 3, op.imm)),
                first.x.eq(_of(self.kernels, "block_x", op.kernel)),
                first.y.eq(_of(self.kernels, "block_y", op.kernel)),
                first.by_x.eq(_of(self.kernels, "reciprocal_x", op.kernel)),
                first.by_y.eq(_of(self.kernels, "reciprocal_y", op.kernel)),
            ]
        m.d.sync += [second.eq(first), third.eq(second), self.selected.eq(third.selected)]
        for lane in range(g.lanes):
            m.d.sync += self.result[lane].eq(self._lane(m, lane, first, second, third))
        return m

    def _number(self, block: data.View, lane: int):
        """Return the lane number in the warp, and the thread number in the block."""
        g = self.geometry
        in_warp = Cat(C(lane, exact_log2(g.lanes)), block.beat[:exact_log2(g.beats)])
        return in_warp, Cat(in_warp, block.warp)[:INDEX_BITS]

    def _lane(self, m: Module, lane: int, first: data.View, second: data.View, third: data.View):
        """Return the value of one lane at stage 4:
        a row and a plane by two divisions, with their remainders."""
        row = Signal(INDEX_BITS, name=f"row_{lane}", reset_less=True)
        x = Signal(INDEX_BITS, name=f"x_{lane}", reset_less=True)
        second_row = Signal(INDEX_BITS, name=f"second_row_{lane}", reset_less=True)
        plane = Signal(INDEX_BITS, name=f"plane_{lane}", reset_less=True)
        with m.If(first.selected):
            m.d.sync += row.eq(self._number(first, lane)[1] * first.by_x >> RECIPROCAL_BITS)
        with m.If(second.selected):
            m.d.sync += [x.eq(self._number(second, lane)[1] - row * second.x), second_row.eq(row),
                         plane.eq(row * second.by_y >> RECIPROCAL_BITS)]
        in_warp = self._number(third, lane)[0]
        y = second_row - plane * third.y
        return Mux(third.which[1], Mux(third.which[0], in_warp, plane), Mux(third.which[0], y, x))

"""Instructions of the units that take a warp over several cycles: f64, special functions, exchange between lanes."""

from __future__ import annotations

import numpy as np

from caesura.hw.arch.isa.opcodes import ExchangeOp, F64Op, SfuOp
from caesura.hw.arch.isa.words import Instruction
from caesura.hw.core.units.exchange import ExchangeUnit
from caesura.hw.core.units.f64 import F64Unit
from caesura.hw.core.units.sfu import SpecialFunctionUnit

from ..state.kernel import Kernel
from ..state.lanes import lanes_of, mask_of
from ..state.sm import Sm
from .operands import Run, operand, wide_operand

__all__ = ["f64", "sfu", "exchange"]


def f64(instruction: Instruction, sm: Sm, kernel: Kernel) -> Run:
    """Build the effect of an instruction of the f64 unit."""
    op, size, d, pd = instruction.op, sm.g.warp_size, instruction.get("d"), instruction.get("pd")
    a, b, c = (wide_operand(instruction, name, size) for name in "abc")
    function, tests = F64Op(op.function or 0), "pd" in op.operands

    def run(warp, mask):
        value, test = F64Unit.compute(function, a(warp), b(warp), c(warp))
        if tests:
            return sm.write_predicate(warp, mask, pd, mask_of(test))
        for k in range(op.data_registers):
            sm.write_register(warp, mask, d + k, (value >> np.uint64(32 * k)).astype(np.uint32))
    return run


def sfu(instruction: Instruction, sm: Sm, kernel: Kernel) -> Run:
    """Build the effect of an instruction of the special-function unit."""
    function, d = SfuOp(instruction.op.function or 0), instruction.get("d")
    b = operand(instruction, "b", sm.g.warp_size)

    def run(warp, mask):
        sm.write_register(warp, mask, d, SpecialFunctionUnit.compute(function, b(warp)))
    return run


def exchange(instruction: Instruction, sm: Sm, kernel: Kernel) -> Run:
    """Build the effect of a shuffle or match."""
    op, size, get = instruction.op, sm.g.warp_size, instruction.get
    function, d, pd, tests = ExchangeOp(op.function or 0), get("d"), get("pd"), "pd" in op.operands
    a, b, c = (operand(instruction, name, size) for name in "abc")

    def run(warp, mask):
        value, test = ExchangeUnit.compute(function, a(warp), b(warp), c(warp), lanes_of(mask, size))
        sm.write_register(warp, mask, d, value)
        if tests:
            sm.write_predicate(warp, mask, pd, mask_of(test))
    return run

"""Instructions of the golden model whose values are those of the shared units: f64, special functions, exchange."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from caesura.hw.arch.encoding import Instruction
from caesura.hw.arch.isa import ExchangeOp, F64Op, SfuOp
from caesura.hw.core.exchange import ExchangeUnit
from caesura.hw.core.f64 import F64Unit
from caesura.hw.core.sfu import SpecialFunctionUnit

from .alu import lanes_of, mask_of
from .vector import operand_b
from .warp import Warp

if TYPE_CHECKING:
    from .kernel import Kernel
    from .machine import Machine

__all__ = ["f64", "sfu", "exchange"]

Run = Callable[[Warp, int], None]


def _wide(warp: Warp, register: int) -> np.ndarray:
    """Return a register pair of all lanes as uint64."""
    low, high = warp.registers[register], warp.registers[register + 1]
    return high.astype(np.uint64) << np.uint64(32) | low


def _operand(instruction: Instruction, name: str, size: int) -> Callable[[Warp], np.ndarray]:
    """Return what reads an operand of all lanes as uint64."""
    register = instruction.get(name)
    if name not in instruction.op.operands:
        nothing = np.zeros(size, np.uint64)
        return lambda warp: nothing
    if name in instruction.op.pairs:
        return lambda warp: _wide(warp, register)
    read = operand_b(instruction, size)
    return lambda warp: read(warp).astype(np.uint64)


def f64(instruction: Instruction, machine: Machine, kernel: Kernel) -> Run:
    """Build the effect of an instruction of the f64 unit."""
    op, size, d, pd = instruction.op, machine.g.warp_size, instruction.get("d"), instruction.get("pd")
    a, b, c = (_operand(instruction, name, size) for name in "abc")
    function, tests = F64Op(op.function or 0), "pd" in op.operands

    def run(warp, mask):
        value, test = F64Unit.compute(function, a(warp), b(warp), c(warp))
        if tests:
            return machine.write_predicate(warp, mask, pd, mask_of(test))
        for k in range(op.data_registers):
            machine.write_register(warp, mask, d + k, (value >> np.uint64(32 * k)).astype(np.uint32))
    return run


def sfu(instruction: Instruction, machine: Machine, kernel: Kernel) -> Run:
    """Build the effect of an instruction of the special-function unit."""
    function, d = SfuOp(instruction.op.function or 0), instruction.get("d")
    b = operand_b(instruction, machine.g.warp_size)

    def run(warp, mask):
        machine.write_register(warp, mask, d, SpecialFunctionUnit.compute(function, b(warp)))
    return run


def exchange(instruction: Instruction, machine: Machine, kernel: Kernel) -> Run:
    """Build the effect of a shuffle or match."""
    op, size, get = instruction.op, machine.g.warp_size, instruction.get
    function, a, c, d, pd = ExchangeOp(op.function or 0), get("a"), get("c"), get("d"), get("pd")
    b, tests = operand_b(instruction, size), "pd" in op.operands

    def run(warp, mask):
        r = warp.registers
        value, test = ExchangeUnit.compute(function, r[a], b(warp), r[c], lanes_of(mask, size))
        machine.write_register(warp, mask, d, value)
        if tests:
            machine.write_predicate(warp, mask, pd, mask_of(test))
    return run

"""Vector ALU instructions of the golden model."""

from __future__ import annotations

import numpy as np

from caesura.hw.arch.isa.opcodes import AluOp
from caesura.hw.arch.isa.words import Instruction

from ..state.kernel import Kernel
from ..state.lanes import lanes_of, mask_of
from ..state.sm import Sm
from .operands import Run, operand, predicate
from .operations import TEST, VALUE, add_with_carry, subtract_with_carry
from .special_registers import special_register

__all__ = ["alu"]


def alu(instruction: Instruction, sm: Sm, kernel: Kernel) -> Run:
    """Build the effect of an ALU instruction."""
    op, size = instruction.op, sm.g.warp_size
    get = instruction.get
    d, pd = get("d"), get("pd")
    a, b, c = (operand(instruction, name, size) for name in "abc")
    write, write_predicate = sm.write_register, sm.write_predicate
    assert op.alu is not None
    if op.alu in VALUE:
        value = VALUE[op.alu]

        def run(warp, mask):
            write(warp, mask, d, value(a(warp), b(warp), c(warp)))
    elif op.alu in TEST:
        test = TEST[op.alu]

        def run(warp, mask):
            write_predicate(warp, mask, pd, mask_of(test(a(warp), b(warp))))
    elif op.alu is AluOp.S2R:
        def run(warp, mask):
            write(warp, mask, d, special_register(warp, get("imm"), sm))
    else:
        return _with_predicates(instruction, sm)
    return run


def _with_predicates(instruction: Instruction, sm: Sm) -> Run:
    """Build the effect of an ALU instruction that reads predicates."""
    op, size, get = instruction.op.alu, sm.g.warp_size, instruction.get
    full = (1 << size) - 1
    d, pd = get("d"), get("pd")
    a, b = operand(instruction, "a", size), operand(instruction, "b", size)
    pa, pa_not, pb, pb_not = get("pa"), get("pa_not") * full, get("pb"), get("pb_not") * full
    write, write_predicate = sm.write_register, sm.write_predicate
    if op in (AluOp.IADDC, AluOp.ISUBC):
        chain = add_with_carry if op is AluOp.IADDC else subtract_with_carry

        def run(warp, mask):
            total, carry = chain(a(warp), b(warp), lanes_of(predicate(warp, pa, pa_not), size))
            write(warp, mask, d, total)
            write_predicate(warp, mask, pd, mask_of(carry))
    elif op is AluOp.SEL:
        def run(warp, mask):
            choose = lanes_of(predicate(warp, pa, pa_not), size)
            write(warp, mask, d, np.where(choose, a(warp), b(warp)))
    elif op is AluOp.BALLOT:
        def run(warp, mask):
            write(warp, mask, d, np.full(size, predicate(warp, pa, pa_not) & mask, np.uint32))
    else:
        combine = {AluOp.PAND: int.__and__, AluOp.POR: int.__or__, AluOp.PXOR: int.__xor__}[AluOp(op)]

        def run(warp, mask):
            value = combine(predicate(warp, pa, pa_not), predicate(warp, pb, pb_not))
            write_predicate(warp, mask, pd, value)
    return run

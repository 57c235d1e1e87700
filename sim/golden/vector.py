"""Vector ALU instructions of the golden model, and what operands of vector instructions are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from caesura.hw.arch.encoding import Instruction
from caesura.hw.arch.faults import Fault
from caesura.hw.arch.isa import PT, AluOp, Format, Special

from .alu import TEST, VALUE, add_with_carry, lanes_of, mask_of, subtract_with_carry
from .warp import Warp, WarpFault

if TYPE_CHECKING:
    from .kernel import Kernel
    from .machine import Machine

__all__ = ["alu", "operand_b", "special", "parameter"]

Run = Callable[[Warp, int], None]


def predicate(warp: Warp, number: int, invert: int) -> int:
    """Return a predicate of all lanes, `PT` as all ones, exclusive-ored with `invert`."""
    full = (1 << warp.g.warp_size) - 1
    return (full if number == PT else warp.predicates[number]) ^ invert


def operand_b(instruction: Instruction, size: int) -> Callable[[Warp], np.ndarray]:
    """Return what reads operand b of all lanes: a vector register, a uniform register or the immediate."""
    if instruction.op.format is Format.I:
        imm = np.full(size, instruction.get("imm") & 0xFFFF_FFFF, np.uint32)
        return lambda warp: imm
    b = instruction.get("b")
    if instruction.get("b_uniform"):
        return lambda warp: np.full(size, warp.uniforms[b])
    return lambda warp: warp.registers[b]


def parameter(offset: int, machine: Machine, kernel: Kernel) -> int:
    """Return the parameter word at byte `offset`.

    Raises
    ------
    WarpFault
        `PARAM_BOUND`, with the offset as its address.
    """
    if offset % 4 or offset // 4 >= machine.g.param_words:
        raise WarpFault(Fault.PARAM_BOUND, offset & 0xFFFF_FFFF)
    return kernel.params[offset // 4]


def alu(instruction: Instruction, machine: Machine, kernel: Kernel) -> Run:
    """Build the effect of an ALU instruction."""
    op, size = instruction.op, machine.g.warp_size
    get = instruction.get
    a, c, d, pd = (get(x) for x in ("a", "c", "d", "pd"))
    b = operand_b(instruction, size)
    write, write_predicate = machine.write_register, machine.write_predicate
    assert op.alu is not None
    if op.alu in VALUE:
        value = VALUE[op.alu]

        def run(warp, mask):
            r = warp.registers
            write(warp, mask, d, value(r[a], b(warp), r[c]))
    elif op.alu in TEST:
        test = TEST[op.alu]

        def run(warp, mask):
            write_predicate(warp, mask, pd, mask_of(test(warp.registers[a], b(warp))))
    elif op.alu is AluOp.LDP:
        def run(warp, mask):
            write(warp, mask, d, np.full(size, parameter(get("imm"), machine, kernel), np.uint32))
    elif op.alu is AluOp.S2R:
        def run(warp, mask):
            write(warp, mask, d, special(warp, get("imm"), machine))
    else:
        return _with_predicates(instruction, machine)
    return run


def _with_predicates(instruction: Instruction, machine: Machine) -> Run:
    """Build the effect of an ALU instruction that reads predicates."""
    op, size, get = instruction.op.alu, machine.g.warp_size, instruction.get
    full = (1 << size) - 1
    a, d, pd, b = get("a"), get("d"), get("pd"), operand_b(instruction, size)
    pa, pa_not, pb, pb_not = get("pa"), get("pa_not") * full, get("pb"), get("pb_not") * full
    write, write_predicate = machine.write_register, machine.write_predicate
    if op in (AluOp.IADDC, AluOp.ISUBC):
        chain = add_with_carry if op is AluOp.IADDC else subtract_with_carry

        def run(warp, mask):
            total, carry = chain(warp.registers[a], b(warp), lanes_of(predicate(warp, pa, pa_not), size))
            write(warp, mask, d, total)
            write_predicate(warp, mask, pd, mask_of(carry))
    elif op is AluOp.SEL:
        def run(warp, mask):
            choose = lanes_of(predicate(warp, pa, pa_not), size)
            write(warp, mask, d, np.where(choose, warp.registers[a], b(warp)))
    elif op is AluOp.BALLOT:
        def run(warp, mask):
            write(warp, mask, d, np.full(size, predicate(warp, pa, pa_not) & mask, np.uint32))
    else:
        combine = {AluOp.PAND: int.__and__, AluOp.POR: int.__or__, AluOp.PXOR: int.__xor__}[AluOp(op)]

        def run(warp, mask):
            value = combine(predicate(warp, pa, pa_not), predicate(warp, pb, pb_not))
            write_predicate(warp, mask, pd, value)
    return run


def special(warp: Warp, number: int, machine: Machine) -> np.ndarray:
    """Return special register `number` of all lanes; unknown ones read 0."""
    kernel, size = warp.tb.kernel, machine.g.warp_size
    lane = np.arange(size, dtype=np.uint32)
    if number == Special.LANEID:
        return lane
    if Special.TID_X <= number <= Special.TID_Z:
        x, y, _ = kernel.block
        linear = lane + np.uint32(warp.index * size)
        return (linear % x, linear // x % y, linear // (x * y))[number - Special.TID_X].astype(np.uint32)
    values = {Special.WARPID: warp.index, Special.SMID: 0, Special.CLOCK: machine.cycle & 0xFFFF_FFFF}
    for first, triple in ((Special.NTID_X, kernel.block), (Special.CTAID_X, warp.tb.ctaid),
                          (Special.NCTAID_X, kernel.grid)):
        values |= {first + axis: value for axis, value in enumerate(triple)}
    return np.full(size, values.get(number, 0), np.uint32)

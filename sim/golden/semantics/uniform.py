"""The uniform data path of the golden model: instructions that execute once a warp."""

from __future__ import annotations

import numpy as np

from caesura.hw.arch.isa.formats import Format
from caesura.hw.arch.isa.words import Instruction

from ..state.kernel import Kernel
from ..state.sm import Sm
from .operands import Read, Run
from .operations import TEST, VALUE
from .special_registers import special_register

__all__ = ["uniform", "call"]


def uniform(instruction: Instruction, sm: Sm, kernel: Kernel) -> Run:
    """Build the effect of a uniform instruction; a comparison writes its predicate in the lanes that execute it."""
    op, get = instruction.op.alu, instruction.get
    a, b, c = (_operand(instruction, name) for name in "abc")
    d, pd, imm = get("d"), get("pd"), get("imm")
    write, full = sm.write_uniform, (1 << sm.g.warp_size) - 1
    assert op is not None

    if op in VALUE:
        value = VALUE[op]

        def run(warp, mask):
            write(warp, d, int(value(a(warp), b(warp), c(warp))[0]))
    elif op in TEST:
        test = TEST[op]

        def run(warp, mask):
            sm.write_predicate(warp, mask, pd, full * bool(test(a(warp), b(warp))[0]))
    else:
        def run(warp, mask):
            write(warp, d, int(special_register(warp, imm, sm)[0]))
    return run


def _operand(instruction: Instruction, name: str) -> Read:
    """Return what reads an operand, an array of one word: what the instruction does not read is zero."""
    immediate = name == "b" and instruction.op.format is Format.I
    if immediate or "u" + name not in instruction.op.operands:
        word = np.array([instruction.get("imm") & 0xFFFF_FFFF if immediate else 0], np.uint32)
        return lambda warp: word
    register = instruction.get(name)
    return lambda warp: warp.uniforms[register:register + 1]


def call(instruction: Instruction, sm: Sm, kernel: Kernel) -> Run:
    """Build the write of a call's return address; the jump is the machine's."""
    d, write = instruction.get("d"), sm.write_uniform

    def run(warp, mask):
        write(warp, d, warp.stack[-1].pc + 1)
    return run

"""The uniform data path of the golden model: instructions that execute once a warp."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from caesura.hw.arch.encoding import Instruction
from caesura.hw.arch.isa import AluOp, Format

from .alu import TEST, VALUE
from .vector import parameter, special
from .warp import Warp

if TYPE_CHECKING:
    from .kernel import Kernel
    from .machine import Machine

__all__ = ["uniform", "call"]

Run = Callable[[Warp, int], None]


def uniform(instruction: Instruction, machine: Machine, kernel: Kernel) -> Run:
    """Build the effect of a uniform instruction; a comparison writes its predicate in the lanes that execute it."""
    op, get = instruction.op.alu, instruction.get
    a, b, c, d, pd, imm = (get(x) for x in ("a", "b", "c", "d", "pd", "imm"))
    write, full = machine.write_uniform, (1 << machine.g.warp_size) - 1
    constant = np.array([imm & 0xFFFF_FFFF], np.uint32) if instruction.op.format is Format.I else None
    assert op is not None

    def operands(warp):
        u = warp.uniforms
        return u[a:a + 1], u[b:b + 1] if constant is None else constant

    if op in VALUE:
        value = VALUE[op]

        def run(warp, mask):
            write(warp, d, int(value(*operands(warp), warp.uniforms[c:c + 1])[0]))
    elif op in TEST:
        test = TEST[op]

        def run(warp, mask):
            machine.write_predicate(warp, mask, pd, full * bool(test(*operands(warp))[0]))
    elif op is AluOp.LDP:
        def run(warp, mask):
            write(warp, d, parameter(imm, machine, kernel))
    else:
        def run(warp, mask):
            write(warp, d, int(special(warp, imm, machine)[0]))
    return run


def call(instruction: Instruction, machine: Machine, kernel: Kernel) -> Run:
    """Build the write of a call's return address; the jump is the machine's."""
    d, write = instruction.get("d"), machine.write_uniform

    def run(warp, mask):
        write(warp, d, warp.stack[-1].pc + 1)
    return run

"""Operands of vector instructions: what reads them in all lanes.

What an instruction does not read is zero, whatever the bits of its field say: they may name a register that is not
there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from caesura.hw.arch.isa.formats import Format
from caesura.hw.arch.isa.opcodes import PT
from caesura.hw.arch.isa.words import Instruction

from ..state.thread_block import Warp

__all__ = ["Run", "Read", "operand", "wide_operand", "predicate"]

Run = Callable[[Warp, int], None]
"""The effect of an instruction on (warp, mask)."""
Read = Callable[[Warp], np.ndarray]


def predicate(warp: Warp, number: int, invert: int) -> int:
    """Return a predicate of all lanes, `PT` as all ones, exclusive-ored with `invert`."""
    full = (1 << warp.g.warp_size) - 1
    return (full if number == PT else warp.predicates[number]) ^ invert


def operand(instruction: Instruction, name: str, size: int) -> Read:
    """Return what reads operand a, b or c of `size` lanes: a vector register, a uniform register or the immediate."""
    if name == "b" and instruction.op.format is Format.I:
        return _constant(instruction.get("imm"), size)
    if name not in instruction.op.operands:
        return _constant(0, size)
    register = instruction.get(name)
    if name == "b" and instruction.get("b_uniform"):
        return lambda warp: np.full(size, warp.uniforms[register])
    return lambda warp: warp.registers[register]


def wide_operand(instruction: Instruction, name: str, size: int) -> Read:
    """Return what reads an operand as uint64: a register pair, or a word below zeros."""
    if name in instruction.op.operands and name in instruction.op.pairs:
        register = instruction.get(name)
        return lambda warp: _pair(warp, register)
    read = operand(instruction, name, size)
    return lambda warp: read(warp).astype(np.uint64)


def _constant(value: int, size: int) -> Read:
    word = np.full(size, value & 0xFFFF_FFFF, np.uint32)
    return lambda warp: word


def _pair(warp: Warp, register: int) -> np.ndarray:
    low, high = warp.registers[register], warp.registers[register + 1]
    return high.astype(np.uint64) << np.uint64(32) | low

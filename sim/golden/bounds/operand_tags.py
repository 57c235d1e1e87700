"""Tags of what an instruction reads: its operands, and the base of its address."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from caesura.hw.arch.isa.formats import Format
from caesura.hw.arch.isa.words import Instruction

from ..state.tags import TAG, WarpTags

__all__ = ["sources", "operand_tags", "address_tags"]


def sources(instruction: Instruction, names: str) -> tuple[int, int]:
    """Return the vector registers and the uniform ones that operands are, as bits."""
    vector = uniform = 0
    for name in names:
        if name not in instruction.op.operands or name == "b" and instruction.op.format is Format.I:
            continue
        first = instruction.get(name)
        if name == "b" and instruction.get("b_uniform"):
            uniform |= 1 << first
        else:
            vector |= (3 if name in instruction.op.pairs else 1) << first
    return vector, uniform


def operand_tags(instruction: Instruction, tags: WarpTags, name: str, size: int) -> np.ndarray:
    """Return the tags of an operand of all lanes; zeros if the instruction does not read it, or it is immediate."""
    if name not in instruction.op.operands or name == "b" and instruction.op.format is Format.I:
        return np.zeros(size, TAG)
    if name == "b" and instruction.get("b_uniform"):
        return np.full(size, tags.uniform(instruction.get("b")), TAG)
    return tags.vector(instruction.get(name))


def address_tags(instruction: Instruction) -> Callable[[WarpTags], np.ndarray | int]:
    """Return what gives the tags of the addresses of a memory instruction."""
    base = instruction.get("a")
    if instruction.get("no_base"):
        return lambda tags: 0
    if instruction.get("base_uniform"):
        return lambda tags: tags.uniform(base)
    return lambda tags: tags.vector(base) if tags.tagged >> base & 1 else 0

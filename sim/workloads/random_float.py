"""Floating-point parts of random machine code: operands and short sequences that meet the difficult cases."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from caesura.hw.arch.isa.formats import Format
from caesura.hw.arch.isa.opcodes import OPCODES

__all__ = ["IMMEDIATES", "words", "statement"]

IMMEDIATES = (0x0000_0000, 0x8000_0000, 0x0000_0001, 0x007F_FFFF, 0x0080_0000, 0x3380_0000, 0x3F00_0000, 0x3F7F_FFFF,
              0x3F80_0000, 0xBF80_0000, 0x3FC0_0000, 0x4B00_0000, 0x4B7F_FFFF, 0xCF00_0000, 0x4F80_0000, 0x7F7F_FFFF,
              0x7F80_0000, 0xFF80_0000, 0x7F80_0001, 0xFFC0_0000)
"""Special values: zeros, limits of subnormal, normal and integer numbers, ones, neighbours, halves, infinities, NaNs.
"""
ROWS = tuple(op for op in OPCODES if op.alu is not None and op.alu.is_float and "d" in op.operands)
ROUNDING = ("rn", "rz", "rm", "rp")


def words(seed: int, count: int) -> np.ndarray:
    """Return bit patterns: a third are special values, a third near 1, a third random."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, count)
    anything = rng.integers(0, 1 << 32, count, np.uint32)
    special = rng.choice(np.array(IMMEDIATES, np.uint32), count)
    near = anything & np.uint32(0x807F_FFFF) | rng.integers(120, 134, count).astype(np.uint32) << np.uint32(23)
    return np.select([kind == 0, kind == 1], [special, near], anything)


def statement(rng: random.Random, emit: Callable, data: Callable[[], int], guard: Callable[[], dict]) -> None:
    """Emit an operation, often after one that makes its operands close.

    Parameters
    ----------
    rng : random.Random
    emit : callable
        Appends an instruction.
    data : callable
        Returns a random data register.
    guard : callable
        Returns random guard fields.
    """
    a, b, c = data(), data(), data()
    prepare = rng.random()
    if prepare < 0.2:      # neighbours, often of opposite sign
        emit("iadd.i", d=b, a=a, imm=rng.choice((0, 1, 2, -1, -2, 1 << 31, (1 << 31) + 1)) % (1 << 32))
    elif prepare < 0.35:   # exponents that differ a little, sometimes by half a unit in the last place
        emit("isub.i", d=b, a=a, imm=rng.choice((1, 2, 22, 23, 24, 25, 30)) << 23)
        if rng.random() < 0.5:
            emit("and.i", d=b, a=b, imm=0xFF80_0000)
    elif prepare < 0.5:    # a product that the addend cancels up to rounding
        emit(f"fmul.{rng.choice(ROUNDING)}", d=c, a=a, b=b)
        emit("fneg", d=c, b=c)
        emit(f"ffma.{rng.choice(ROUNDING)}", d=data(), a=a, b=b, c=c, **guard())
        return
    elif prepare < 0.6:    # subnormal operands
        emit("and.i", d=b, a=b, imm=0x80FF_FFFF)
    op = rng.choice(ROWS)
    fields = {name: register for name, register in (("a", a), ("b", b), ("c", c)) if name in op.operands}
    if op.format is Format.I:
        fields["imm"] = rng.choice(IMMEDIATES)
    emit(op.name, d=data(), **fields, **guard())

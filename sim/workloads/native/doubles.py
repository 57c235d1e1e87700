"""Random f64 operations in machine code: operands and short sequences that meet the difficult cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from caesura.hw.arch.isa.opcodes import OPCODES, Unit
from caesura.sim.workloads import random_float

from .operands import CONSTANT_BYTES, DATA_PREDICATES

if TYPE_CHECKING:
    from .operands import Operands

__all__ = ["SPECIALS", "words", "constants", "statement"]

SPECIALS = (
    0, 1, 0x000F_FFFF_FFFF_FFFF, 0x0010_0000_0000_0000, 0x3690_0000_0000_0000, 0x36A0_0000_0000_0000,
    0x380F_FFFF_FFFF_FFFF, 0x3810_0000_0000_0000, 0x3CA0_0000_0000_0000, 0x3FE0_0000_0000_0000, 0x3FEF_FFFF_FFFF_FFFF,
    0x3FF0_0000_0000_0000, 0x3FF0_0000_0000_0001, 0x3FF8_0000_0000_0000, 0x41DF_FFFF_FFC0_0000, 0x41E0_0000_0000_0000,
    0x41EF_FFFF_FFE0_0000, 0x41F0_0000_0000_0000, 0x4330_0000_0000_0000, 0x433F_FFFF_FFFF_FFFF, 0x43E0_0000_0000_0000,
    0x43F0_0000_0000_0000, 0x47EF_FFFF_E000_0000, 0x47EF_FFFF_F000_0000, 0x7FEF_FFFF_FFFF_FFFF, 0x7FF0_0000_0000_0000,
    0x7FF0_0000_0000_0001, 0x7FF8_0000_0000_0000)
"""Special values: zero, limits of subnormal, normal and integer numbers, neighbours of 1, infinity, NaNs."""
ROWS = tuple(op for op in OPCODES if op.unit is Unit.F64)
ROUNDING = ("rn", "rz", "rm", "rp")


def words(seed: int, count: int) -> np.ndarray:
    """Return 64-bit patterns: a third are special values of either sign, a third near 1, a third random."""
    rng = np.random.default_rng(seed)
    anything = rng.integers(0, 1 << 64, count, np.uint64)
    special = rng.choice(np.array(SPECIALS, np.uint64), count) | anything & np.uint64(1 << 63)
    exponent = rng.integers(990, 1060, count).astype(np.uint64)
    near = anything & np.uint64(0x800F_FFFF_FFFF_FFFF) | exponent << np.uint64(52)
    kind = rng.integers(0, 3, count)
    return np.select([kind == 0, kind == 1], [special, near], anything)


def constants(seed: int) -> bytes:
    """Return a constant bank of f64 patterns, then f32 patterns."""
    return words(seed, CONSTANT_BYTES // 16).tobytes() + random_float.words(seed, CONSTANT_BYTES // 8).tobytes()


def statement(to: Operands) -> None:
    """Emit an operation, often after one that makes its operands close."""
    rng, emit = to.rng, to.emit
    a, b, c = (to._data(2) for _ in range(3))
    if "constant" not in to.s.without and rng.random() < 0.5:
        emit("ld.const.b64", d=b, no_base=1, imm=rng.randrange(0, CONSTANT_BYTES // 2, 8), **to._guard())
    prepare = rng.random()
    if prepare < 0.15:     # neighbours, often of opposite sign
        emit("iadd.i", d=b, a=a, imm=rng.choice((0, 1, 2, -1, -2)) % (1 << 32))
        emit("xor.i", d=b + 1, a=a + 1, imm=rng.choice((0, 1 << 31)))
    elif prepare < 0.3:    # exponents that differ a little
        emit("mov", d=b, b=a)
        emit("isub.i", d=b + 1, a=a + 1, imm=rng.choice((1, 2, 25, 52, 53, 54, 60, 106)) << 20)
    elif prepare < 0.45:   # a product that the addend cancels up to rounding
        emit(f"dmul.{rng.choice(ROUNDING)}", d=c, a=a, b=b)
        emit("xor.i", d=c + 1, a=c + 1, imm=1 << 31)
        return emit(f"dfma.{rng.choice(ROUNDING)}", d=to._data(2), a=a, b=b, c=c, **to._guard())
    elif prepare < 0.55:   # subnormal operands
        emit("and.i", d=b + 1, a=b + 1, imm=0x801F_FFFF)
    elif prepare < 0.7:    # ordinary ones
        emit("f2d", d=b, b=to._data())
    op = rng.choice(ROWS)
    fields = {name: register if name in op.pairs else to._data()
              for name, register in (("a", a), ("b", b), ("c", c)) if name in op.operands}
    if "b" in fields and "b" not in op.pairs and rng.random() < 0.3:
        fields |= to._register_b()
    if "pd" in op.operands:
        fields["pd"] = rng.randrange(DATA_PREDICATES)
    else:
        fields["d"] = to._data(op.data_registers)
    emit(op.name, **fields, **to._guard())

"""Liveness vectors: what a preemption point saves.

Vector registers have the bits from 0 up; bit `LIVE_REST` stands for that register and all above.
Predicates have the bits from `LIVE_BITS` - 1 down, and uniform registers the bits below those: P0,
... P6, U0, ... U31. A bit below the number of vector registers of the kernel belongs to a vector
register; a predicate or uniform register that shares the bit is always saved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..geometry import PREDICATES, UNIFORMS

__all__ = ["ALL_LIVE", "LIVE_BITS", "LIVE_REST", "Saved", "liveness_vector", "saved_by"]

LIVE_BITS = 54
"""Bits of a liveness vector."""
ALL_LIVE = (1 << LIVE_BITS) - 1
"""The liveness vector that saves everything."""
LIVE_REST = LIVE_BITS - 1
"""Bit of a liveness vector that stands for every vector register from this number up, in a kernel
that has one."""


@dataclass(frozen=True)
class Saved:
    """Registers that a liveness vector saves, each kind in ascending order.

    Attributes
    ----------
    registers, predicates, uniforms : tuple of int
        Numbers of vector registers (only those that the kernel has), predicates and uniform
        registers.
    """

    registers: tuple[int, ...]
    predicates: tuple[int, ...]
    uniforms: tuple[int, ...]


def liveness_vector(registers: Iterable[int], predicates: Iterable[int] = (),
                    uniforms: Iterable[int] = (), allocated: int = 0) -> int:
    """Return the 54-bit vector that saves at least these.

    Parameters
    ----------
    registers, predicates, uniforms : iterable of int
    allocated : int
        Vector registers that the kernel has; without, a predicate or uniform register may save a
        vector register as well.
    """
    vector = 0
    for register in registers:
        vector |= 1 << min(register, LIVE_REST)
    for scalar in (*predicates, *(PREDICATES + uniform for uniform in uniforms)):
        bit = LIVE_BITS - 1 - scalar
        if bit >= allocated:
            vector |= 1 << bit
    return vector


def saved_by(vector: int, allocated: int) -> Saved:
    """Return what `vector` saves in a warp with `allocated` vector registers."""
    bits = vector | (1 << allocated) - 1
    scalars = [n for n in range(PREDICATES + UNIFORMS) if bits >> LIVE_BITS - 1 - n & 1]
    return Saved(tuple(r for r in range(allocated) if vector >> min(r, LIVE_REST) & 1),
                 tuple(n for n in scalars if n < PREDICATES),
                 tuple(n - PREDICATES for n in scalars if n >= PREDICATES))

"""The passes that run until nothing changes."""

from __future__ import annotations

import itertools

from ..ir.kernel import Kernel
from .algebraic_simplification import simplify
from .atomic_reductions import drop_atomic_results
from .copy_propagation import propagate
from .dce import eliminate_dead_code
from .guarded_exits import exit_early
from .reassociate import reassociate
from .redundant_flushes import drop_flushes
from .simplify_cfg import simplify_cfg
from .value_numbering import number_values

__all__ = ["optimize"]

_ROUNDS = 20
_CLEANING = exit_early, drop_flushes, propagate, simplify, eliminate_dead_code, drop_atomic_results, simplify_cfg
"""Passes that run in turn until none of them changes anything."""


def optimize(kernel: Kernel) -> None:
    """Simplify `kernel` (stage ``narrow``), or the body of a routine."""
    simplify_cfg(kernel)
    for _ in range(_ROUNDS):
        _clean(kernel)
        if not (reassociate(kernel) | number_values(kernel)):
            break


def _clean(kernel: Kernel) -> None:
    idle = 0
    for step in itertools.islice(itertools.cycle(_CLEANING), _ROUNDS * len(_CLEANING)):
        idle = 0 if step(kernel) else idle + 1
        if idle == len(_CLEANING):
            break

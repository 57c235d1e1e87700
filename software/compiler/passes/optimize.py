"""The passes that run until nothing changes."""

from __future__ import annotations

import itertools

from ..ir.kernel import Kernel
from .dce import eliminate_dead_code
from .exits import exit_early
from .flushes import drop_flushes
from .propagate import propagate
from .reassociate import reassociate
from .reduce import drop_atomic_results
from .simplify import simplify
from .tidy import tidy
from .value_numbering import number_values

__all__ = ["optimize"]

_ROUNDS = 20
_CLEANING = exit_early, drop_flushes, propagate, simplify, eliminate_dead_code, drop_atomic_results, tidy
"""Passes that run in turn until none of them changes anything."""


def optimize(kernel: Kernel) -> None:
    """Simplify `kernel` (stage ``narrow``), or the body of a routine."""
    tidy(kernel)
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

"""The passes that run until nothing changes."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from ..ir.kernel import Kernel
from .algebraic_simplification import simplify
from .atomic_reductions import drop_atomic_results
from .change import Change
from .copy_propagation import propagate
from .dce import eliminate_dead_code
from .guarded_exits import exit_early
from .reassociate import reassociate
from .redundant_flushes import drop_flushes
from .simplify_cfg import simplify_cfg
from .value_numbering import number_values

__all__ = ["CLEANING", "REDUNDANCY", "optimize"]

_ROUNDS = 20
CLEANING: dict[str, Callable[[Kernel], bool | Change]] = {
    "guarded-exits": exit_early, "redundant-flushes": drop_flushes, "copy-propagation": propagate,
    "algebraic-simplification": simplify, "dce": eliminate_dead_code, "atomic-reductions": drop_atomic_results,
    "simplify-cfg": simplify_cfg}
"""Passes that run in turn until none of them changes anything."""
REDUNDANCY: dict[str, Callable[[Kernel], bool]] = {"reassociate": reassociate, "value-numbering": number_values}
"""Passes that run after those; if one of them changes something, everything runs again."""


def optimize(kernel: Kernel, observe: Callable[[str], None] = lambda name: None) -> None:
    """Simplify `kernel` (stage ``narrow``), or the body of a routine; `observe` gets the passes that changed it."""
    settled = ""  # the pass that has left the code as it is, and would find nothing in it

    def change(name: str, step: Callable[[Kernel], bool | Change]) -> bool:
        nonlocal settled
        if name == settled:
            return False
        changed = step(kernel)
        if changed:
            settled = name if changed == Change.SETTLED else ""
            observe(name)
        return bool(changed)

    change("simplify-cfg", simplify_cfg)
    for _ in range(_ROUNDS):
        idle = 0
        for name, step in itertools.islice(itertools.cycle(CLEANING.items()), _ROUNDS * len(CLEANING)):
            idle = 0 if change(name, step) else idle + 1
            if idle == len(CLEANING):
                break
        if not any([change(name, step) for name, step in REDUNDANCY.items()]):
            break

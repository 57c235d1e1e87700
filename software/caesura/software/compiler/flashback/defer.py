"""Running on to a smaller context, in the same block (CS-Defer: Lin et al., SC 2016, as CTXBack IV-C combines it).

A warp that is stopped before an instruction may execute the next few first; then what is live there is saved. The
estimate counts the cycles of those instructions, not what they wait for that was issued before (CTXBack V-B).
"""

from __future__ import annotations

from .blocks import Effect
from .costs import Objective
from .derivations import Mode
from .search import Plan, Search, rank

__all__ = ["best_deferral"]


def best_deferral(search: Search, at: int, objective: Objective) -> Plan:
    """Return the best place to run on to from instruction `at`, as a plan that saves what is live there.

    No limit is passed, nor more instructions than the search's window.
    """
    block, costs = search.block, search.costs
    cycles = 0
    best: Plan | None = None
    for later in range(at, min(len(block.instructions), at + search.window) + 1):
        size = search.live_size(later)
        found = Plan(later, later, Mode(), (), size, costs.preemption_cycles(size, cycles))
        if best is None or rank(found, objective) < rank(best, objective):
            best = found
        if later == len(block.instructions) or block.instructions[later].effect is Effect.LIMIT:
            break
        cycles += block.instructions[later].cycles
    assert best is not None
    return best

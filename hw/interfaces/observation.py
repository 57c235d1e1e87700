"""Signals of an SM for simulations that count, besides its trace ports; no machine has them."""

from amaranth.lib import data

from ..arch.geometry import Geometry

__all__ = ["CACHES", "WARP_STATES", "cache_lookup", "observation"]

WARP_STATES: tuple[str, ...] = ("issued", "passed_over", "issue", "scoreboard", "memory", "fetch",
                               "barrier", "stopped")
"""States of a warp in a cycle, from its start until it ends or is killed.

* ``issued``: the issue stage takes the instruction of the warp.
* ``passed_over``: the issue stage could take it, and takes the instruction of another warp.
* ``issue``: the unit has no room, or the issue stage stands because a warp is put into its slot.
* ``scoreboard``: the warp needs a register or predicate that a unit has not written yet.
* ``memory``: the warp needs a register that comes over the bus, or an access has to end before.
* ``fetch``: the warp has no instruction yet.
* ``barrier``: the warp waits at a barrier.
* ``stopped``: the warp has stopped for a preempt, or by a fault."""
CACHES: tuple[str, ...] = ("icache", "constants")
"""Caches whose lookups are seen."""


def cache_lookup() -> data.StructLayout:
    """A lookup that has ended, `valid` for one cycle: whether it `missed`. An instruction is looked
    up once more when its line has come; a constant waits in its lookup."""
    return data.StructLayout({"valid": 1, "missed": 1})


def observation(g: Geometry) -> data.StructLayout:
    """Return one vector for each of the `WARP_STATES`, with one bit per warp slot."""
    return data.StructLayout(dict.fromkeys(WARP_STATES, g.warps))

"""Signals of an SM for simulations that count, besides its trace ports; no machine has them."""

from amaranth.lib import data

from ..arch.geometry import Geometry

__all__ = ["CACHES", "WARP_STATES", "cache_lookup", "observation"]

WARP_STATES: tuple[str, ...] = ("issued", "passed_over", "issue", "scoreboard", "memory", "fetch",
                               "barrier", "stopped")
"""What a warp that has started, and has neither ended nor been killed, does in a cycle: one of
these.

``issued``: the issue stage takes its instruction. ``passed_over``: it could, and takes that of
another warp. ``issue``: there is no room in the unit, or the issue stage stands because a warp is
put into its slot. ``scoreboard``: it needs a register or predicate that a unit has not written
yet. ``memory``: one that comes over the bus, or an access has to end before. ``fetch``: there is no
instruction yet. ``barrier``: at a barrier. ``stopped``: for a preempt, or by a fault."""
CACHES: tuple[str, ...] = ("icache", "constants")
"""Caches whose lookups are seen."""


def cache_lookup() -> data.StructLayout:
    """A lookup that has ended, `valid` for one cycle: whether it `missed`. An instruction is looked
    up once more when its line has come; a constant waits in its lookup."""
    return data.StructLayout({"valid": 1, "missed": 1})


def observation(g: Geometry) -> data.StructLayout:
    """Of each of the `WARP_STATES` a vector of one bit a warp slot."""
    return data.StructLayout(dict.fromkeys(WARP_STATES, g.warps))

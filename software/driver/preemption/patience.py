"""The patience of a preempt that is given none: how long it waits for warps to get to their preemption points."""

from __future__ import annotations

from fractions import Fraction

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image.context import Capability, Mechanism

from ..launch.launch import Launch

__all__ = ["SHARE", "bus_share", "default_patience", "whole_sm_patience"]

SHARE = Fraction(1, 512)
"""Of the time that the bus takes for everything the resident TBs have allocated; measured (docs/patience.md)."""


def default_patience(launch: Launch, mechanism: Mechanism) -> int:
    """Return the default patience of a preempt, in cycles.

    0 with a mechanism that compresses: what is dead where a warp stands is compressed too, so that it has little to win
    by going on to a point. With others it is a share of what it costs to stop at once and save all that is allocated.
    """
    return 0 if mechanism.has(Capability.COMPRESSES) else bus_share(launch)


def bus_share(launch: Launch, share: Fraction = SHARE) -> int:
    """Return a share of the bus time for all that is allocated, in cycles: the registers and shared memory of the
    resident TBs over the bytes that the memory takes in a cycle.

    So a preempt waits the longer, the more it may save by it, and waiting in vain costs little next to the save.

    Parameters
    ----------
    launch : Launch
    share : Fraction
        For measurements with another one.
    """
    occupied = launch.resident_tbs * launch.occupied_tb_bytes
    return int(float(share) * occupied / launch.device.geometry.bytes_per_cycle)


def whole_sm_patience(g: Geometry, mechanism: Mechanism) -> int:
    """Return the default for an SM of which everything is allocated: for preempts of launches not known yet."""
    if mechanism.has(Capability.COMPRESSES):
        return 0
    return int(float(SHARE) * (g.registers * g.vector_bytes + g.shared_bytes) / g.bytes_per_cycle)

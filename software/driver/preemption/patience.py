"""The default patience of a preempt: how long it waits for warps to reach their preemption points."""

from __future__ import annotations

from fractions import Fraction

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image.context import Capability, Mechanism

from ..launch.launch import Launch

__all__ = ["SHARE", "bus_share", "default_patience", "whole_sm_patience"]

SHARE = Fraction(1, 512)
"""Share of the bus time for everything that the resident TBs have allocated; measured (docs/patience.md)."""


def default_patience(launch: Launch, mechanism: Mechanism) -> int:
    """Return the default patience of a preempt, in cycles.

    It is 0 with a mechanism that compresses: the dead registers of a stopped warp are compressed too, so a wait for a
    point gains little. With others it is a share of the cost of stopping at once and saving all that is allocated.
    """
    return 0 if mechanism.has(Capability.COMPRESSES) else bus_share(launch)


def bus_share(launch: Launch, share: Fraction = SHARE) -> int:
    """Return a share of the bus time for all that is allocated, in cycles. The bus time is the size of the registers
    and shared memory of the resident TBs over the bytes per cycle of the memory.

    So a preempt waits longer when it may save more, and a wait in vain costs little beside the save.

    Parameters
    ----------
    launch : Launch
    share : Fraction
        Share of the bus time; measurements vary it.
    """
    occupied = launch.resident_tbs * launch.occupied_tb_bytes
    return int(float(share) * occupied / launch.device.geometry.bytes_per_cycle)


def whole_sm_patience(g: Geometry, mechanism: Mechanism) -> int:
    """Return the default patience for an SM with everything allocated, for preempts of launches not known yet."""
    if mechanism.has(Capability.COMPRESSES):
        return 0
    return int(float(SHARE) * (g.registers * g.vector_bytes + g.shared_bytes) / g.bytes_per_cycle)

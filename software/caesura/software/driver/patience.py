"""The patience of a preempt that is given none: how long it waits for warps to get to their preemption points."""

from __future__ import annotations

from fractions import Fraction

from caesura.hw.arch.geometry import Geometry

from .launch import Launch

__all__ = ["SHARE", "default_patience", "whole_sm_patience"]

SHARE = Fraction(1, 512)
"""Of the time that the bus takes for everything the resident TBs have allocated; measured (docs/patience.md)."""


def default_patience(launch: Launch, share: Fraction = SHARE) -> int:
    """Return the default patience of a preempt, in cycles.

    A share of what it costs at least to stop at once and save all that is allocated: the registers and shared memory of
    the resident TBs over the bytes that the memory takes in a cycle. So a preempt waits the longer, the more it may
    save by it, and waiting in vain costs little next to the save.

    Parameters
    ----------
    launch : Launch
    share : Fraction
        For measurements with another one.
    """
    occupied = launch.resident_tbs * launch.occupied_tb_bytes
    return int(float(share) * occupied / launch.device.geometry.bytes_per_cycle)


def whole_sm_patience(g: Geometry, share: Fraction = SHARE) -> int:
    """Return the same for an SM of which everything is allocated: the patience of who does not know what will be."""
    return int(float(share) * (g.registers * g.vector_bytes + g.shared_bytes) / g.bytes_per_cycle)

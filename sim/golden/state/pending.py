"""An atomic that a warp has begun and whose lanes have their turn one after the other."""

from __future__ import annotations

import numpy as np

from .lanes import lanes_of
from .tags import Shadow

__all__ = ["PendingAtomic"]


class PendingAtomic:
    """An atomic of a warp that has begun.

    Attributes
    ----------
    shared : bool
        It changes shared memory, not global memory.
    pc, mask : int
        Where it stands, and the lanes that execute it.
    left : set of int
        Lanes whose turn is still to come.
    view : ndarray of uint32 or uint64
        The memory it changes.
    place : ndarray of int
        Index in `view` of each lane.
    b, c, old : ndarray of uint64
        Operands of each lane, and what was in memory before it.
    tags, shadow
        What `bounds` keeps of it.
    """

    __slots__ = ("shared", "pc", "mask", "left", "view", "place", "b", "c", "old", "tags", "shadow")

    tags: np.ndarray
    shadow: Shadow

    def __init__(self, shared: bool, pc: int, mask: int, view: np.ndarray, place: np.ndarray, b: np.ndarray,
                 c: np.ndarray):
        self.shared, self.pc, self.mask = shared, pc, mask
        self.view, self.place, self.b, self.c = view, place, b, c
        self.old = np.zeros(len(place), np.uint64)
        self.left = set(np.flatnonzero(lanes_of(mask, len(place))).tolist())

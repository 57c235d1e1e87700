"""One thread block (TB) of the golden model: its warps, shared memory and barriers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import SEGMENT_BYTES, Geometry

from .warp import Warp, WarpFault

if TYPE_CHECKING:
    from .bounds.tags import Shadow
    from .kernel import Kernel

__all__ = ["ThreadBlock"]


class ThreadBlock:
    """A resident TB.

    Parameters
    ----------
    g : Geometry
    kernel : Kernel
    launch_id : int
        Linear index in the grid.

    Attributes
    ----------
    ctaid : tuple of int
        Index in the grid in x, y, z.
    warps : list of Warp
    shared : ndarray of uint8
        Whole lines; lines never written are zero.
    views : tuple of ndarray
        The same memory in units of 8, 16, 32 and 64 bits.
    lines_valid : int
        Bit a 128-byte line: it was written.
    slot, base, first_line : int
        TB slot, first physical register and first shared-memory line on the SM.
    local_base : int
        Address of its region of local memory, its own until it ends.
    tags : bounds.tags.Shadow or None
        Of its shared memory, where bounds are checked.
    """

    def __init__(self, g: Geometry, kernel: Kernel, launch_id: int):
        self.g = g
        self.kernel = kernel
        self.launch_id = launch_id
        x, y, _ = kernel.grid
        self.ctaid = (launch_id % x, launch_id // x % y, launch_id // (x * y))
        self.slot = self.base = self.first_line = self.local_base = 0
        self.warps = []
        for index in range(kernel.warps):
            threads = min(max(kernel.threads - index * g.warp_size, 0), g.warp_size)
            self.warps.append(Warp(g, self, index, (1 << threads) - 1))
        self.shared = np.zeros(kernel.lines * SEGMENT_BYTES, np.uint8)
        self.lines_valid = 0
        self.tags: Shadow | None = None
        self._view()

    def _view(self) -> None:
        self.views = (self.shared, *(self.shared.view(unit) for unit in (np.uint16, np.uint32, np.uint64)))

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "views"}

    def __setstate__(self, state):
        vars(self).update(state)
        self._view()

    @property
    def exited(self) -> bool:
        """Every warp has exited."""
        return not any(warp.live for warp in self.warps)

    @property
    def stopped(self) -> bool:
        """No warp can go on by itself: each has exited, is parked or waits at a barrier."""
        return not any(warp.runs or warp.pending for warp in self.warps)

    def full_barrier(self) -> list[Warp]:
        """Return the warps to release: all that have not exited, if each waits at the same barrier.

        Raises
        ------
        WarpFault
            `BARRIER_MISMATCH` if all wait, but at different barriers.
        """
        alive = [warp for warp in self.warps if warp.live]
        if not all(warp.waiting for warp in alive):
            return []
        if len({warp.barrier for warp in alive}) > 1:
            raise WarpFault(Fault.BARRIER_MISMATCH)
        return alive

    def mark_written(self, addresses: np.ndarray) -> None:
        """Set the valid bit of the lines that hold `addresses`."""
        for line in set((addresses // SEGMENT_BYTES).tolist()):
            self.lines_valid |= 1 << line

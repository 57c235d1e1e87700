"""Which kernel a kernel slot held when: by the address of the code that was written into its descriptor."""

from __future__ import annotations

import bisect
from collections.abc import Mapping

import numpy as np

from caesura.sim.trace.changes import EventKind

__all__ = ["KernelNames"]


class KernelNames:
    """Names of the kernels in kernel slots over time.

    Parameters
    ----------
    held : mapping of int to str
        Names of the kernels that the slots hold when recording begins.
    events : numpy.ndarray, optional
        Of `sim.trace.changes.EVENT`: those of kind CODE say when a slot is given another kernel.
    code : mapping of int to str, optional
        Name of the kernel whose code begins at an address.
    """

    def __init__(self, held: Mapping[int, str], events: np.ndarray | None = None,
                 code: Mapping[int, str] | None = None):
        self._held = held
        self._changes: dict[int, tuple[list[int], list[str]]] = {}
        rows = () if events is None else events[events["kind"] == EventKind.CODE]
        for row in rows:
            cycles, names = self._changes.setdefault(int(row["kernel"]), ([], []))
            cycles.append(int(row["cycle"]))
            names.append((code or {}).get(int(row["value"]), f"kernel at {int(row['value']):#x}"))

    def at(self, kernel: int, cycle: int) -> str:
        """Return the name of the kernel in a slot at a cycle."""
        cycles, names = self._changes.get(kernel, ([], []))
        before = bisect.bisect_right(cycles, cycle)
        return names[before - 1] if before else self._held.get(kernel, f"kernel {kernel}")

"""Retire trace of the golden model, gathered in columns (`sim.trace.retired` says what is recorded)."""

from __future__ import annotations

import numpy as np

from caesura.sim.trace.retired import ATOMIC, PREDICATE, RETIRE, TRACE, UNIFORM, WRITE

from .lanes import lanes_of
from .thread_block import Warp

__all__ = ["Recorder"]


class Recorder:
    """Collects trace records; `take` returns them as `TRACE` records and forgets them.

    Attributes
    ----------
    cycle, pc : int
        Cycle and PC of the present instruction, set by the machine.
    """

    def __init__(self):
        self.cycle = self.pc = 0
        self._rows: list[tuple] = []
        self._data: list[tuple[int, np.ndarray]] = []
        self._done: list[np.ndarray] = []

    def _add(self, warp: Warp, kind: int, register: int, mask: int) -> None:
        tb = warp.tb
        self._rows.append((self.cycle, kind, tb.kernel.index, warp.index, register, 1, tb.launch_id, self.pc, mask))

    def retire(self, warp: Warp, mask: int) -> None:
        """An instruction retired with the lanes `mask`."""
        self._add(warp, RETIRE, 0, mask)

    def write(self, warp: Warp, register: int, mask: int, value: np.ndarray) -> None:
        """A vector register was written in the lanes `mask`."""
        self._data.append((len(self._rows), np.where(lanes_of(mask, len(value)), value, np.uint32(0))))
        self._add(warp, WRITE, register, mask)

    def predicate(self, warp: Warp, number: int, mask: int, value: int) -> None:
        """A predicate was written in the lanes `mask`."""
        self._data.append((len(self._rows), np.array([value & mask], np.uint32)))
        self._add(warp, PREDICATE, number, mask)

    def uniform(self, warp: Warp, register: int, value: int) -> None:
        """A uniform register was written."""
        self._data.append((len(self._rows), np.array([value], np.uint32)))
        self._add(warp, UNIFORM, register, 1)

    def atomic(self, warp: Warp, shared: bool, pc: int, lane: int, old: int) -> None:
        """A lane of the atomic at `pc` changed global or shared memory, where `old` was."""
        self.pc = pc
        self._data.append((len(self._rows), np.array([old & 0xFFFF_FFFF, old >> 32], np.uint32)))
        self._add(warp, ATOMIC, int(shared), 1 << lane)

    def add(self, records: np.ndarray) -> None:
        """Take over records that come next."""
        self._flush()
        self._done.append(records)

    def take(self) -> np.ndarray:
        """Return the records so far, in program order of each warp, and forget them."""
        self._flush()
        records, self._done = np.concatenate([np.zeros(0, TRACE), *self._done]), []
        return records

    def _flush(self) -> None:
        """Make records of the rows gathered."""
        if not self._rows:
            return
        records = np.zeros(len(self._rows), TRACE)
        columns = ("cycle", "kind", "kernel", "warp", "register", "last", "launch", "pc", "mask")
        for name, column in zip(columns, zip(*self._rows, strict=True), strict=True):
            records[name] = column
        for row, value in self._data:
            records["data"][row, :len(value)] = value
        self._rows, self._data = [], []
        self._done.append(records)

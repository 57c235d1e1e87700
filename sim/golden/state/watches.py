"""The watches of thread blocks (TBs): one 128-byte segment of memory each, and whether it was written since.

The SMs of a device have one board, since each may write what a TB of another one watches. An SM has a row of it for
each TB slot and for each row of its watch table. The compiled engine reads the board, and fires.
"""

from __future__ import annotations

import numpy as np

from caesura.hw.arch.geometry import SEGMENT_BYTES, Geometry

__all__ = ["Watches"]

NONE = 0xFFFF_FFFF
"""Value for no segment."""


class Watches:
    """All watches of a device.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    words : ndarray of uint32, shape (1 + 2 * rows,)
        Whether any row watches a segment; the segment of each row; whether each has fired.
    rows : int
    each : int
        Rows of an SM: its TB slots, then its watch table.
    """

    def __init__(self, g: Geometry):
        self.each = g.tb_slots + g.watches if g.watches else 0
        self.slots = g.tb_slots
        self.rows = self.each * g.sms
        self.words = np.zeros(1 + 2 * self.rows, np.uint32)
        self.words[1:1 + self.rows] = NONE

    def table(self, sm: int) -> range:
        """Return the rows of the watch table of an SM."""
        return range(sm * self.each + self.slots, (sm + 1) * self.each)

    def fired(self, row: int) -> bool:
        """Whether what a row watches was written."""
        return bool(self.words[1 + self.rows + row])

    def free(self, row: int) -> bool:
        """Whether a row of the watch table is free: nothing is watched there, or no longer, since it has fired."""
        return self.words[1 + row] == NONE or self.fired(row)

    def segment(self, row: int) -> int | None:
        """Return the segment that a row watches, if any."""
        segment = int(self.words[1 + row])
        return None if segment == NONE else segment

    def watch(self, row: int, segment: int) -> None:
        """Watch a segment; who watches another one already has missed what became of that: it has fired."""
        before = self.segment(row)
        if before is None:
            self._set(row, segment)
        elif before != segment:
            self.fire(row)

    def fire(self, row: int) -> None:
        """A row has fired, whatever it watches."""
        self.words[1 + self.rows + row] = 1

    def clear(self, row: int) -> None:
        """Watch nothing."""
        self.words[1 + self.rows + row] = 0
        self._set(row, NONE)

    def _set(self, row: int, segment: int) -> None:
        self.words[1 + row] = segment
        self.words[0] = (self.words[1:1 + self.rows] != NONE).any()

    def written(self, addresses: np.ndarray) -> np.ndarray:
        """Fire what watches one of these bytes; return the rows that have fired only now."""
        if not self.words[0]:
            return self.words[:0]
        return self._fire(np.isin(self.words[1:1 + self.rows], addresses // np.uint32(SEGMENT_BYTES)))

    def notify(self, sm: int, begin: int, end: int) -> None:
        """Fire what watches a segment with bytes of [`begin`, `end`), of an SM."""
        segments, rows = self.words[1:1 + self.rows], np.arange(self.rows)
        mine = (rows >= sm * self.each) & (rows < (sm + 1) * self.each)
        if begin < end:
            self._fire(mine & (segments >= begin // SEGMENT_BYTES) & (segments <= (end - 1) // SEGMENT_BYTES))

    def _fire(self, hit: np.ndarray) -> np.ndarray:
        fired = self.words[1 + self.rows:]
        new = np.flatnonzero(hit & (fired == 0))
        fired[new] = 1
        return new

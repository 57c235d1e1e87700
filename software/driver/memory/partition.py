"""The end of a heap as memory for other owners, which come and go."""

from __future__ import annotations

from .regions import Region

__all__ = ["Partition"]


class Partition:
    """Gives out pieces beyond the end of a heap. It moves the end down when it needs more room, and up again.

    Parameters
    ----------
    heap : Region
    """

    def __init__(self, heap: Region):
        self._heap, self._top = heap, heap.end
        self._used: list[tuple[int, int]] = []

    def take(self, size: int) -> tuple[int, int]:
        """Return the first byte and the first byte beyond of `size` bytes, which no longer belong to the heap. `size`
        is a multiple of the heap's alignment.

        Raises
        ------
        OutOfMemory
            If the end of the heap is in use.
        """
        start = self._place(size)
        if start < self._heap.end:
            self._heap.set_end(start)
        self._used = sorted([*self._used, (start, start + size)])
        return start, start + size

    def end_after(self, size: int) -> int:
        """Return the end that the heap would have once a piece has been taken."""
        return min(self._heap.end, self._place(size))

    def _place(self, size: int) -> int:
        """Return the beginning of a piece: in the first gap with room for it, or below all others."""
        at = self._heap.end
        for start, end in [*self._used, (self._top, self._top)]:
            if start - at >= size:
                return at
            at = end
        return (self._used[0][0] if self._used else self._top) - size

    def give_back(self, start: int) -> None:
        """Take a piece back."""
        self._used = [piece for piece in self._used if piece[0] != start]
        self._heap.set_end(self._used[0][0] if self._used else self._top)

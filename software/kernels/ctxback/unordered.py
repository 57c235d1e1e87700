"""Judge of results whose order is open, since any thread may get a place from an atomic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["SameElements"]


@dataclass(frozen=True, eq=False)
class SameElements:
    """Order-free judge of one array (`software.kernels.Job.judge`); the order within each group of places is open.

    Attributes
    ----------
    name : str
        Name of the array.
    expected : ndarray
        Elements, group by group, ascending in each group.
    groups : ndarray of int
        Group of each place, ascending.
    """

    name: str
    expected: np.ndarray
    groups: np.ndarray

    def __call__(self, arrays: dict[str, np.ndarray]) -> dict[str, int]:
        """Return the number of wrong elements; elements are compared by their bits."""
        found = arrays[self.name].reshape(-1)
        ordered = found[np.lexsort((found, self.groups))]
        bits = f"u{ordered.itemsize}"
        return {self.name: int(np.count_nonzero(ordered.view(bits) != self.expected.view(bits)))}

"""Judge of results whose order is open: which thread an atomic gave a place to is not determined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["SameElements"]


@dataclass(frozen=True, eq=False)
class SameElements:
    """Order-free judge of one array (`software.kernels.Job.judge`): within each group of places the order is open.

    Attributes
    ----------
    name : str
        Of the array.
    expected : ndarray
        Its elements, group by group, ascending in each.
    groups : ndarray of int
        The group of each place, ascending.
    """

    name: str
    expected: np.ndarray
    groups: np.ndarray

    def __call__(self, arrays: dict[str, np.ndarray]) -> dict[str, int]:
        """Return how many elements are wrong; they are compared by their bits."""
        found = arrays[self.name].reshape(-1)
        ordered = found[np.lexsort((found, self.groups))]
        bits = f"u{ordered.itemsize}"
        return {self.name: int(np.count_nonzero(ordered.view(bits) != self.expected.view(bits)))}

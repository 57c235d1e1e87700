"""Lane masks: one bit per lane as an integer, or an array of booleans."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

__all__ = ["lanes_of", "mask_of"]


@lru_cache(maxsize=4096)
def lanes_of(mask: int, warp_size: int) -> np.ndarray:
    """Return a lane mask as a read-only array of `warp_size` booleans, lane 0 first."""
    bits = np.frombuffer(mask.to_bytes(4, "little"), np.uint8)
    lanes = np.unpackbits(bits, count=warp_size, bitorder="little").view(bool)
    lanes.flags.writeable = False
    return lanes


def mask_of(lanes: np.ndarray) -> int:
    """Return an array of booleans as a lane mask, lane 0 in bit 0."""
    return int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little")

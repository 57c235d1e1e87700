"""Meaning of the PTX instructions between lanes in plain Python, from the pseudo-code of PTX ISA 9.7.9, ``shfl``."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["shuffle", "ballot", "match"]


def shuffle(mode: str, a: Sequence[int], b: Sequence[int], c: Sequence[int], active: Sequence[bool]
            ) -> list[tuple[int, bool]]:
    """Return (d, p) of every lane of a warp after ``shfl`` in `mode`: ``up``, ``down``, ``bfly`` or ``idx``.

    Where PTX leaves the result open, because the source lane does not execute the instruction, a lane keeps its own a
    and p is false. In a warp of fewer than 32 lanes what PTX takes modulo 32 is taken modulo their number.
    """
    width = len(a)
    results = []
    for lane in range(width):
        bval, cval, segmask = b[lane] % width, c[lane] % width, (c[lane] >> 8) % width
        max_lane = (lane & segmask) | (cval & ~segmask)
        min_lane = lane & segmask
        if mode == "up":
            j = lane - bval
            pval = j >= max_lane
        elif mode == "down":
            j = lane + bval
            pval = j <= max_lane
        elif mode == "bfly":
            j = lane ^ bval
            pval = j <= max_lane
        else:
            j = min_lane | (bval & ~segmask)
            pval = j <= max_lane
        if not pval:
            j = lane
        if not active[j]:
            j, pval = lane, False
        results.append((a[j], pval))
    return results


def ballot(holds: Sequence[object], active: Sequence[bool]) -> int:
    """Return a bit for each lane that is active and where `holds` is true."""
    return sum(1 << lane for lane, on in enumerate(active) if on and holds[lane])


def match(a: Sequence[int], active: Sequence[bool]) -> list[int]:
    """Return, for each lane, a bit for each active lane with the same a."""
    return [ballot([x == own for x in a], active) for own in a]

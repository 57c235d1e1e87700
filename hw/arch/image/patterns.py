"""Patterns of vector registers as Lin et al. encode them (III-C, Fig. 7 and Fig. 10). Context
images have the encodings of `hw.arch.image.encodings`, which include these.

A register is analysed in *pattern analysing groups* (PAG) of neighbouring lanes; arithmetic is
modulo 2^32. The lanes of a warp that were launched are a prefix of it; what the others hold does
not matter.

======= ==================================== ==================================================
pattern every group is                       words of the register
======= ==================================== ==================================================
UNIFORM one value in all launched lanes.     one per group.
STRIDED arithmetic (or uniform).             two per group: lane 0, and the step to the next.
RANDOM  any values.                          one per lane.
DEAD    not saved.                           none.
======= ==================================== ==================================================

A group with no launched lane encodes as zeros, the step of a group with one launched lane as zero.
"""

from __future__ import annotations

import enum

import numpy as np

__all__ = ["Pattern", "SMALLEST_PAG", "pattern_group", "encoded_words", "expand"]

SMALLEST_PAG = 8
"""Fewest lanes of a group."""


class Pattern(enum.IntEnum):
    """Two-bit code of a register (Lin et al. Fig. 10 and IV-B)."""

    DEAD = 0
    """Not saved."""
    UNIFORM = 1
    """In every group all lanes are equal: one word per group."""
    RANDOM = 2
    """Any values: one word per lane."""
    STRIDED = 3
    """In every group each lane is the one before plus a constant: two words per group."""


def pattern_group(block_x: int, warp_size: int) -> int:
    """Return the lanes of a group: the largest of 32, 16, 8 that divides `block_x`, else 32;
    at most `warp_size`."""
    fitting = [size for size in (32, 16, SMALLEST_PAG) if block_x % size == 0]
    return min(warp_size, fitting[0] if fitting else 32)


def encoded_words(pattern: int, pag: int, warp_size: int) -> int:
    """Return the words of a register of `pattern`."""
    groups = warp_size // pag
    return {Pattern.DEAD: 0, Pattern.UNIFORM: groups, Pattern.STRIDED: 2 * groups,
            Pattern.RANDOM: warp_size}[Pattern(pattern)]


def expand(codes: np.ndarray, words: np.ndarray, pag: int) -> np.ndarray:
    """Return the values of encoded registers.

    Parameters
    ----------
    codes : ndarray of int, shape (registers,)
        `Pattern` of each.
    words : ndarray of uint32, shape (registers, warp_size)
        Each register's encoded words first; the rest of its row does not matter.
    pag : int
        Lanes of a group.

    Returns
    -------
    ndarray of uint32, shape (registers, warp_size)
        A dead register is zero.
    """
    warp_size = words.shape[1]
    groups = warp_size // pag
    lane = np.arange(pag, dtype=np.uint32)
    result = np.where((codes == Pattern.RANDOM)[:, None], words, np.uint32(0))
    uniform, strided = codes == Pattern.UNIFORM, codes == Pattern.STRIDED
    result[uniform] = np.repeat(words[uniform, :groups], pag, axis=1)
    pairs = words[strided, :2 * groups].reshape(-1, groups, 2)
    result[strided] = (pairs[:, :, :1] + pairs[:, :, 1:] * lane).reshape(-1, warp_size)
    return result

"""Tags of a warp's registers and of memory (`golden.bounds` says what they mean); what has none costs nothing."""

from __future__ import annotations

import numpy as np

from caesura.hw.arch.geometry import UNIFORMS

from .lanes import lanes_of

__all__ = ["MIXED", "TAG", "WarpTags", "Shadow"]

MIXED = -1
"""Tag of what comes from several arrays, or not by moves and sums alone."""
TAG = np.int16
"""Element type of tags."""


class WarpTags:
    """Tags of the registers of a warp.

    Attributes
    ----------
    tagged, uniform_tagged : int
        Bit a vector or uniform register: a lane of it may have a tag.
    """

    def __init__(self, registers: int, lanes: int):
        self._tags = np.zeros((registers, lanes), TAG)
        self._uniform = np.zeros(UNIFORMS, TAG)
        self.tagged = self.uniform_tagged = 0

    def vector(self, register: int) -> np.ndarray:
        """Return a register's tags; they must not be written."""
        return self._tags[register]

    def uniform(self, register: int) -> int:
        """Return the tag of a uniform register."""
        return int(self._uniform[register])

    def set(self, register: int, mask: int, tags: np.ndarray | int) -> None:
        """Set the tags of the lanes `mask` of a register."""
        row = self._tags[register]
        np.copyto(row, tags, where=lanes_of(mask, len(row)))
        bit = 1 << register
        self.tagged = self.tagged | bit if row.any() else self.tagged & ~bit

    def clear(self, register: int, mask: int) -> None:
        """The lanes `mask` of a register have become numbers."""
        if self.tagged >> register & 1:
            self.set(register, mask, 0)

    def set_uniform(self, register: int, tag: int) -> None:
        """Set the tag of a uniform register."""
        self._uniform[register] = tag
        bit = 1 << register
        self.uniform_tagged = self.uniform_tagged | bit if tag else self.uniform_tagged & ~bit


class Shadow:
    """Tags of the words of a memory.

    Parameters
    ----------
    size : int
        Bytes.
    """

    def __init__(self, size: int):
        self._tags = np.zeros(-(-size // 4), TAG)
        self._used = False

    @property
    def used(self) -> bool:
        """A word may have a tag."""
        return self._used

    def load(self, words: np.ndarray) -> np.ndarray:
        """Return the tags of words."""
        return self._tags[words]

    def store(self, words: np.ndarray, tags: np.ndarray) -> None:
        """Set the tags of words; of one that is named more than once, the last counts."""
        if not self._used and not tags.any():
            return
        self._used = True
        self._tags[words] = tags

    def store_parts(self, words: np.ndarray, tags: np.ndarray) -> None:
        """Parts of words were overwritten: words with a tag, or by a value with one, are mixed."""
        if self._used or tags.any():
            self._used = True
            changed = (tags != 0) | (self._tags[words] != 0)
            self._tags[words[changed]] = MIXED

    def clear(self, address: int, size: int) -> None:
        """Bytes were written from outside: numbers."""
        if self._used:
            self._tags[address // 4:-(-(address + size) // 4)] = 0

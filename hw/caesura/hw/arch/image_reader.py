"""Reads the stream of a save area (`hw.arch.context` has its format)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import context
from .context import HEADER_WORDS, PATTERN_WORDS, STACK_WORDS
from .geometry import PREDICATES, SEGMENT_BYTES, UNIFORMS, WORD_BYTES

__all__ = ["BadImage", "WarpRecord", "ImageReader"]


class BadImage(ValueError):
    """What is in memory is no context image, or none of this kernel on this geometry."""


@dataclass(frozen=True)
class WarpRecord:
    """A warp record up to its registers.

    Attributes
    ----------
    header : dict of str to int
        Fields of `context.WARP_HEADER`.
    predicates, uniforms : dict of int to int
        Those that were written.
    stack : list of tuple of int
        Next PC, active mask and reconvergence PC of each entry, from the bottom up.
    """

    header: dict[str, int]
    predicates: dict[int, int]
    uniforms: dict[int, int]
    stack: list[tuple[int, int, int]]


class ImageReader:
    """Takes the words of a stream in their order: the warp records, then shared memory.

    Parameters
    ----------
    stream : ndarray of uint32
        The area's words, as many as its entry says.
    records : int
        Warp records in it.

    Attributes
    ----------
    patterns : ndarray of uint32, shape (records, PATTERN_WORDS)
        The pattern table, which is at the end.
    position : int
        Words taken.

    Raises
    ------
    BadImage
        If there are not even the words of the pattern table; by each method, if the words end
        before what it reads.
    """

    def __init__(self, stream: np.ndarray, records: int):
        end = len(stream) - PATTERN_WORDS * records
        if end < 0:
            raise BadImage("its stream ends early")
        self._words = stream[:end]
        self.patterns = stream[end:].reshape(records, PATTERN_WORDS)
        self.position = 0

    def take(self, count: int) -> np.ndarray:
        """Return the next `count` words."""
        if self.position + count > len(self._words):
            raise BadImage("its stream ends early")
        self.position += count
        return self._words[self.position - count:self.position]

    def record(self, stack_depth: int) -> WarpRecord:
        """Return the next warp record; its registers follow (`patterns.read_registers`).

        Raises
        ------
        BadImage
            If its stack is empty or deeper than `stack_depth`.
        """
        header = context.from_words(context.WARP_HEADER, self.take(HEADER_WORDS))
        predicates = self._written(header["predicates"], PREDICATES)
        uniforms = self._written(header["uniforms"], UNIFORMS)
        depth = header["depth"]
        if not 1 <= depth <= stack_depth:
            raise BadImage(f"record of warp {header['warp']}: stack {depth} deep")
        entries = self.take(STACK_WORDS * depth).reshape(depth, STACK_WORDS)
        stack = [(int(pc), int(mask), int(reconv)) for pc, mask, reconv in entries]
        return WarpRecord(header, predicates, uniforms, stack)

    def _written(self, written: int, count: int) -> dict[int, int]:
        """Return the next words, one for each of `count` registers whose bit is set."""
        return {k: int(self.take(1)[0]) for k in range(count) if written >> k & 1}

    def shared_lines(self, count: int) -> dict[int, np.ndarray]:
        """Return the saved ones of the TB's `count` lines of shared memory, by their number.

        Raises
        ------
        BadImage
            If there is one that the TB has not.
        """
        bitmap = sum(int(word) << 32 * k for k, word in enumerate(self.take(-(-count // 32))))
        if bitmap >> count:
            raise BadImage(f"line {bitmap.bit_length() - 1} of {count}")
        return {line: self.take(SEGMENT_BYTES // WORD_BYTES)
                for line in range(count) if bitmap >> line & 1}

    def finish(self) -> None:
        """Check that there is nothing more.

        Raises
        ------
        BadImage
            If there is.
        """
        if self.position != len(self._words):
            raise BadImage("its stream is too long")

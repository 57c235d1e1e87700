"""Reads the stream of a save area (`hw.arch.image.context` has its format)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry import PC_BITS, PC_NONE, PREDICATES, SEGMENT_BYTES, UNIFORMS, WORD_BYTES, Geometry
from . import context
from .context import STACK_ENTRY, WARP_HEADER, Reconvergence
from .encodings import (
    Encoding,
    codes_of,
    decode,
    encoded_words,
    in_order,
    row_words,
)
from .tb_history import RegisterHistory, known_encodings

__all__ = ["BadImage", "WarpRecord", "ImageReader"]


class BadImage(ValueError):
    """Memory holds no context image, or none of this kernel on this geometry."""


@dataclass(frozen=True)
class WarpRecord:
    """A warp record up to its registers.

    Attributes
    ----------
    header : dict of str to int
        `warp`, `waiting`, `barrier` and `predicates` of its `context.WARP_HEADER`, and the vectors
        `launched_lanes`, `live_lanes` and `uniforms`.
    predicates, uniforms : dict of int to int
        Those that were saved, in ascending order.
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
    g : Geometry
    records : int
        Warp records in it.
    registers : int
        Vector registers of a thread.

    Attributes
    ----------
    codes : list of ndarray of int
        Row of the encoding table of each record: the `Encoding` of each register.
    position : int
        Words taken.

    Raises
    ------
    BadImage
        If there are not even the words of the encoding table; by each method, if the words end
        before what it reads.
    """

    def __init__(self, stream: np.ndarray, g: Geometry, records: int, registers: int):
        row = row_words(registers)
        end = len(stream) - row * records
        if end < 0:
            raise BadImage("its stream ends early")
        self._g, self._registers, self._words = g, registers, stream[:end]
        self.codes = [codes_of(words) for words in stream[end:].reshape(records, row)]
        self.position = 0
        self._uniforms: dict[int, int] = {}  # of the last record
        self._history = RegisterHistory(g.warp_size)

    def take(self, count: int) -> np.ndarray:
        """Return the next `count` words."""
        if self.position + count > len(self._words):
            raise BadImage("its stream ends early")
        self.position += count
        return self._words[self.position - count:self.position]

    def record(self) -> WarpRecord:
        """Return the next warp record; its registers follow.

        Raises
        ------
        BadImage
            If its stack is empty or deeper than the machine's, or it repeats what the machine does
            not keep.
        """
        fields = context.from_words(WARP_HEADER, self.take(1))
        launched = (2 << fields["launched"]) - 1 & (1 << self._g.warp_size) - 1
        live = int(self.take(1)[0]) & launched if fields["exited"] else launched
        own = int(self.take(1)[0]) if fields["uniforms"] else 0
        if not 1 <= fields["depth"] <= self._g.stack_depth:
            raise BadImage(f"record of warp {fields['warp']}: stack {fields['depth']} deep")
        if fields["repeats"] and not self._g.tb_compressor:
            raise BadImage(f"record of warp {fields['warp']}: it repeats the one before")
        predicates = self._written(fields["predicates"], PREDICATES)
        again = self._uniforms if fields["repeats"] else {}
        self._uniforms = dict(sorted((again | self._written(own, UNIFORMS)).items()))
        header = {name: fields[name] for name in ("warp", "waiting", "barrier")}
        header |= {"launched_lanes": launched, "live_lanes": live,
                   "uniforms": sum(1 << u for u in self._uniforms),
                   "predicates": fields["predicates"]}
        stack: list[tuple[int, int, int]] = []
        below = PC_NONE, 0, PC_NONE
        for _ in range(fields["depth"]):
            below = self._entry(live, below)
            stack.append(below)
        return WarpRecord(header, predicates, self._uniforms, stack)

    def _entry(self, live: int, below: tuple[int, int, int]) -> tuple[int, int, int]:
        """Return the next stack entry, with the effective mask."""
        fields = context.from_words(STACK_ENTRY, self.take(1))
        mask = live if fields["whole"] else int(self.take(1)[0]) & (1 << self._g.warp_size) - 1
        reconv = {Reconvergence.NONE: PC_NONE, Reconvergence.BELOW: below[0],
                  Reconvergence.SAME: below[2]}.get(Reconvergence(fields["reconv"]))
        if reconv is None:
            reconv = int(self.take(1)[0]) & (1 << PC_BITS) - 1
        return fields["pc"], mask, reconv

    def registers(self, record: WarpRecord, codes: np.ndarray) -> dict[int, np.ndarray]:
        """Return the values of the saved registers of a record.

        Parameters
        ----------
        record : WarpRecord
            The last that was taken.
        codes : ndarray of int
            Its row of `codes`.

        Raises
        ------
        BadImage
            If there are registers that the thread has not, one in an encoding that the machine has
            not, or one that follows where nothing is kept.
        """
        known = known_encodings(self._g)
        saved, where = np.flatnonzero(codes), f"record of warp {record.header['warp']}"
        if codes[self._registers:].any():
            raise BadImage(f"{where}: registers that the kernel has not")
        if not np.isin(codes[saved], known).all():
            raise BadImage(f"{where}: an encoding that there is not")
        size = self._g.warp_size
        resolved = np.array(codes)
        rows = np.zeros((len(codes), size), np.uint32)
        for r in in_order(codes):
            count = encoded_words(codes[r], size)
            rows[r, :count] = self.take(count)
            if codes[r] == Encoding.FOLLOWS:
                expected = self._history.next_of(r)
                if expected is None:
                    raise BadImage(f"{where}: register {r} follows nothing")
                resolved[r], rows[r, :len(expected[1])] = expected
            self._history.keep(r, resolved[r], rows[r])
        values = decode(resolved, rows, self._g.lanes)
        return {int(r): values[r] for r in saved}

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

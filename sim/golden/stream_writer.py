"""Writes the stream of a context image, record by record, and seals it (`hw.arch.image.context` has its format)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from caesura.hw.arch.geometry import SEGMENT_BYTES
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import Capability, Mechanism
from caesura.hw.arch.image.encodings import Encoding, encode, encoded_words, in_order, row_of
from caesura.hw.arch.image.tb_history import RegisterHistory

from .state.kernel import Kernel
from .state.staying import Stay
from .state.thread_block import ThreadBlock

__all__ = ["LINE_WORDS", "SavedBlock", "StreamWriter"]

LINE_WORDS = SEGMENT_BYTES // 4


@dataclass(frozen=True)
class SavedBlock:
    """A TB as it goes to memory.

    Attributes
    ----------
    stream : ndarray of uint32
        The area's words.
    entry : dict of str to int
        Fields of the CCB entry; `state`, `generation`, the address, `base_crc` and `crc` are still to be set.
    registers, lines : int
        Vector registers and lines of shared memory saved, all warps together.
    """

    stream: np.ndarray
    entry: dict[str, int]
    registers: int
    lines: int


class StreamWriter:
    """A stream that grows.

    Parameters
    ----------
    kernel : Kernel
    mechanism : Mechanism
    """

    def __init__(self, kernel: Kernel, mechanism: Mechanism):
        self._g, self._kernel, self._mechanism = kernel.g, kernel, mechanism
        self._history = RegisterHistory(kernel.g.warp_size)
        self._parts: list[np.ndarray] = []
        self._table: list[int] = []
        self._warps = self._registers = self._lines = self._data_bytes = 0

    def warp(self, index: int, record: Sequence[int], saved: list[int], values: np.ndarray, counted: int) -> None:
        """Add a warp.

        Parameters
        ----------
        index : int
            Index of the TB.
        record : sequence of int
            Its words up to the registers.
        saved : list of int
            Registers, ascending.
        values : ndarray of uint32, shape (len(saved), warp_size)
        counted : int
            Lanes whose values count.
        """
        codes, words = self._encoded(saved, values, counted)
        row = np.full(self._kernel.registers, Encoding.DEAD, np.uint8)
        row[saved] = codes
        self._parts += [np.array(record, np.uint32), words]
        self._table += row_of(row)
        self._warps |= 1 << index
        self._registers += len(saved)
        self._data_bytes += 4 * len(words)

    def _encoded(self, saved: list[int], values: np.ndarray, counted: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the encodings of registers and their words as they stand in the record."""
        size, history = self._g.warp_size, self._history
        if not self._mechanism.has(Capability.COMPRESSES):
            return np.full(len(saved), Encoding.RANDOM), values.ravel()
        codes, words = encode(values, counted, self._g.lanes)
        if self._mechanism.has(Capability.FOLLOWS):
            follows = [history.follows(r, codes[k], words[k]) for k, r in enumerate(saved)]
            for k, r in enumerate(saved):
                history.keep(r, codes[k], words[k])
            codes[follows] = Encoding.FOLLOWS
        rows = [words[k, :encoded_words(codes[k], size)] for k in in_order(codes)]
        return codes, np.concatenate([np.zeros(0, np.uint32), *rows])

    def shared(self, tb: ThreadBlock, lines: list[int]) -> None:
        """Add shared memory, of which some lines are saved."""
        bitmap = sum(1 << k for k in lines)
        self._parts += [np.array([bitmap >> low & 0xFFFF_FFFF for low in range(0, self._kernel.lines, 32)], np.uint32),
                        tb.views[2].reshape(-1, LINE_WORDS)[lines].ravel()]
        self._lines += len(lines)
        self._data_bytes += len(lines) * SEGMENT_BYTES

    def seal(self, stay: Stay, **fields: int) -> SavedBlock:
        """Return the image; `fields` are those of its entry that only its TB knows."""
        g, kernel, warps = self._g, self._kernel, self._warps
        stream = np.concatenate([*self._parts, np.array(self._table, np.uint32)])
        stream_crc, table_crc = context.stream_crcs(g, stream, warps.bit_count(), kernel.registers)
        entry = {
            "version": context.VERSION, "geometry_hash": g.hash, "length": 4 * len(stream), "live_warps": warps,
            "mechanism": self._mechanism, "registers": kernel.registers, "warps": kernel.warps,
            "registers_stay": int(stay.registers), "lines_stay": int(stay.lines), "data_bytes": self._data_bytes,
            "stream_crc": stream_crc, "table_crc": table_crc, **fields,
        }
        return SavedBlock(stream, entry, self._registers, self._lines)

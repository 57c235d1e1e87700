"""Registers that the warps of a TB have in common: one warp record of an image predicts the next.

Lin et al. (III-C, Figs. 9 and 11) compress a register over all warps of a TB once each warp has
been compressed by itself. The register may have one value in all warps, or go up by equal steps.
They wait for all warps of the TB, which have to stand at the same barrier. Here a register is
compared with the record before, which needs neither. It `FOLLOWS` if it has the same encoding and
steps, and if the first values of its groups have all moved on by as much as they did before.

From one record to the next a uniform or strided register moves on by the difference of its first
words. After its first such record, or one in another encoding, no difference is known. It then
moves on by a warp's width of steps if it is strided over the whole warp, else by nothing. So a TB
keeps one or two words of a register that Lin et al. call global uniform or global strided. It keeps
the words of two warps of one that they call local uniform or local strided, if these differ evenly.

At most `FOLLOWED_WORDS` words of a register are kept. A register with more words is never followed,
and leaves what was kept before as it is. So does a register that keeps something of each lane.

A record `repeats` (`context.WARP_HEADER`) if it has every uniform register of the record before.
It then leaves out those with the same value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..geometry import Geometry
from .encodings import Encoding, encoded_words, encodings_of

__all__ = ["FOLLOWED_WORDS", "known_encodings", "RegisterHistory", "not_repeated"]

FOLLOWED_WORDS = 4
"""Most words of a register that may be followed."""


@dataclass
class _Kept:
    """A register as it last was, and how its first words move on."""

    code: Encoding
    words: np.ndarray
    move: int


def known_encodings(g: Geometry) -> tuple[Encoding, ...]:
    """Return the encodings in which a machine reads registers that are saved."""
    return encodings_of(g.warp_size, g.lanes) + (Encoding.FOLLOWS,) * g.tb_compressor


def _moves_of(code: Encoding, words: np.ndarray, warp_size: int) -> int:
    """Return by how much the first words of a register are taken to move on to the next warp if
    nothing else is known of it."""
    whole = code.strided and code.group == warp_size
    return int(words[1]) * warp_size & 0xFFFF_FFFF if whole else 0


@dataclass
class RegisterHistory:
    """Words and steps that are kept of the registers of a TB, record by record.

    Parameters
    ----------
    warp_size : int
    """

    warp_size: int
    _kept: dict[int, _Kept] = field(default_factory=dict)

    def next_of(self, register: int) -> tuple[Encoding, np.ndarray] | None:
        """Return the encoding and words that a register has if it follows; None if nothing is
        kept."""
        kept = self._kept.get(register)
        if kept is None:
            return None
        words = kept.words.copy()
        words[::1 + kept.code.strided] += np.uint32(kept.move)
        return kept.code, words

    def follows(self, register: int, code: int, words: np.ndarray) -> bool:
        """Return whether a register, encoded by itself, is what is expected; `words` may be more
        than its own."""
        expected = self.next_of(register)
        return (expected is not None and expected[0] == code
                and np.array_equal(expected[1], words[:len(expected[1])]))

    def keep(self, register: int, code: int, words: np.ndarray) -> None:
        """Keep what a register is, encoded by itself; `words` may be more than its own."""
        code = Encoding(code)
        count = encoded_words(code, self.warp_size)
        if not code.group or count > FOLLOWED_WORDS:
            return
        kept, mine = self._kept.get(register), np.array(words[:count], np.uint32)
        move = _moves_of(code, mine, self.warp_size)
        if kept is not None and kept.code == code:
            move = int(mine[0]) - int(kept.words[0]) & 0xFFFF_FFFF
        self._kept[register] = _Kept(code, mine, move)


def not_repeated(uniforms: Mapping[int, int], before: Mapping[int, int]
                 ) -> tuple[bool, dict[int, int]]:
    """Return whether a record repeats the uniform registers of the one before, and those that it
    holds itself."""
    repeats = bool(before) and before.keys() <= uniforms.keys()
    return repeats, {u: value for u, value in uniforms.items()
                     if not (repeats and before.get(u) == value)}

"""What the warps of a TB have in common: what one warp record of an image says of the next.

Lin et al. (III-C, Figs. 9 and 11) compress a register over all warps of a TB once each warp has
been compressed by itself: it may have one value in all of them, or go up by equal steps. They wait
for all warps of the TB, which have to stand at the same barrier. Here a register is compared with
what it was in the record before, which needs neither: it `FOLLOWS` if it has the same encoding, the
same steps, and first values of its groups that have all moved on by as much as they did before.

A register moves on, from one record that has it uniform or strided to the next, by the difference
of its first words; and after the first such record, or one in another encoding, by a warp's width
of steps if it is strided over the whole warp, else by nothing. So of what Lin et al. call global
uniform and global strided one word or two are kept in a TB, of what they call local uniform or
local strided the words of two warps as far as these differ evenly.

What is kept of a register is at most `FOLLOWED_WORDS` words; one of more is never followed and
leaves what was kept before as it is. So does one of which something is kept of each lane.

Of uniform registers those are left out whose value is that of the record before, if that had no
register that this one has not: such a record `repeats` (`context.WARP_HEADER`).
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
    """What is kept of the registers of a TB, record by record.

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

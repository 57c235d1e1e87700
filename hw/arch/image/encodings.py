"""Encodings of vector registers: each saves a register by its own values alone.

Lin et al. (III-C, Fig. 10) look at a register in groups of lanes and know three patterns. There the
width of a group follows from the shape of the block; here it is chosen for each register. Lanes
whose value is never read again do not *count*. If no pattern fits, the upper bits that all lanes
share are kept once. Arithmetic is modulo 2^32.

================== ============================================= ==============================
encoding           every counted lane                            words of the register
================== ============================================= ==============================
DEAD               not saved.                                    none.
UNIFORM_8, 16, 32  has the value of its group of 8, 16, 32.      one per group.
STRIDED_8, 16, 32  is its number of steps behind the first lane  two per group: lane 0,
                   of its group.                                 and the step to the next.
LOW_4 ... LOW_28   has the same upper bits.                      one with these bits, and the
                                                                 4 to 28 lower bits of each lane.
RANDOM             has any value.                                one per lane.
FOLLOWS            has the value that `tb_history` expects.      none.
================== ============================================= ==============================

The lower bits stand beat by beat, `lanes` lanes at a time. In each beat they stand plane by plane:
the lowest four bits of all its lanes, then the next four. So bits move by wires only, and a beat
has words of its own. With 4 lanes, four bits of each are half a word; so planes are eight bits
thick there, and LOW_4, 12, 20 and 28 are not used.

The encoding with the fewest words is taken of those that fit (`encodings_of`). Neighbours are
compared to judge whether a stride fits, from quads of lanes upwards. The counted lanes of each quad
have to be its first ones. A lane behind a gap fits only where the step is known from a quad before
it. A register that is called strided always is; one with gaps may be strided and not be called so.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from amaranth.hdl import Value

from ..geometry import MAX_REGISTERS

__all__ = ["Number", "Encoding", "CODE_BITS", "MAX_ROW_WORDS", "NIBBLES", "QUAD", "SMALLEST_GROUP",
           "encodings_of", "encoded_words", "encode", "decode", "plane_bits", "row_words",
           "row_of", "codes_of", "in_order"]

Number = TypeVar("Number", int, Value)
"""A number, or a value of the hardware."""

CODE_BITS = 4
"""Bits of an `Encoding`."""
_CODES_OF_A_WORD = 32 // CODE_BITS
MAX_ROW_WORDS = MAX_REGISTERS // _CODES_OF_A_WORD
"""Most words of a row of an encoding table."""

QUAD = 4
"""Lanes that strides are judged from."""
SMALLEST_GROUP = 8
"""Fewest lanes of a group."""
NIBBLES = 8
"""Nibbles of a word: bits that lanes share are counted in nibbles."""


class Encoding(enum.IntEnum):
    """Four-bit code of a register.

    Up to 8 it is the number of nibbles kept of each lane. Above 8 its lower two bits give the width
    of a group: 4 lanes, doubled that many times. No register has groups of 4 lanes, so `FOLLOWS`
    has the code of these."""

    DEAD = 0
    LOW_4 = 1
    LOW_8 = 2
    LOW_12 = 3
    LOW_16 = 4
    LOW_20 = 5
    LOW_24 = 6
    LOW_28 = 7
    RANDOM = 8
    UNIFORM_8 = 9
    UNIFORM_16 = 10
    UNIFORM_32 = 11
    FOLLOWS = 12
    STRIDED_8 = 13
    STRIDED_16 = 14
    STRIDED_32 = 15

    @property
    def by_lane(self) -> bool:
        """Something is kept of each lane."""
        return Encoding.DEAD < self <= Encoding.RANDOM

    @property
    def group(self) -> int:
        """Lanes of a group of a uniform or strided register, else 0."""
        return QUAD << (self & 3) if self > Encoding.RANDOM and self & 3 else 0

    @property
    def strided(self) -> bool:
        """Groups have a step."""
        return self >= Encoding.STRIDED_8


def plane_bits(lanes: int) -> int:
    """Return how many bits of each lane make up the planes of a beat: 4, or as many as give whole
    words."""
    return max(4, 32 // lanes)


def encodings_of(warp_size: int, lanes: int) -> tuple[Encoding, ...]:
    """Return the encodings of a machine that need no other register, those with the fewest words
    first; `RANDOM` last."""
    thick = plane_bits(lanes)
    known = [each for each in Encoding if each.group <= warp_size and (
        each == Encoding.RANDOM or 0 < encoded_words(each, warp_size) < warp_size
        and (each.group or 4 * each % thick == 0))]
    return tuple(sorted(known, key=lambda each: (encoded_words(each, warp_size), each.strided)))


def encoded_words(encoding: int, warp_size: int) -> int:
    """Return the words of a register of `warp_size` lanes."""
    encoding = Encoding(encoding)
    if encoding.group:
        return warp_size // encoding.group << encoding.strided
    if encoding == Encoding.RANDOM:
        return warp_size
    return encoding.by_lane and 1 + encoding * warp_size // NIBBLES


class _Node(NamedTuple):
    """Facts about neighbouring lanes of many registers, one entry per register and node.

    Attributes
    ----------
    some : ndarray of bool
        A lane counts.
    first : ndarray of uint32
        Value of the first that does, 0 if none.
    equal : ndarray of bool, shape (..., NIBBLES)
        A nibble is the same in all that count.
    strided : ndarray of bool
    stepped : ndarray of bool
        The first two lanes count, so `step` (else 0) is known.
    step : ndarray of uint32
    """

    some: np.ndarray
    first: np.ndarray
    equal: np.ndarray
    strided: np.ndarray
    stepped: np.ndarray
    step: np.ndarray


def _alike(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return which nibbles of two words are the same, the lowest first."""
    return ((a ^ b)[..., None] >> np.arange(0, 32, 4, dtype=np.uint32) & 0xF) == 0


def _quads(values: np.ndarray, counted: np.ndarray) -> _Node:
    """Return a node for each four lanes."""
    lanes = values.reshape(len(values), values.shape[1] // QUAD, QUAD)
    counts = counted.reshape(lanes.shape)
    place = counts.argmax(axis=2)
    some = np.any(counts, axis=2)
    first = np.where(some, np.take_along_axis(lanes, place[..., None], 2)[..., 0], np.uint32(0))
    equal = np.all(_alike(lanes, first[..., None]) | ~counts[..., None], axis=2)
    steps = lanes[:, :, 1:] - lanes[:, :, :-1]
    prefix = np.all(counts[:, :, :-1] | ~counts[:, :, 1:], axis=2)
    even = np.all((steps[:, :, 1:] == steps[:, :, :1]) | ~counts[:, :, 2:], axis=2)
    stepped = counts[:, :, 1] & counts[:, :, 0]
    return _Node(some, first, equal, prefix & even, stepped, np.where(stepped, steps[:, :, 0], 0))


def _joined(of: _Node, size: int) -> _Node:
    """Return a node for each two of `size` lanes."""
    a, b = (_Node(*(field[:, start::2] for field in of)) for start in (0, 1))
    near = _alike(a.first, b.first) | ~(a.some & b.some)[..., None]
    follows = (a.stepped & (b.first == a.first + a.step * np.uint32(size))
               & (~b.stepped | (b.step == a.step)))
    return _Node(a.some | b.some, np.where(a.some, a.first, b.first), a.equal & b.equal & near,
                 a.strided & b.strided & (~b.some | follows), a.stepped, a.step)


def encode(values: np.ndarray, counted: np.ndarray | int, lanes: int,
           choice: Sequence[Encoding] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Return the encodings of many registers and their words.

    Parameters
    ----------
    values : ndarray of uint32, shape (registers, warp_size)
    counted : int or ndarray of int, shape (registers,)
        Lanes that count, one bit per lane.
    lanes : int
        Lanes of a beat.
    choice : sequence of Encoding
        To be tried in this order, unless all; `Encoding.RANDOM` is the last.

    Returns
    -------
    codes : ndarray of uint8, shape (registers,)
    words : ndarray of uint32, shape (registers, warp_size)
        Encoded words first, then zeros.
    """
    size = values.shape[1]
    counts = (np.asarray(counted, np.int64).reshape(-1, 1) >> np.arange(size) & 1).astype(bool)
    node, nodes = _quads(values, np.broadcast_to(counts, values.shape)), {}
    width = QUAD
    while width < size:
        node, width = _joined(node, width), 2 * width
        nodes[width] = node
    whole, choice = nodes[size], choice or encodings_of(size, lanes)
    fits = [_fits(each, nodes, size) for each in choice]
    codes = np.select(fits, choice).astype(np.uint8)
    words = np.zeros_like(values)
    for encoding in choice:
        rows = codes == encoding
        if encoding.group:
            of = nodes[encoding.group]
            made = np.stack((of.first[rows], of.step[rows]), axis=2) if encoding.strided else (
                of.first[rows])
        elif encoding == Encoding.RANDOM:
            made = values[rows]
        else:
            shared = whole.first[rows] >> 4 * encoding << 4 * encoding
            made = np.hstack((shared, _planes(values[rows], encoding, lanes)))
        count = encoded_words(encoding, size)
        words[rows, :count] = made.reshape(len(made), count)
    return codes, words


def _fits(encoding: Encoding, nodes: dict[int, _Node], size: int) -> np.ndarray:
    """Return of which registers an encoding keeps what counts; shape (registers,)."""
    if encoding.group:
        of = nodes[encoding.group]
        return np.all(of.strided if encoding.strided else np.all(of.equal, axis=2), axis=1)
    return np.all(nodes[size].equal[:, 0, encoding:], axis=1)


def _bits(words: np.ndarray) -> np.ndarray:
    """Return the bits of words, the lowest first, along a further axis."""
    return (words[..., None] >> np.arange(32, dtype=np.uint32) & 1).astype(np.uint8)


def _words(bits: np.ndarray) -> np.ndarray:
    """Return the words that the last axis holds the bits of, the lowest first."""
    return np.ascontiguousarray(np.packbits(bits, axis=-1, bitorder="little")).view("<u4")


def _planes(values: np.ndarray, nibbles: int, lanes: int) -> np.ndarray:
    """Return the words that hold the lower bits of each lane, beat by beat."""
    (count, size), thick = values.shape, plane_bits(lanes)
    low = _bits(values)[:, :, :4 * nibbles]
    bits = low.reshape(count, size // lanes, lanes, 4 * nibbles // thick, thick)
    return _words(bits.transpose(0, 1, 3, 2, 4).reshape(count, size * 4 * nibbles))


def _lanes(words: np.ndarray, nibbles: int, lanes: int, size: int) -> np.ndarray:
    """Return the lower bits of each lane; the inverse of `_planes`."""
    count, thick = len(words), plane_bits(lanes)
    bits = _bits(words).reshape(count, size // lanes, 4 * nibbles // thick, lanes, thick)
    low = bits.transpose(0, 1, 3, 2, 4).reshape(count, size, 4 * nibbles)
    return _words(np.concatenate((low, np.zeros((count, size, 32 - 4 * nibbles), np.uint8)),
                                 axis=2)).reshape(count, size)


def decode(codes: np.ndarray, words: np.ndarray, lanes: int) -> np.ndarray:
    """Return the values of encoded registers.

    Parameters
    ----------
    codes : ndarray of int, shape (registers,)
        `Encoding` of each.
    words : ndarray of uint32, shape (registers, warp_size)
        Each register's encoded words first; the rest of its row does not matter.
    lanes : int
        Lanes of a beat.

    Returns
    -------
    ndarray of uint32, shape (registers, warp_size)
        A dead register is zero; lanes that did not count hold whatever the words say.
    """
    size = words.shape[1]
    result = np.zeros_like(words)
    for encoding in encodings_of(size, lanes):
        rows = np.asarray(codes) == encoding
        mine = words[rows, :encoded_words(encoding, size)]
        if encoding.group:
            parts = mine.reshape(len(mine), size // encoding.group, 1 + encoding.strided)
            step = parts[:, :, 1:] if encoding.strided else np.uint32(0)
            lane = np.arange(encoding.group, dtype=np.uint32)
            result[rows] = (parts[:, :, :1] + step * lane).reshape(len(mine), size)
        elif encoding == Encoding.RANDOM:
            result[rows] = mine
        else:
            shared = mine[:, :1] >> 4 * encoding << 4 * encoding
            result[rows] = shared | _lanes(mine[:, 1:], encoding, lanes, size)
    return result


def row_words(registers: Number) -> Number:
    """Return the words of a row of an encoding table, which has a code for each register."""
    return (registers + _CODES_OF_A_WORD - 1) // _CODES_OF_A_WORD


def row_of(codes: Sequence[int] | np.ndarray) -> list[int]:
    """Return the row of an encoding table that has the codes of all registers of a thread."""
    bits = sum(int(code) << CODE_BITS * r for r, code in enumerate(codes))
    return [bits >> 32 * k & 0xFFFF_FFFF for k in range(row_words(len(codes)))]


def codes_of(row: np.ndarray) -> np.ndarray:
    """Return the code of each register in a row of an encoding table, eight a word."""
    return (np.asarray(row, np.uint32)[:, None] >> np.arange(0, 32, CODE_BITS, dtype=np.uint32)
            & 0xF).ravel()


def in_order(codes: np.ndarray) -> list[int]:
    """Return the places of all codes but the dead ones in the order in which the words of their
    registers stand in a warp record: first those of which something is kept of each lane."""
    by_lane = (codes != Encoding.DEAD) & (codes <= Encoding.RANDOM)
    return [int(k) for k in (*np.flatnonzero(by_lane), *np.flatnonzero(codes > Encoding.RANDOM))]

"""Entries for the segments that atomics change."""

from amaranth.lib import data
from amaranth.utils import exact_log2

from ....arch.geometry import ADDRESS_BITS, PC_BITS, SEGMENT_BYTES, WORD_BYTES, Geometry
from ....interfaces import payloads as payload
from ..coalescer import OFFSET_BITS

__all__ = ["WORDS", "WORD_BITS", "PLACE_BITS", "entry", "operand", "trace_atomic"]

WORDS = SEGMENT_BYTES // WORD_BYTES
"""32-bit words of a segment."""
WORD_BITS = exact_log2(WORD_BYTES)
PLACE_BITS = OFFSET_BITS - WORD_BITS
"""Bits of a word's number within a segment."""


def entry(g: Geometry) -> data.StructLayout:
    """Data of a segment that its lanes share.

    `first` and `last_beat` are the bus beats that they touch; with `begins` the segment is the
    first of its instruction, with `last` the last. A `void` segment is not accessed.
    """
    beat = range(g.burst_beats)
    return data.StructLayout({"warp": payload.below(g.warps), "base": payload.physical(g),
                              "pc": PC_BITS, "d": 6, "writes_d": 1, "wide": 1,
                              "function": 4, "address": ADDRESS_BITS, "mask": g.warp_size,
                              "begins": 1, "last": 1, "void": 1, "first": beat, "last_beat": beat,
                              "generation": payload.GENERATION_BITS})


def operand() -> data.StructLayout:
    """Data that a lane has of its own: the word that it changes, and its operands."""
    return data.StructLayout({"place": PLACE_BITS, "b": 64, "c": 64})


def trace_atomic(g: Geometry) -> data.StructLayout:
    """One lane's operation, in the order in which they are performed; `old` is what it found."""
    return data.StructLayout({"valid": 1, "warp": payload.below(g.warps), "pc": PC_BITS,
                              "lane": payload.below(g.warp_size), "old": 64})

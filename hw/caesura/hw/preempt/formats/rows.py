"""Rows of shared memory: how a save reads them and a restore writes them."""

from amaranth.lib import data

from ...arch.geometry import SEGMENT_BYTES, WORD_BYTES, Geometry

__all__ = ["rows_per_line", "row_access"]


def rows_per_line(g: Geometry) -> int:
    """Shared-memory rows (a word of each bank) of a 128-byte line."""
    return SEGMENT_BYTES // (g.shared_banks * WORD_BYTES)


def row_access(g: Geometry) -> data.StructLayout:
    """Read or write of a row of shared memory."""
    return data.StructLayout({"row": range(g.shared_lines * rows_per_line(g)), "write": 1,
                              "clean": 1, "data": data.ArrayLayout(32, g.shared_banks)})

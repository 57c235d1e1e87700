"""Facts that a CCB entry in memory states."""

from amaranth.lib import data

from ...arch.geometry import Geometry
from .stream_extent import stream_extent

__all__ = ["found_entry"]


def found_entry(g: Geometry) -> data.StructLayout:
    """An entry's generation and checksum, the length of its stream, whether it is an `increment` of
    the base with the checksum `base_crc`, and whether it is without registers or lines."""
    return data.StructLayout({"generation": 32, "crc": 32, "extent": stream_extent(g),
                              "increment": 1, "base_crc": 32, "registers_stay": 1,
                              "lines_stay": 1})

"""How long the stream of a saved TB is."""

from amaranth.lib import data

from ...arch.geometry import Geometry
from .packer import WORD_COUNT_BITS

__all__ = ["stream_extent"]


def stream_extent(g: Geometry) -> data.StructLayout:
    """A stream of `words` words, the last of which are the encoding table of `warps` warps."""
    return data.StructLayout({"words": WORD_COUNT_BITS, "warps": range(g.max_block_warps + 1)})

"""Vectors of uniform registers by pairs, as the core gives and takes them."""

from amaranth.hdl import Cat, Value

from ...lib.bits import lowest, spread_each

__all__ = ["uniform_pairs", "without_lowest_pair"]


def uniform_pairs(vector: Value) -> Value:
    """Return of each pair of registers whether `vector` has one of them."""
    return Cat(vector.word_select(pair, 2).any() for pair in range(len(vector) // 2))


def without_lowest_pair(vector: Value) -> Value:
    """Return `vector` without the pair of its lowest register."""
    return vector & ~spread_each(lowest(uniform_pairs(vector)), 2)

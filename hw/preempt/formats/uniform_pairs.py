"""Vectors of uniform registers by pairs, as the core gives and takes them."""

from amaranth.hdl import Cat, Const, Value

from ...lib.bits import lowest

__all__ = ["uniform_pairs", "lowest_pair", "without_lowest_pair"]


def uniform_pairs(vector: Value) -> Value:
    """Return of each pair of registers whether `vector` has one of them."""
    return vector[::2] | vector[1::2]


def lowest_pair(vector: Value) -> Value:
    """Return of the pair of the lowest register which of the two `vector` has."""
    pair = lowest(uniform_pairs(vector))
    return Cat((pair & vector[::2]).any(), (pair & vector[1::2]).any())


def without_lowest_pair(vector: Value) -> Value:
    """Return `vector` without the pair of its lowest register."""
    lower = Const(sum(1 << place for place in range(0, len(vector), 2)), len(vector))
    pair = lowest((vector | vector >> 1) & lower)  # of each the lower register stands for both
    return vector & ~(pair | pair << 1)[:len(vector)]

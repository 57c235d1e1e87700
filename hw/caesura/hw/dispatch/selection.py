"""Small combinational helpers on bit vectors."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Mux, Value, ValueLike

__all__ = ["lowest", "encode", "gather"]


def lowest(vector: Value) -> Value:
    """Return `vector` with only its lowest set bit."""
    return (vector & -vector)[:len(vector)]


def encode(onehot: Value) -> Value:
    """Return the number of the set bit of a one-hot vector (0 if none is set)."""
    size = len(onehot)
    bits = max(1, (size - 1).bit_length())
    return Cat((onehot & sum(1 << i for i in range(size) if i >> bit & 1)).any()
               for bit in range(bits))


def gather(select: Value, values: Sequence[ValueLike]) -> Value:
    """Return the OR of the values whose bit of `select` is set (0 if none is)."""
    result: Value = Const(0)
    for bit, value in zip(select, values, strict=True):
        result = result | Mux(bit, value, 0)
    return result

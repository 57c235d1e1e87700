"""Small combinational functions of bit vectors, cheap both in gates and in simulation."""

from amaranth.hdl import Cat, Signal, Value

__all__ = ["lowest_number", "without_lowest", "popcount"]


def lowest_number(vector: Value) -> Value:
    """Return the number of the lowest set bit of `vector`, 0 if there is none."""
    size = len(vector)
    single = (vector & -vector)[:size]
    bits = max(1, (size - 1).bit_length())
    return Cat((single & sum(1 << k for k in range(size) if k >> bit & 1)).any()
               for bit in range(bits))


def without_lowest(vector: Signal) -> Value:
    """Return `vector` with its lowest set bit cleared."""
    return (vector & (vector - 1))[:len(vector)]


def popcount(vector: Value) -> Value:
    """Return the number of set bits of `vector`, as a balanced tree of adders."""
    if len(vector) == 1:
        return vector[0]
    half = len(vector) // 2
    return popcount(vector[:half]) + popcount(vector[half:])

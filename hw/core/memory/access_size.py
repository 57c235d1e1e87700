"""Meaning of an access size: alignment, place in a word, sign; shared by the memory units.

All take the 3-bit `size` field (`Size`) as a value and the low bits of a byte address. A "register
count" or a "byte count" is given less one, which for powers of two is also the mask of the bits
below it.
"""

from amaranth.hdl import Cat, Mux, Value

from ...arch.isa.opcodes import Size
from ...lib.bits import spread

__all__ = ["extra_bytes", "extra_registers", "misaligned", "extract", "replicate", "strobe"]


def extra_bytes(size: Value) -> Value:
    """Bytes a lane accesses, less one (0, 1, 3, 7 or 15)."""
    return Cat(size >= Size.U16, size >= Size.B32, size >= Size.B64, size >= Size.B128)


def extra_registers(size: Value) -> Value:
    """Registers that carry the data, less one (0, 1 or 3)."""
    return Cat(size >= Size.B64, size >= Size.B128)


def misaligned(address: Value, size: Value) -> Value:
    """Whether `address` is not a multiple of the access size."""
    return (address[:4] & extra_bytes(size)).any()


def extract(word: Value, low: Value, size: Value) -> Value:
    """The register value that a load of `size` at byte `low` (2 bits) of the 32-bit `word`
    gives."""
    half = Mux(low[1], word[16:32], word[0:16])
    byte = Mux(low[0], half[8:16], half[0:8])
    signed = size[0]
    return Mux(size >= Size.B32, word,
               Mux(size[1], Cat(half, spread(half[15] & signed, 16)),
                   Cat(byte, spread(byte[7] & signed, 24))))


def replicate(value: Value, size: Value) -> Value:
    """The 32-bit word to put on the bus for a store of register `value`:
    each possible place holds it."""
    return Mux(size >= Size.B32, value,
               Mux(size[1], value[0:16].replicate(2), value[0:8].replicate(4)))


def strobe(low: Value, size: Value) -> Value:
    """Which of the 4 bytes of a word a store of `size` at byte `low` (2 bits) writes."""
    half = Cat(~low[1], ~low[1], low[1], low[1])
    byte = Cat(low == place for place in range(4))
    return Mux(size >= Size.B32, 0b1111, Mux(size[1], half, byte))

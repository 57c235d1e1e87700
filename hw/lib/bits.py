"""Combinational functions of bit vectors, cheap both in gates and in simulation.

A *one-hot* vector has at most one bit set; a *number* counts bits from 0.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.utils import ceil_log2

__all__ = ["one_hot", "lowest", "encode", "lowest_number", "without_lowest", "popcount", "spread",
           "spread_each", "window", "select", "pick",
           "chosen", "look_up"]


def one_hot(number: Value, width: int) -> Value:
    """Return the one-hot vector of `width` bits with bit `number` set; zero if it is too large."""
    size = 1 << len(number)
    return (Const(1 << (size - 1), size) >> (~number).as_unsigned())[:width]


def lowest(vector: Value) -> Value:
    """Return the one-hot vector with only the lowest set bit of `vector`."""
    return vector & (~vector + 1)[:len(vector)]


def encode(vector: Value) -> Value:
    """Return the number of the set bit of a one-hot vector; 0 if there is none."""
    width = len(vector)
    groups = [Const(sum(1 << i for i in range(width) if i >> bit & 1), width)
              for bit in range(ceil_log2(width))]
    # the OR makes it one net of several bits, in the export too
    return Cat((vector & group).any() for group in groups) | Const(0, max(1, len(groups)))


def lowest_number(vector: Value) -> Value:
    """Return the number of the lowest set bit of `vector`; 0 if there is none."""
    return encode(lowest(vector))


def without_lowest(vector: Signal) -> Value:
    """Return `vector` with its lowest set bit cleared."""
    return (vector & (vector - 1))[:len(vector)]


def popcount(bits: Value | Sequence[Value]) -> Value:
    """Return how many of some bits are set, by a balanced tree of adders.

    Bits that are not one signal are passed one by one, so that each is written once.
    """
    if len(bits) == 1:
        return Value.cast(bits[0])
    half = len(bits) // 2
    return popcount(bits[:half]) + popcount(bits[half:])


def spread(bit: Value, width: int) -> Value:
    """Return a vector of `width` copies of `bit`, which appears only once in the netlist.

    ``bit.replicate(width)`` writes it `width` times.
    """
    return Mux(bit, Const((1 << width) - 1, width), Const(0, width))


def spread_each(vector: Value, width: int) -> Value:
    """Return each bit of `vector` `width` times, to mask the fields of a row."""
    return Cat(spread(bit, width) for bit in vector)


def window(m: Module, vector: Value, first: Value, width: int) -> Value:
    """Return `width` bits of `vector` from bit `first` on, zeros beyond its end.

    The highest bit of `first` selects first, so each multiplexer is only as wide as later ones
    need. ``vector.bit_select`` begins with the lowest bit, and each multiplexer is about as wide as
    `vector`.
    """
    for bit in reversed(range(len(first))):
        half = 1 << bit
        rest = Signal(width + half - 1)
        m.d.comb += rest.eq(Mux(first[bit], vector[half:], vector))
        vector = rest
    return (vector | Const(0, width))[:width]


def select(chosen: Value, values: Sequence[ValueLike]) -> Value:
    """Return the one of `values` whose bit of the one-hot `chosen` is set; 0 if none is.

    If several bits are set, it is the OR of their values.
    """
    terms: list[Any] = [Mux(chosen[position], value, 0) for position, value in enumerate(values)]
    while len(terms) > 1:
        terms = [left | right for left, right in zip(terms[::2], [*terms[1::2], 0], strict=False)]
    return Value.cast(terms[0])


def pick(values: Sequence[ValueLike], number: Value) -> Value:
    """Return ``values[number]`` by a multiplexer.

    Each use of the result is one more multiplexer, so assign it to a signal for several uses.
    """
    return Value.cast(Array(values)[number])


def chosen(values: Mapping[int, ValueLike], number: Value) -> Value:
    """Return ``values[number]``, or any value for a number without one.

    This takes the fewest binary multiplexers.
    """
    places = sorted(values)
    if len({id(value) for value in values.values()}) == 1:
        return Value.cast(values[places[0]])
    bit = (places[0] ^ places[-1]).bit_length() - 1
    sides = [{place: values[place] for place in places if (place >> bit & 1) == side}
             for side in (0, 1)]
    return Mux(number[bit], chosen(sides[1], number), chosen(sides[0], number))


def look_up(m: Module, target: Any, values: Sequence[ValueLike], number: Value) -> None:
    """Assign ``values[number]`` to `target`; 0 beyond the end.

    Inside ``m.If`` it costs nothing in simulation while the condition is false.
    """
    with m.Switch(number):
        for position, value in enumerate(values):
            with m.Case(position):
                m.d.comb += target.eq(value)

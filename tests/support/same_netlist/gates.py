"""Gates as a graph in which each stands once, written in one way if it can be written in several.

A literal is twice the number of a gate, plus 1 if it is inverted: 0 is false, 1 is true.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["Gates", "SYMMETRIC"]

MOST = 32
"""Inputs of an AND or XOR that takes in those before it."""
SYMMETRIC = frozenset({"and", "xor", "pair", "*", "writes"})
"""Kinds whose inputs have no order."""


class Gates:
    """Gates; inputs of each have lower numbers.

    Attributes
    ----------
    kinds : list of str
    inputs : list of tuple of int
        Literals.
    """

    def __init__(self):
        self.kinds: list[str] = ["false"]
        self.inputs: list[tuple[int, ...]] = [()]
        self._known: dict[tuple[str, tuple[int, ...]], int] = {}

    def fresh(self, kind: str) -> int:
        """Return the literal of a new gate without inputs."""
        self.kinds.append(kind)
        self.inputs.append(())
        return 2 * len(self.kinds) - 2

    def gate(self, kind: str, *inputs: int) -> int:
        """Return the literal of a gate, whose inputs are sorted if their order is nothing."""
        key = kind, tuple(sorted(inputs)) if kind in SYMMETRIC else inputs
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self.fresh(kind)
            self.inputs[-1] = key[1]
        return found

    def kind(self, literal: int) -> str:
        """Return the kind of a literal that is not inverted, "" of others."""
        return "" if literal & 1 else self.kinds[literal >> 1]

    def all_of(self, literals: Iterable[int]) -> int:
        """Return the AND of literals."""
        found = set(literals) - {1}
        flat: set[int] = set()
        for literal in found:
            flat.update(self.inputs[literal >> 1] if self.kind(literal) == "and" else (literal,))
        found = flat if len(flat) <= MOST else found
        if 0 in found or any(literal ^ 1 in found for literal in found):
            return 0
        return self.gate("and", *found) if len(found) > 1 else next(iter(found), 1)

    def any_of(self, literals: Iterable[int]) -> int:
        """Return the OR of literals."""
        return self.all_of(literal ^ 1 for literal in literals) ^ 1

    def odd(self, literals: Iterable[int]) -> int:
        """Return the XOR of literals."""
        inverted, found, flat = 0, set[int](), set[int]()
        for literal in literals:
            inverted ^= literal & 1
            found ^= {literal & ~1}
        found.discard(0)
        for literal in found:
            flat ^= set(self.inputs[literal >> 1] if self.kind(literal) == "xor" else (literal,))
        found = flat if len(flat) <= MOST else found
        return (self.gate("xor", *found) if len(found) > 1 else next(iter(found), 0)) ^ inverted

    def choice(self, select: int, then: int, other: int) -> int:
        """Return one of two literals, the first if another is set."""
        if select & 1:
            select, then, other = select ^ 1, other, then
        then, other = self._chosen(then, select, 1), self._chosen(other, select, 2)
        if select == 0 or then == other:
            return other
        if then in (0, select ^ 1):
            return self.all_of((select ^ 1, other))
        if then in (1, select):
            return self.any_of((select, other))
        if other in (0, select):
            return self.all_of((select, then))
        if other in (1, select ^ 1):
            return self.any_of((select ^ 1, then))
        if then == other ^ 1:
            return self.odd((select, other))
        return self.gate("choice", select, then & ~1, other ^ (then & 1)) ^ (then & 1)

    def _chosen(self, literal: int, select: int, place: int) -> int:
        """Return what is left of a literal where it is known which of its two inputs a choice takes."""
        gate = literal >> 1
        if self.kinds[gate] == "choice" and self.inputs[gate][0] == select:
            return self.inputs[gate][place] ^ (literal & 1)
        return literal

    def equal(self, one: Sequence[int], other: Sequence[int]) -> int:
        """Return whether two vectors are equal."""
        return self.all_of(self.odd((a, b, 1)) for a, b in zip(one, other, strict=True))

    def sums(self, one: Sequence[int], other: Sequence[int]) -> list[int]:
        """Return the sum of two vectors: each of its bits is a gate of those below and of two inputs."""
        bits, below, carry = [], 0, 0
        for a, b in zip(one, other, strict=True):
            if not below and a < 2 and b < 2:
                bits.append(a ^ b ^ carry)
                carry = int(a + b + carry > 1)
            elif not below and not carry and 0 in (a, b):
                bits.append(a | b)
            else:
                below = self.gate("+", below or carry, self.gate("pair", a, b))
                bits.append(below)
        return bits

    def differences(self, one: Sequence[int], other: Sequence[int]) -> list[int]:
        """Return the difference of two vectors."""
        bits, below = [], 0
        for a, b in zip(one, other, strict=True):
            below = self.gate("-", below, a, b)
            bits.append(below)
        return bits

    def beginnings(self, literals: Iterable[int]) -> list[int]:
        """Return for each literal a gate that stands for it and those before it."""
        found, before = [], 0
        for literal in literals:
            before = self.gate("list", before, literal)
            found.append(before)
        return found

    def products(self, one: Sequence[int], other: Sequence[int]) -> list[int]:
        """Return the product of two vectors."""
        return [self.gate("*", a, b) for a, b in zip(self.beginnings(one), self.beginnings(other), strict=True)]

    def left(self, vector: Sequence[int], amount: Sequence[int]) -> list[int]:
        """Return a vector shifted towards its high bits."""
        constant = self._constant(amount)
        if constant is not None:
            return [vector[bit - constant] if bit >= constant else 0 for bit in range(len(vector))]
        by = self.gate("vector", *_without_zeros(amount))
        return [self.gate("<<", lower, by) for lower in self.beginnings(vector)]

    def right(self, vector: Sequence[int], amount: Sequence[int], width: int, stride: int, signed: bool) -> list[int]:
        """Return so many bits of a vector from a place on, which is so many strides from its low end."""
        top = vector[-1] if signed and vector else 0
        above: list[int] = list(vector)
        while above and above[-1] == top and (len(above) == 1 or not signed or above[-2] == top):
            above.pop()
        constant = self._constant(amount)
        if constant is not None:
            places = range(constant * stride, constant * stride + width)
            return [above[place] if place < len(above) else top for place in places]
        by = self.gate("vector", *_without_zeros(amount))
        # from each bit on, the highest first: what is beyond it is `top`
        ends = [self.gate(f">> {stride}", each, by, top) for each in self.beginnings(above[::-1])][::-1]
        return [ends[bit] if bit < len(ends) else top for bit in range(width)]

    def less(self, one: Sequence[int], other: Sequence[int], signed: bool) -> int:
        """Return whether the first of two vectors is the smaller."""
        a, b = list(one), list(other)
        while signed and len(a) > 1 and a[-1] == a[-2] and b[-1] == b[-2]:
            a.pop(), b.pop()
        signed = signed and bool(a) and (a[-1], b[-1]) != (0, 0)
        while not signed and a and (a[-1], b[-1]) == (0, 0):
            a.pop(), b.pop()
        if a == b:
            return 0
        return self.gate("signed <" if signed else "<", self.gate("vector", *a), self.gate("vector", *b))

    @staticmethod
    def _constant(amount: Sequence[int]) -> int | None:
        if any(literal > 1 for literal in amount):
            return None
        return sum(literal << bit for bit, literal in enumerate(amount))


def _without_zeros(vector: Sequence[int]) -> list[int]:
    """Return a vector without the zeros at its high end."""
    kept = list(vector)
    while kept and kept[-1] == 0:
        kept.pop()
    return kept

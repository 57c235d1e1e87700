"""Values of registers as terms: two that are equal as terms are equal in every execution.

A term says how a value follows from the values of registers at the start of a block. Sums modulo 2**32, exclusive ors,
rotations and choices by a guard have a normal form, so that an instruction and its inverse cancel. Any other operation
is a term of its own; operations on the same terms give the same one.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Terms"]

_WORDS = 1 << 32
_SUM, _XOR, _ROTATION, _CHOICE = "sum", "xor", "rotation", "choice"


class Terms:
    """Terms by number, each different one once."""

    def __init__(self):
        self._numbers: dict[tuple, int] = {}
        self._nodes: list[tuple] = []
        self._unknown = 0

    def of(self, *node: Any) -> int:
        """Return the term of an opaque value: a name, and terms or facts that it depends on."""
        number = self._numbers.setdefault(node, len(self._nodes))
        if number == len(self._nodes):
            self._nodes.append(node)
        return number

    def unknown(self) -> int:
        """Return a term that is equal to no other; its number is below 0."""
        self._unknown -= 1
        return self._unknown

    def _node(self, term: int) -> tuple:
        return self._nodes[term] if term >= 0 else ("unknown",)

    def constant(self, value: int) -> int:
        """Return the term of a number."""
        return self.of(_SUM, frozenset(), value % _WORDS)

    def value(self, term: int) -> int | None:
        """Return the number that a term stands for; None if it depends on anything."""
        kind, *rest = self._node(term)
        return rest[1] if kind == _SUM and not rest[0] else None

    def sum(self, *parts: tuple[int, int], constant: int = 0) -> int:
        """Return the sum of terms, each times a factor, and a constant."""
        factors: dict[int, int] = {}
        for term, factor in parts:
            kind, *rest = self._node(term)
            inner, more = rest if kind == _SUM else (((term, 1),), 0)
            constant += factor * more
            for each, times in inner:
                factors[each] = (factors.get(each, 0) + factor * times) % _WORDS
        left = frozenset((term, factor) for term, factor in factors.items() if factor)
        if len(left) == 1 and not constant % _WORDS:
            (term, factor), = left
            if factor == 1:
                return term
        return self.of(_SUM, left, constant % _WORDS)

    def exclusive_or(self, *parts: int) -> int:
        """Return the exclusive or of terms."""
        left: frozenset[int] = frozenset()
        constant = 0
        for term in parts:
            kind, *rest = self._node(term)
            value = self.value(term)
            if value is not None:
                constant ^= value
            elif kind == _XOR:
                left, constant = left ^ rest[0], constant ^ rest[1]
            else:
                left ^= {term}
        if not left:
            return self.constant(constant)
        return next(iter(left)) if len(left) == 1 and not constant else self.of(_XOR, left, constant)

    def rotation(self, term: int, amount: int) -> int:
        """Return a term rotated to the left by another, modulo 32."""
        kind, *rest = self._node(term)
        if kind == _ROTATION:
            term, amount = rest[0], self.sum((rest[1], 1), (amount, 1))
        value = self.value(amount)
        if value is not None:
            amount = self.constant(value % 32)
        return term if value is not None and not value % 32 else self.of(_ROTATION, term, amount)

    def choice(self, guard: int, holds: int, fails: int) -> int:
        """Return the term that is one of two, chosen by a predicate."""
        holds, fails = self.given(holds, guard, True), self.given(fails, guard, False)
        return holds if holds == fails else self.of(_CHOICE, guard, holds, fails)

    def given(self, term: int, guard: int, holds: bool) -> int:
        """Return a term where a predicate is known; terms within opaque values stay as they are."""
        kind, *rest = self._node(term)
        if kind == _CHOICE and rest[0] == guard:
            return self.given(rest[1] if holds else rest[2], guard, holds)
        if kind == _SUM:
            return self.sum(*((self.given(each, guard, holds), factor) for each, factor in rest[0]), constant=rest[1])
        if kind == _XOR:
            return self.exclusive_or(self.constant(rest[1]), *(self.given(each, guard, holds) for each in rest[0]))
        if kind == _ROTATION:
            return self.rotation(self.given(rest[0], guard, holds), rest[1])
        return term

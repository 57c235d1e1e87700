"""Linear forms: values as sums of multiples of other values and a constant, modulo 2**32.

1. What cannot be looked into is a value of its own (an **atom**); a constant is a sum without terms.
2. Addition, subtraction, and multiplication and shifts by a constant are exact in that ring, so two registers of one
   form are equal in whatever order they were computed.
3. Two forms that differ in the constant alone differ by it.
4. A sum of more than eight terms is given up: it is an atom.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..ir.kernel import Imm, Op

__all__ = ["LinearForm", "constant", "atom", "add", "scale", "linear"]

_MASK = 0xFFFF_FFFF
_MOST_TERMS = 8


class LinearForm(NamedTuple):
    """A sum.

    Attributes
    ----------
    terms : tuple of (int, int)
        Number of a value and its factor, ascending; factors are not 0.
    constant : int
    """

    terms: tuple[tuple[int, int], ...]
    constant: int


def constant(value: int) -> LinearForm:
    """Return the form of a constant."""
    return LinearForm((), value & _MASK)


def atom(number: int) -> LinearForm:
    """Return the form of a value that is no sum."""
    return LinearForm(((number, 1),), 0)


def add(a: LinearForm, b: LinearForm, factor: int = 1) -> LinearForm:
    """Return ``a + factor * b``."""
    terms = dict(a.terms)
    for number, count in b.terms:
        terms[number] = terms.get(number, 0) + factor * count & _MASK
    return LinearForm(tuple(sorted((n, c) for n, c in terms.items() if c)), a.constant + factor * b.constant & _MASK)


def scale(a: LinearForm, factor: int) -> LinearForm:
    """Return ``factor * a``."""
    return add(constant(0), a, factor)


def linear(op: Op, operands: Sequence[LinearForm]) -> LinearForm | None:
    """Return the form of the result of an operation on `operands`, None if it is no sum, or one of many terms."""
    form = _linear(op, operands)
    return form if form is not None and len(form.terms) <= _MOST_TERMS else None


def _linear(op: Op, operands: Sequence[LinearForm]) -> LinearForm | None:
    name = op.name
    if name in ("iadd", "isub"):
        return add(operands[0], operands[1], 1 if name == "iadd" else -1)
    if name == "shl" and isinstance(op.uses[1], Imm):
        return scale(operands[0], 1 << op.uses[1].value if op.uses[1].value < 32 else 0)
    if name in ("imul.lo", "imad.lo"):
        a, b, *rest = operands
        if a.terms and b.terms:
            return None
        product = scale(a, b.constant) if a.terms else scale(b, a.constant)
        return add(product, rest[0]) if rest else product
    return None

"""Linear forms: values as sums of multiples of other values and a constant, modulo 2**32.

1. An opaque value is a value of its own (an **atom**); a constant is a sum without terms.
2. Addition, subtraction, and multiplication and shifts by a constant are exact in that ring. So two registers of one
   form are equal in whatever order they were computed.
3. Two forms that differ in the constant alone differ by it.
4. A sum of more than eight terms becomes an atom.

Each form has a number, by which it is compared; an atom's number stands for it in the terms of other forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..ir.kernel import Imm, Op

__all__ = ["LinearForm", "LinearForms"]

_MASK = 0xFFFF_FFFF
_MOST_TERMS = 8
_LINEAR = frozenset(("iadd", "isub", "shl", "imul.lo", "imad.lo"))


class LinearForm(NamedTuple):
    """A sum of multiples of values, and a constant.

    Attributes
    ----------
    terms : tuple of (int, int)
        Number of a value and its factor, ascending; factors are not 0.
    constant : int
    """

    terms: tuple[tuple[int, int], ...]
    constant: int


class LinearForms:
    """The forms that are known, by number."""

    def __init__(self):
        self._forms: list[LinearForm | None] = []
        self._numbers: dict[LinearForm, int] = {}

    def atom(self) -> int:
        """Return the number of a new value that is no sum."""
        self._forms.append(None)
        return len(self._forms) - 1

    def constant(self, value: int) -> int:
        """Return the number of a constant."""
        return self._number(LinearForm((), value & _MASK))

    def __getitem__(self, number: int) -> LinearForm:
        found = self._forms[number]
        return LinearForm(((number, 1),), 0) if found is None else found

    def linear(self, op: Op, operands: Sequence[int]) -> int | None:
        """Return the number of the result of an operation on `operands`; None if it is no short sum."""
        if op.name not in _LINEAR:
            return None
        form = _linear(op, [self[number] for number in operands])
        return self._number(form) if form is not None and len(form.terms) <= _MOST_TERMS else None

    def _number(self, form: LinearForm) -> int:
        if not form.constant and len(form.terms) == 1 and form.terms[0][1] == 1:
            return form.terms[0][0]
        number = self._numbers.setdefault(form, len(self._forms))
        if number == len(self._forms):
            self._forms.append(form)
        return number


def _add(a: LinearForm, b: LinearForm, factor: int = 1) -> LinearForm:
    """Return ``a + factor * b``."""
    constant = a.constant + factor * b.constant & _MASK
    if not b.terms:
        return LinearForm(a.terms, constant)
    terms = dict(a.terms)
    for number, count in b.terms:
        terms[number] = terms.get(number, 0) + factor * count & _MASK
    return LinearForm(tuple(sorted([(n, c) for n, c in terms.items() if c])), constant)


def _scale(a: LinearForm, factor: int) -> LinearForm:
    """Return ``factor * a``."""
    return _add(LinearForm((), 0), a, factor)


def _linear(op: Op, operands: Sequence[LinearForm]) -> LinearForm | None:
    name = op.name
    if name in ("iadd", "isub"):
        return _add(operands[0], operands[1], 1 if name == "iadd" else -1)
    if name == "shl":
        by = op.uses[1]
        return _scale(operands[0], 1 << by.value if by.value < 32 else 0) if isinstance(by, Imm) else None
    a, b, *rest = operands
    if a.terms and b.terms:
        return None
    product = _scale(a, b.constant) if a.terms else _scale(b, a.constant)
    return _add(product, rest[0]) if rest else product

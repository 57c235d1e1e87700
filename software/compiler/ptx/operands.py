"""Actions of the grammar for operands and numbers: they convert lark's tree to that of `syntax`."""

from __future__ import annotations

import dataclasses

import lark

from ..errors import CompileError
from .literals import literal
from .syntax import (
    Address,
    AddressOf,
    Arguments,
    Element,
    Guard,
    Name,
    Negated,
    Number,
    Pair,
    Part,
    Texel,
    Vector,
    named,
)

__all__ = ["OperandActions"]


class OperandActions(lark.Transformer):
    """Builds operands.

    Parameters
    ----------
    text : str
        Text of the source.
    file : str
        Name of the source, for messages.
    """

    def __init__(self, text: str, file: str):
        super().__init__(visit_tokens=False)
        self._text = text
        self._file = file

    def _source(self, meta) -> str:
        return self._text[meta.start_pos:meta.end_pos]

    def _wrong(self, token: lark.Token, message: str, supported: str = "") -> CompileError:
        """Return the error for a token, with its line of the source."""
        line, column = token.line or 0, token.column or 0
        return CompileError(message, self._file, line, self._text.split("\n")[line - 1], supported, column)

    # Numbers

    def _literal(self, token: lark.Token) -> Number:
        try:
            return literal(str(token))
        except ValueError as error:
            raise self._wrong(token, str(error)) from None

    def _integer(self, token: lark.Token) -> int:
        value = self._literal(token).value
        if value is None:
            raise self._wrong(token, f"{token} is no integer")
        return value

    def _offset(self, token: lark.Token) -> int:
        """Return a number that a 32-bit address can hold."""
        value = self._integer(token)
        if not -1 << 31 <= value < 1 << 32:
            raise self._wrong(token, f"the offset {value} does not fit 32 bits, as addresses do")
        return value

    def _displacement(self, meta, name: lark.Token, token: lark.Token | None) -> int:
        """Return the offset behind a name, with the sign between; 0 if there is none."""
        if any(sign in self._source(meta) for sign in "+-") != (token is not None):
            raise self._wrong(token or name, f"syntax error at {str(token or '+')!r}")
        return 0 if token is None else self._offset(token)

    # Operands

    def name(self, children):
        """Make a `Name` of ``%r1``, and a `Part` of ``%r1.b0``."""
        return named(str(children[0]))

    def minus(self, children):
        """``-%r1``: a `Part`."""
        operand = named(str(children[0]))
        return Part(operand.text, "", True) if isinstance(operand, Name) else dataclasses.replace(operand, negated=True)

    @lark.v_args(meta=True)
    def displaced(self, meta, children):
        """``table+4``: an `AddressOf`; refuses offsets of more than 32 bits."""
        name, offset = children
        return AddressOf(str(name), self._displacement(meta, name, offset), text=self._source(meta))

    def element(self, children):
        """``table[4]``: an `Element`; refuses indices in registers."""
        name, index = children[:2]
        if index.type != "NUMBER":
            raise self._wrong(index, "an index must be a constant", "table[4], or an address in a register")
        return Element(str(name), self._offset(index))

    def number(self, children):
        """``4``, ``0f3F800000``: a `Number`."""
        return self._literal(children[0])

    def negated(self, children):
        """``!%p1``: a `Negated`."""
        return Negated(str(children[0]))

    def pair(self, children):
        """``%p1|%p2``: a `Pair`."""
        return Pair(str(children[0]), str(children[1]))

    @lark.v_args(meta=True)
    def address(self, meta, children):
        """``[%rd1+4]``: an `Address`; refuses offsets of more than 32 bits."""
        name, offset = children[0], children[-1]
        return Address(str(name), self._displacement(meta, name, offset))

    def absolute(self, children):
        """``[4]``: an `Address` without a base; refuses more than 32 bits."""
        return Address(None, self._offset(children[0]))

    def texture(self, children):
        """``[image, {%r1}]``: a `Texel`."""
        return Texel(str(children[0]), children[1])

    def vector(self, children):
        """``{%r1, %r2}``: a `Vector`."""
        return Vector(tuple(children))

    def arguments(self, children):
        """``(%r1, 4)`` of a call: `Arguments`."""
        return Arguments(tuple(x for x in children if x is not None))

    def guard(self, children):
        """``@!%p1``: a `Guard`."""
        return Guard(str(children[1]), children[0] is not None)

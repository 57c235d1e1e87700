"""Runs of plain instructions, read in one step; most lines are plain, and would take most of the grammar's time.

A plain instruction stands on one line without comments. Each of its operands is a name, a number, a negated name, a
pair of names, an address ``[name]`` or ``[name+4]``, or a vector of names and numbers. The terminal `TERMINAL` stands
for a run of them. The grammar judges everything else, and decides what is refused (`parser`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .literals import literal
from .syntax import Address, Guard, Instruction, Negated, Number, Operand, Pair, Vector, named

__all__ = ["TERMINAL", "matches", "NotPlain", "PlainReader"]

# Groups are repeated in atomic groups: "(...)*+" matches too much before Python 3.11.5 (Debian 12 has 3.11.2).
_WORD = r"[%$_a-zA-Z][\w$%]*+(?>(?:(?:\.|::)[\w$]++)*)"
_NUMBER = r"(?:0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|[-+]?(?:0[xX][0-9a-fA-F]++|\d++))"
_SIMPLE = rf"(?:{_WORD}|{_NUMBER})"
_COMMA = r"[ \t]*+,[ \t]*+"
_OPERAND = (rf"(?:{_WORD}\|{_WORD}|{_SIMPLE}|!{_WORD}|\[{_WORD}(?:\+-?\d++|-\d++)?\]"
            rf"|\{{[ \t]*+{_SIMPLE}(?>(?:{_COMMA}{_SIMPLE})*)[ \t]*+\}})")
_OPERANDS = rf"{_OPERAND}(?>(?:{_COMMA}{_OPERAND})*)"
_INSTRUCTION = rf"(?:@!?{_WORD}[ \t]++)?{_WORD}(?:[ \t]++{_OPERANDS})?[ \t]*+;"
_SPACE = r"[ \t\f\r\n]*+"
TERMINAL = rf"{_INSTRUCTION}(?>(?:{_SPACE}{_INSTRUCTION})*)"
"""Regular expression of a run of plain instructions."""
_PARTS = re.compile(rf"((?:@(!?)({_WORD})[ \t]+)?({_WORD})[ \t]*([^;]*);)(\s*)", re.ASCII)
_RUN = re.compile(TERMINAL, re.ASCII)
_EACH = re.compile(_OPERAND, re.ASCII)
_OFFSETS = range(-1 << 31, 1 << 32)


def matches(text: str) -> bool:
    """Return whether a text is a run of plain instructions."""
    return _RUN.fullmatch(text) is not None


class NotPlain(Exception):
    """The grammar has to decide what an instruction is, or what is wrong with it."""


class PlainReader:
    """Makes instructions of a match of `TERMINAL`; operands with equal text are one object."""

    def __init__(self):
        self._operands: dict[str, Operand] = {}

    def read(self, run: str, line: int, column: int) -> Iterator[Instruction]:
        """Yield the instructions of a run that begins at a line and a column.

        Raises
        ------
        NotPlain
            If a number does not fit.
        """
        before = 1 - column
        known = self._operands.get
        for parts in _PARTS.finditer(run):
            text, negated, guard, opcode, rest, space = parts.groups()
            operands = tuple([known(part) or self._operand(part) for part in _EACH.findall(rest)])
            yield Instruction(opcode, operands, Guard(guard, bool(negated)) if guard else None, line, text,
                              parts.start(4) - before + 1)
            if "\n" in space:
                line += space.count("\n")
                before = parts.end() - len(space) + space.rindex("\n") + 1

    def _operand(self, text: str) -> Operand:
        found = self._operands.get(text)
        if found is None:
            found = self._operands[text] = self._made(text)
        return found

    def _made(self, text: str) -> Operand:
        if text[0] == "{":
            return Vector(tuple(self._operand(part) for part in re.split(r"[\s,]+", text[1:-1].strip())))
        if text[0] == "[":
            return self._address(text[1:-1])
        if text[0] in "+-0123456789":
            return _literal(text)
        if text[0] == "!":
            return Negated(text[1:])
        if "|" in text:
            return Pair(*text.split("|"))
        return named(text)

    @staticmethod
    def _address(text: str) -> Address:
        name, sign, offset = text.partition("-" if "-" in text else "+")
        value = _literal(sign.strip("+") + offset).value if offset else 0
        if value not in _OFFSETS:
            raise NotPlain
        return Address(name.removesuffix("+"), value or 0)


def _literal(text: str) -> Number:
    try:
        return literal(text)
    except ValueError:
        raise NotPlain from None

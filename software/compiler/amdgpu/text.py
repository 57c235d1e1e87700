"""AMDGPU assembly as LLVM prints it, line by line: labels, instructions, directives.

A line is ``label:``, ``mnemonic operand, operand, ... modifier modifier``, or ``.directive arguments``. A comment
starts with ``;``. Nothing here knows the meaning of an instruction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from caesura.errors import InputError

__all__ = ["AssemblyError", "Statement", "Label", "Directive", "Line", "statements"]

_LABEL = re.compile(r"([A-Za-z_.$@][\w.$@]*):")
_WORD = re.compile(r"([a-z][a-z0-9_]*)(?:\s+(.*))?$")
_DIRECTIVE = re.compile(r"(\.[A-Za-z_][\w.]*)(?:\s+(.*))?$")
_OPENING, _CLOSING = "([", ")]"


class AssemblyError(InputError):
    """Assembly that cannot be read; the message names file and line and says what to do."""

    def __init__(self, file: str, line: int, what: str):
        super().__init__(f"{file}:{line}: {what}")
        self.line = line


@dataclass(frozen=True)
class Statement:
    """An instruction as printed.

    Attributes
    ----------
    line : int
        Line in the file, from 1.
    mnemonic : str
    operands : tuple of str
    modifiers : tuple of str
        Words behind the last operand, as ``offset:16`` or ``glc``.
    text : str
        The whole instruction, without comments.
    """

    line: int
    mnemonic: str
    operands: tuple[str, ...]
    modifiers: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Label:
    """A place in the code.

    Attributes
    ----------
    line : int
    name : str
    """

    line: int
    name: str


@dataclass(frozen=True)
class Directive:
    """A directive.

    Attributes
    ----------
    line : int
    name : str
        Name with its dot.
    arguments : str
    """

    line: int
    name: str
    arguments: str


Line = Statement | Label | Directive


def statements(text: str, file: str) -> Iterator[Line]:
    """Yield the contents of a file's lines, up to its metadata, which are YAML (`metadata`).

    Raises
    ------
    AssemblyError
        If a line is none of the three.
    """
    for number, line in enumerate(text.split("\n"), 1):
        rest = _without_comment(line).strip()
        if (label := _LABEL.match(rest)) is not None:
            yield Label(number, label[1])
            rest = rest[label.end():].strip()
        if not rest:
            continue
        if rest.startswith("."):
            directive = _DIRECTIVE.match(rest)
            if directive is None:
                raise AssemblyError(file, number, f"not a directive: {rest}")
            yield Directive(number, directive[1], directive[2] or "")
            if directive[1] == ".amdgpu_metadata":
                return
        elif (word := _WORD.match(rest)) is not None:
            yield Statement(number, word[1], *_operands(word[2] or ""), " ".join(rest.split()))
        elif "=" not in rest:  # a symbol that is given a value
            raise AssemblyError(file, number, f"neither a label, an instruction nor a directive: {rest}; give it what "
                                              "`clang -S` prints")


def _without_comment(line: str) -> str:
    """Return a line without its comment; a ``;`` or ``//`` in quotes begins none."""
    quoted = False
    for place, letter in enumerate(line):
        if letter == '"':
            quoted = not quoted
        elif not quoted and (letter == ";" or line.startswith("//", place)):
            return line[:place]
    return line


def _operands(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the operands and the modifiers."""
    parts = _split(text, ",")
    if not parts:
        return (), ()
    *rest, last = parts
    first, *modifiers = _split(last, " ") or [""]
    return (*rest, first), tuple(modifiers)


def _split(text: str, separator: str) -> list[str]:
    """Return the parts of a text between separators outside of brackets."""
    parts, depth, part = [], 0, ""
    for letter in text:
        depth += (letter in _OPENING) - (letter in _CLOSING)
        if letter == separator and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    parts.append(part)
    return [part.strip() for part in parts if part.strip()]

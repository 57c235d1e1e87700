"""The exceptions of the compiler; each message says where, what is wrong, and what would be accepted."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Protocol

from caesura.errors import InputError

from .hints import hint
from .origins import Origin

__all__ = ["CompileError", "ImageError", "nearest"]


_SHOWN = 200
"""Longest statement in a message, and longest description of an error, in characters; they include the last `_END`."""
_END = 50
_SCANNED = 2000
"""Longest statement in which a hint is looked for, in characters."""
_LONG = 600
"""Longest message about an image, in characters."""


class _Statement(Protocol):
    """Part of a source: an instruction or a declaration."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def text(self) -> str: ...


class CompileError(InputError):
    """A kernel that cannot be compiled.

    ``str()`` of it is one message on one line: ``file:line:column: message: 'instruction' (supported: ...)``. If the
    PTX names the line of CUDA that it comes from, the message begins ``file:line:column (norms.cu:9:5): message ...``.
    For features of CUDA that the core lacks, `hints` adds at the end what to do instead.

    Attributes
    ----------
    message : str
        Description of the error.
    file : str
        Name of the source, as given to the compiler.
    line : int
        Line in the source, from 1; 0 when the problem has no line.
    column : int
        Column of the opcode, of the declaration, or of the character that is wrong, from 1; 0 where there is no line.
    instruction : str
        Text of the offending statement, blanks collapsed; empty if none.
    hint : str
        Advice what to do instead; empty if nothing is known.
    supported : str
        Forms that are accepted in its place; empty if there is nothing to say.
    origin : Origin or None
        Source that `line` was compiled from, where that is known.
    """

    def __init__(self, message: str, file: str = "<ptx>", line: int = 0, instruction: str = "",
                 supported: str = "", column: int = 0, origin: Origin | None = None):
        self.message = _printable(message)
        self.file = file
        self.line = line
        self.column = column if line else 0
        statement = " ".join(instruction[:_SCANNED].split())
        self.instruction = _printable(" ".join(instruction.split()))
        self.hint = hint(statement)
        self.supported = supported
        self.origin = origin
        where = ":".join([file, *(str(n) for n in (line, self.column) if n)]) + (f" ({origin})" if origin else "")
        text = f"{where}: {self.message}"
        if self.instruction:
            text += f": '{self.instruction}'"
        if supported:
            text += f" (supported: {supported})"
        if self.hint:
            text += f": {self.hint}"
        super().__init__(text)

    def from_origin(self, origin: Origin | None) -> CompileError:
        """Return the error with the place that its line was compiled from."""
        return self if origin is None else type(self)(self.message, self.file, self.line, self.instruction,
                                                      self.supported, self.column, origin)

    @classmethod
    def at(cls, statement: _Statement, file: str, message: str, supported: str = "") -> CompileError:
        """Return the error for an instruction or a declaration of a file."""
        return cls(message, file, statement.line, statement.text, supported, statement.column)


def _printable(text: str, most: int = _SHOWN) -> str:
    """Return text without control characters, its middle cut out where it is too long to read."""
    if len(text) > most:
        text = f"{text[:most - _END]}...{text[-_END:]}"
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def nearest(name: str, known: Sequence[str], rest: str) -> str:
    """Return, for a message, the `known` names that are similar to `name` and begin alike, and the `rest`."""
    close = difflib.get_close_matches(name, [x for x in known if x[:2] == name[:2]], 4, 0.7)
    return ", ".join((*close, rest))


class ImageError(InputError):
    """A kernel image that cannot be used: no ELF file, of another machine, damaged, or with illegal code.

    ``str()`` of it is one message on one line. Its length is bounded, whatever the file holds.
    """

    def __init__(self, message: str):
        super().__init__(_printable(message, _LONG))

"""The exceptions of the compiler: messages that say where, what, and what would be accepted."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Protocol

from caesura.errors import InputError

from .hints import hint
from .origins import Origin

__all__ = ["CompileError", "ImageError", "nearest"]


_SHOWN = 200
"""Most characters of a statement in a message, and of what is wrong with it; the last `_END` are among them."""
_END = 50
_SCANNED = 2000
"""Most characters of a statement in which a hint is looked for."""
_LONG = 600
"""Most characters of a message about an image."""


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

    ``str()`` of it is one message on one line: ``file:line:column: message: 'instruction' (supported: ...)``; where the
    PTX says which line of CUDA it comes from, ``file:line:column (norms.cu:9:5): message ...``. Of what CUDA has and
    the core has not, `hints` says what to do instead, at the end.

    Attributes
    ----------
    message : str
        What is wrong.
    file : str
        Name of the source, as given to the compiler.
    line : int
        Line in it, from 1; 0 when the problem has no line.
    column : int
        Column of the opcode, of the declaration, or of the character that is wrong, from 1; 0 where there is no line.
    instruction : str
        Text of the offending statement, blanks collapsed; empty if none.
    hint : str
        What to do instead; empty if nothing is known.
    supported : str
        What is accepted in its place; empty if there is nothing to say.
    origin : Origin or None
        What `line` was compiled from, where that is known.
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
    """Return those of the `known` names that are written like `name` and begin alike, and the `rest`, for a message."""
    close = difflib.get_close_matches(name, [x for x in known if x[:2] == name[:2]], 4, 0.7)
    return ", ".join((*close, rest))


class ImageError(InputError):
    """A kernel image that cannot be used: no ELF file, of another machine, damaged, or with illegal code.

    ``str()`` of it is one message on one line, of a length that can be read whatever the file holds.
    """

    def __init__(self, message: str):
        super().__init__(_printable(message, _LONG))

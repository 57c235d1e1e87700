"""The exceptions of the compiler: messages that say where, what, and what would be accepted."""

from __future__ import annotations

__all__ = ["CompileError", "ImageError"]


_SHOWN = 200
"""Most characters of a statement in a message."""


class CompileError(ValueError):
    """A kernel that cannot be compiled.

    ``str()`` of it is one message on one line: ``file:line:column: message: 'instruction' (supported: ...)``.

    Attributes
    ----------
    message : str
        What is wrong.
    file : str
        Name of the source, as given to the compiler.
    line : int
        Line in it, from 1; 0 when the problem has no line.
    column : int
        Column of the opcode or of the character that is wrong, from 1; 0 when the problem is the line's or none's.
    instruction : str
        Text of the offending statement, blanks collapsed; empty if none.
    supported : str
        What is accepted in its place; empty if there is nothing to say.
    """

    def __init__(self, message: str, file: str = "<ptx>", line: int = 0, instruction: str = "",
                 supported: str = "", column: int = 0):
        self.message = message
        self.file = file
        self.line = line
        self.column = column if line else 0
        self.instruction = _printable(" ".join(instruction.split()))
        self.supported = supported
        where = ":".join([file, *(str(n) for n in (line, self.column) if n)])
        text = f"{where}: {message}"
        if self.instruction:
            text += f": '{self.instruction}'"
        if supported:
            text += f" (supported: {supported})"
        super().__init__(text)


def _printable(text: str) -> str:
    """Return text without control characters, cut where no statement is as long."""
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text[:_SHOWN])
    return shown + "..." if len(text) > _SHOWN else shown


class ImageError(ValueError):
    """A kernel image that cannot be used: no ELF file, of another machine, damaged, or with illegal code.

    ``str()`` of it is one message on one line.
    """

"""Source files as text."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from .errors import CompileError
from .hints import of_file

__all__ = ["escaped", "is_line", "read_source", "source_text"]

_NO_TEXT = ("Cc", "Cs", "Zl", "Zp")
"""Unicode's categories of control characters, of surrogates for bytes that are no text, and of line ends."""


def is_line(text: str) -> bool:
    """Return whether a text is one line, without control characters."""
    return text.isprintable() or all(unicodedata.category(c) not in _NO_TEXT for c in text)


def escaped(text: str) -> str:
    """Return a text as one line; forbidden characters are escaped, and so are bytes of a path that are not UTF-8."""
    if is_line(text):
        return text
    return "".join(c if is_line(c) else f"\\x{ord(c) & 0xFF:02x}" if ord(c) >> 8 in (0, 0xDC) else f"\\u{ord(c):04x}"
                   for c in text)


def read_source(path: str | Path) -> str:
    """Return the text of a source file; raises as `source_text`, and OSError if the file cannot be read."""
    return source_text(Path(path).read_bytes(), str(path))


def source_text(raw: bytes, name: str) -> str:
    """Return the text of a source file's bytes; bytes that are not UTF-8 become U+FFFD, legal in comments alone.

    Raises
    ------
    CompileError
        If the file is not text, or is another kind of CUDA file.
    """
    what = of_file(raw)
    if what:
        raise CompileError(what, name)
    raw = raw.rstrip(b"\0")  # C's end of a text
    before, zero, _ = raw.partition(b"\0")
    if zero:
        lines = before.split(b"\n")
        raise CompileError("not a text file (it holds zero bytes)", name, len(lines), supported="UTF-8 text",
                           column=len(lines[-1]) + 1)
    return raw.decode("utf-8-sig", errors="replace")

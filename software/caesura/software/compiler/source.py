"""Source files as text."""

from __future__ import annotations

from pathlib import Path

from .errors import CompileError
from .hints import of_file

__all__ = ["read_source", "source_text"]


def read_source(path: str | Path) -> str:
    """Return the text of a source file; errors as `source_text`, and OSError if it cannot be read."""
    return source_text(Path(path).read_bytes(), str(path))


def source_text(raw: bytes, name: str) -> str:
    """Return the text of a source file's bytes; those that are not UTF-8 become U+FFFD, which only a comment may hold.

    Raises
    ------
    CompileError
        If the file is not text, or something else of CUDA's.
    """
    what = of_file(raw)
    if what:
        raise CompileError(what, name)
    before, zero, _ = raw.partition(b"\0")
    if zero:
        lines = before.split(b"\n")
        raise CompileError("not a text file (it holds zero bytes)", name, len(lines), supported="UTF-8 text",
                           column=len(lines[-1]) + 1)
    return raw.decode("utf-8-sig", errors="replace")

"""Source files as text."""

from __future__ import annotations

from pathlib import Path

from .errors import CompileError

__all__ = ["read_source"]


def read_source(path: str | Path) -> str:
    """Return the text of a source file; bytes that are not UTF-8 become U+FFFD, which only a comment may hold.

    Raises
    ------
    CompileError
        If the file is not text.
    OSError
        If it cannot be read.
    """
    raw = Path(path).read_bytes()
    if b"\0" in raw:
        raise CompileError("not a text file (it holds zero bytes)", str(path), supported="UTF-8 text")
    return raw.decode("utf-8-sig", errors="replace")

"""The text of the lines that a kernel was compiled from, as far as the files are at hand."""

from __future__ import annotations

import functools
from pathlib import Path, PurePosixPath, PureWindowsPath

from caesura.software.compiler.origins import Origin

__all__ = ["CudaSources"]

_KINDS = frozenset(".cu .cuh .h .hh .hpp .hxx .inl .c .cc .cpp .cxx .cl .py".split())
"""Endings of files that are shown; a kernel may name any file, also one that is not meant to be on a page."""
_MOST_BYTES = 16 << 20
"""Of a file that is read."""
_MOST_SHOWN = 160
"""Characters of a line."""


class CudaSources:
    """Finds lines of source files.

    A file is looked for at the path that the kernel gives; if that is relative, or nothing is there, beside the kernel:
    first by the same relative path, then by its name.

    Parameters
    ----------
    folder : Path
        Where the kernel's own file lies.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._read = functools.cache(self._lines)

    def text(self, origin: Origin) -> str:
        """Return the line, blanks collapsed; empty if the file, or the line in it, is not at hand."""
        lines = self._read(origin.file)
        text = " ".join(lines[origin.line - 1].split()) if origin.line <= len(lines) else ""
        return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN - 1] + "…"

    def _lines(self, file: str) -> list[str]:
        name = PureWindowsPath(file).name if "\\" in file else PurePosixPath(file).name
        for path in (self._folder / file, self._folder / name):
            if path.suffix.lower() not in _KINDS:
                continue
            try:
                if path.is_file() and path.stat().st_size <= _MOST_BYTES:
                    return path.read_text("utf-8-sig", "replace").split("\n")
            except (OSError, ValueError):
                continue
        return []

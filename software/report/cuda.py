"""Finds the source lines from which a kernel was compiled, if the files are available."""

from __future__ import annotations

import functools
from pathlib import Path, PurePosixPath, PureWindowsPath

from caesura.software.compiler.origins import Origin

__all__ = ["CudaSources"]

_KINDS = frozenset(".cu .cuh .h .hh .hpp .hxx .inl .c .cc .cpp .cxx .cl .py".split())
"""Suffixes of files that are shown. A kernel may name any file, even a private one."""
_MOST_BYTES = 16 << 20
"""Limit of a file that is read."""
_MOST_SHOWN = 160
"""Most characters of a line that are shown."""


class CudaSources:
    """Finds lines of source files.

    A file is sought at the path that the kernel gives. If the path is relative or has no file, it is sought beside the
    kernel, first by the relative path, then by its name.

    Parameters
    ----------
    folder : Path
        Folder of the kernel's own file.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._read = functools.cache(self._lines)

    def text(self, origin: Origin) -> str:
        """Return a line with collapsed blanks; empty if the file or the line is missing."""
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

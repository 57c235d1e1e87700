"""Reads ``.loc``, ``.file`` and the names in ``.debug_str``: the line of CUDA for each line of PTX.

(PTX ISA 11.5.) A ``.loc`` holds for the lines up to the next one, at most to the end of its function.

====================================================  ============================================================
``.loc 1 9 5``                                        file 1, line 9, column 5; line 0: not known
``.loc 2 12 9, function_name L+8, inlined_at 1 9 5``  in a function, named by the bytes at L+8, that was inlined there
``.file 1 "norms.cu", 1699000000, 412``               name of file 1; time and size are optional
====================================================  ============================================================

A function may be inlined at a place that is inlined itself: then the last ``.loc`` of that place says where. Directives
of other forms, or with a file that is not declared, are skipped. The grammar ignores all of them, so they are read from
the text.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass

from ..origins import MOST_LEVELS, Origin

__all__ = ["LineTable", "read_lines"]

_MOST_LINE = (1 << 31) - 1
_MOST_NAME = 4096
"""Most characters of a path or a symbol; longer ones are rejected."""
_PARTS = re.compile(
    r'//[^\n]*|/\*.*?(?:\*/|\Z)|(?P<loc>\.loc\b[^\n]*)|(?P<file>\.file\b[^\n]*)|"[^"\n]*"'
    r"|(?P<section>\.section\s+\.debug_str\s*\{[^}]*\})|(?P<start>\.(?:entry|func)\b)", re.ASCII | re.DOTALL)
_LOC = re.compile(r"\.loc\s+(\d{1,10})\s+(\d{1,10})(?:\s+(\d{1,10}))?\s*(,.*)?", re.ASCII)
_INLINED = re.compile(r",\s*inlined_at\s+(\d{1,10})\s+(\d{1,10})\s+(\d{1,10})", re.ASCII)
_FUNCTION = re.compile(r",\s*function_name\s+([$%_a-zA-Z][\w$%]*)\s*(?:\+\s*(\d{1,10}))?", re.ASCII)
_FILE = re.compile(r'\.file\s+(\d{1,10})\s+"([^"\n]*)"', re.ASCII)
_STRING_PARTS = re.compile(r"(?P<label>[$%_a-zA-Z][\w$%]*)\s*:|\.b8\b(?P<bytes>(?:[\s,]*(?:0[xX][0-9a-fA-F]+|\d+)\b)*)",
                           re.ASCII)


@dataclass(frozen=True)
class LineTable:
    """The origins of lines of PTX.

    Attributes
    ----------
    starts : tuple of int
        Lines behind which a directive, or a function, begins to hold; ascending.
    origins : tuple of Origin or None
        Origin behind each of these lines.
    """

    starts: tuple[int, ...] = ()
    origins: tuple[Origin | None, ...] = ()

    def at(self, line: int) -> Origin | None:
        """Return the origin of a line of PTX; None if it is not known."""
        index = bisect.bisect_left(self.starts, line) - 1
        return self.origins[index] if index >= 0 else None


def read_lines(text: str) -> LineTable:
    """Return the line table of a PTX text."""
    if ".loc" not in text:
        return LineTable()
    found = [match for match in _PARTS.finditer(text) if match.lastgroup]
    reader = _Reader(_files(found), _strings(found))
    starts: list[int] = []
    origins: list[Origin | None] = []
    line = end = 0
    for match in found:
        if match.lastgroup not in ("loc", "start"):
            continue
        line += text.count("\n", end, match.start())
        end = match.start()
        if match.lastgroup == "start":
            reader.seen.clear()
        starts.append(line + 1)
        origins.append(reader.origin(match["loc"]) if match["loc"] else None)
    return LineTable(tuple(starts), tuple(origins))


class _Reader:
    """Makes origins of ``.loc`` directives.

    Attributes
    ----------
    seen : dict
        The last origin of each (file, line, column) of the current function.
    """

    def __init__(self, files: dict[int, str], strings: tuple[dict[str, int], bytes]):
        self.seen: dict[tuple[int, int, int], Origin] = {}
        self._files = files
        self._labels, self._bytes = strings
        self._known: dict[Origin, Origin] = {}

    def origin(self, directive: str) -> Origin | None:
        """Return the origin that a directive names; None if it names none."""
        match = _LOC.match(directive)
        if match is None:
            return None
        number, line, column = (int(part or 0) for part in match.groups()[:3])
        if number not in self._files or not 1 <= line <= _MOST_LINE or column > _MOST_LINE:
            return None
        function, caller = "", None
        rest = match[4] or ""
        if inlined := _INLINED.search(rest):
            place = int(inlined[1]), int(inlined[2]), int(inlined[3])
            caller = self.seen.get(place) or self._plain(*place)
            if caller and sum(1 for _ in caller.chain()) >= MOST_LEVELS:
                caller = None
            if name := _FUNCTION.search(rest):
                function = self._string(name[1], int(name[2] or 0))
        made = Origin(self._files[number], line, column, function, caller)
        made = self.seen[number, line, column] = self._known.setdefault(made, made)
        return made

    def _plain(self, number: int, line: int, column: int) -> Origin | None:
        return Origin(self._files[number], line, column) if number in self._files and line else None

    def _string(self, label: str, offset: int) -> str:
        """Return the characters at a label of ``.debug_str`` up to the next zero."""
        if label not in self._labels:
            return ""
        start = self._labels[label] + offset
        raw = self._bytes[start:start + _MOST_NAME].split(b"\0", 1)[0]
        return _printable(raw.decode("utf-8", "replace"))


def _files(found: list[re.Match]) -> dict[int, str]:
    files: dict[int, str] = {}
    for match in found:
        if match["file"] and (parts := _FILE.match(match["file"])) and 0 < len(parts[2]) <= _MOST_NAME:
            files.setdefault(int(parts[1]), _printable(parts[2]))
    return files


def _strings(found: list[re.Match]) -> tuple[dict[str, int], bytes]:
    """Return the offset of each label in the bytes of the ``.debug_str`` sections, and the bytes."""
    labels: dict[str, int] = {}
    data = bytearray()
    for match in found:
        body = match["section"] or ""
        for part in _STRING_PARTS.finditer(body, body.find("{") + 1):
            if part["label"]:
                labels.setdefault(part["label"], len(data))
            else:
                data += bytes(int(number, 16 if number[:2].lower() == "0x" else 10) & 255
                              for number in re.findall(r"\w+", part["bytes"]) if len(number) <= 10)
    return labels, bytes(data)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)

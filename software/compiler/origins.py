"""Where code was written before it was PTX: lines of CUDA, as nvcc records them with ``-lineinfo``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["MOST_LEVELS", "Origin"]

MOST_LEVELS = 16
"""Most places of a chain of calls that are kept."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A place in a source file.

    ``str()`` of it is ``file:line:column``, then the places that it was inlined at, the innermost first.

    Attributes
    ----------
    file : str
        File name as the compiler recorded it; control characters are escaped.
    line, column : int
        Line from 1; column from 1, or 0 if not known.
    function : str
        Symbol of the function that was inlined; empty if none was, or it is not known.
    caller : Origin or None
        Where that function was inlined.
    """

    file: str
    line: int
    column: int = 0
    function: str = ""
    caller: Origin | None = None

    def __str__(self):
        return ", inlined at ".join(":".join(str(part) for part in (place.file, place.line, place.column) if part)
                                    for place in self.chain())

    def chain(self) -> Iterator[Origin]:
        """Yield this place and those that it was inlined at."""
        place: Origin | None = self
        while place is not None:
            yield place
            place = place.caller

    @property
    def short(self) -> str:
        """Name of the file without its directory, and the line."""
        return f"{self.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{self.line}"

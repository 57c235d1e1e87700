"""A recording of cycles: its rows, their files, and differences from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from caesura.cache import write_atomically
from caesura.errors import InputError

__all__ = ["NOTHING", "Difference", "Row", "StateBits", "compare", "read_rows", "replace_rows", "write_rows"]

NOTHING = "-"
"""Entry of a column that does not apply."""


class Row(NamedTuple):
    """A run of a kernel; every field is a text.

    Attributes
    ----------
    kernel, mechanism, moment : str
        Names of the run. The undisturbed run has no mechanism and no moment.
    outcome : str
        ``ran``, ``preempted``, ``finished before``, or ``does not fit`` with the error's kind.
    image : str
        Digest of the kernel's ELF file.
    cycles : str
        Cycles of the undisturbed run.
    at : str
        Cycle of the request, from the launch.
    save, other, restore, rest : str
        Cycles of the preempt, of the other kernel, of the resume, and from the resume to the end.
    contexts : str
        Digest of the saved contexts of all TBs.
    beats : str
        Digest of all AXI beats of the whole run, each with its cycle.
    """

    kernel: str
    mechanism: str = NOTHING
    moment: str = NOTHING
    outcome: str = NOTHING
    image: str = NOTHING
    cycles: str = NOTHING
    at: str = NOTHING
    save: str = NOTHING
    other: str = NOTHING
    restore: str = NOTHING
    rest: str = NOTHING
    contexts: str = NOTHING
    beats: str = NOTHING

    @property
    def key(self) -> tuple[str, ...]:
        """Key of the row."""
        return self.kernel, self.mechanism, self.moment


class StateBits(NamedTuple):
    """Amount of state of an SM; every field is a text.

    Attributes
    ----------
    preset : str
        Name of the geometry.
    flip_flops, memories : str
        Number of bits. The register behind a clocked read port belongs to its memory and is not counted.
    """

    preset: str
    flip_flops: str
    memories: str

    @property
    def key(self) -> tuple[str, ...]:
        """Key of the row."""
        return (self.preset,)


@dataclass(frozen=True)
class Difference:
    """A difference from the recording.

    Attributes
    ----------
    row : str
    column : str
        Name of the column; ``row`` if the whole row is missing.
    expected, got : str
        Recorded and measured values.
    """

    row: str
    column: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.row}: {self.column}: expected {self.expected}, got {self.got}"


Line = TypeVar("Line", bound=Row | StateBits)


def compare(where: str, expected: Iterable[Line], got: Iterable[Line]) -> list[Difference]:
    """Return the differences between recorded and measured rows; `where` is the prefix of their names."""
    before, now = ({row.key: row for row in rows} for rows in (expected, got))
    found = []
    for key in dict.fromkeys((*before, *now)):
        name = " ".join(field for field in (where, *key) if field != NOTHING)
        if key not in before or key not in now:
            found.append(Difference(name, "row", *("a row" if key in rows else "none" for rows in (before, now))))
            continue
        columns = zip(now[key]._fields, before[key], now[key], strict=True)
        found += [Difference(name, column, old, new) for column, old, new in columns if old != new]
    return found


def read_rows(path: Path, kind: type[Line]) -> list[Line]:
    """Return the rows of a table, or no rows if there is no such file.

    Raises
    ------
    ValueError
        If the file is another table.
    """
    if not path.exists():
        return []
    first, *lines = path.read_text().splitlines() or [""]
    cells = [line.split("\t") for line in lines]
    if first.split("\t") != list(kind._fields) or any(len(line) != len(kind._fields) for line in cells):
        raise InputError(f"{path} is not a table of {', '.join(kind._fields)}")
    return [kind(*line) for line in cells]


def write_rows(path: Path, kind: type[Line], rows: Iterable[Line]) -> None:
    """Write a table with one row per line and tabs between fields."""
    write_atomically(path, "".join("\t".join(row) + "\n" for row in (kind._fields, *rows)))


def replace_rows(path: Path, kind: type[Line], rows: Sequence[Line], order: Sequence[str]) -> None:
    """Replace the rows of a table that share their first field with a new row; drop rows that `order` lacks."""
    new = {row[0] for row in rows}
    kept = [row for row in read_rows(path, kind) if row[0] not in new and row[0] in order]
    write_rows(path, kind, sorted([*kept, *rows], key=lambda row: order.index(row[0])))

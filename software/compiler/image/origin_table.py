"""The origins of an image as rows without nesting, for ELF files, assembly and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..origins import MOST_LEVELS, Origin
from .kernel_image import KernelImage

__all__ = ["OriginRow", "origin_rows", "origins_of_rows", "packed_origins", "unpacked_origins"]


class OriginRow(NamedTuple):
    """One `Origin`; its caller is the number, from 1, of an earlier row; 0 if it has none."""

    file: str
    line: int
    column: int
    function: str
    caller: int


def origin_rows(image: KernelImage) -> tuple[list[OriginRow], list[int]]:
    """Return a row for each origin and each of their callers, and the number of the row of each word, 0 for none."""
    numbers: dict[Origin, int] = {}
    rows: list[OriginRow] = []
    for origin in image.origins:
        for place in reversed(list(origin.chain())):
            if place not in numbers:
                numbers[place] = len(rows) + 1
                caller = numbers[place.caller] if place.caller else 0
                rows.append(OriginRow(place.file, place.line, place.column, place.function, caller))
    return rows, [numbers[image.origins[number - 1]] if number else 0 for number in image.origin_numbers]


def origins_of_rows(rows: Sequence[OriginRow], words: Iterable[int]) -> tuple[tuple[Origin, ...], tuple[int, ...]]:
    """Return the argument of `origin_rows` again: `KernelImage.origins` and `KernelImage.origin_numbers`.

    Raises
    ------
    ValueError
        If a row or a word names a row that does not exist or comes later, or a row is no place in a file.
    """
    made: list[Origin] = []
    depth = [0]
    for row in rows:
        natural = all(isinstance(x, int) and not isinstance(x, bool) for x in (row.line, row.column, row.caller))
        if not (natural and isinstance(row.file, str) and isinstance(row.function, str) and row.file and row.line > 0
                and row.column >= 0 and 0 <= row.caller <= len(made) and depth[row.caller] < MOST_LEVELS):
            raise ValueError(f"origin {len(made) + 1} is no place in a source file")
        made.append(Origin(row.file, row.line, row.column, row.function, made[row.caller - 1] if row.caller else None))
        depth.append(depth[row.caller] + 1)
    used: dict[Origin, int] = {}
    numbers = []
    for word in words:
        if isinstance(word, bool) or not isinstance(word, int) or not 0 <= word <= len(made):
            raise ValueError(f"there is no origin {word!r}")
        numbers.append(used.setdefault(made[word - 1], len(used) + 1) if word else 0)
    return tuple(used), tuple(numbers)


def packed_origins(image: KernelImage) -> dict[str, list]:
    """Return the rows with each name stored once, and the words, as plain lists."""
    rows, words = origin_rows(image)
    names: dict[str, int] = {}
    table = [[names.setdefault(row.file, len(names)), row.line, row.column,
              names.setdefault(row.function, len(names)), row.caller] for row in rows]
    return {"names": list(names), "rows": table, "words": words}


def unpacked_origins(record: dict[str, list], words: int) -> tuple[tuple[Origin, ...], tuple[int, ...]]:
    """Undo `packed_origins`, for an image of this many words; raises as `origins_of_rows`."""
    names, rows = record["names"], []
    for file, line, column, function, caller in record["rows"]:
        if not all(isinstance(x, int) and 0 <= x < len(names) for x in (file, function)):
            raise ValueError(f"origin {len(rows) + 1} has no name")
        rows.append(OriginRow(names[file], line, column, names[function], caller))
    if len(record["words"]) != words:
        raise ValueError(f"origins of {len(record['words'])} words where the code has {words}")
    return origins_of_rows(rows, record["words"])

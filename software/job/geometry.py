"""A geometry of the user's own: a TOML file with a preset and what differs from it; docs/geometry.md has the keys."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from caesura.hw.arch.geometry import PRESETS, Geometry

from .table import Table, read_toml

__all__ = ["load_geometry"]

_TYPES: dict[str, type] = {"int": int, "float": float, "float | None": float, "bool": bool}
_KINDS = {field.name: _TYPES[str(field.type)] for field in dataclasses.fields(Geometry) if field.name != "name"}
"""Type of each key."""


def _name(table: Table, path: Path) -> str:
    """Return the name reports show: the file's unless it says otherwise, and no preset's."""
    name = table.get("name", str, path.stem)
    if not name or len(name) > 40 or not name.isprintable():
        raise table.error(f"1 to 40 printable characters are wanted, not {name[:60]!r}", "name")
    if name in PRESETS:
        raise table.error(f"{name!r} is a preset; a geometry that differs from it needs another name", "name")
    return name


def load_geometry(path: str | Path) -> Geometry:
    """Read a geometry.

    Raises
    ------
    JobError
        If it is no TOML, or a key is missing, unknown or wrong, or no SM can be built so.
    OSError
        If it cannot be read.
    """
    path = Path(path)
    top = read_toml(path)
    top.only(("base", "name", *_KINDS))
    base = PRESETS[top.choice("base", PRESETS, top.need("base", str))]
    changes: dict[str, Any] = {key: top.need(key, kind) for key, kind in _KINDS.items() if key in top.data}
    if changes.get("clock_mhz") == 0:
        changes["clock_mhz"] = None
    name = _name(top, path)
    try:
        return base.replace(name=name, **changes)
    except ValueError as error:
        wrong = str(error).removeprefix(f"geometry {name!r}: ")
        raise top.error(wrong, next((key for key in _KINDS if wrong.startswith(f"{key} ")), "")) from None

"""Tables of coverage in docs/coverage.md, from figures that ``make coverage ARGS=--record`` has kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from caesura.cache import write_atomically

from .markers import fill
from .tally import Room, totals

__all__ = ["RECORDED", "figures", "record", "recorded", "room_table", "missed_table"]

RECORDED = Path(__file__).with_name("recorded.json")

Missed = Sequence[tuple[str, str, str]]
"""File, text and reason of lines that are not covered."""


def figures(found: dict[str, Room], missed: Missed) -> dict[str, Any]:
    """Return what is kept of a measurement."""
    return {"rooms": {name: totals([room]) for name, room in found.items()}, "all": totals(found.values()),
            "missed": [list(each) for each in missed]}


def record(found: dict[str, Room], missed: Missed) -> None:
    """Keep the figures of a measurement, and put them into the page."""
    kept = figures(found, missed)
    write_atomically(RECORDED, json.dumps(kept, indent=1) + "\n")
    fill({"rooms": room_table(kept), "missed": missed_table(kept)})


def recorded() -> dict[str, Any]:
    """Return the figures that were kept."""
    return json.loads(RECORDED.read_text())


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} % of {whole:,}" if whole else "none"


def room_table(kept: dict[str, Any]) -> str:
    """Return the table of rooms, as Markdown."""
    lines = ["| room | lines of Python | branches | toggles |", "|---|---|---|---|"]
    for name, room in [*((f"`{name}`", room) for name, room in kept["rooms"].items()), ("all", kept["all"])]:
        lines.append(f"| {name} | " + " | ".join(_share(*room[what]) for what in ("lines", "branches", "toggles"))
                     + " |")
    return "\n".join(lines) + "\n"


def missed_table(kept: dict[str, Any]) -> str:
    """Return the table of lines that are not covered, as Markdown; those of a file with one reason share a row."""
    rows: dict[tuple[str, str], list[str]] = {}
    for file, text, reason in kept["missed"]:
        rows.setdefault((file, reason), []).append("`" + text.replace("|", "\\|") + "`")
    lines = ["| file | lines | why not |", "|---|---|---|"]
    lines += [f"| `{file}` | {'<br>'.join(texts)} | {reason or '(not known)'} |"
              for (file, reason), texts in rows.items()]
    return "\n".join(lines) + "\n"

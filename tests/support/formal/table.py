"""The table of docs/formal.md."""

from __future__ import annotations

from collections.abc import Sequence

from .property import Property

__all__ = ["property_table"]


def property_table(properties: Sequence[Property]) -> str:
    """Return a Markdown table of properties; those of a group that say the same share a row."""
    rows: dict[tuple[str, str, str], list[Property]] = {}
    for each in properties:
        rows.setdefault((each.name.split("/")[0], each.claim, each.status), []).append(each)
    lines = ["| property | for any inputs | status |", "|---|---|---|"]
    for (group, claim, status), same in rows.items():
        names = ", ".join(each.name.split("/")[1] for each in same)
        lines.append(f"| `{group}`: {names} | {claim} | {status} |")
    return "\n".join(lines) + "\n"

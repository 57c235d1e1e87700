"""Tables that notebooks show for the driver's objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["html_table"]


def html_table(head: Sequence[str], rows: Iterable[Sequence]) -> str:
    """Return an HTML table; whole numbers are aligned to the right and have separators."""
    def cell(value) -> str:
        whole = isinstance(value, int) and not isinstance(value, bool)
        style = ' style="text-align: right"' if whole else ' style="text-align: left"'
        return f"<td{style}>{escape(f'{value:,}' if whole else str(value))}</td>"

    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    return (f"<table><thead><tr>{''.join(f'<th>{escape(name)}</th>' for name in head)}</tr></thead>"
            f"<tbody>{body}</tbody></table>")

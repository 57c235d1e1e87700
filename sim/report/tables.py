"""The report of a benchmark: a heading and titled tables, for a terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table

from caesura.software.report.console import report_console

from .markdown import markdown_table

__all__ = ["TitledTable", "print_tables", "markdown_tables"]

TitledTable = tuple[str, list[str], list[list[str]]]
"""Title, columns and rows."""


def print_tables(heading: str, tables: Sequence[TitledTable], width: int, left: int = 1) -> Console:
    """Print a report and return the console; `width` is used where neither terminal nor environment gives a width.

    All but the first `left` columns of a table are aligned to the right.
    """
    console = report_console(width, markup=False)
    console.print(heading)
    for title, columns, rows in tables:
        table = Table(*columns[:left], *(Column(name, justify="right") for name in columns[left:]), box=None)
        for row in rows:
            table.add_row(*row)
        console.print(f"\n{title}", style="bold")
        console.print(table)
    return console


def markdown_tables(heading: str, tables: Sequence[TitledTable], left: int) -> str:
    """Return a report as Markdown, with its last table, the summary, first; `left` is as in `markdown_table`."""
    parts = [f"{heading[0].upper()}{heading[1:]}."]
    parts += [markdown_table(title, columns, rows, left=left) for title, columns, rows in reversed(tables)]
    return "\n\n".join(parts) + "\n"

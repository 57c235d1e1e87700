"""The report of ``caesura bench points``: tables for a terminal and for Markdown."""

from __future__ import annotations

from pathlib import Path

from .markdown import replace_markdown
from .tables import TitledTable, markdown_tables, print_tables

__all__ = ["BEGIN", "END", "tables", "print_report", "update_markdown"]

BEGIN = "<!-- begin: caesura bench points -->"
END = "<!-- end: caesura bench points -->"
"""Marks in a Markdown file; the text between them is replaced."""


def tables(result: dict) -> list[TitledTable]:
    """Return the tables of a result of `sim.bench.points.run`: title, columns and rows."""
    runs = result["runs"]
    ways = list(runs[0]["mean"]) if runs else []
    first = {row["kernel"]: row["cycles"] for row in runs if row["interval"] == runs[0]["interval"]}
    return [
        ("Points placed, time of the undisturbed run, and mean preemption latency in cycles",
         ["kernel", "interval", "points", "cycles", "", "moments", *ways],
         [[row["kernel"], row["interval"], f"{row['points']}", f"{row['cycles']:,}",
           f"{100 * (row['cycles'] / first[row['kernel']] - 1):+.2f} %", f"{row['moments']}",
           *(f"{row['mean'][way]:,.0f}" for way in ways)] for row in runs]),
        ("Over all kernels: mean latency, and in brackets the worst of any kernel, over that of occupied with points "
         "by instructions",
         ["interval", "kernels", "points", "words", "cycles", *ways],
         [[of["interval"], f"{of['kernels']}", f"{of['points']}", f"{100 * (of['words'] - 1):+.1f} %",
           f"{100 * (of['cycles'] - 1):+.2f} %",
           *(f"{of['over_occupied'][way]:.3f} ({of['worst'][way]:.2f})" for way in ways)]
          for of in result["summary"]])]


def _heading(result: dict) -> str:
    return (f"preset {result['preset']}, jobs of size {result['size']}, {result['moments']} random moments of each "
            f"kernel, drawn with seed {result['seed']}")


def print_report(result: dict) -> None:
    """Print all tables."""
    print_tables(_heading(result), tables(result), 200, 2)


def update_markdown(path: Path, result: dict) -> None:
    """Replace the text between the marks of a file; errors as in `sim.report.markdown.split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: markdown_tables(_heading(result), tables(result), left=2))

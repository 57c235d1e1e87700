"""The report of ``caesura bench checkpoints``: tables for a terminal and for Markdown."""

from __future__ import annotations

from pathlib import Path

from .markdown import replace_markdown
from .tables import TitledTable, markdown_tables, print_tables

__all__ = ["BEGIN", "END", "MOMENTS", "tables", "print_report", "markdown", "update_markdown"]

BEGIN = "<!-- begin: caesura bench checkpoints -->"
END = "<!-- end: caesura bench checkpoints -->"
"""Marks in a Markdown file; the text between them is replaced."""
MOMENTS = "warning", "half", "three quarters"
"""Names of the increments' moments."""


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _against_whole(each: dict | None, *keys: str) -> list[str]:
    """Return the bytes of an increment, and its figures as shares of a whole preempt's."""
    if each is None:
        return ["-"] * (1 + len(keys))
    return [f"{each['bytes']:,}", *(_share(each[key] / max(each[f"whole_{key}"], 1)) for key in keys)]


def _row(row: dict) -> list[str]:
    base = row["base"]
    cells = [row["kernel"], row["mechanism"], f"{row['at']:,}"]
    cells += ["-", "-", "-"] if base is None else [f"{base['tbs']}", f"{base['bytes']:,}",
                                                   _share(base["bytes"] / max(base["occupied_bytes"], 1))]
    for name in MOMENTS:
        cells += _against_whole(row["moments"].get(name), "bytes", "saves")
    for name in MOMENTS[1:]:
        cells += _against_whole(row["restored"].get(name), "bytes")
    return [*cells, "right" if row["correct"] else "WRONG"]


def tables(result: dict) -> list[TitledTable]:
    """Return the tables of a result of `sim.bench.checkpoints.run`: title, columns and rows."""
    over_all = [[mechanism, name, f"{of['kernels']}", f"{of['with_base']}", *(_share(of[key]) for key in (
        "of_base", "of_whole_bytes", "of_whole_registers", "of_whole_saves"))]
        for mechanism, moments in result["summary"].items() for name, of in moments.items()]
    each = [part for name in MOMENTS
            for part in (f"{name}: bytes", "of whole", "time, of whole")]
    each += [part for name in MOMENTS[1:] for part in (f"restored, {name}: bytes", "of whole")]
    return [
        ("Bytes of a base after a quarter of the run, and of increments after it; a whole preempt at the same moment",
         ["kernel", "mechanism", "base at", "TBs", "base", "of occupied", *each, "result"],
         [_row(row) for row in result["runs"]]),
        ("Over all kernels (mean over kernels)",
         ["mechanism", "increment", "kernels", "with TBs that had a base", "their bytes, of base", "bytes, of whole",
          "registers, of whole", "time to save, of whole"], over_all),
    ]


def _heading(result: dict) -> str:
    return f"preset {result['preset']}, jobs of size {result['size']}"


def print_report(result: dict) -> None:
    """Print all tables."""
    print_tables(_heading(result), tables(result), 200)


def markdown(result: dict) -> str:
    """Return all tables as Markdown, the summary first."""
    return markdown_tables(_heading(result), tables(result), left=2)


def update_markdown(path: Path, result: dict) -> None:
    """Replace the text between the marks of a file; errors as in `sim.report.markdown.split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: markdown(result))

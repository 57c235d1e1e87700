"""The report of ``caesura bench traps``: tables for a terminal and for Markdown."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .markdown import replace_markdown
from .tables import TitledTable, markdown_tables, print_tables

__all__ = ["BEGIN", "END", "OCCUPIED", "POINTS", "tables", "print_report", "markdown", "update_markdown"]

BEGIN = "<!-- begin: caesura bench traps -->"
END = "<!-- end: caesura bench traps -->"
"""Marks in a Markdown file; the text between them is replaced."""
OCCUPIED, POINTS = "occupied", "points"
"""Ways to preempt, besides the kinds of preemption routines."""
STORED = "software-all"
"""The way with which CTXBack compares; routines store every register."""
_RATIOS = {"latency": "latency", "worst": "worst", "bytes": "bytes", "restore": "restore",
           "latency_of_stored": f"latency, of {STORED}", "bytes_of_stored": "bytes", "restore_of_stored": "restore"}


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _mean(row: dict, key: str) -> str:
    values = [moment[key] for moment in row["moments"] if moment]
    return f"{np.mean(values):,.0f}" if values else "-"


def tables(result: dict) -> list[TitledTable]:
    """Return the tables of a result of `sim.bench.traps.run`: title, columns and rows."""
    over_all = [[way, f"{of['kernels']}", *(_number(of[key]) for key in _RATIOS),
                 *("-" if of[key] is None else f"{of[key]:,.0f}" for key in ("drain", "lost")), _number(of["code"])]
                for way, of in result["summary"].items()]
    rows = [[row["kernel"], row["way"], str(sum(map(bool, row["moments"]))),
             *(_mean(row, key) for key in ("latency", "drain", "bytes", "data", "restore", "lost")),
             f"{row['words']:,}", f"{row['trap_words']:,}", "right" if row["correct"] else "WRONG"]
            for row in result["runs"]]
    return [
        (f"Over all kernels (mean over kernels), of `occupied` at the same moments; {result['mechanism']}",
         ["way", "kernels", *_RATIOS.values(), "drain, cycles", "lost", "routines, of code"], over_all),
        ("Each kernel: means over the moments at which something was left to save, cycles and bytes",
         ["kernel", "way", "moments", "latency", "drain", "bytes", "data", "restore", "lost", "words", "of routines",
          "result"], rows)]


def _heading(result: dict) -> str:
    return f"preset {result['preset']}, jobs of size {result['size']}, {result['moments']} moments of each run"


def print_report(result: dict) -> None:
    """Print all tables."""
    print_tables(_heading(result), tables(result), 160)


def markdown(result: dict) -> str:
    """Return all tables as Markdown."""
    return markdown_tables(_heading(result), tables(result), left=2)


def update_markdown(path: Path, result: dict) -> None:
    """Replace the text between the marks of a file; errors as in `sim.report.markdown.split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: markdown(result))

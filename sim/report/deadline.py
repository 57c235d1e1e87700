"""The report of ``caesura bench deadline``: a table of latencies, and a picture of their distributions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from caesura.extras import require

from .markdown import replace_markdown
from .pictures import WIDTH, check_picture, save
from .tables import TitledTable, markdown_tables, print_tables

__all__ = ["BEGIN", "END", "tables", "print_report", "markdown", "update_markdown", "picture"]

BEGIN = "<!-- begin: caesura bench deadline -->"
END = "<!-- end: caesura bench deadline -->"
"""Marks in a Markdown file; the text between them is replaced."""


def tables(result: dict) -> list[TitledTable]:
    """Return the table of a result of `sim.bench.deadline.run`: title, columns and rows."""
    rows = []
    for row in result["runs"]:
        ended = [f"{row[key]:,.0f}" for key in ("min", "median", "p99", "max")] if row["latencies"] else ["-"] * 4
        speed = "-" if row["batch_speed"] is None else f"{row['batch_speed']:.2f}"
        rows.append([row["way"], *ended, f"{row['late']} of {row['arrivals']}", f"{row['batch_tbs']:,}", speed])
    return [(f"Latency of the urgent kernel in cycles, from arrival to end; late after {result['deadline']:,}",
             ["way", "min", "median", "p99", "max", "late", "TBs of the other", "its speed over that of none"], rows)]


def _heading(result: dict) -> str:
    wrong = sum(row["wrong"] for row in result["runs"])
    checked = "" if result["machine"] == "model" else f"; {wrong} elements WRONG" if wrong else "; all results right"
    return (f"machine {result['machine']}, {result['preset']}, SMs: {result['sms']}; {result['urgent']} of "
            f"{result['urgent_tbs']} TBs every {result['every']:,} cycles, {result['arrivals']} times, while "
            f"{result['batch']} of {result['tbs']:,} TBs runs{checked}")


def print_report(result: dict) -> None:
    """Print the table."""
    print_tables(_heading(result), tables(result), 130)


def markdown(result: dict) -> str:
    """Return the table as Markdown."""
    return markdown_tables(_heading(result), tables(result), left=1)


def update_markdown(path: Path, result: dict) -> None:
    """Replace the text between the marks of a file; errors as in `sim.report.markdown.split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: markdown(result))


def picture(result: dict, path: Path) -> None:
    """Draw the distribution of latencies of each way into a file; errors as in `check_picture`."""
    check_picture(path)
    figures: Any = require("matplotlib.figure", "a picture")
    rows = [row for row in result["runs"] if row["latencies"]]
    figure = figures.Figure(figsize=(WIDTH, 0.55 * len(rows) + 1.6), layout="constrained")
    axes = figure.subplots()
    boxes = axes.boxplot([row["latencies"] for row in rows], orientation="horizontal", whis=(0, 100), widths=0.6,
                         patch_artist=True, medianprops={"color": "black"})
    for number, (box, row) in enumerate(zip(boxes["boxes"], rows, strict=True)):
        box.set(facecolor=f"C{number}", alpha=0.7)
        axes.plot(row["p99"], number + 1, "D", color="black", markersize=4, label=None if number else "p99")
    axes.axvline(result["deadline"], color="grey", linestyle="--", linewidth=1, label="deadline")
    axes.set_yticks(range(1, len(rows) + 1), [row["way"] for row in rows])
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.set(xscale="log", xlabel="cycles from arrival to end: least, quartiles, most",
             title=f"Latency of an urgent kernel ({result['machine']}, {result['preset']}, SMs: {result['sms']})")
    axes.legend(loc="best", fontsize=8)
    save(figure, path)

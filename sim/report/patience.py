"""The report of ``caesura bench patience``: tables for a terminal and for Markdown."""

from __future__ import annotations

from pathlib import Path

from .markdown import replace_markdown
from .tables import TitledTable, markdown_tables, print_tables

__all__ = ["BEGIN", "END", "tables", "print_report", "markdown", "update_markdown"]

BEGIN = "<!-- begin: caesura bench patience -->"
END = "<!-- end: caesura bench patience -->"
"""Marks in a Markdown file; the text between them is replaced."""
_ALWAYS = "occupied", "zero", "default", "unlimited"
_TITLES = {"zero": "0"}


def _against(cycles: float, limit: float, met: bool) -> str:
    return f"{cycles:,.0f} / {limit:,.0f}" + ("" if met else f" MISSED ({100 * (cycles / limit - 1):+.1f} %)")


def _shares(result: dict) -> list[str]:
    """Return the further shares that were measured."""
    return [name for name in (result["runs"][0]["mean"] if result["runs"] else ()) if name not in _ALWAYS]


def _row(row: dict, shares: list[str]) -> list[str]:
    worst, mean = row["worst"], row["mean"]
    return [row["kernel"], row["mechanism"], f"{row['moments']}", f"{worst['occupied']:,}",
            _against(worst["default"], row["worst_limit"], row["worst_met"]),
            *(f"{mean[name]:,.0f}" for name in ("occupied", "zero", *shares, "unlimited")),
            _against(mean["default"], row["mean_limit"], row["mean_met"]),
            f"{row['worst_moment']['default']:.2f}"]


def tables(result: dict) -> list[TitledTable]:
    """Return the tables of a result of `sim.bench.patience.run`: title, columns and rows."""
    shares = _shares(result)
    over_all = [[mechanism, str(_TITLES.get(name, name)), f"{of['relative']:.3f}", f"{of['kept']} of {of['kernels']}",
                 f"{of['worst']:.2f}", f"{of['over_occupied']:.3f}", f"{of['worst_moment']:.2f}"]
                for mechanism, by_name in result["summary"].items() for name, of in by_name.items()]
    return [
        ("Preemption latency in cycles, by patience; last, that of the default over that of occupied at one moment, at "
         "most",
         ["kernel", "mechanism", "moments", "worst: occupied", "default / limit", "mean: occupied", "0", *shares,
          "unlimited", "default / limit", "worst moment"], [_row(row, shares) for row in result["runs"]]),
        ("Over all kernels: mean latency relative to the better one of patience 0 and unlimited patience (geometric "
         "mean), kernels in which it is no worse; over occupied: worst of any kernel, mean (arithmetic over the "
         "kernels), and most at one moment",
         ["mechanism", "patience", "relative mean", "no worse in", "worst", "mean", "worst moment"], over_all),
    ]


def _heading(result: dict) -> str:
    return (f"preset {result['preset']}, jobs of size {result['size']}, {result['moments']} random moments of each "
            f"kernel, drawn with seed {result['seed']}")


def print_report(result: dict) -> None:
    """Print all tables, with limits next to the figures that have one."""
    print_tables(_heading(result), tables(result), 190, 2)


def markdown(result: dict) -> str:
    """Return all tables as Markdown, the summary first."""
    return markdown_tables(_heading(result), tables(result), left=2)


def update_markdown(path: Path, result: dict) -> None:
    """Replace the text between the marks of a file; errors as in `sim.report.markdown.split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: markdown(result))

"""The report of ``caesura bench in-place``: tables for a terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .markdown import replace_markdown
from .tables import TitledTable, markdown_tables, print_tables

__all__ = ["BEGIN", "END", "PAPER", "tables", "print_report", "markdown", "update_markdown"]

BEGIN = "<!-- begin: caesura bench in-place -->"
END = "<!-- end: caesura bench in-place -->"
"""Marks in a Markdown file; the text between them is replaced."""
PAPER = 0.785
"""Latency in place over that of a complete switch, mean of the paper's eight pairs (Lin et al. V-E)."""
_NONE = "-"
_GROUPS = {"drawn": "drawn at random", "chosen": "chosen by need", "all": "all"}


def _ratio(value: float | None) -> str:
    return _NONE if value is None else f"{value:.3f}"


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:,.0f}"


def _mean(row: dict, variant: str, key: str) -> float | None:
    values = [each[variant][key] for each in row["moments"].values()]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _over(row: dict, key: str, prefix: str = "") -> str:
    ours, theirs = (_mean(row, f"{prefix}{variant}", key) for variant in ("in_place", "complete"))
    return _ratio(ours / theirs if ours is not None and theirs else None)


def _both(row: dict, key: str) -> str:
    return " / ".join(_number(_mean(row, variant, key)) for variant in ("complete", "in_place"))


def _each(row: dict, cell: Callable[[dict], str]) -> str:
    return ", ".join(cell(each) for each in row["moments"].values()) or _NONE


def _latency_row(row: dict) -> list[str]:
    return [row["kernel"], _both(row, "saves"), _both(row, "drains"), _over(row, "saves"),
            _each(row, lambda each: _ratio(each["in_place"]["saves"] / each["complete"]["saves"])),
            _over(row, "saves", "own_"), _both(row, "first"), "right" if row["correct"] else "WRONG"]


def _what_row(row: dict) -> list[str]:
    def stays(each: dict) -> str:
        ours = each["in_place"]
        return f"{ours['registers_stay']} + {ours['lines_stay']} of {ours['tbs']}"

    return [row["kernel"], _each(row, stays), _both(row, "bytes"),
            _each(row, lambda each: f"{each['in_place']['evicted_tbs']}"), _both(row, "newcomer"),
            _both(row, "restores"), _both(row, "total")]


def tables(result: dict) -> list[TitledTable]:
    """Return the tables of a result of `sim.bench.in_place.run`: title, columns and rows."""
    keys = ("saves", "own_saves", "first", "own_first", "bytes", "newcomer", "restores", "total")
    means = [[_GROUPS[group], f"{of['pairs']}", *(_ratio(of[key]) for key in keys)]
             for group, of in result["summary"].items()]
    means.append(["Lin et al., at random", "8", _ratio(result["paper"]), *[_NONE] * (len(keys) - 1)])
    return [
        ("Latency in cycles, complete / in place, mean over the moments",
         ["pair", "latency", "of it drain", "in place over complete", "at each moment", "with the driver's patience",
          "newcomer starts after", "result"], [_latency_row(row) for row in result["runs"]]),
        ("What stays, what is written, and what comes after it; complete / in place, mean over the moments",
         ["pair", "TBs whose registers + shared memory stay", "bytes", "TBs evicted later", "newcomer has ended after",
          "restore", "both have ended after"], [_what_row(row) for row in result["runs"]]),
        ("In place over complete, mean over pairs",
         ["pairs", "", "latency", "with the driver's patience", "start of the newcomer", "with the driver's patience",
          "bytes", "end of the newcomer", "restore", "end of both"], means),
    ]


def _heading(result: dict) -> str:
    return f"preset {result['preset']}, jobs of size {result['size']}, mechanism {result['mechanism']}"


def print_report(result: dict) -> None:
    """Print all tables."""
    print_tables(_heading(result), tables(result), 200)


def markdown(result: dict) -> str:
    """Return all tables as Markdown, the means first."""
    return markdown_tables(_heading(result), tables(result), left=1)


def update_markdown(path: Path, result: dict) -> None:
    """Replace the text between the marks of a file; errors as in `sim.report.markdown.split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: markdown(result))

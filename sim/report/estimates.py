"""The report of ``caesura bench estimates``: tables for a terminal and for Markdown."""

from __future__ import annotations

from pathlib import Path

from .markdown import replace_markdown
from .tables import TitledTable, markdown_tables, print_tables

__all__ = ["BEGIN", "END", "tables", "print_report", "markdown", "update_markdown"]

BEGIN = "<!-- begin: caesura bench estimates -->"
END = "<!-- end: caesura bench estimates -->"
"""Marks in a Markdown file; the text between them is replaced."""
_TITLES = {"by_time": "drain, by the time of others (PEP)", "by_pace": "drain, by its own pace (Chimera)",
           "by_size": "switch, by all that is allocated (PEP)"}


def _share(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{100 * value:{sign}.1f} %"


def _factor(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _right(of: dict) -> str:
    return f"{of['right']} of {of['known']}"


def _row(row: dict) -> list[str]:
    return [row["kernel"], f"{row['moments']}", f"{row['drain']:,.0f}",
            *(text for name in ("by_time", "by_pace") for text in (
                f"{row[name]['known']}", _share(row[name]["error"]), _right(row[name]),
                _factor(row[name]["over_best"]))),
            f"{row['switch']:,.0f}", _share(row["by_size"]["error"]), _share(row["by_size"]["bias"], "+")]


def tables(result: dict) -> list[TitledTable]:
    """Return the tables of a result of `sim.bench.estimates.run`: title, columns and rows."""
    over_all = [[_TITLES[name], f"{of['kernels']}", f"{of['moments']:,}", _share(of["error"]), _share(of["bias"], "+"),
                 f"{of['right']:,}" if "right" in of else "-", _factor(of.get("over_best"))]
                for name, of in result["summary"].items()]
    return [
        ("Cycles that a drain and a switch take, mean; error of the estimates, of that; choices of the shorter one",
         ["kernel", "moments", "drain", "PEP: known", "error", "right", "over best", "Chimera: known", "error", "right",
          "over best", "switch", "error", "bias"], [_row(row) for row in result["runs"]]),
        ("Over all kernels (mean over kernels)",
         ["estimate", "kernels", "moments", "error", "bias", "right choices", "over best"], over_all),
    ]


def _heading(result: dict) -> str:
    return (f"preset {result['preset']}, jobs of size {result['size']}, {result['moments']} random moments of each "
            f"kernel, drawn with seed {result['seed']}")


def print_report(result: dict) -> None:
    """Print all tables."""
    print_tables(_heading(result), tables(result), 180)


def markdown(result: dict) -> str:
    """Return all tables as Markdown, the summary first."""
    return markdown_tables(_heading(result), tables(result), left=1)


def update_markdown(path: Path, result: dict) -> None:
    """Replace the text between the marks of a file; errors as in `sim.report.markdown.split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: markdown(result))

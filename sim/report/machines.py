"""The report of ``caesura bench machines``: a row for each workload, and the errors next to their aims."""

from __future__ import annotations

from pathlib import Path

from .markdown import replace_markdown
from .tables import TitledTable, markdown_tables, print_tables

__all__ = ["BEGIN", "END", "tables", "print_report", "markdown", "update_markdown"]

BEGIN = "<!-- begin: caesura bench machines -->"
END = "<!-- end: caesura bench machines -->"
"""Marks in a Markdown file; the text between them is replaced."""
_TITLES = {"latency_error": "mean latency of a workload", "work_error": "latency of a single work",
           "throughput_error": "throughput of a workload"}


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def tables(result: dict) -> list[TitledTable]:
    """Return the tables of a result of `sim.bench.machines.run`: title, columns and rows."""
    rows = [[str(row["workload"] + 1), row["way"], str(row["works"]), str(row["tbs"]), str(row["rtl"]["preempts"]),
             *(f"{row[name]['latency']:,.0f}" for name in ("rtl", "model")), _percent(row["latency_error"]),
             _percent(row["work_error"]), *(f"{row[name]['tbs_per_kilocycle']:.3f}" for name in ("rtl", "model")),
             _percent(row["throughput_error"])] for row in result["workloads"]]
    errors = []
    for key, found in result["errors"].items():
        aim = result["aims"].get(key)
        verdict = "" if aim is None else "met" if found["mean"] <= aim else "MISSED"
        errors.append([_TITLES[key], _percent(found["mean"]), _percent(found["max"]),
                       "" if aim is None else _percent(aim), verdict])
    return [
        ("Workloads on both machines; latency in cycles, throughput in TBs a thousand cycles",
         ["workload", "way", "works", "TBs", "preempts", "latency: RTL", "model", "error", "of a work",
          "throughput: RTL", "model", "error"], rows),
        ("Errors of the model over all workloads", ["of", "mean", "most", "aim of the mean", ""], errors)]


def _heading(result: dict) -> str:
    wrong = "all results right" if not result["wrong"] else f"{result['wrong']} elements of results WRONG"
    rtl, model = (result["seconds"][name] for name in ("rtl", "model"))
    return (f"{result['preset']}, SMs: {result['sms']}, workloads of {', '.join(result['kernels'])}, drawn with seed "
            f"{result['seed']}; {wrong} on the RTL; the model is {result['times_as_fast']:,.0f} times as fast "
            f"({rtl:.1f} s and {model:.2f} s)")


def print_report(result: dict) -> None:
    """Print all tables."""
    print_tables(_heading(result), tables(result), 150, 2)


def markdown(result: dict) -> str:
    """Return all tables as Markdown, the summary first."""
    return markdown_tables(_heading(result), tables(result), left=2)


def update_markdown(path: Path, result: dict) -> None:
    """Replace the text between the marks of a file; errors as in `sim.report.markdown.split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: markdown(result))

"""The report of `run`, for a terminal and for a page."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from caesura.sim.report.markdown import markdown_table, replace_markdown
from caesura.software.report.console import report_console

from .critical_path import path_text
from .targets import COLUMNS, TARGETS

__all__ = ["BEGIN", "END", "cells", "print_report", "sums", "update_markdown"]

BEGIN, END = "<!-- caesura synth -->", "<!-- end of caesura synth -->"
"""Marks around the page's table."""
_DEEP = 2
"""Number of levels of submodules in the report."""
_SHOWN = 24
"""Number of submodules in the report."""


def cells(row: dict) -> list[str]:
    """Return a row's figures as text; missing figures are empty."""
    return [f"{row[column]:,}" if column in row else "" for column in COLUMNS]


def _mhz(row: dict) -> str:
    return "" if row.get("mhz") is None else f"{row['mhz']}"


def sums(parts: dict[str, dict[str, int]], deep: int = _DEEP) -> dict[str, dict[str, int]]:
    """Return the cells of submodules, each with all submodules below it, down to a level; most look-up tables first."""
    found: dict[str, dict[str, int]] = {}
    for path, counted in parts.items():
        names = path.split(".") if path else []
        for level in range(1, min(deep, len(names)) + 1):
            sum_of = found.setdefault(".".join(names[:level]), dict.fromkeys(COLUMNS, 0))
            for column in COLUMNS:
                sum_of[column] += counted[column]
    return dict(sorted(found.items(), key=lambda item: -item[1]["LUT"]))


def _print_parts(console, row: dict) -> None:
    """Print the submodules of a block."""
    table = Table("submodule", *COLUMNS, title=f"{row['block']}: what its submodules take, all below them included",
                  box=None)
    for name, counted in list(sums(row["parts"]).items())[:_SHOWN]:
        table.add_row(name, *cells(counted))
    console.print(table)


def _print_path(console, row: dict) -> None:
    """Print the critical path of a block."""
    path = row["path"]
    console.print(f"critical path of {row['block']}: {path_text(path)}", markup=False)
    if path["harness"]:
        console.print("  (between the flip-flops around the block: it is faster than that)")
        return
    for step in path["steps"]:
        console.print(f"  {step['ns']:6.2f} ns  {step['cells']:3} cells  {step['near']}", markup=False)


def print_report(result: dict, parts: bool = False) -> None:
    """Print a table of the blocks next to the device, the critical path of each, and blocks that do not fit.

    Parameters
    ----------
    result : dict
    parts : bool
        Print the cells of submodules too.
    """
    target, console = TARGETS[result["target"]], report_console(120)
    table = Table("block", *COLUMNS, "MHz", box=None, title=f"Cells of {result['target']} out of context, preset "
                  f"{result['preset']}, {result['lanes']} lanes, seed {result['seed']}")
    for row in result["blocks"]:
        table.add_row(row["block"], *cells(row), _mhz(row))
    table.add_row(f"{target.device} has", *cells(result["available"]), "", style="dim")
    console.print(table)
    for row in result["blocks"]:
        if row["path"] is not None:
            _print_path(console, row)
        for column, (taken, there) in row["lacking"].items():
            console.print(f"{row['block']} does not fit: it takes {taken:,} of {there:,} ({column})")
        if "error" in row:
            console.print(row["error"], markup=False)
        if parts:
            _print_parts(console, row)
    if target.placer is None:
        console.print(f"no clock frequency: there is no free placer for {target.name} among Python's packages; Vivado "
                      f"takes the exported SystemVerilog with {target.constraints}")


def update_markdown(path: Path, result: dict) -> None:
    """Write the table into a page, between its marks; errors as in `split_markdown`."""
    title = (f"Preset `{result['preset']}`, {result['lanes']} lanes, {result['device']}, seed {result['seed']}")
    rows = [[row["block"], *cells(row), _mhz(row) or "-", path_text(row["path"]) if row["path"] else
             "does not fit" if row["lacking"] else "not placed"] for row in result["blocks"]]
    rows.append([f"*{result['device']} has*", *cells(result["available"]), "", ""])
    columns = ["block", *COLUMNS, "MHz", "critical path"]
    replace_markdown(path, BEGIN, END, lambda: markdown_table(title, columns, rows, 1))

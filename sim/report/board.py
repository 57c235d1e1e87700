"""Prints the result of `sim.board.bitstream.build_bitstream` on a terminal."""

from __future__ import annotations

from rich.table import Table

from caesura.sim.synth.critical_path import path_text
from caesura.sim.synth.report import cells, sums
from caesura.sim.synth.targets import COLUMNS
from caesura.software.report.console import report_console

__all__ = ["print_board"]

_SHOWN = 24
"""Number of listed submodules."""


def print_board(result: dict, parts: bool = False) -> None:
    """Print the cells of a board next to the device's, its timing next to the clock, and columns that do not fit.

    Parameters
    ----------
    result : dict
    parts : bool
        Print the cells of submodules too.
    """
    console = report_console(120)
    without = f", without its {result['left_out']}" if result["left_out"] else ""
    table = Table("", *COLUMNS, box=None, title=f"{result['board']} with {result['geometry']}{without}, "
                  f"{result['memory_bytes'] >> 10} KiB on the chip, seed {result['seed']}")
    table.add_row("the board takes", *cells(result))
    table.add_row(f"{result['device']} has", *cells(result["available"]), style="dim")
    console.print(table)
    for column, (taken, there) in result["lacking"].items():
        what = f"{column}, carry and distributed RAM included" if column == "LUT" else column
        console.print(f"it does not fit: {taken:,} of {there:,} ({what}); there is no bitstream", markup=False)
    if result["mhz"] is not None:
        verdict = "met" if result["met"] else "MISSED"
        console.print(f"clock: {result['mhz']} MHz, {result['clock']:g} MHz asked for: {verdict}; the aim is "
                      f"{result['aim']:g} MHz: {'met' if result['mhz'] >= result['aim'] else 'missed'}", markup=False)
        if result["path"]:
            console.print(f"critical path: {path_text(result['path'])}", markup=False)
            for step in result["path"]["steps"]:
                console.print(f"  {step['ns']:6.2f} ns  {step['cells']:3} cells  {step['near']}", markup=False)
        console.print(f"written: {result['bitstream']}", markup=False)
    if parts:
        listed = Table("submodule", *COLUMNS, title="what submodules take, all below them included", box=None)
        for name, counted in list(sums(result["parts"], 3).items())[:_SHOWN]:
            listed.add_row(name, *cells(counted))
        console.print(listed)

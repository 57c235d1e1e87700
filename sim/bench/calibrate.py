"""Costs of thread blocks (TBs) and switches on the RTL, for the model of a GPU (`caesura.sim.model`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from caesura.hw.arch.geometry import Geometry
from caesura.sim.model.calibrate import calibrate
from caesura.sim.model.costs import Costs, geometry_digest, kernel_data, write_costs
from caesura.sim.report.tables import TitledTable, print_tables

from .resumable import geometry_settings

__all__ = ["run", "print_report", "tables"]


def run(g: Geometry, kernels: Sequence[str], moments: int, seed: int, file: Path | None,
        progress: Callable[[str], None] = lambda text: None) -> dict:
    """Measure costs; keys are documented in `docs/keys.md`.

    Parameters
    ----------
    g : Geometry
        A geometry of one SM.
    kernels : sequence of str
        Names of kernels; all that fit by default.
    moments, seed : int
        See `sim.model.calibrate.calibrate`.
    file : Path or None
        Cost file to write.
    progress : callable
    """
    costs = calibrate(g, kernels, moments, seed, progress)
    if file is not None:
        write_costs(costs, file)
    return _result(costs, file)


def _result(costs: Costs, file: Path | None) -> dict:
    return geometry_settings(costs.geometry) | costs.settings | {
        "digest": geometry_digest(costs.geometry), "file": None if file is None else str(file),
        "kernels": {name: kernel_data(kernel) for name, kernel in costs.kernels.items()}}


def _line(line: dict | None) -> str:
    return "-" if line is None else f"{line['base']:,.0f} + {line['per_tb']:,.0f} a TB"


def tables(result: dict) -> list[TitledTable]:
    """Return the tables of a result of `run`: title, columns and rows."""
    kernels, switches = [], []
    for name, kernel in result["kernels"].items():
        (_, alone), (most, crowded) = kernel["tb_cycles"][0], kernel["tb_cycles"][-1]
        spread = kernel["spread"] or (1.0,)
        kernels.append([name, str(kernel["threads"]), f"{alone:,.0f}", str(most), f"{crowded:,.0f}",
                        f"{min(spread):.2f} to {max(spread):.2f}", f"{kernel['bytes_per_tb']:,.0f}",
                        f"{kernel['start_cycles']:,.0f} + {kernel['cold_cycles']:,.0f}",
                        f"{max(kernel['beside'].values(), default=0.0):+.2f}"])
        switches += [[name, way, _line(costs["save"]), f"{max(costs['spread']):.2f}", _line(costs["resume"]),
                      str(len(costs["samples"]))] for way, costs in kernel["switches"].items()]
    return [
        ("Thread blocks, in cycles",
         ["kernel", "threads", "alone", "most on the SM", "each then", "spread", "bytes moved", "start + cold caches",
          "longest beside another"], kernels),
        ("Switches, in cycles from the command until the scheduler is told",
         ["kernel", "way", "off the SM", "worst over it", "back", "measured"], switches)]


def print_report(result: dict) -> None:
    """Print the result of `run`."""
    heading = f"{result['preset']}, {result['moments']} moments of each way, drawn with seed {result['seed']}"
    print_tables(heading + (f"; written to {result['file']}" if result["file"] else ""), tables(result), 140, 2)

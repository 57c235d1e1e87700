"""``caesura kernels``: what ships, and which SM it fits."""

from __future__ import annotations

import math
import time

import click
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from caesura.hw.arch.geometry import PRESETS, Geometry
from caesura.software.kernels import KERNELS, Job, ShippedKernel
from caesura.software.kernels.fit import refusal
from caesura.software.report.console import report_console

from .common import Command, JsonTarget, examples, json_option, progress_lines
from .machine import geometry_option

__all__ = ["list_kernels"]

SIZE = "small"
"""Of the jobs that are listed; thread blocks are the same in all sizes."""
WIDTH, NARROW = 180, 100
"""Columns of the table where nothing says how many there are, and too few for it."""
QUIET = 1.0
"""Seconds before progress is shown: kernels that were never compiled are, which takes time only once."""


def _row(k: ShippedKernel, job: Job, geometries: list[Geometry]) -> dict:
    image = k.image()
    refusals = {g.name: why for g in geometries if (why := refusal(k, g, job))}
    return {"name": k.name, "summary": k.summary, "source": k.source, "block": list(job.block),
            "grid": list(job.grid), "registers": image.registers, "shared_bytes": image.shared_bytes,
            "local_bytes": image.local_bytes, "constant_bytes": len(image.constants),
            "instructions": len(image.code), "stack_depth": image.stack_depth,
            "fits": [g.name for g in geometries if g.name not in refusals], "refusals": refusals}


def _rows(geometries: list[Geometry]) -> list[dict]:
    started, rows = time.monotonic(), []
    with progress_lines() as progress:
        for number, k in enumerate(KERNELS.values(), 1):
            if time.monotonic() - started > QUIET:
                progress(f"compiling kernel {number} of {len(KERNELS)}: {k.name}")
            rows.append(_row(k, k.job(SIZE), geometries))
    return rows


@click.command("kernels", cls=Command,
               epilog=examples("caesura kernels --preset ecp5", "caesura kernels --json kernels.json"))
@geometry_option(None, "all")
@json_option
def list_kernels(geometry, as_json: JsonTarget):
    """List the kernels that ship, and the presets whose SM they fit.

    With --preset or --geometry: whether they fit that one, and why not.
    """
    rows = _rows([geometry] if geometry else list(PRESETS.values()))
    as_json.write({"kernels": rows})
    if as_json.instead:
        return
    console = report_console(WIDTH)
    (_print_table if console.width >= NARROW else _print_list)(console, rows, geometry)


def _fits(row: dict, geometry: Geometry | None) -> str:
    if geometry is None:
        return " ".join(row["fits"])
    return "no: " + row["refusals"][geometry.name].split(": ", 1)[-1] if row["refusals"] else "yes"


def _print_table(console: Console, rows: list[dict], geometry: Geometry | None) -> None:
    table = Table("kernel", "threads/TB", "registers", "shared", "words",
                  f"fits {escape(geometry.name)}" if geometry else "fits", "what it is", "stands for", box=None)
    for row in rows:
        table.add_row(row["name"], str(math.prod(row["block"])), str(row["registers"]), str(row["shared_bytes"]),
                      str(row["instructions"]), _fits(row, geometry), row["summary"], row["source"])
    console.print(table)


def _print_list(console: Console, rows: list[dict], geometry: Geometry | None) -> None:
    """Print what the table has below each other, for a terminal on which its columns would have no room."""
    for row in rows:
        facts = (f"{row['summary']} ({row['source']})",
                 f"{math.prod(row['block'])} threads/TB, {row['registers']} registers, {row['shared_bytes']} B shared, "
                 f"{row['instructions']} words",
                 f"fits{f' {geometry.name}' if geometry else ''}: {_fits(row, geometry)}")
        console.print(row["name"], style="bold")
        for fact in facts:
            console.print(Padding(Text(fact), (0, 0, 0, 2)))

"""``caesura kernels``: what ships, and which SM it fits."""

from __future__ import annotations

import json
import math
import time

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from caesura.hw.arch.geometry import PRESETS, Geometry
from caesura.software.kernels import KERNELS, Job, ShippedKernel
from caesura.software.kernels.fit import refusal

from .common import json_option, progress_lines
from .machine import geometry_option

__all__ = ["list_kernels"]

SIZE = "small"
"""Of the jobs that are listed; thread blocks are the same in all sizes."""
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


@click.command("kernels")
@geometry_option(None, "all")
@json_option
def list_kernels(geometry, as_json):
    """List the kernels that ship, and the presets whose SM they fit.

    With --preset or --geometry: whether they fit that one, and why not.
    """
    rows = _rows([geometry] if geometry else list(PRESETS.values()))
    if as_json:
        click.echo(json.dumps({"kernels": rows}, indent=2))
        return
    table = Table("kernel", "threads/TB", "registers", "shared", "words",
                  f"fits {escape(geometry.name)}" if geometry else "fits", "what it is", "stands for", box=None)
    for row in rows:
        fits = " ".join(row["fits"])
        if geometry:
            fits = "no: " + row["refusals"][geometry.name].split(": ", 1)[-1] if row["refusals"] else "yes"
        table.add_row(row["name"], str(math.prod(row["block"])), str(row["registers"]), str(row["shared_bytes"]),
                      str(row["instructions"]), fits, row["summary"], row["source"])
    Console(width=180).print(table)

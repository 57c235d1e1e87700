"""``caesura build``: the simulator of an SM, made before it is needed, plain or by a profile."""

from __future__ import annotations

import importlib

import click

from .common import progress_lines
from .machine import geometry_option

__all__ = ["build_command"]


@click.command("build")
@click.option("--optimise", is_flag=True,
              help="Compile it by a profile: minutes more, once; every later run of this SM is faster.")
@geometry_option()
def build_command(optimise, geometry):
    """Build the simulator of an SM and keep it.

    What runs on the RTL builds it as well, the first time. With --optimise it is compiled once more, trained on short
    stretches of kernels, and from then on taken by everything that runs this SM.
    """
    with progress_lines() as progress:
        if optimise:
            path = importlib.import_module("caesura.sim.rtl.optimise").optimised_library(geometry, progress=progress)
        else:
            path = importlib.import_module("caesura.sim.rtl.verilator").library(geometry, plain=True,
                                                                                progress=progress)
    click.echo(f"{geometry.name}: {path}")

"""``caesura build``: the simulator of an SM, made before it is needed, plain or by a profile."""

from __future__ import annotations

import click

from caesura.hw.arch.geometry import PRESETS, Geometry

from .common import Command, examples, progress_lines
from .machine import geometry_option

__all__ = ["LONG", "build_command", "offer"]

LONG = 3_000_000
"""Simulated cycles of a run that is long: a minute or so."""


def offer(g: Geometry, cycles: int) -> None:
    """Say after a long run that it could have been shorter, unless the simulator of the SM is optimised already."""
    if cycles < LONG:
        return
    from caesura.sim.rtl import verilator as rtl
    if rtl.library(g) == rtl.library(g, plain=True):
        which = f"--preset {g.name}" if g.name in PRESETS else "--geometry FILE"
        click.echo(f"caesura: {cycles:,} cycles; `caesura build {which} --optimise`, once, makes such runs about twice "
                   "as fast", err=True)


@click.command("build", cls=Command, epilog=examples("caesura build --preset gtx980 --optimise"))
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
            from caesura.sim.rtl.optimise import optimised_library

            path = optimised_library(geometry, progress=progress)
        else:
            from caesura.sim.rtl.verilator import library

            path = library(geometry, plain=True, progress=progress)
    click.echo(f"{geometry.name}: {path}")

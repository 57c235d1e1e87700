"""``caesura synth``: blocks on an FPGA, out of context."""

from __future__ import annotations

import sys

import click

from .common import EXIT_WRONG, Choice, Command, examples, json_option, progress_lines
from .machine import geometry_option
from .outputs import OUTPUT

__all__ = ["synth_command"]

_TARGETS = ("ecp5", "ice40", "xilinx")


@click.command("synth", cls=Command, epilog=examples(
    "caesura synth sealer --target ecp5", "caesura synth --list",
    "caesura synth register_encoder --target ice40 --json -"))
@click.argument("blocks", metavar="BLOCK...", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="List the blocks.")
@click.option("--target", type=Choice(_TARGETS), default="ecp5", show_default=True, help="The family of FPGAs.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True, help="Seed of the placer.")
@click.option("--place/--no-place", default=True, show_default=True, help="Place and route, which gives the frequency.")
@click.option("--parts", is_flag=True, help="Say what the submodules of each block take.")
@click.option("--markdown", type=OUTPUT, help="Write the table into a Markdown file: between its marks, or into a new "
              "one.")
@geometry_option("ecp5")
@json_option
def synth_command(blocks, listed, target, seed, place, parts, markdown, geometry, as_json):
    """The size of blocks on an FPGA, their speed there, and their critical paths.

    Each is synthesised by Yosys and, for ecp5 and ice40, placed and routed by nextpnr, by itself: its ports are
    registered (docs/synthesis.md).
    """
    from caesura.sim.synth import blocks as known
    if listed:
        click.echo("\n".join(known.names()))
        return
    if not blocks:
        raise click.UsageError("a block is wanted; --list names them")
    from caesura.sim.synth import report
    if markdown is not None:
        from caesura.sim.report.markdown import split_markdown

        split_markdown(markdown, report.BEGIN, report.END)
    from caesura.sim.synth.targets import TARGETS

    found = TARGETS[target]
    with progress_lines() as progress:
        from caesura.sim.synth.run import run

        result = run(
            list(dict.fromkeys(blocks)), geometry, found, seed=seed, place=place, progress=progress)
    as_json.write(result)
    if not as_json.instead:
        report.print_report(result, parts)
    if markdown is not None:
        report.update_markdown(markdown, result)
    sys.exit(0 if result["met"] else EXIT_WRONG)

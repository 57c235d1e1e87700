"""``caesura bench calibrate``, ``machines`` and ``deadline``: the machines that schedulers see (docs/schedulers.md)."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from caesura.software.sched import TECHNIQUES

from .bench import bench_group, markdown_option, picture_option
from .common import EXIT_WRONG, Choice, JsonTarget, examples, json_option, progress_lines
from .machine import geometry_option
from .outputs import OUTPUT

__all__ = ["bench_group"]

seed_option = click.option("--seed", default=1, show_default=True, type=click.IntRange(0),
                           help="Seed of inputs, moments and the model.")


def _check(report, picture: Path | None, markdown: Path | None) -> None:
    """Refuse, before anything is measured, files that could not be written at the end."""
    if picture is not None:
        from caesura.sim.report.pictures import check_picture

        check_picture(picture)
    if markdown is not None:
        from caesura.sim.report.markdown import split_markdown

        split_markdown(markdown, report.BEGIN, report.END)


def _hand_on(report, result: dict, as_json: JsonTarget, markdown: Path | None = None, picture: Path | None = None):
    """Hand a result on to all who want it, and end with the verdict."""
    as_json.write(result)
    if not as_json.instead:
        report.print_report(result)
    if picture is not None:
        report.picture(result, picture)
    if markdown is not None:
        report.update_markdown(markdown, result)
    sys.exit(0 if result.get("met", True) else EXIT_WRONG)


@bench_group.command("calibrate", epilog=examples(
    "caesura bench calibrate --preset tiny --kernel vecadd -o tiny.json", "caesura bench calibrate -o gtx480.json"))
@click.option("--kernel", "kernels", multiple=True, metavar="KERNEL",
              help="May be given more than once  [default: all that fit, of docs/schedulers.md]")
@click.option("--moments", default=6, show_default=True, type=click.IntRange(1),
              help="Preempts of each kernel in each way, with as many thread blocks on the SM as fit, and with one.")
@click.option("-o", "--output", type=OUTPUT, help="Cost file (JSON), for `ModelMachine`.")
@seed_option
@geometry_option()
@json_option
def bench_calibrate(kernels, moments, output, seed, geometry, as_json):
    """The cost of thread blocks and switches on the RTL of an SM, for the model of a GPU.

    What was measured of the same simulator, kernel and settings is not measured again.
    """
    from caesura.sim.bench import calibrate as module
    with progress_lines() as progress:
        result = module.run(geometry, kernels, moments, seed, output, progress)
    _hand_on(module, result, as_json)


@bench_group.command("machines", epilog=examples(
    "caesura bench machines --preset tiny --workloads 7", "caesura bench machines --kernel matmul --kernel vecadd"))
@click.option("--kernel", "kernels", multiple=True, metavar="KERNEL",
              help="May be given more than once  [default: all that fit, of docs/schedulers.md]")
@click.option("--workloads", default=20, show_default=True, type=click.IntRange(1))
@seed_option
@markdown_option
@geometry_option()
@json_option
def bench_machines(kernels, workloads, seed, markdown, geometry, as_json):
    """The same workloads with the same scheduler on the RTL and on the model: errors of latency and throughput, next to
    their aims."""
    from caesura.sim.bench import machines as module
    from caesura.sim.report import machines as report
    _check(report, None, markdown)
    with progress_lines() as progress:
        result = module.run(geometry, workloads, seed, kernels, progress)
    _hand_on(report, result, as_json, markdown)


@bench_group.command("deadline", epilog=examples(
    "caesura bench deadline --picture deadline.svg",
    "caesura bench deadline --machine rtl --preset tiny --arrivals 20 --way none --way live+cp"))
@click.option("--machine", default="model", show_default=True, type=Choice(["rtl", "model"]))
@click.option("--way", "ways", multiple=True, type=Choice(list(TECHNIQUES)),
              help="May be given more than once  [default: all that the SM can do]")
@click.option("--tbs", default=1000, show_default=True, type=click.IntRange(1),
              help="Thread blocks of the kernel that runs.")
@click.option("--arrivals", default=100, show_default=True, type=click.IntRange(1), help="Urgent kernels.")
@click.option("--every", default=10_000, show_default=True, type=click.IntRange(1),
              help="Cycles between two of them.")
@click.option("--deadline", type=click.IntRange(0),
              help="Cycles after which one is late  [default: when the next one comes]")
@click.option("--lead", default=3_500, show_default=True, type=click.IntRange(0),
              help="Cycles ahead at which one is announced, for bases.")
@seed_option
@picture_option
@markdown_option
@geometry_option()
@json_option
def bench_deadline(machine, ways, tbs, arrivals, every, deadline, lead, seed, picture, markdown, geometry,
                   as_json):
    """Latency of a small urgent kernel that comes every n cycles while a large one runs, by the way room is made."""
    from caesura.sim.bench import deadline as module
    from caesura.sim.report import deadline as report
    _check(report, picture, markdown)
    with progress_lines() as progress:
        result = module.run(geometry, machine, ways, tbs, arrivals, every, deadline, lead, seed, progress)
    _hand_on(report, result, as_json, markdown, picture)

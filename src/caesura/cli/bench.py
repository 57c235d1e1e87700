"""``caesura bench``: measurements, each printed next to what it is compared with."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from caesura.hw.arch.geometry import MAX_REGISTERS, MAX_SMS, PRESETS, Geometry
from caesura.hw.arch.image.context import Capability, Mechanism
from caesura.software.kernels import KERNELS, SIZES
from caesura.software.kernels.doubles import DOUBLES
from caesura.software.kernels.fit import refusal

from .common import EXIT_WRONG, Choice, CommandGroup, JsonTarget, examples, json_option, progress_lines
from .machine import geometry_option
from .outputs import FOLDER, OUTPUT

__all__ = ["bench_group"]


kernels_option = click.option("--kernel", "kernels", multiple=True, type=Choice(list(KERNELS)),
                              help="May be given more than once  [default: every kernel that ships]")
picture_option = click.option("--picture", type=OUTPUT, help="Draw the figures: .svg, .png or .pdf.")
markdown_option = click.option("--markdown", type=OUTPUT, help="Write the tables into a Markdown file: between its "
                               "marks, or into a new one.")


size_option = click.option("--size", default="small", show_default=True, type=Choice(SIZES))
seed_option = click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Seed of the moments.")
jobs_option = click.option("--jobs", default=1, show_default=True, type=click.IntRange(1), help="Processes.")
_WAIT = Choice([mechanism.label for mechanism in Mechanism if mechanism.has(Capability.STOPS_AT_POINTS)])
waiting_option = click.option("--mechanism", "mechanisms", multiple=True, type=_WAIT,
                              help="May be given more than once  [default: all that wait for preemption points]")
resume_option = click.option("--resume", is_flag=True,
                             help="Take over from the file of --json what it has of the same code.")


class Share(click.ParamType):
    """A share of the time that the bus takes for what a kernel holds of the SM: ``1/64`` or ``0.02``."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        """Return the number."""
        try:
            share = Fraction(value)
        except (ValueError, ZeroDivisionError):
            share = Fraction(-1)
        if not 0 <= share <= 1000:
            self.fail(f"{str(value)[:60]!r}: a number from 0 to 1000, like 1/64, is wanted", param, ctx)
        return share


class KernelPair(click.ParamType):
    """Two shipped kernels: ``hotspot-bfs``."""

    name = "k1-k2"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return the two names."""
        first, dash, second = str(value).partition("-")
        if not dash:
            self.fail(f"{str(value)[:60]!r}: two kernels are wanted, like hotspot-bfs", param, ctx)
        known = Choice(list(KERNELS))
        return known.convert(first, param, ctx), known.convert(second, param, ctx)


@click.group("bench", cls=CommandGroup)
def bench_group():
    """Measurements, each printed next to what it is compared with."""


ptxas_option = click.option("--ptxas", type=click.Path(exists=True, path_type=Path),
                            help="The program, or the folder of it and nvdisasm  [default: of the installed packages]")


def _bench(module: Any, as_json: JsonTarget, *arguments, **options):
    """Run a benchmark module's `run` and print its report or its JSON."""
    result = module.run(*arguments, **options)
    as_json.write(result)
    if not as_json.instead:
        module.print_report(result)
    sys.exit(0 if result.get("met", True) else EXIT_WRONG)


def _check(report, picture: Path | None, markdown: Path | None, marks: tuple[str, str] | None = None):
    """Refuse, before anything is measured, files that could not be written at the end; `marks` are those of the report
    unless given."""
    if picture is not None:
        from caesura.sim.report.pictures import check_picture

        check_picture(picture)
    if markdown is not None:
        from caesura.sim.report.markdown import split_markdown

        split_markdown(markdown, *(marks or (report.BEGIN, report.END)))


def _finish(report, result: dict, markdown: Path | None, picture: Path | None, as_json: JsonTarget):
    """Hand a result on to all who want it, and end with the verdict."""
    as_json.write(result)
    if not as_json.instead:
        report.print_report(result)
    if picture is not None:
        report.picture(result, picture)
    if markdown is not None:
        report.update_markdown(markdown, result)
    sys.exit(0 if result.get("met", True) else EXIT_WRONG)


def _earlier(module, as_json: JsonTarget, resume: bool) -> dict | None:
    """Return what the file of ``--json`` holds of an earlier run, if the benchmark is to go on from it."""
    if not resume:
        return None
    if as_json.file is None:
        raise click.UsageError("--resume needs --json FILE, the file to go on from")
    return module.read_result(as_json.file)


def _measure(module: Any, report: Any, g: Geometry, *arguments, kernels: Sequence[str] | None, as_json: JsonTarget,
             resume: bool, markdown: Path | None, picture: Path | None = None, **options):
    """Run a benchmark that can go on where it stopped, and hand its result on.

    Parameters
    ----------
    module, report : module
        The benchmark and its report.
    g : Geometry
    arguments, options
        Of its `run`, but for the progress, which comes behind the former, and for the files.
    kernels : sequence of str or None
        Those that have to fit the SM, all that ship if empty; None if any may.
    """
    earlier = _earlier(module, as_json, resume)
    _check(report, picture, markdown)
    if kernels is not None:
        _check_fit(g, kernels)
    with progress_lines() as progress:
        result = module.run(g, *arguments, progress, json_file=as_json.file, resume=earlier, **options)
    _finish(report, result, markdown, picture, as_json)


def _check_fit(g: Geometry, kernels: Sequence[str] = ()) -> None:
    """Refuse, before a simulator is built, an SM for which a kernel to be measured is too large."""
    names = kernels or KERNELS
    refused = {name: why for name in names if (why := refusal(KERNELS[name], g, KERNELS[name].job()))}
    if refused:
        other = "another geometry" if not kernels else "other kernels"
        raise click.UsageError(f"{len(refused)} of {len(names)} kernels do not fit {g.name} ({', '.join(refused)}), "
                               f"the first because: {next(iter(refused.values()))}. Choose {other}; `caesura kernels` "
                               "says what fits")


@bench_group.command("devices", epilog=examples("caesura bench devices --preset tiny --sms 1 --sms 2"))
@click.option("--sms", "counts", multiple=True, type=click.IntRange(1, MAX_SMS),
              help="May be given more than once, with 1 first  [default: 1, 2, 4, 8, 16]")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@geometry_option()
@json_option
def bench_devices(counts, rounds, geometry, as_json):
    """The cost of a simulated cycle with more SMs, next to its limit, and the gain by threads."""
    from caesura.sim.bench import devices as module

    chosen = counts or module.COUNTS
    if chosen[0] != 1:
        raise click.UsageError("the cost is that over one SM: give --sms 1 first")
    with progress_lines() as progress:
        _bench(module, as_json, geometry, chosen, rounds, progress)


@bench_group.command("speed", epilog=examples("caesura bench speed --kernel pathfinder --rounds 1"))
@click.option("--kernel", "kernels", multiple=True, type=Choice(list(KERNELS)),
              help="May be given more than once  [default: pathfinder, matmul, hotspot, nbody]")
@size_option
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1),
              help="Number of rounds; the fastest counts.")
@geometry_option()
@json_option
def bench_speed(kernels, size, rounds, geometry, as_json):
    """Simulated cycles and warp instructions a second, next to what they were at first, in one run."""
    from caesura.sim.bench import speed as module

    chosen = kernels or module.KERNELS
    _check_fit(geometry, chosen)
    with progress_lines() as progress:
        _bench(module, as_json, geometry, size, chosen, rounds, progress)


@bench_group.command("golden", epilog=examples("caesura bench golden --kernel matmul"))
@click.option("--kernel", "kernels", multiple=True, type=Choice(list(KERNELS)),
              help="May be given more than once  [default: pathfinder, matmul, hotspot, nbody]")
@click.option("--size", default="medium", show_default=True, type=Choice(SIZES))
@geometry_option()
@json_option
def bench_golden(kernels, size, geometry, as_json):
    """Warp instructions a second of the golden model's engines, next to GPGPU-Sim's functional mode."""
    from caesura.sim.bench import golden_speed as module

    chosen = kernels or module.KERNELS
    _check_fit(geometry, chosen)
    _bench(module, as_json, geometry, size, chosen)


@bench_group.command("events", epilog=examples("caesura bench events"))
@geometry_option("tiny")
@json_option
def bench_events(geometry, as_json):
    """Cycles a second under Amaranth's simulator: the event-driven engine next to Amaranth's own."""
    from caesura.sim.bench import events as module

    with progress_lines() as progress:
        _bench(module, as_json, geometry, progress)


@bench_group.command("limits", epilog=examples("caesura bench limits --preset ecp5",
                                               "caesura bench limits --kernel saxpy --kernel matmul"))
@kernels_option
@size_option
@geometry_option()
@json_option
def bench_limits(kernels, size, geometry, as_json):
    """Save and restore time of shipped kernels against the limit of the bus."""
    _check_fit(geometry, kernels)
    from caesura.sim.bench import limits as module

    with progress_lines() as progress:
        _bench(module, as_json, geometry, size, kernels, progress)


@bench_group.command("kill", epilog=examples("caesura bench kill --kernel vecadd --moments 5",
                                             "caesura bench kill --preset tiny --queued"))
@click.option("--kernel", "kernels", multiple=True, type=Choice(list(KERNELS)),
              help="May be given more than once  [default: hotspot, vecadd, matmul, bfs, nbody, histogram, "
              "as far as they fit]")
@click.option("--moments", default=10, show_default=True, type=click.IntRange(1), help="Moments in each kernel's run.")
@click.option("--queued", is_flag=True, help="Reset packets in a queue of a device of two such SMs, too.")
@size_option
@geometry_option()
@json_option
def bench_kill(kernels, moments, queued, size, as_json, geometry):
    """How long a kill takes, next to its bound and to preempts; what the check for evictions costs."""
    from caesura.sim.bench.kill import DEFAULT as usual
    fitting = [name for name in usual if not refusal(KERNELS[name], geometry, KERNELS[name].job())]
    chosen = kernels or fitting
    if chosen or not queued:
        _check_fit(geometry, chosen or usual)
    from caesura.sim.bench import kill as module

    with progress_lines() as progress:
        _bench(module, as_json, geometry, size, chosen, moments, queued, progress)


@bench_group.command("cycles", epilog=examples(
    "caesura bench cycles tests/regression/recorded --preset gtx480 --kernel vecadd",
    "caesura bench cycles tests/regression/recorded --record --jobs 2"))
@click.argument("folder", type=FOLDER)
@click.option("--preset", "presets", multiple=True, type=Choice(list(PRESETS)),
              help="May be given more than once  [default: gtx480, gtx980, ecp5]")
@kernels_option
@click.option("--record", is_flag=True, help="Replace the rows measured, instead of comparing.")
@jobs_option
@json_option
def bench_cycles(folder, presets, kernels, record, jobs, as_json):
    """Cycles, bus beats and saved contexts of every kernel, next to a recording (docs/verification.md).

    FOLDER holds the recording. What was measured of the same sources is not measured again.
    """
    from caesura.sim.bench import cycles as module

    with progress_lines() as progress:
        _bench(module, as_json, folder, presets, kernels, record, jobs, progress)


@bench_group.command("mechanisms", epilog=examples(
    "caesura bench mechanisms --kernel bfs --preemptions 10 --picture bfs.svg",
    "caesura bench mechanisms --jobs 2 --json m.json --resume"))
@kernels_option
@click.option("--mechanism", "mechanisms", multiple=True, type=Choice([m.label for m in Mechanism]),
              help="May be given more than once  [default: all]")
@click.option("--preemptions", default=50, show_default=True, type=click.IntRange(1),
              help="Preemptions of each kernel with each mechanism.")
@size_option
@seed_option
@jobs_option
@picture_option
@markdown_option
@json_option
@resume_option
@geometry_option()
def bench_mechanisms(kernels, mechanisms, preemptions, size, seed, jobs, picture, markdown, as_json, resume, geometry):
    """Context size and preemption latency of every kernel with every mechanism, at random moments.

    The file of --json is written anew after each kernel and mechanism.
    """
    from caesura.sim.bench import mechanisms as module
    from caesura.sim.report import mechanisms as report

    _measure(module, report, geometry, size, kernels, [Mechanism.of(label) for label in mechanisms], preemptions, seed,
             jobs, kernels=kernels, as_json=as_json, resume=resume, markdown=markdown, picture=picture)


@bench_group.command("patience", epilog=examples(
    "caesura bench patience --preset ecp5 --kernel collatz --moments 10",
    "caesura bench patience --moments 30 --share 1/32 --share 1/8 --jobs 2"))
@kernels_option
@waiting_option
@click.option("--moments", default=100, show_default=True, type=click.IntRange(1), help="Moments of each kernel.")
@click.option("--share", "shares", multiple=True, type=Share(),
              help="Measure this share of the resident TBs' bus time as patience, too. May be given more than once.")
@size_option
@seed_option
@jobs_option
@markdown_option
@json_option
@resume_option
@geometry_option()
def bench_patience(kernels, mechanisms, moments, shares, size, seed, jobs, markdown, as_json, resume, geometry):
    """Preemption latency with the default patience, next to `occupied`, to patience 0 and to none.

    The file of --json is written anew after each kernel.
    """
    from caesura.sim.bench import patience as module
    from caesura.sim.report import patience as report

    _measure(module, report, geometry, size, kernels, [Mechanism.of(label) for label in mechanisms], moments, seed,
             jobs,
             kernels=kernels, as_json=as_json, resume=resume, markdown=markdown, shares=shares)


@bench_group.command("points", epilog=examples(
    "caesura bench points --preset ecp5 --kernel collatz --interval 500",
    "caesura bench points --jobs 2 --markdown docs/points.md"))
@kernels_option
@waiting_option
@click.option("--interval", "intervals", multiple=True, type=click.IntRange(4),
              help="Estimated cycles between points. May be given more than once  [default: 250, 500, 1000, 2000]")
@click.option("--moments", default=10, show_default=True, type=click.IntRange(1),
              help="Moments of each kernel and placement.")
@size_option
@seed_option
@jobs_option
@markdown_option
@json_option
@resume_option
@geometry_option()
def bench_points(kernels, mechanisms, intervals, moments, size, seed, jobs, markdown, as_json, resume, geometry):
    """The gain and the cost of preemption points by estimated cycles, next to points by instructions.

    The file of --json is written anew after each kernel.
    """
    from caesura.sim.bench import points as module
    from caesura.sim.report import points as report

    _measure(module, report, geometry, size, kernels, [Mechanism.of(label) for label in mechanisms], intervals, moments,
             seed,
             jobs, kernels=kernels, as_json=as_json, resume=resume, markdown=markdown)


@bench_group.command("estimates", epilog=examples(
    "caesura bench estimates --preset ecp5 --kernel collatz --moments 10",
    "caesura bench estimates --jobs 2 --markdown docs/estimates.md"))
@kernels_option
@click.option("--moments", default=30, show_default=True, type=click.IntRange(1), help="Moments of each kernel.")
@size_option
@seed_option
@jobs_option
@markdown_option
@json_option
@resume_option
@geometry_option()
def bench_estimates(kernels, moments, size, seed, jobs, markdown, as_json, resume, geometry):
    """The driver's estimates of a drain and a switch, next to the measured times.

    The file of --json is written anew after each kernel.
    """
    from caesura.sim.bench import estimates as module
    from caesura.sim.report import estimates as report

    _measure(module, report, geometry, size, kernels, moments, seed, jobs, kernels=kernels, as_json=as_json,
             resume=resume,
             markdown=markdown)


@bench_group.command("checkpoints", epilog=examples(
    "caesura bench checkpoints --preset ecp5 --kernel collatz",
    "caesura bench checkpoints --jobs 2 --markdown docs/checkpoints.md"))
@kernels_option
@click.option("--mechanism", "mechanisms", multiple=True, type=Choice([m.label for m in Mechanism]),
              help="May be given more than once  [default: all of the geometry]")
@size_option
@jobs_option
@markdown_option
@json_option
@resume_option
@geometry_option()
def bench_checkpoints(kernels, mechanisms, size, jobs, markdown, as_json, resume, geometry):
    """The saved bytes of an increment by the time since its base, next to a preempt that saves everything.

    The file of --json is written anew after each kernel.
    """
    from caesura.sim.bench import checkpoints as module
    from caesura.sim.report import checkpoints as report

    _measure(module, report, geometry, size, kernels, [Mechanism.of(label) for label in mechanisms], jobs,
             kernels=kernels, as_json=as_json, resume=resume, markdown=markdown)


@bench_group.command("traps", epilog=examples(
    "caesura bench traps --kernel hotspot --kernel matmul", "caesura bench traps --jobs 2 --markdown docs/ctxback.md"))
@kernels_option
@click.option("--mechanism", default="live+cp", show_default=True, type=_WAIT)
@click.option("--moments", default=5, show_default=True, type=click.IntRange(1), help="Moments of each run.")
@size_option
@jobs_option
@markdown_option
@json_option
@resume_option
@geometry_option()
def bench_traps(kernels, mechanism, moments, size, jobs, markdown, as_json, resume, geometry):
    """The savings and the time of preemption routines, next to preemption points.

    The file of --json is written anew after each kernel.
    """
    from caesura.sim.bench import traps as module
    from caesura.sim.report import traps as report

    _measure(module, report, geometry, size, kernels, Mechanism.of(mechanism), moments, jobs, kernels=kernels,
             as_json=as_json,
             resume=resume, markdown=markdown)


@bench_group.command("in-place", epilog=examples(
    "caesura bench in-place --pair hotspot-find_k --pair find_k-hotspot",
    "caesura bench in-place --jobs 2 --markdown docs/in-place.md"))
@click.option("--pair", "pairs", multiple=True, type=KernelPair(),
              help="The preempted kernel and the newcomer; may be given more than once  "
                   "[default: those of docs/in-place.md]")
@size_option
@jobs_option
@markdown_option
@json_option
@resume_option
@geometry_option()
def bench_in_place(pairs, size, jobs, markdown, as_json, resume, geometry):
    """Preemption latency where what a newcomer does not need stays on the SM, next to a complete switch.

    The file of --json is written anew after each pair.
    """
    from caesura.sim.bench import in_place
    in_place.check(geometry)
    from caesura.sim.bench import in_place as module
    from caesura.sim.report import in_place as report

    _measure(module, report, geometry, size, pairs, jobs, as_json=as_json, resume=resume, markdown=markdown,
             kernels=[*dict.fromkeys(name for pair in pairs or in_place.PAIRS for name in pair)])


@bench_group.command("area", epilog=examples("caesura bench area --only machine --json area.json"))
@click.option("--only", "sections", type=Choice(["machine", "mechanisms"]), multiple=True,
              help="The SM, or what mechanisms add to its preemption engine  [default: both]")
@geometry_option("ecp5")
@markdown_option
@json_option
def bench_area(sections, geometry, markdown, as_json):
    """The area of an SM on an ECP5, as the sum of its parts, with and without the preemption unit."""
    from caesura.sim.bench import area as module
    _check(module, None, markdown)
    with progress_lines() as progress:
        result = module.run(geometry, sections or module.SECTIONS, progress)
    _finish(module, result, markdown, None, as_json)


@bench_group.command("code", epilog=examples("caesura bench code --kernel vecadd --kernel bfs"))
@click.option("--kernel", "kernels", multiple=True, type=Choice([*KERNELS, *DOUBLES]),
              help="May be given more than once  [default: every kernel that ships, and the f64-heavy ones]")
@ptxas_option
@markdown_option
@json_option
def bench_code(kernels, ptxas, markdown, as_json):
    """Registers, instructions and compile time of every shipped kernel and of f64-heavy ones, next to ptxas."""
    from caesura.sim.bench import code as module
    _check(module, None, markdown)
    with progress_lines() as progress:
        result = module.run(kernels, ptxas, progress)
    _finish(module, result, markdown, None, as_json)


@bench_group.command("ctxback", epilog=examples("caesura bench ctxback --kernel hotspot --json -",
                                               "caesura bench ctxback --isa gfx906 --picture ctxback.svg"))
@kernels_option
@click.option("--isa", type=Choice(["caesura", "gfx906"]), default="caesura", show_default=True,
              help="Instruction set: ours, or AMD's with the OpenCL kernels after CTXBack Table I.")
@geometry_option()
@picture_option
@markdown_option
@json_option
def bench_ctxback(kernels, isa, geometry, picture, markdown, as_json):
    """Static context size with context flashback, of every kernel of an instruction set, under both objectives."""
    from caesura.sim.bench import ctxback as module
    _check(module, picture, markdown, module.marks(isa))
    with progress_lines() as progress:
        result = module.run(geometry, kernels, progress, isa)
    _finish(module, result, markdown, picture, as_json)


@bench_group.command("gpu", epilog=examples("caesura bench gpu --kernel vecadd"))
@kernels_option
@size_option
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0),
              help="Seed of the inputs, and of the first random kernel.")
@click.option("--random", default=200, show_default=True, type=click.IntRange(0), help="Random kernels besides.")
@markdown_option
@json_option
def bench_gpu(kernels, size, seed, random, markdown, as_json):
    """The PTX of every shipped kernel on a real NVIDIA GPU, next to the references and the golden model; and random
    kernels."""
    from caesura.sim.bench import gpu as module
    _check(module, None, markdown)
    with progress_lines() as progress:
        result = module.run(kernels, size, seed, random, progress)
    _finish(module, result, markdown, None, as_json)


@bench_group.command("contexts", epilog=examples(
    "caesura bench contexts --samples 20 --json c.json",
    "caesura bench contexts --samples 20 --json c.json --resume"))
@kernels_option
@click.option("--samples", default=100, show_default=True, type=click.IntRange(1), help="Samples of each kernel.")
@size_option
@seed_option
@jobs_option
@json_option
@resume_option
@picture_option
@markdown_option
@geometry_option()
def bench_contexts(kernels, samples, size, seed, jobs, as_json, resume, picture, markdown, geometry):
    """Live and compressed register context of every kernel at random times, and its patterns.

    The file of --json is written anew after each kernel.
    """
    from caesura.sim.bench import contexts as module
    from caesura.sim.report import contexts as report

    _measure(module, report, geometry, size, kernels, samples, seed, jobs, kernels=None, as_json=as_json, resume=resume,
             markdown=markdown, picture=picture)


@bench_group.command("compile", epilog=examples("caesura bench compile --size 1000 --size 3000"))
@click.option("--kernel", "kernels", multiple=True, type=Choice([*KERNELS, *DOUBLES]),
              help="May be given more than once  [default: every kernel that ships, and the f64-heavy ones, unless "
                   "sizes are given]")
@ptxas_option
@click.option("--size", "sizes", multiple=True, type=click.IntRange(100),
              help="Instructions of a large kernel; may be given more than once  [default: 1000, 3000, 10000, 30000, "
                   "unless kernels are given]")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the large kernels.")
@click.option("--registers", type=click.IntRange(1, MAX_REGISTERS), help="Budget of vector registers of theirs.")
@markdown_option
@json_option
def bench_compile(kernels, ptxas, sizes, seed, registers, markdown, as_json):
    """Compile time of shipped kernels next to ptxas, of a process's start, and of large and f64-heavy kernels."""
    from caesura.sim.bench import compile_time as module
    _check(module, None, markdown)
    with progress_lines() as progress:
        result = module.run(kernels, ptxas, sizes, seed, registers, progress)
    _finish(module, result, markdown, None, as_json)

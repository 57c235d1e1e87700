"""``caesura explain``: what each instruction of a kernel costs to interrupt."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import click
from rich.console import Console

from caesura.hw.arch.geometry import Geometry
from caesura.software.compiler import Compiled, CompileError, CompileOptions, KernelImage, amdgpu, stored_module
from caesura.software.compiler.amdgpu import AssemblyError, is_assembly
from caesura.software.compiler.codegen.elf import is_elf, read_elf
from caesura.software.compiler.explain import KernelFacts, explain
from caesura.software.compiler.flashback.costs import Objective
from caesura.software.compiler.flashback.kernel import KernelFlashback, flashback
from caesura.software.compiler.flashback.machine_code import program
from caesura.software.compiler.flashback.program import Program
from caesura.software.compiler.flashback.search import WINDOW
from caesura.software.compiler.source import source_text
from caesura.software.names import alternatives
from caesura.software.report.cuda import CudaSources
from caesura.software.report.data import as_json as facts_as_json
from caesura.software.report.flashback import flashback_json, print_flashbacks
from caesura.software.report.flashback_page import render_flashback_page
from caesura.software.report.page import render_page
from caesura.software.report.terminal import print_kernel

from .code import kernel_option, refusals_json, report_refusals
from .common import Choice, Command, JsonTarget, check_option, eviction_option, examples, json_option, progress_lines
from .machine import geometry_option
from .outputs import OUTPUT_OR_DASH, write_text

__all__ = ["explain_command"]


class _Block(click.ParamType):
    """``X``, ``X,Y`` or ``X,Y,Z``."""

    name = "X[,Y[,Z]]"

    def convert(self, value, param, ctx):
        """Return three positive numbers."""
        if isinstance(value, tuple):
            return value
        try:
            sizes = [int(part) for part in value.split(",")]
        except ValueError:
            sizes = []
        if not 1 <= len(sizes) <= 3 or min(sizes) < 1:
            self.fail(f"{value!r} is not one to three positive numbers, such as 32,8", param, ctx)
        return (*sizes, 1, 1)[:3]


_LONG = 3000
"""Instructions of a kernel that takes a while."""


def _images(path: Path, raw: bytes, names: tuple[str, ...], registers: int, placing: dict, check: bool,
            eviction_check: bool) -> tuple[Compiled, list[str]]:
    """Return the kernels asked for of a PTX file or of a kernel image, and the lines of the PTX."""
    if is_elf(raw):
        if placing:
            raise click.UsageError("--interval and --interval-cycles are for PTX; the points of "
                                   f"{path}, a kernel image, are where they are")
        if eviction_check:
            raise click.UsageError(f"--eviction-check is for PTX; {path} is a kernel image, with its check or without")
        images = read_elf(raw, str(path), check)
        for name in names:
            if name not in images:
                raise click.BadParameter(f"no kernel {name!r} in {path}; {alternatives(name, images)}",
                                         param_hint="'--kernel'")
        return Compiled(names or tuple(images), {name: images[name] for name in names or images}, {}), []
    text = source_text(raw, str(path))
    options = CompileOptions(max_registers=registers, eviction_check=eviction_check, **placing)
    with progress_lines() as progress:
        return stored_module(text, str(path), options, names or None, progress), text.split("\n")


def _check_block(image: KernelImage, block: tuple[int, int, int] | None, g: Geometry) -> None:
    """Refuse a shape that a kernel cannot be launched with; one that says it itself keeps to that."""
    most = min(image.max_threads or g.max_block_threads, g.max_block_threads)
    if block and not image.required_block and math.prod(block) > most:
        raise click.BadParameter(f"a thread block of kernel {image.name} has at most {most:,} threads on {g.name}",
                                 param_hint="'--block'")


def _amdgpu_programs(path: Path, raw: bytes, names: tuple[str, ...]) -> tuple[list[Program], dict[str, AssemblyError]]:
    """Return the kernels asked for of a file of AMDGPU assembly, and why others are refused."""
    module, programs, refusals = amdgpu.parse(source_text(raw, str(path)), str(path)), [], {}
    for name in names or module.kernels:
        kernel = module.kernel(name)
        try:
            programs.append(amdgpu.program(kernel))
        except AssemblyError as error:
            refusals[name] = error
    return programs, refusals


def _tell_flashback(programs: Iterable[Program], refusals: Mapping[str, CompileError | AssemblyError], title: str,
                    objective: Objective, window: int | None, html: Path | None, as_json: JsonTarget, machine: str
                    ) -> NoReturn:
    """Show the flashbacks of kernels, and end."""
    found = []
    with progress_lines() as progress:
        for kernel in programs:
            count = sum(code.words for code in kernel.blocks)
            progress(f"flashback points of {kernel.name}, {count:,} instructions")
            found.append(flashback(kernel, objective, WINDOW if window is None else window))
    refused = report_refusals(refusals)
    _show(html, as_json, found, lambda: {"preset": machine, "kernels": [flashback_json(kernel) for kernel in found],
                                         "refused": refusals_json(refusals)},
          lambda: render_flashback_page(found, title), lambda: print_flashbacks(found))
    sys.exit(refused)


def _show(html: Path | None, as_json: JsonTarget, kernels: Sequence[KernelFacts] | Sequence[KernelFlashback],
          data: Callable[[], dict], page: Callable[[], str], text: Callable[[], None]) -> None:
    """Hand what was found on to all who want it."""
    if html and kernels:
        write_text(html, f"{page()}\n")
    if as_json.asked:
        as_json.write(data())
    if as_json.instead or html == Path("-"):
        return
    if html and kernels:
        count = sum(len(facts.instructions) for facts in kernels)
        click.echo(f"{len(kernels)} kernel{'s' * (len(kernels) > 1)}, {count:,} instructions -> {html}")
    else:
        text()


@click.command("explain", cls=Command, epilog=examples(
    "caesura explain my.ptx", "caesura explain my.ptx --flashback latency",
    "caesura explain my.s --flashback size --html my.html",
    "caesura explain my.ptx --html my.html --block 16,16 --preset gtx980"))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@kernel_option
@click.option("--html", type=OUTPUT_OR_DASH,
              help="Write a page that needs no other file; - for standard output.")
@click.option("--block", type=_Block(), help="Shape of a thread block, where the kernel does not say it itself.")
@click.option("--interval", type=click.IntRange(4), help="Most instructions between preemption points, of PTX  "
              f"[default: {CompileOptions.interval}]")
@click.option("--interval-cycles", type=click.IntRange(4),
              help="Most estimated cycles between preemption points instead, of PTX on this geometry.")
@eviction_option
@geometry_option()
@click.option("--flashback", "objective", type=Choice([objective.value for objective in Objective]),
              help="Where each instruction falls back to, by the least bytes or the shortest preemption.")
@click.option("--window", type=click.IntRange(0), help="Instructions that --flashback looks back at most  "
              f"[default: {WINDOW}]")
@check_option
@json_option
def explain_command(file, names, html, block, interval, interval_cycles, eviction_check, geometry, objective, window,
                    check, as_json: JsonTarget):
    """Say what each instruction of FILE (PTX, or a kernel image) costs to interrupt, and why points are where they are.

    For each instruction: live registers, context of a warp, and where a warp that is to be preempted stops. With
    --flashback FILE may also be AMDGPU assembly (gfx906) as LLVM prints it.
    """
    if html == Path("-") and as_json.instead:
        raise click.UsageError("--html - and --json both write to standard output")
    if window is not None and objective is None:
        raise click.UsageError("--window is for --flashback")
    if interval is not None and interval_cycles is not None:
        raise click.UsageError("--interval and --interval-cycles say the same in two ways; give one")
    g, names = geometry, tuple(dict.fromkeys(names))
    placing = {} if interval is None else {"interval": interval}
    if interval_cycles is not None:
        placing = {"interval": interval_cycles, "interval_on": g}
    raw = file.read_bytes()  # once: it may be a pipe
    if is_assembly(raw):
        if objective is None or block or placing or eviction_check:
            raise click.UsageError(f"{file} is AMDGPU assembly: say --flashback size or latency, and not --block, "
                                   "--interval, --interval-cycles or --eviction-check")
        programs, refusals = _amdgpu_programs(file, raw, names)
        _tell_flashback(programs, refusals, file.name, Objective(objective), window, html, as_json, "gfx906")
    compiled, source = _images(file, raw, names, g.regs_per_thread, placing, check, eviction_check)
    for image in compiled.images.values():
        _check_block(image, block, g)
    if objective is not None:
        programs = [program(image, g) for image in compiled.images.values()]
        _tell_flashback(programs, compiled.refusals, file.name, Objective(objective), window, html, as_json, g.name)
    kernels = []
    with progress_lines() as progress:
        for image in compiled.images.values():
            if len(image.code) >= _LONG:
                progress(f"explaining {image.name}, {len(image.code):,} instructions")
            kernels.append(explain(image, g, block))
    refused = report_refusals(compiled.refusals)
    cuda = CudaSources(file.parent)
    _show(html, as_json, kernels, lambda: {
        "preset": g.name, "kernels": [facts_as_json(facts) for facts in kernels],
        "refused": refusals_json(compiled.refusals)},
        lambda: render_page(kernels, file.name, source, cuda), lambda: _print(kernels, cuda))
    sys.exit(refused)


def _print(kernels: Sequence[KernelFacts], cuda: CudaSources) -> None:
    console = Console()
    for facts in kernels:
        print_kernel(console, facts, cuda)

"""``caesura explain``: what each instruction of a kernel costs to interrupt."""

from __future__ import annotations

import json
import math
from pathlib import Path

import click
from rich.console import Console

from caesura.hw.arch.geometry import Geometry, preset
from caesura.software.compiler import CompileOptions, KernelImage, compile_ptx
from caesura.software.compiler.codegen.elf import is_elf, read_elf
from caesura.software.compiler.explain import explain
from caesura.software.compiler.source import source_text
from caesura.software.report.cuda import CudaSources
from caesura.software.report.data import as_json as facts_as_json
from caesura.software.report.page import render_page
from caesura.software.report.terminal import print_kernel

from .common import json_option, preset_option

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


def _images(path: Path, registers: int, interval: int | None) -> tuple[dict[str, KernelImage], list[str]]:
    """Return the kernels of a PTX file or of a kernel image, and the lines of the PTX."""
    raw = path.read_bytes()
    if is_elf(raw):
        if interval is not None:
            raise click.UsageError(f"--interval is for PTX; the points of {path}, a kernel image, are where they are")
        return read_elf(raw, str(path)), []
    text = source_text(raw, str(path))
    options = CompileOptions(max_registers=registers, interval=interval or CompileOptions.interval)
    return compile_ptx(text, str(path), options), text.split("\n")


def _check_block(image: KernelImage, block: tuple[int, int, int] | None, g: Geometry) -> None:
    """Refuse a shape that a kernel cannot be launched with; one that says it itself keeps to that."""
    most = min(image.max_threads or g.max_block_threads, g.max_block_threads)
    if block and not image.required_block and math.prod(block) > most:
        raise click.BadParameter(f"a thread block of kernel {image.name} has at most {most:,} threads on {g.name}",
                                 param_hint="'--block'")


@click.command("explain")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--kernel", "names", multiple=True, help="May be given more than once  [default: all in the file]")
@click.option("--html", type=click.Path(dir_okay=False, writable=True, allow_dash=True, path_type=Path),
              help="Write a page that needs no other file; - for standard output.")
@click.option("--block", type=_Block(), help="Shape of a thread block, where the kernel does not say it itself.")
@click.option("--interval", type=click.IntRange(4), help="Most instructions between preemption points outside loops, "
              f"of PTX  [default: {CompileOptions.interval}]")
@preset_option
@json_option
def explain_command(file, names, html, block, interval, preset_name, as_json):
    """Say what each instruction of FILE (PTX, or a kernel image) costs to interrupt, and why points are where they are.

    For each instruction: live registers, context of a warp, and where a warp that is to be preempted stops.
    """
    g = preset(preset_name)
    images, source = _images(file, g.regs_per_thread, interval)
    for name in names:
        if name not in images:
            raise click.BadParameter(f"no kernel {name!r} in {file}; there are {', '.join(images)}",
                                     param_hint="'--kernel'")
    chosen = [images[name] for name in dict.fromkeys(names or images)]
    for image in chosen:
        _check_block(image, block, g)
    kernels = [explain(image, g, block) for image in chosen]
    cuda = CudaSources(file.parent)
    if html == Path("-"):
        if as_json:
            raise click.UsageError("--html - and --json both write to standard output")
        click.echo(render_page(kernels, file.name, source, cuda))
        return
    if html:
        html.write_text(render_page(kernels, file.name, source, cuda), encoding="utf-8")
    if as_json:
        click.echo(json.dumps({"preset": g.name, "kernels": [facts_as_json(facts) for facts in kernels]}, indent=1))
    elif html:
        count = sum(len(facts.instructions) for facts in kernels)
        click.echo(f"{len(kernels)} kernel{'s' * (len(kernels) > 1)}, {count:,} instructions -> {html}")
    else:
        console = Console()
        for facts in kernels:
            print_kernel(console, facts, cuda)

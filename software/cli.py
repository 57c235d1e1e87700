"""The command line: ``caesura``. Each command is a thin shell over the Python API.

Exit codes: 0 fine, 1 a result was wrong, 2 a mistake in the input (one message, no traceback), 3 a kernel faulted.
The simulator is imported where a command needs one, so that compiling needs none.
"""

from __future__ import annotations

import importlib
import json
import sys
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from caesura.hw.arch.context import Mechanism
from caesura.hw.arch.geometry import PRESETS, preset
from caesura.software.compiler import (
    CompileError,
    CompileOptions,
    ImageError,
    compile_ptx,
    listing,
    load_elf,
    read_source,
    save_elf,
)
from caesura.software.compiler.codegen.assemble import AssemblerError, assemble
from caesura.software.driver import DriverError, KernelFault
from caesura.software.kernels import KERNELS, SIZES, hostile, kernel

__all__ = ["main"]

EXIT_WRONG, EXIT_INPUT, EXIT_FAULT = 1, 2, 3
PREEMPT_MEMORY = 64 << 20
"""Device memory of `preempt`; the contexts of two kernels that fill the largest SM fit."""
BACKENDS = ("rtl", "golden", "amaranth")


class _Group(click.Group):
    """Turns the project's own errors into one message and an exit code."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except KernelFault as error:
            click.echo(f"caesura: {error}", err=True)
            ctx.exit(EXIT_FAULT)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            click.echo(f"caesura: {where}{error.strerror or error}", err=True)
            ctx.exit(EXIT_INPUT)
        except (CompileError, ImageError, AssemblerError, DriverError, ValueError) as error:
            click.echo(f"caesura: {error}", err=True)
            ctx.exit(EXIT_INPUT)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="caesura")
def main():
    """A preemptible GPU core: compile kernels for it, run them on its RTL, interrupt them, bring them back."""


@contextmanager
def _progress():
    """Yield a function that shows what is going on, on standard error; plain lines where it is not a terminal."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status("") as status:
            yield status.update
    else:
        yield lambda text: click.echo(f"... {text}", err=True)


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a report.")
preset_option = click.option("--preset", "preset_name", default="gtx480", show_default=True,
                             type=click.Choice(list(PRESETS)), help="Geometry of the SM.")
backend_option = click.option("--backend", default="rtl", show_default=True, type=click.Choice(BACKENDS),
                              help="Where it runs.")


@main.command("kernels")
@json_option
def list_kernels(as_json):
    """List the kernels that ship."""
    rows = []
    for k in KERNELS.values():
        image = compile_ptx(k.ptx_path.read_text(), k.ptx_path.name)[k.name]
        job = k.job("small")
        rows.append({"name": k.name, "summary": k.summary, "source": k.source, "block": list(job.block),
                     "grid": list(job.grid), "registers": image.registers, "shared_bytes": image.shared_bytes,
                     "instructions": len(image.code), "stack_depth": image.stack_depth})
    if as_json:
        click.echo(json.dumps({"kernels": rows}, indent=2))
        return
    table = Table("kernel", "threads/TB", "registers", "shared", "words", "what it is", "stands for", box=None)
    for row in rows:
        table.add_row(row["name"], str(row["block"][0] * row["block"][1] * row["block"][2]), str(row["registers"]),
                      str(row["shared_bytes"]), str(row["instructions"]), row["summary"], row["source"])
    Console(width=160).print(table)


def _image_json(image) -> dict:
    return {"name": image.name, "registers": image.registers, "predicates": image.predicates,
            "shared_bytes": image.shared_bytes, "stack_depth": image.stack_depth,
            "parameters": [{"name": p.name, "type": p.type, "offset": p.offset, "size": p.size, "pointer": p.pointer}
                           for p in image.parameters],
            "words": [f"{word:016x}" for word in image.code], "lines": list(image.lines)}


def _write(images: dict, output: Path | None, as_json: bool, show: bool):
    if output:
        save_elf(output, images.values())
    if as_json:
        click.echo(json.dumps({"kernels": [_image_json(image) for image in images.values()]}, indent=2))
    elif show or not output:
        for image in images.values():
            click.echo(listing(image))
    else:
        for image in images.values():
            click.echo(f"{image.name}: {len(image.code)} words, {image.registers} registers -> {output}")


@main.command("compile")
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="ELF kernel image to write.")
@click.option("--show", is_flag=True, help="Print the native code with its liveness.")
@click.option("--registers", type=click.IntRange(1, 64), default=64, show_default=True, help="Register budget.")
@click.option("--preemption-points/--no-preemption-points", default=True, show_default=True)
@json_option
def compile_command(source, output, show, registers, preemption_points, as_json):
    """Compile PTX to native code."""
    options = CompileOptions(max_registers=registers, preemption_points=preemption_points)
    _write(compile_ptx(read_source(source), str(source), options), output, as_json, show)


@main.command("asm")
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="ELF image.")
@json_option
def asm_command(source, output, as_json):
    """Assemble native code."""
    images = assemble(read_source(source), str(source))
    _write({image.name: image for image in images}, output, as_json, False)


@main.command("disasm")
@click.argument("image", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def disasm_command(image, as_json):
    """Disassemble an ELF kernel image, with the registers live at each instruction."""
    _write(load_elf(image), None, as_json, True)


def _work(name: str, geometry, size: str, seed: int):
    scenario = importlib.import_module("caesura.sim.scenario")
    if name == "hostile":
        return scenario.Work(*hostile(geometry))
    shipped = kernel(name)
    options = CompileOptions(max_registers=geometry.regs_per_thread)
    images = compile_ptx(shipped.ptx_path.read_text(), shipped.ptx_path.name, options)
    return scenario.Work(images[shipped.name], shipped.job(size, seed))


@main.command("preempt")
@click.argument("name", metavar="KERNEL")
@click.option("--with", "other", default="hostile", show_default=True,
              help="The kernel that takes the SM meanwhile; `hostile` overwrites all registers and shared memory.")
@click.option("--at", type=click.IntRange(0), help="Cycle of the request  [default: the middle of the run]")
@click.option("--mechanism", default="live", show_default=True,
              type=click.Choice([m.name.lower() for m in Mechanism]))
@click.option("--size", default="small", show_default=True, type=click.Choice(SIZES))
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0))
@click.option("--scramble", is_flag=True, help="Registers that are not saved come back as random bits.")
@click.option("--gang", is_flag=True, help="TBs start together when all are back, rather than each when it is.")
@click.option("--max-cycles", default=5_000_000, show_default=True, type=click.IntRange(1))
@preset_option
@backend_option
@json_option
def preempt_command(name, other, at, mechanism, size, seed, scramble, gang, max_cycles, preset_name, backend, as_json):
    """Run KERNEL, take the SM away from it, run another kernel, bring it back, and check every result."""
    sim = importlib.import_module("caesura.sim")
    scenario = importlib.import_module("caesura.sim.scenario")
    report = importlib.import_module("caesura.sim.report.preemption")
    if at is not None and at > max_cycles:
        raise click.BadParameter(f"{at} is beyond --max-cycles, which is {max_cycles}", param_hint="'--at'")
    g = preset(preset_name)
    work, neighbour = _work(name, g, size, seed), _work(other, g, size, seed + 1)
    with _progress() as progress:
        progress(f"building the {backend} back end for {g.name}")
        device = sim.open_device(backend, g, PREEMPT_MEMORY)
        if at is None:
            progress(f"{name}: running undisturbed")
            launch, _ = scenario.start_job(device, device.load([work.image])[work.image.name], work.job)
            at = device.wait(launch, max_cycles) // 2
            device = sim.open_device(backend, g, PREEMPT_MEMORY)
        result = scenario.run_preemption(device, work, neighbour, at, Mechanism[mechanism.upper()],
                                         scramble=scramble, gang=gang, max_cycles=max_cycles, progress=progress)
    if as_json:
        head = {"kernel": name, "with": other, "preset": g.name, "mechanism": mechanism, "backend": backend}
        click.echo(json.dumps(head | scenario.as_json(result), indent=2))
    else:
        report.print_preemption(g, name, other, mechanism, result)
    sys.exit(0 if result.correct else EXIT_WRONG)


@main.group("bench")
def bench():
    """Measurements, each printed next to what it is compared with."""


def _bench(name: str, as_json: bool, *arguments, **options):
    """Run a benchmark module's `run` and print its report or its JSON."""
    module = importlib.import_module(f"caesura.sim.bench.{name}")
    result = module.run(*arguments, **options)
    if as_json:
        click.echo(json.dumps(result, indent=2))
    else:
        module.print_report(result)
    sys.exit(0 if result["met"] else EXIT_WRONG)


@bench.command("speed")
@click.option("--size", default="medium", show_default=True, type=click.Choice(SIZES))
@click.option("--trace", is_flag=True, help="Record the retire trace meanwhile, as lockstep tests do.")
@preset_option
@json_option
def bench_speed(size, trace, preset_name, as_json):
    """Simulated cycles a second of the SM's RTL."""
    _bench("speed", as_json, preset(preset_name), size, trace)


@bench.command("limits")
@click.option("--size", default="small", show_default=True, type=click.Choice(SIZES))
@preset_option
@json_option
def bench_limits(size, preset_name, as_json):
    """Save and restore time of every shipped kernel against the limit of the bus."""
    with _progress() as progress:
        _bench("limits", as_json, preset(preset_name), size, progress)

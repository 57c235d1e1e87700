"""Commands that need no machine: compile, assemble, disassemble."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from caesura.errors import InputError
from caesura.hw.arch.geometry import MAX_REGISTERS, PRESETS, Geometry
from caesura.software.compiler import (
    Compiled,
    CompileError,
    CompileOptions,
    KernelImage,
    load_elf,
    read_source,
    stored_module,
)
from caesura.software.compiler.codegen.elf import write_elf
from caesura.software.compiler.flashback.kinds import ROUTINES
from caesura.software.compiler.image.origin_table import origin_rows

from .common import (
    EXIT_INPUT,
    Choice,
    Command,
    JsonTarget,
    check_option,
    eviction_option,
    examples,
    json_option,
    progress_lines,
)
from .machine import geometry_option
from .outputs import OUTPUT, write_bytes

if TYPE_CHECKING:
    from caesura.software.compiler.amdgpu import AssemblyError

__all__ = ["compile_command", "asm_command", "disasm_command", "kernel_option", "refusals_json", "report_refusals"]


kernel_option = click.option("--kernel", "names", multiple=True,
                             help="Only this one; may be given more than once  [default: all in the file]")
routines_option = click.option("--routines", type=Choice(list(ROUTINES)),
                               help="Give kernels preemption routines (docs/ctxback.md).")


class _Passes(click.ParamType):
    """Names of passes of the compiler, separated by commas.

    The passes are imported when some are named: that takes long.

    Parameters
    ----------
    ordered : bool
        They are to be run in this order. Else they only have to be there, and ``all`` stands for all of them.
    """

    name = "PASS[,PASS]..."

    def __init__(self, ordered: bool):
        self.ordered = ordered

    def convert(self, value, param, ctx):
        """Return a list of names."""
        from caesura.software.compiler.passes import ALL, check_names, check_order

        names = value.split(",") if isinstance(value, str) else value
        try:
            if self.ordered:
                check_order(names)
            else:
                check_names(names, ALL)
        except InputError as error:
            self.fail(str(error), param, ctx)
        return names

    def shell_complete(self, ctx, param, incomplete):
        """Let the shell complete the last name."""
        from caesura.software.compiler.passes import ALL, PASSES

        before, comma, begun = incomplete.rpartition(",")
        known = PASSES if self.ordered else (*PASSES, ALL)
        return [CompletionItem(before + comma + name) for name in known if name.startswith(begun)]


def report_refusals(refusals: Mapping[str, CompileError | AssemblyError]) -> int:
    """Print one message for each kernel that cannot be compiled; return the exit code."""
    for error in refusals.values():
        click.echo(f"caesura: {error}", err=True)
    return EXIT_INPUT if refusals else 0


def refusals_json(refusals: Mapping[str, CompileError | AssemblyError]) -> list[dict]:
    """Return refusals as plain data."""
    return [{"name": name, "line": error.line, "column": getattr(error, "column", 0), "message": str(error)}
            for name, error in refusals.items()]


def _image_json(image) -> dict:
    origins, numbers = origin_rows(image)
    return {"name": image.name, "registers": image.registers, "predicates": image.predicates,
            "shared_bytes": image.shared_bytes, "local_bytes": image.local_bytes, "spill_bytes": image.spill_bytes,
            "constant_bytes": len(image.constants), "stack_depth": image.stack_depth,
            "symbols": [{"name": s.name, "type": s.type, "offset": s.offset, "size": s.size} for s in image.symbols],
            "parameters": [{"name": p.name, "type": p.type, "offset": p.offset, "size": p.size, "pointer": p.pointer,
                            "texture": p.texture} for p in image.parameters],
            "words": [f"{word:016x}" for word in image.code], "traps": [f"{word:016x}" for word in image.traps],
            "lines": list(image.lines),
            "origins": [row._asdict() for row in origins], "origin_numbers": numbers}


def _write(images: Mapping[str, KernelImage], output: Path | None, as_json: JsonTarget, show: bool,
           refusals: Mapping[str, CompileError] | None = None):
    if output and images:
        write_bytes(output, write_elf(images.values()))
    if as_json.asked:
        refused = {} if refusals is None else {"refused": refusals_json(refusals)}
        as_json.write({"kernels": [_image_json(image) for image in images.values()]} | refused)
    if as_json.instead:
        return
    if show or not output:
        from caesura.software.compiler import listing

        for image in images.values():
            click.echo(listing(image))
    else:
        for image in images.values():
            traps = f", {len(image.traps)} words of preemption routines" if image.traps else ""
            spilled = f", {image.spill_bytes} bytes of spilled registers a thread" if image.spill_bytes else ""
            click.echo(f"{image.name}: {len(image.code)} words{traps}, {image.registers} registers{spilled} -> "
                       f"{output}")


def _run_passes(source: Path, options: CompileOptions, kernels: Collection[str] | None, passes: Sequence[str] | None,
                shown: Collection[str]) -> Compiled:
    """Compile without the cache: by some of the passes, or so that IR is shown; IR that is the result is printed."""
    from caesura.software.compiler.ir.kernel import Kernel
    from caesura.software.compiler.ir.text import show
    from caesura.software.compiler.passes import ALL, Observer
    from caesura.software.compiler.pipeline import compile_module, run_passes

    def ran(name: str, kernel: Kernel) -> None:
        if name in shown or ALL in shown:
            click.echo(f"*** after {name} ***\n{show(kernel)}", err=True)

    def restarted(kernel: Kernel, reason: CompileError) -> None:
        if shown:
            click.echo(f"*** compiling {kernel.name} again, with its routines inlined: {reason.message} ***\n",
                       err=True)

    observer = Observer(ran, restarted)
    if passes is None:
        return compile_module(read_source(source), str(source), options, kernels, observer)
    found = run_passes(read_source(source), str(source), passes, options, kernels, observer)
    for result in found.values():
        if isinstance(result, Kernel):
            click.echo(show(result))
    return Compiled(tuple(found), {name: image for name, image in found.items() if isinstance(image, KernelImage)},
                    {name: error for name, error in found.items() if isinstance(error, CompileError)})


@click.command("compile", cls=Command, epilog=examples(
    "caesura compile my.ptx --show", "caesura compile my.ptx -o my.elf --preset ecp5 --kernel mine",
    "caesura compile my.ptx -o my.elf --routines ctxback",
    "caesura compile my.ptx --passes legalize,optimize", "caesura compile my.ptx --print-after value-numbering,sink"))
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", type=OUTPUT, help="ELF kernel image to write.")
@click.option("--show", is_flag=True, help="Print the native code with its liveness.")
@kernel_option
@click.option("--registers", type=click.IntRange(1, MAX_REGISTERS),
              help="Register budget  [default: what the geometry has]")
@geometry_option(None, f"{MAX_REGISTERS} registers a thread, as all but tiny have")
@click.option("--preemption-points/--no-preemption-points", default=True, show_default=True)
@routines_option
@eviction_option
@click.option("--passes", type=_Passes(ordered=True),
              help="Run these passes only, in this order, and print the IR that they leave; code if emit is the last.")
@click.option("--print-after", "shown", type=_Passes(ordered=False),
              help="Print the IR on standard error each time one of these passes has run; all: after each.")
@json_option
def compile_command(source, output, show, names, registers, geometry: Geometry | None, preemption_points, routines,
                    eviction_check, passes, shown, as_json):
    """Compile PTX to native code.

    A kernel that is not supported does not keep the others of its file from being compiled: each refusal is
    listed, and the exit code is 2.
    """
    most = geometry.regs_per_thread if geometry else MAX_REGISTERS
    if registers is not None and registers > most and geometry:
        raise click.BadParameter(f"{registers} are more than the {most} of {geometry.name}", param_hint="'--registers'")
    options = CompileOptions(max_registers=registers or most, preemption_points=preemption_points,
                             eviction_check=eviction_check)
    if passes and passes[-1] != "emit" and (output or show or as_json.asked):
        raise click.UsageError("-o, --show and --json are for code; let --passes end with emit")
    if passes or shown:
        compiled = _run_passes(source, options, list(names) or None, passes, shown or ())
    else:
        with progress_lines() as progress:
            compiled = stored_module(read_source(source), str(source), options, list(names) or None, progress)
    refusals = dict(compiled.refusals)
    images = {name: image for name, image in compiled.images.items()
              if not (geometry and _beyond(geometry, image, str(source), refusals))}
    if routines:
        from caesura.software.compiler.flashback.traps import with_routines

        kind, form = ROUTINES[routines]
        with progress_lines() as progress:
            for name, image in images.items():
                progress(f"{name}: making its preemption routines")
                images[name] = with_routines(image, geometry or PRESETS["gtx480"], kind, form=form)
    _write(images, output, as_json, show, refusals)
    sys.exit(report_refusals(refusals))


def _beyond(g: Geometry, image: KernelImage, source: str, refusals: dict[str, CompileError]) -> bool:
    """Whether no launch of a kernel is possible on an SM; then it is among the refusals, with the reason."""
    from caesura.software.driver import LaunchError
    from caesura.software.driver.launch.fit import check_image

    try:
        check_image(g, image)
    except LaunchError as error:
        refusals[image.name] = CompileError(str(error), source)
        return True
    return False


@click.command("asm", cls=Command, epilog=examples("caesura asm my.s -o my.elf"))
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", required=True, type=OUTPUT, help="ELF image.")
@check_option
@json_option
def asm_command(source, output, check, as_json):
    """Assemble native code."""
    from caesura.software.compiler import assemble

    images = assemble(read_source(source), str(source), check)
    _write({image.name: image for image in images}, output, as_json, False)


@click.command("disasm", cls=Command, epilog=examples("caesura disasm my.elf", "caesura disasm my.elf --asm > my.s"))
@click.argument("image", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--asm", "as_text", is_flag=True, help="Print a text that `caesura asm` takes, without liveness.")
@check_option
@json_option
def disasm_command(image, as_text, check, as_json):
    """Disassemble an ELF kernel image, with the registers live at each instruction."""
    from caesura.software.compiler import disassemble

    images = load_elf(image, check)
    if as_text and not as_json.asked:
        click.echo("\n".join(map(disassemble, images.values())), nl=False)
    else:
        _write(images, None, as_json, True)

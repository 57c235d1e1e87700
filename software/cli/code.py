"""Commands that need no machine: what ships, compile, assemble, disassemble."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from caesura.software.compiler import CompileOptions, compile_ptx, listing, load_elf, read_source, save_elf
from caesura.software.compiler.codegen.assemble import assemble
from caesura.software.compiler.codegen.disassemble import disassemble
from caesura.software.compiler.codegen.origin_table import origin_rows
from caesura.software.kernels import KERNELS

from .common import json_option

__all__ = ["list_kernels", "compile_command", "asm_command", "disasm_command"]


@click.command("kernels")
@json_option
def list_kernels(as_json):
    """List the kernels that ship."""
    rows = []
    for k in KERNELS.values():
        image = k.image()
        job = k.job("small")
        rows.append({"name": k.name, "summary": k.summary, "source": k.source, "block": list(job.block),
                     "grid": list(job.grid), "registers": image.registers, "shared_bytes": image.shared_bytes,
                     "local_bytes": image.local_bytes, "constant_bytes": len(image.constants),
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
    origins, numbers = origin_rows(image)
    return {"name": image.name, "registers": image.registers, "predicates": image.predicates,
            "shared_bytes": image.shared_bytes, "local_bytes": image.local_bytes,
            "constant_bytes": len(image.constants), "stack_depth": image.stack_depth,
            "symbols": [{"name": s.name, "type": s.type, "offset": s.offset, "size": s.size} for s in image.symbols],
            "parameters": [{"name": p.name, "type": p.type, "offset": p.offset, "size": p.size, "pointer": p.pointer}
                           for p in image.parameters],
            "words": [f"{word:016x}" for word in image.code], "lines": list(image.lines),
            "origins": [row._asdict() for row in origins], "origin_numbers": numbers}


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


@click.command("compile")
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


@click.command("asm")
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="ELF image.")
@json_option
def asm_command(source, output, as_json):
    """Assemble native code."""
    images = assemble(read_source(source), str(source))
    _write({image.name: image for image in images}, output, as_json, False)


@click.command("disasm")
@click.argument("image", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--asm", "as_text", is_flag=True, help="Print a text that `caesura asm` takes, without liveness.")
@json_option
def disasm_command(image, as_text, as_json):
    """Disassemble an ELF kernel image, with the registers live at each instruction."""
    images = load_elf(image)
    if as_text and not as_json:
        click.echo("\n".join(map(disassemble, images.values())), nl=False)
    else:
        _write(images, None, as_json, True)

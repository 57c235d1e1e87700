"""``caesura export``: a block as SystemVerilog, for another design."""

from __future__ import annotations

from pathlib import Path

import click

from caesura.cache import write_atomically
from caesura.software.names import alternatives

from .common import Command, examples, progress_lines
from .machine import geometry_option
from .outputs import OUTPUT

__all__ = ["export_command"]


@click.command("export", cls=Command, epilog=examples(
    "caesura export compressor -o compressor.sv", "caesura export packer words_out=4 --flat -o packer.sv",
    "caesura export --list"))
@click.argument("block", required=False)
@click.argument("parameters", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("-o", "--output", type=OUTPUT, help="The file  [default: the module's name with .sv]")
@click.option("--list", "listed", is_flag=True, help="List the blocks, and their parameters.")
@click.option("--flat", is_flag=True, help="A port for each field, rather than packed structures in a package.")
@click.option("--observe", is_flag=True, help="Add the ports that only simulations use.")
@click.option("--name", help="Name of the module, with which those of all its parts begin  [default: the block's]")
@geometry_option("tiny")
def export_command(block: str | None, parameters: tuple[str, ...], output: Path | None, listed: bool, flat: bool,
                   observe: bool, name: str | None, geometry):
    """Write the SystemVerilog of BLOCK, with ports that have names and types.

    Beside the file comes the package of its types, NAME_pkg.sv, which tools read first. NAME=VALUE sets a parameter of
    the block, or a size of the SM (docs/export.md).
    """
    from caesura.hw import export as catalogue
    known = catalogue.blocks()
    if listed:
        if block is not None:
            raise click.UsageError(f"--list lists all blocks; leave out {block[:60]!r}, or --list")
        _list(known)
        return
    if block is None:
        raise click.UsageError("name a block; `caesura export --list` lists them")
    if block not in known:
        raise click.UsageError(f"there is no block {block[:60]!r}; {alternatives(block, known)}")
    if name == "":
        raise click.UsageError("--name is empty; give the module a name, or leave it out")
    given, geometry = _parameters(known[block], parameters, geometry)
    path = output or Path(f"{name or block}.sv")
    package = path.with_name(f"{name or block}_pkg.sv")
    if not flat:
        _judge(path, package)
    with progress_lines() as progress:
        made = catalogue.export_block(block, geometry, parameters=given, name=name or "", flat=flat, observe=observe,
                                      progress=progress)
    if made.package:
        if not path.exists() and package.is_file() and package.read_text() != made.package_text:
            raise click.UsageError(f"{package} has the types of another export; name this module, and so its package, "
                                   "with --name, or remove that file")
        write_atomically(package, made.package_text)
        click.echo(package)
    write_atomically(path, made.text)
    click.echo(path)


def _judge(path: Path, package: Path) -> None:
    """Refuse a file for the module beside which its package cannot be written."""
    if path.resolve() == package.resolve():
        raise click.UsageError(f"{path} is the file of the module's types; give the module another one with -o")
    OUTPUT.convert(package, None, None)


def _list(known) -> None:
    width = max(map(len, known))
    for name, block in known.items():
        own = f" [{', '.join(block.parameters)}]" if block.parameters else ""
        click.echo(f"{name:<{width}}  {block.summary}{own}")


def _parameters(block, words: tuple[str, ...], geometry):
    """Return the block's parameters, and the geometry with the sizes that are given."""
    sizes = [name for name, value in vars(geometry).items() if isinstance(value, int)]
    given, changed = {}, {}
    for word in words:
        name, _, value = word.partition("=")
        if name in given or name in changed:
            raise click.UsageError(f"{name} is given twice")
        if name not in (*block.parameters, *sizes):
            raise click.UsageError(f"{block.name} has no parameter {name[:60]!r}; "
                                   + alternatives(name, [*block.parameters, *sizes]))
        try:
            number = int(value, 0)
        except ValueError:
            raise click.UsageError(f"{word[:60]!r}: write {name}=NUMBER") from None
        if name not in block.parameters and isinstance(getattr(geometry, name), bool):
            if number not in (0, 1):
                raise click.UsageError(f"{word[:60]!r}: {name} is 0 or 1")
            number = bool(number)
        (given if name in block.parameters else changed)[name] = number
    return given, geometry.replace(**changed) if changed else geometry

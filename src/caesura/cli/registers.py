"""``caesura registers``: the register map, as a table, a page, a C header or a Python package."""

from __future__ import annotations

from pathlib import Path

import click

from caesura.software.report import registers

from .common import Command, JsonTarget, examples, json_option
from .outputs import FOLDER, OUTPUT

__all__ = ["registers_command"]


@click.command("registers", cls=Command,
               epilog=examples("caesura registers --html registers --header caesura.h"))
@click.option("--html", "page", type=FOLDER, help="Write the map as a page into this folder.")
@click.option("--header", type=OUTPUT, help="Write it as a C header.")
@click.option("--python", "package", type=FOLDER,
              help="Write it as a Python package, caesura_sm, into this folder.")
@click.option("--device", is_flag=True,
              help="Write what a device of several SMs has besides, from 0x2000 on; the package is caesura_gpu.")
@json_option
def registers_command(page: Path | None, header: Path | None, package: Path | None, device: bool, as_json: JsonTarget):
    """List the registers of an SM, and what a device of several has beside them, with addresses, fields and access.

    Page, header and package are PeakRDL's, of the SystemRDL file that an SM, or what is around several, is built from.
    """
    if device and page is None and header is None and package is None:
        raise click.UsageError("--device says of which registers a page, header or package is to be written: name one "
                               "with --html, --header or --python. The table has them all.")
    if page is not None:
        click.echo(f"page: {registers.write_page(page, device)}", err=True)
    if header is not None:
        registers.write_header(header, device)
        click.echo(f"header: {header}", err=True)
    if package is not None:
        click.echo(f"package: {registers.write_access_layer(package, device)}", err=True)
    as_json.write(registers.as_json())
    if not as_json.instead and page is None and header is None and package is None:
        registers.print_registers()

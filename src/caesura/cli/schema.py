"""``caesura schema``: the JSON Schema of what a command writes with ``--json``."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import click

from caesura.software.names import alternatives
from caesura.software.schema import json_schema

from .common import Command, examples
from .outputs import OUTPUT

__all__ = ["schema_command"]


@click.command("schema", cls=Command, epilog=examples("caesura schema run", "caesura schema bench kill"))
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.option("--markdown", type=OUTPUT, help="Write the keys of all commands into a page, between two marks.")
def schema_command(words: tuple[str, ...], markdown: Path | None):
    """Print the JSON Schema of what a command writes with --json.

    Without a command: list those that have one.
    """
    keys = importlib.import_module("caesura.sim.report.keys")
    name = " ".join(words)
    if name and name not in keys.DOCUMENTS:
        raise click.BadParameter(f"there is no {name[:60]!r}; {alternatives(name, keys.DOCUMENTS)}",
                                 param_hint="'COMMAND'")
    if markdown is not None:
        keys.update_markdown(markdown)
    if name:
        click.echo(json.dumps(json_schema(keys.described(name)), indent=2))
    elif markdown is None:
        click.echo("\n".join(keys.DOCUMENTS))

"""``caesura run``: a shipped kernel, or one of the user's own."""

from __future__ import annotations

import click

from .common import Command, examples
from .running.execute import execute
from .running.options import RunOptions, run_options

__all__ = ["run_command"]


@click.command("run", cls=Command, epilog=examples(
    "caesura run pathfinder --at 4000 --with reduction",
    "caesura run my.ptx --job my.toml --backend golden --json my.json"))
@run_options
def run_command(options: RunOptions):
    """Run a kernel and check its results: a shipped one by name, or one of your own, PTX with a job file.

    It has the SM to itself unless --at or the job file say when to take it away.
    """
    execute(options, always=False)

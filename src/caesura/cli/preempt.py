"""``caesura preempt``: a kernel is interrupted, another runs, the first returns."""

from __future__ import annotations

import click

from .common import Command, examples
from .running.execute import execute
from .running.options import RunOptions, run_options

__all__ = ["preempt_command"]


@click.command("preempt", cls=Command, epilog=examples(
    "caesura preempt pathfinder --at 4000 --with reduction",
    "caesura preempt my.ptx --job my.toml --backend golden --json my.json"))
@run_options
def preempt_command(options: RunOptions):
    """Run a kernel, take the SM away from it, run another, bring it back, and check every result.

    Takes what `caesura run` takes. Without --at, and without preemptions in the job file, the kernel runs once
    undisturbed, and once more preempted in the middle of that.
    """
    execute(options, always=True)

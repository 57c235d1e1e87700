"""What the commands share: exit codes, options and progress."""

from __future__ import annotations

import click

from caesura.progress import display as progress_lines
from caesura.software.job import BACKENDS

from .errors import EXIT_FAULT, EXIT_INPUT, EXIT_WRONG, Group

__all__ = ["EXIT_WRONG", "EXIT_INPUT", "EXIT_FAULT", "BACKENDS", "Group", "progress_lines", "check_option",
           "json_option"]


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a report.")
check_option = click.option(
    "--check/--no-check", "check", default=True, show_default=True,
    help="Refuse code whose liveness vectors, branches or stack depth are wrong.")

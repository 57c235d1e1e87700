"""The command line: ``caesura``. Each command is a thin shell over the Python API.

Exit codes: 0 fine, 1 a result was wrong, 2 a mistake in the input (one message, no traceback), 3 a kernel faulted.
The simulator is imported where a command needs one, so that compiling needs none.
"""

from __future__ import annotations

import click

from .bench import bench_group
from .cache import cache_command
from .code import asm_command, compile_command, disasm_command
from .common import Group
from .explain import explain_command
from .kernels import list_kernels
from .preempt import preempt_command
from .run import run_command

__all__ = ["main"]


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="caesura")
def main():
    """A preemptible GPU core: compile kernels for it, run them on its RTL, interrupt them, bring them back."""


for _command in (list_kernels, compile_command, explain_command, asm_command, disasm_command, run_command,
                 preempt_command, bench_group, cache_command):
    main.add_command(_command)

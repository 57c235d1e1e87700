"""The command line: ``caesura``. Each command is a thin shell over the Python API.

Where errors end, and their exit codes: `errors`. What is written: `outputs`.
The simulator is imported where a command needs one, so that compiling needs none.
"""

from __future__ import annotations

import sys

try:
    import importlib

    import click

    from caesura.software.names import alternatives

    from .errors import Group, errors_end, terminable
except KeyboardInterrupt:  # they take a while, in which nothing else answers it
    sys.exit(130)

__all__ = ["main"]

_COMMANDS = {
    "kernels": ("kernels", "list_kernels"), "compile": ("code", "compile_command"),
    "explain": ("explain", "explain_command"), "asm": ("code", "asm_command"), "disasm": ("code", "disasm_command"),
    "run": ("run", "run_command"), "preempt": ("preempt", "preempt_command"),
    "bench": ("bench_machines", "bench_group"), "build": ("build", "build_command"),
    "export": ("export", "export_command"), "synth": ("synth", "synth_command"),
    "board": ("board", "board_group"),
    "registers": ("registers", "registers_command"), "cache": ("cache", "cache_command"),
    "schema": ("schema", "schema_command"),
}
"""Modules and names of the commands, which are imported when they are asked for."""


class _Commands(Group):
    """The commands of `_COMMANDS`, in their order."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return their names."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, name = _COMMANDS[cmd_name]
        return getattr(importlib.import_module(f".{module}", __name__), name)

    def invoke(self, ctx: click.Context):
        """Run the command; SIGTERM ends it as Ctrl-C does, so that what it has started ends too."""
        with terminable():
            return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options of `caesura` itself; a mistake ends as one in those of a command."""
        with errors_end(ctx):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]
                        ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which was probably meant."""
        if not ctx.resilient_parsing and args[0] not in _COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0][:60]!r}; {alternatives(args[0], _COMMANDS)}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="caesura")
def main():
    """A preemptible GPU core: compile kernels for it, run them on its RTL, interrupt them, bring them back."""

"""What the commands share: exit codes, options, progress, and errors as one message."""

from __future__ import annotations

from contextlib import contextmanager

import click
from rich.console import Console

from caesura.hw.arch.geometry import PRESETS
from caesura.software.compiler import CompileError, ImageError
from caesura.software.compiler.codegen.assemble import AssemblerError
from caesura.software.driver import DriverError, KernelFault
from caesura.software.job import BACKENDS

__all__ = ["EXIT_WRONG", "EXIT_INPUT", "EXIT_FAULT", "BACKENDS", "Group", "progress_lines", "json_option",
           "preset_option", "backend_option"]

EXIT_WRONG, EXIT_INPUT, EXIT_FAULT = 1, 2, 3


class Group(click.Group):
    """Turns the project's own errors into one message and an exit code."""

    def invoke(self, ctx):
        """Run the command; exit with `EXIT_FAULT` on a fault of a kernel, with `EXIT_INPUT` on other errors."""
        try:
            return super().invoke(ctx)
        except KernelFault as error:
            click.echo(f"caesura: {error}", err=True)
            ctx.exit(EXIT_FAULT)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            click.echo(f"caesura: {where}{error.strerror or error}", err=True)
            ctx.exit(EXIT_INPUT)
        except (CompileError, ImageError, AssemblerError, DriverError, ValueError) as error:
            click.echo(f"caesura: {error}", err=True)
            ctx.exit(EXIT_INPUT)


@contextmanager
def progress_lines():
    """Yield a function that shows what is going on, on standard error; plain lines where it is not a terminal."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status("") as status:
            yield status.update
    else:
        yield lambda text: click.echo(f"... {text}", err=True)


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a report.")
preset_option = click.option("--preset", "preset_name", default="gtx480", show_default=True,
                             type=click.Choice(list(PRESETS)), help="Geometry of the SM.")
backend_option = click.option("--backend", default="rtl", show_default=True, type=click.Choice(BACKENDS),
                              help="Where it runs.")

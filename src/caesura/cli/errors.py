"""The one place where errors end: errors that a user can mend as one message, everything else as a report.

Each kind of error has an exit code and an output:

* `errors.UserError` exits with 2, a kernel's fault with 3, and prints its message;
* a wrong option or argument exits with 2, and prints the mistake and the place of the help;
* an `OSError` exits with 2, and prints the file and the words of the system;
* a `MemoryError` exits with 2, and prints that memory ran out, and a remedy;
* an interrupt (Ctrl-C) exits with 130, and prints ``interrupted``;
* SIGTERM exits with 143, and prints nothing;
* a reader that goes away (``| head``) exits with 1, and prints nothing;
* any other error exits with 70, and prints that it is a defect of the project, and what to report.
=====================================  =========  =============================================================
"""

from __future__ import annotations

import contextlib
import errno
import io
import platform
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path

import click

from caesura.cache import cache_directory
from caesura.errors import UserError

__all__ = ["EXIT_WRONG", "EXIT_INPUT", "EXIT_FAULT", "EXIT_INTERNAL", "EXIT_INTERRUPT",
           "EXIT_TERMINATED", "Group", "errors_end", "terminable"]

EXIT_WRONG, EXIT_INPUT, EXIT_FAULT, EXIT_INTERNAL, EXIT_INTERRUPT = 1, 2, 3, 70, 130
EXIT_TERMINATED = 128 + signal.SIGTERM


class Group(click.Group):
    """A group of commands whose errors end as the table of this module says."""

    def invoke(self, ctx: click.Context):
        """Run the command."""
        with errors_end(ctx):
            return super().invoke(ctx)


@contextlib.contextmanager
def errors_end(ctx: click.Context) -> Iterator[None]:
    """End errors of what is done meanwhile as the table of this module says."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # what it cannot encode, such as names of files, is escaped
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield
        return
    except (click.exceptions.Exit, click.exceptions.NoArgsIsHelpError, click.Abort):
        raise
    except click.ClickException as error:
        code, message = error.exit_code, _of_options(error, ctx)
    except KeyboardInterrupt:
        code, message = EXIT_INTERRUPT, "interrupted"
    except UserError as error:
        code, message = error.exit_code, str(error)
    except MemoryError:
        code, message = EXIT_INPUT, ("not enough memory; take a smaller input, or lift the limit (ulimit -v) "
                                     "under which this runs")
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        code, message = EXIT_INPUT, _of_system(error)
    except Exception as error:  # the last place there is
        code, message = EXIT_INTERNAL, _report(error)
    click.echo(f"caesura: {message}", err=True)
    ctx.exit(code)


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Have SIGTERM end what is done meanwhile as an exception does: what was started ends, what was locked is free."""
    def terminated(number: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sys.exit(EXIT_TERMINATED)

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _of_options(error: click.ClickException, ctx: click.Context) -> str:
    """Return on one line what is wrong with an option or an argument, and where help is."""
    message = " ".join(error.format_message().split())
    where = (error.ctx or ctx).command_path if isinstance(error, click.UsageError) else None
    return f"{message} (`{where} --help` says more)" if where else message


def _of_system(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def _report(error: Exception) -> str:
    """Write down what a report needs, and return the message that asks for it."""
    what = traceback.format_exception_only(error)[-1].strip().splitlines()[0]
    text = "\n".join([f"caesura {_version()}, Python {platform.python_version()}, {platform.platform()}",
                      f"command: {sys.argv}", "", *traceback.format_exception(error)])
    try:
        file = _crash_file()
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
        kept = f"with {file}, which holds the command, the versions and the traceback"
    except OSError:
        kept = f"with the command, `caesura --version` and this traceback:\n{text}"
    return f"internal error: {what}\nThis is a defect of Caesura, not of your input. Please report it {kept}."


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("caesura")
    except PackageNotFoundError:
        return "(not installed)"


def _crash_file() -> Path:
    """Return a new file among the build results."""
    folder = cache_directory() / "reports"
    folder.mkdir(exist_ok=True)
    import tempfile

    with tempfile.NamedTemporaryFile(dir=folder, prefix="report-", suffix=".txt", delete=False) as file:
        return Path(file.name)

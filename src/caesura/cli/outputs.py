"""The outputs of commands: files that are judged before the work begins, and JSON, which is the same everywhere.

``--json`` alone, and ``--json -``, put the object in the report's place on standard output; ``--json FILE`` writes it
into a file beside the report. Its first key is ``schema``.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from caesura.software.schema import with_schema

__all__ = ["FOLDER", "JSON_FLAG", "NAME_OR_FILE", "NO_JSON", "OUTPUT", "OUTPUT_OR_DASH", "JsonTarget", "NameOrFile",
           "OutputFile", "OutputFolder", "check_outputs", "json_option", "write_bytes", "write_text"]

JSON_FLAG = "--json"


def _obstacle(path: Path) -> str:
    """Return why nothing can be written below the nearest folder there is, empty if something can."""
    there = next((parent for parent in (path, *path.parents) if os.path.lexists(parent)), Path("."))
    if not there.is_dir():
        return f"{there} is no folder"
    return "" if os.access(there, os.W_OK | os.X_OK) else f"the folder {there} cannot be written"


class OutputFile(click.ParamType):
    """A file that will be written: its folder is there, and lets it be.

    Parameters
    ----------
    dash : bool
        Whether ``-``, standard output, may be given.
    """

    name = "FILE"

    def __init__(self, dash: bool = False):
        self.dash = dash

    def convert(self, value, param, ctx):
        """Return a path."""
        path = Path(value)
        if str(path) == "-":
            if not self.dash:
                self.fail("standard output cannot be chosen here; give a file", param, ctx)
            return path
        try:
            wrong = self._wrong(path)
        except (OSError, ValueError) as error:  # a name that is too long, or no name at all
            wrong = getattr(error, "strerror", None) or str(error)
        if wrong:
            self.fail(f"{str(value)[:200]!r} cannot be written: {wrong[:300]}", param, ctx)
        return path

    def shell_complete(self, ctx, param, incomplete):
        """Let the shell complete the name of a file."""
        return [CompletionItem(incomplete, type="file")]

    def _wrong(self, path: Path) -> str:
        if path.exists():
            if path.is_dir():
                return "it is a folder"
            return "" if os.access(path, os.W_OK) else "it may not be written"
        if not path.parent.exists():
            return f"there is no folder {path.parent}; create it first"
        return _obstacle(path.parent)


class OutputFolder(click.ParamType):
    """A folder that files will be written into; it is created where it is not there."""

    name = "FOLDER"

    def convert(self, value, param, ctx):
        """Return a path."""
        path = Path(value)
        try:
            wrong = _obstacle(path)
        except (OSError, ValueError) as error:
            wrong = getattr(error, "strerror", None) or str(error)
        if wrong:
            self.fail(f"{str(value)[:200]!r} cannot be written: {wrong[:300]}", param, ctx)
        return path

    def shell_complete(self, ctx, param, incomplete):
        """Let the shell complete the name of a folder."""
        return [CompletionItem(incomplete, type="dir")]


class NameOrFile(click.types.StringParamType):
    """The name of something that ships, or an input file."""


NAME_OR_FILE = NameOrFile()
OUTPUT, OUTPUT_OR_DASH, FOLDER = OutputFile(), OutputFile(dash=True), OutputFolder()


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8 into a file, or onto standard output if it is ``-``, whatever that is encoded in."""
    data = text.encode("utf-8", "backslashreplace")
    if path != Path("-"):
        write_bytes(path, data)
    else:
        click.echo(data, nl=False)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file; an error has its name."""
    try:
        path.write_bytes(data)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@dataclass(frozen=True)
class JsonTarget:
    """Where ``--json`` writes.

    Attributes
    ----------
    path : Path or None
        None if the option is not given, ``-`` for standard output.
    """

    path: Path | None

    @property
    def asked(self) -> bool:
        """Whether JSON is wanted at all."""
        return self.path is not None

    @property
    def instead(self) -> bool:
        """Whether it takes the report's place."""
        return self.path == Path("-")

    @property
    def file(self) -> Path | None:
        """The file to write, None if there is none."""
        return None if self.instead else self.path

    def write(self, data: dict[str, Any]) -> None:
        """Write an object where it is wanted, if it is."""
        if self.path is None:
            return
        text = json.dumps(with_schema(data), indent=2)
        if self.instead:
            click.echo(text)
        else:
            write_text(self.path, f"{text}\n")


NO_JSON = JsonTarget(None)


class _Target(OutputFile):
    """The value of ``--json``."""

    def convert(self, value, param, ctx):
        """Return a `JsonTarget`."""
        return value if isinstance(value, JsonTarget) else JsonTarget(super().convert(value, param, ctx))


def check_outputs(ctx: click.Context) -> None:
    """Refuse an output of a command that is one of its inputs, or another output: writing it would lose that."""
    known: list[tuple[str, Path]] = []
    outputs: list[tuple[click.Parameter, Path]] = []
    for param in ctx.command.params:
        value = ctx.params.get(param.name or "")
        if isinstance(param.type, OutputFile):
            path = value.file if isinstance(value, JsonTarget) else value
            outputs += [(param, path)] if path is not None and path != Path("-") else []
        elif isinstance(param.type, (click.Path, NameOrFile)):
            shown = param.opts[-1] if isinstance(param, click.Option) else param.human_readable_name
            known += [(shown, Path(name)) for name in (value or () if param.multiple else [value]) if name is not None]
    for param, path in outputs:
        for other, file in known:
            if _same(path, file):
                raise click.BadParameter(f"{str(path)[:200]!r} is {other} too, which would be lost; give another file",
                                         ctx, param)
        known.append((param.opts[-1], path))


def _same(path: Path, other: Path) -> bool:
    """Return whether two paths are one regular file, be it there or not."""
    try:
        return path.is_file() and path.samefile(other) or not path.exists() and path.resolve() == other.resolve()
    except (OSError, ValueError):
        return False


json_option = click.option(
    JSON_FLAG, "as_json", is_flag=False, flag_value="-", default=NO_JSON, type=_Target(dash=True),
    metavar="[FILE|-]", help="One JSON object in the report's place, or into a file beside it.")

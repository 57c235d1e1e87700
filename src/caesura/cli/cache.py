"""``caesura cache``: what was built and kept, and how to be rid of it (docs/cache.md)."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.filesize import decimal
from rich.table import Column, Table

from caesura.cache import RECORD_SUFFIX, cache_directory, locked, record_of, sweep

from .common import Command, JsonTarget, Range, examples, json_option

__all__ = ["Entry", "cache_command", "clean", "entries"]

KINDS = {"verilator": "simulator", "sv": "SystemVerilog", "kernels": "compiled kernel", "judge": "judge of a test",
         "golden": "engine of the golden model", "synth": "result of synthesis", "cycles": "measured rows",
         "costs": "measured costs", "board": "netlist, timing or bitstream of a board",
         "reports": "report of a defect", "passed": "passed test"}
"""Kinds of the files of a folder, for files without a record."""
DAY = 86_400.0


@dataclass(frozen=True)
class Entry:
    """Something that is kept: a file with its record, or a folder in which something is being built.

    Attributes
    ----------
    kind : str
        Folder of the cache.
    what, design : str
    path : Path
    size : int
        Bytes.
    age : float
        Seconds since it was last used, where that is known, else since it was made.
    """

    kind: str
    what: str
    design: str
    path: Path
    size: int
    age: float


def entries(folder: Path) -> Iterator[Entry]:
    """Iterate over what a cache folder holds, by kind and design."""
    now = time.time()
    found = []
    for kind in sorted(path for path in folder.iterdir() if path.is_dir()):
        for path in sorted(kind.iterdir()):
            if path.suffix not in (".lock", RECORD_SUFFIX):
                with contextlib.suppress(FileNotFoundError):  # another process may clean, too
                    found.append(_entry(kind.name, path, now))
    yield from sorted(found, key=lambda entry: (entry.kind, entry.design, entry.age))


def _entry(kind: str, path: Path, now: float) -> Entry:
    if path.is_dir():
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        return Entry(kind, "being built", "", path, size, now - path.stat().st_mtime)
    record = record_of(path)
    used = _beside(path)[-1].stat().st_mtime
    what, design = (record.what, record.design) if record else (KINDS.get(kind, "file"), "")
    return Entry(kind, what, design, path, path.stat().st_size, max(0.0, now - used))


def _beside(path: Path) -> list[Path]:
    """Return a file and the record that belongs to it, if it has one."""
    record = path.with_name(path.name + RECORD_SUFFIX)
    return [path, record] if record.exists() else [path]


def clean(folder: Path, kinds: Sequence[str] = (), older: float = 0.0) -> tuple[int, int]:
    """Remove what is kept, but for what is being built; return the number of files and of bytes.

    Parameters
    ----------
    folder : Path
        The cache.
    kinds : sequence of str
        Only these; all if empty.
    older : float
        Only what has not been used for so many seconds.
    """
    count = size = 0
    for kind in [path for path in folder.iterdir() if path.is_dir() and path.name in (kinds or (path.name,))]:
        sweep(kind)
    for entry in list(entries(folder)):
        if kinds and entry.kind not in kinds or entry.age < older or entry.path.is_dir():
            continue
        lock = entry.path.with_name(entry.path.name.split(".")[0] + ".lock")
        with locked(lock, wait=False) as held:
            if held:
                count, size = count + 1, size + entry.size
                for path in (*_beside(entry.path), lock):
                    path.unlink(missing_ok=True)
    return count, size


def _ago(seconds: float) -> str:
    for unit, length in (("days", DAY), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _print(folder: Path, found: list[Entry]) -> None:
    """Print a line for each thing that has a record, and one for all others of a kind."""
    table = Table(Column("kind"), Column("what"), Column("design"), Column("size", justify="right"),
                  Column("last used", justify="right"), box=None, header_style="bold")
    groups: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in found:
        key = str(entry.path) if entry.design else ""
        groups.setdefault((entry.kind, entry.what, key), []).append(entry)
    for (kind, what, _), group in groups.items():
        more = f"{len(group):,} x {what}" if len(group) > 1 else what
        table.add_row(kind, more, group[0].design, decimal(sum(entry.size for entry in group)),
                      _ago(min(entry.age for entry in group)))
    console = Console()
    console.print(f"{folder}: {decimal(sum(entry.size for entry in found))}", highlight=False, soft_wrap=True)
    if found:
        console.print(table)
    free = shutil.disk_usage(folder).free
    console.print(f"{decimal(free)} are free; `caesura cache --clean` empties it", highlight=False, soft_wrap=True)


@click.command("cache", cls=Command,
               epilog=examples("caesura cache", "caesura cache --clean --kind verilator --older 30"))
@click.option("--clean", "cleaning", is_flag=True, help="Remove what is listed, but for what is being built.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind (several times: these).")
@click.option("--older", type=Range(0), default=0.0, metavar="DAYS",
              help="Only what has not been used for so many days.")
@json_option
def cache_command(cleaning, kinds, older, as_json: JsonTarget):
    """List what was built and kept, or remove it."""
    folder = cache_directory()
    there = sorted(path.name for path in folder.iterdir() if path.is_dir())
    if unknown := [kind for kind in kinds if kind not in there]:
        raise click.BadParameter(f"there is nothing of kind {unknown[0]!r}; there is {', '.join(there) or 'nothing'}",
                                 param_hint="'--kind'")
    if cleaning:
        count, size = clean(folder, kinds, older * DAY)
        as_json.write({"folder": str(folder), "removed": count, "bytes": size})
        if not as_json.instead:
            click.echo(f"{count:,} files removed from {folder}, {decimal(size)}")
        return
    found = [entry for entry in entries(folder)
             if (not kinds or entry.kind in kinds) and entry.age >= older * DAY]
    if as_json.asked:
        listed = [{"kind": entry.kind, "what": entry.what, "design": entry.design or None,
                   "file": os.fspath(entry.path.relative_to(folder)), "bytes": entry.size,
                   "unused_seconds": round(entry.age)} for entry in found]
        as_json.write({"folder": str(folder), "bytes": sum(entry.size for entry in found), "entries": listed})
    if not as_json.instead:
        _print(folder, found)

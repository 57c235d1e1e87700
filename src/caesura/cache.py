"""The folder of what is built once and kept: simulators, SystemVerilog, results that cost minutes.

:func:`cache_directory` returns the folder; docs/cache.md describes its contents. A file is written under another name
and moved into place, so that no reader ever sees part of it. A file that is loaded as code has a record beside it with
a checksum. If a full disk or a crash has truncated such a file, it is not used, but made again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import hashlib
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from .checkout import checkout_root

__all__ = ["RECORD_SUFFIX", "CacheError", "Record", "cache_directory", "digest", "file_digest", "locked", "read_packed",
           "record_of", "seal", "sweep", "whole", "work_folder", "write_atomically", "write_packed"]

RECORD_SUFFIX = ".record"
"""Suffix of the name of a record after the name of its file."""
WORK_PREFIX = "work-"
"""Begins the name of a folder in which something is built."""


class CacheError(OSError):
    """The cache folder cannot be trusted; the message says why and what to do."""


def cache_directory() -> Path:
    """Return the folder of build results (created).

    It is ``$CAESURA_CACHE`` if that is set; ``build/cache`` of the checkout that the package lies in; else
    ``caesura`` in the user's cache folder, which must belong to the user and which nobody else may write. The
    current folder never decides: what a stranger left there would be run as code.

    Raises
    ------
    CacheError
        If the user's folder belongs to somebody else, or others may write it.
    """
    chosen = os.environ.get("CAESURA_CACHE")
    root = checkout_root()
    if chosen:
        folder = Path(chosen).expanduser().absolute()
    elif root is not None:
        folder = Path(root, "build", "cache")
    else:
        return _private(platformdirs.user_cache_path("caesura", appauthor=False))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _private(folder: Path) -> Path:
    """Return a folder that only the user can write, created if it is not there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.getuid():
        raise CacheError(f"the cache folder {folder} belongs to user {found.st_uid}, and code is loaded from it; set "
                         "CAESURA_CACHE to a folder of your own")
    if found.st_mode & 0o022:
        raise CacheError(f"others may write the cache folder {folder}, and code is loaded from it; run "
                         f"`chmod 700 '{folder}'`, and `caesura cache --clean` if you do not trust them")
    return folder


def digest(parts: Iterable[str]) -> str:
    """Return a name for what is made from these texts: 24 hexadecimal digits."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that no reader ever sees part of it; what a link names, and not the link.

    What is there and is no file, a pipe or a device, is written to as it is.
    """
    data = content.encode() if isinstance(content, str) else content
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
        try:
            file.write(data)
            file.close()
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def write_packed(path: Path, text: str) -> None:
    """Write a long text packed, with a checksum."""
    write_atomically(path, gzip.compress(text.encode(), compresslevel=4, mtime=0))


def read_packed(path: Path) -> str | None:
    """Return what `write_packed` wrote; None if it is not there, damaged, or cannot be read."""
    try:
        text = gzip.decompress(path.read_bytes()).decode()
        _used(path)
        return text or None  # of an empty file gzip says nothing
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return None


@contextlib.contextmanager
def locked(path: Path, wait: bool = True, waiting: Callable[[], None] = lambda: None) -> Iterator[bool]:
    """Hold an exclusive lock on a file between processes and threads; yield whether it is held.

    Without `wait` it is not if another has it; `waiting` is called if it is waited for. A lock whose file was removed
    meanwhile is taken on the new one.
    """
    from filelock import FileLock, Timeout  # takes 30 ms, which commands that lock nothing need not spend

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        held = lock.acquire(blocking=False)
    except Timeout:
        if not wait:
            yield False
            return
        waiting()
        held = lock.acquire()
    with held:
        yield True


@dataclass(frozen=True)
class Record:
    """The facts about a file of the cache.

    Attributes
    ----------
    what : str
        Kind, as `caesura cache` shows it: ``"simulator"``, ...
    design : str
        Source of the file: a preset, a block.
    sha256 : str
        Checksum of the file.
    seconds : float or None
        How long it took to make.
    """

    what: str
    design: str
    sha256: str
    seconds: float | None = None


def _record_path(path: Path) -> Path:
    return path.with_name(path.name + RECORD_SUFFIX)


def seal(path: Path, what: str, design: str, seconds: float | None = None) -> None:
    """Write the record of a file that is in place; until then, `whole` does not hold."""
    record = Record(what, design, file_digest(path), seconds)
    write_atomically(_record_path(path), json.dumps(dataclasses.asdict(record)) + "\n")


def record_of(path: Path) -> Record | None:
    """Return the record of a file, None if there is none that can be read."""
    try:
        return Record(**json.loads(_record_path(path).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def whole(path: Path) -> bool:
    """Return whether a file is there and is what it was when it was sealed; its record then is of now, being used."""
    record = record_of(path)
    try:
        if record is None or not path.is_file() or file_digest(path) != record.sha256:
            return False
    except OSError:  # it is ours, and cannot be read
        return False
    _used(_record_path(path))
    return True


def _used(path: Path) -> None:
    """Note that a file is used now, as its time; not one that another user shares with us."""
    with contextlib.suppress(OSError):
        os.utime(path)


@contextlib.contextmanager
def work_folder(lock: Path) -> Iterator[Path]:
    """Yield an empty folder to build in, removed afterwards; the caller holds `lock`, a ``.lock`` file beside it.

    Its name tells its lock, so that `sweep` knows what a killed process has left.
    """
    folder = lock.parent / f"{WORK_PREFIX}{lock.stem}"
    sweep(lock.parent)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep(folder: Path) -> list[Path]:
    """Remove the work folders of builds that were killed, and return them; those being built are left alone."""
    removed = []
    for left in folder.glob(f"{WORK_PREFIX}*"):
        lock = folder / f"{left.name.removeprefix(WORK_PREFIX)}.lock"
        with locked(lock, wait=False) as held:
            if held:
                shutil.rmtree(left, ignore_errors=True)
                removed.append(left)
    return removed

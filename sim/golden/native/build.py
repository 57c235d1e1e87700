"""Builds the engine: one small library a warp size, kept in the cache.

Its name is the hash of what it is made from: sources, flags, the compiler and the processor it is compiled for.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import weakref
from contextlib import ExitStack, suppress
from pathlib import Path

from caesura.cache import cache_directory, digest, locked, seal, whole, work_folder
from caesura.errors import ToolError
from caesura.sim.rtl.toolchain import RIGHT_SUMS, identity

from .layout import header

__all__ = ["Build", "build", "compiler", "library_path"]

HERE = Path(__file__).resolve().parent
SOURCES = ("engine.cpp", "directed.cpp")
FLAGS = ("-std=c++17", "-O3", RIGHT_SUMS, "-march=native", "-fPIC", "-shared", "-ffp-contract=off", "-frounding-math",
         "-fno-trapping-math", "-fno-math-errno", "-Wno-parentheses")
"""Flags of the exact arithmetic: nothing is contracted or moved across a change of the rounding direction. Exceptions
of the host's arithmetic and `errno` are not looked at."""
PATIENCE = 60.0
"""Seconds for which a build of another process is waited for, in numpy."""


def compiler() -> str | None:
    """Return the path of the compiler, None if there is none."""
    return shutil.which("g++")


def library_path(warp_size: int, flags: tuple[str, ...] | None = None) -> Path:
    """Return where the library for warps of `warp_size` lanes is or will be."""
    texts = [source.read_text() for source in sorted((*HERE.glob("*.cpp"), *HERE.glob("*.h")))]
    made_by = identity() if compiler() else ""
    return cache_directory() / "golden" / f"{digest([*(flags or FLAGS), made_by, header(warp_size), *texts])}.so"


class Build:
    """A build that runs beside the program; it ends with the program.

    Parameters
    ----------
    warp_size : int
    flags : tuple of str, optional
        Flags of the compiler, `FLAGS` unless given.
    target : Path, optional
        Where the library goes; into the cache without it.
    unless_elsewhere : bool
        Build nothing if another process has begun to within `PATIENCE` seconds. Nobody waits for another's build: a
        program that is at rest does not put what it has built into the cache.

    Attributes
    ----------
    elsewhere : bool
        Another process builds this library, so nothing runs here.

    Raises
    ------
    ToolError
        If there is no compiler.
    """

    def __init__(self, warp_size: int, flags: tuple[str, ...] | None = None, target: Path | None = None,
                 unless_elsewhere: bool = False):
        path = compiler()
        if path is None:
            raise ToolError("g++ missing, needed to build the compiled engine of the golden model; install with "
                             "`sudo apt-get install g++`")
        self.path = library_path(warp_size, flags) if target is None else target
        self._design = f"warps of {warp_size}"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        held, lock = ExitStack(), self.path.with_suffix(".lock")
        first = unless_elsewhere and held.enter_context(locked(lock, wait=False))
        self.elsewhere = unless_elsewhere and not first and time.time() - lock.stat().st_mtime < PATIENCE
        if self.elsewhere:
            held.close()
            return
        if first:
            os.utime(lock)
        work = held.enter_context(work_folder(lock)) if first else Path(held.enter_context(
            tempfile.TemporaryDirectory(prefix="build-", dir=self.path.parent, ignore_cleanup_errors=True)))
        (work / "layout.h").write_text(header(warp_size))
        self._result, self._messages = work / "engine.so", work / "messages"
        sources = [str(HERE / name) for name in SOURCES]
        command = [path, *(flags or FLAGS), f"-I{work}", *sources, "-o", str(self._result)]
        with open(self._messages, "w") as messages:  # a session of its own: g++ is ended with what it has started
            self._process = subprocess.Popen(command, stdout=messages, stderr=messages, stdin=subprocess.DEVNULL,
                                             start_new_session=True)
        self._held = held
        self._stop = weakref.finalize(self, _abandon, self._process, held)

    @property
    def running(self) -> bool:
        """The compiler has not ended."""
        return self._process.poll() is None

    def finish(self) -> Path:
        """Wait for the compiler, put the library where it belongs and return where.

        Raises
        ------
        ToolError
            If the compiler failed; the message begins with its first lines.
        """
        failed = self._process.wait() != 0
        self._stop.detach()
        messages = self._messages.read_text(errors="replace")
        if not failed:
            os.replace(self._result, self.path)
            seal(self.path, "engine of the golden model", self._design)
        self._held.close()
        if failed:
            raise ToolError(f"the compiled engine of the golden model does not compile:\n{messages[:2000]}")
        return self.path


def _abandon(process: subprocess.Popen, held: ExitStack) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    held.close()


def build(warp_size: int, flags: tuple[str, ...] | None = None, target: Path | None = None) -> tuple[Path, float]:
    """Return a library, built if it is not there, and the seconds that took; the parameters are those of `Build`.

    Raises
    ------
    ToolError
        If there is no compiler, or it fails.
    """
    path, started = target or library_path(warp_size, flags), time.perf_counter()
    if whole(path):
        return path, 0.0
    return Build(warp_size, flags, path).finish(), time.perf_counter() - started

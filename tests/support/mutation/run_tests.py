"""Runs the tests of a block on its netlist, once for each of some faults: ``python -m support.mutation.run_tests``
reads what to run from standard input, a line for each block (`BlockTests`), and writes a line with how each fault went.

Each block has a process of its own, and each fault, forked when the tests are collected and the netlist compiled: what
a test that fails leaves behind is no other fault's. Tests that do not run the netlist notice no fault: they are left
out.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import pytest

from support.checkout import ROOT
from support.hw import simulation
from support.hw.netlist_model import NetlistModel

from .block_tests import FOLDER, BlockTests
from .cosimulation import Substitute, substituted
from .targets import TARGETS

__all__: list[str] = []

_SECONDS = 900
"""That all tests may take with a fault, in whatever they do apart from simulating."""


class _Faults:
    """Runs all or some of the tests that pytest has collected, once for each fault.

    Parameters
    ----------
    asked : dict
        ``faults``, and ``tests``: the only ones to be run, or None.
    bench : BlockTests
    substitute : Substitute
    """

    def __init__(self, asked: dict[str, Any], bench: BlockTests, substitute: Substitute):
        self._asked, self._bench, self._substitute = asked, bench, substitute
        self.found: dict[int, dict[str, Any]] = {}
        self._log: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test that fails has printed."""
        if report.failed:
            self._log.append(f"{report.nodeid}\n{report.longreprtext}")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests, first those of `make test`, in a process for each fault."""
        if session.testsfailed:
            raise session.Interrupted("tests could not be collected")
        only = self._asked["tests"]
        items = [item for item in session.items if (only is None or item.nodeid in only)
                 and item.name.partition("[")[0] not in self._bench.inside]
        items.sort(key=lambda item: item.get_closest_marker("full") is not None)
        context = multiprocessing.get_context("fork")
        for number in self._asked["faults"]:
            self._substitute.fault = number
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=self._run, args=(session, items, theirs))
            process.start()
            theirs.close()
            result = {"code": None, "cycles": 0, "tests": [], "log": ""}
            if ours.poll(_SECONDS):
                with contextlib.suppress(EOFError):  # it has died
                    result = ours.recv()
            process.kill()
            process.join()
            self.found[number] = result
        return True

    def _run(self, session: pytest.Session, items: list[pytest.Item], result: Any) -> None:
        """Run tests until one fails; `tests` of the result are those that ran the netlist.

        A long test that has passed with another fault is run again (`conftest.py` remembers what passes).
        """
        shutil.rmtree(Path(os.environ["CAESURA_CACHE"], "passed"), ignore_errors=True)
        ran, used = self._substitute.ran, []
        for item, following in zip(items, [*items[1:], None], strict=True):
            before = len(ran)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if len(ran) > before:
                used.append(item.nodeid)
            if session.testsfailed:
                break
        code = pytest.ExitCode.TESTS_FAILED if session.testsfailed else pytest.ExitCode.OK
        result.send({"code": int(code), "cycles": max(ran, default=0), "tests": used,
                     "log": "\n".join(self._log)[-3000:]})
        result.close()


def _found(asked: dict[str, Any]) -> str:
    """Run the tests of a block once for each fault; return what is written of it."""
    bench = next(bench for target in TARGETS if isinstance(bench := target.bench, BlockTests)
                 and (bench.file, bench.block.__name__) == (asked["file"], asked["block"]))
    substitute = Substitute(bench.component(), NetlistModel(asked["text"], asked["widths"]), limit=asked["limit"])
    substitute.netlist.library  # noqa: B018 - compiled once, not in each process
    simulation.Simulator = substituted(substitute)
    replay = importlib.import_module("support.mutation.replay")  # now: what it imports takes the simulator of above
    setattr(importlib.import_module("support.hw.lockstep"), "lockstep", replay.replaying(substitute))  # noqa: B010
    faults, log = _Faults(asked, bench, substitute), io.StringIO()
    with (tempfile.TemporaryDirectory(prefix="caesura-faults-") as folder,
          contextlib.redirect_stdout(log), contextlib.redirect_stderr(log)):
        os.environ["CAESURA_CACHE"] = folder  # what passes is not remembered as what passes without a fault
        code = pytest.main(["-q", "-x", "-n", "0", "--timeout", "0", "--rootdir", str(ROOT),
                            *(str(FOLDER / file) for file in (bench.file, *bench.more))], plugins=[faults])
    if code != pytest.ExitCode.OK or not faults.found:
        return json.dumps({"error": f"pytest ended with {code}:\n{log.getvalue()[-3000:]}"})
    return json.dumps(faults.found)


def _answer(asked: dict[str, Any], answer: Any) -> None:
    """Send what is found of a block, or why nothing is."""
    try:
        answer.send(_found(asked))
    except Exception:
        answer.send(json.dumps({"error": traceback.format_exc()[-3000:]}))


def _main() -> None:
    """Answer until nothing more is asked."""
    context = multiprocessing.get_context("fork")
    for line in sys.stdin:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_answer, args=(json.loads(line), theirs))
        process.start()
        theirs.close()
        try:
            answer = ours.recv()
        except EOFError:
            answer = json.dumps({"error": "the process that runs the tests has died"})
        process.join()
        print(answer, flush=True)


if __name__ == "__main__":
    _main()

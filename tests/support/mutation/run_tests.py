"""Runs the tests of a block on its netlist, once for each of some faults: ``python -m support.mutation.run_tests``
reads what to run from standard input (`BlockTests`), and writes how each fault went.

Each fault has a process of its own, forked when everything is imported and the netlist compiled: what a test that
fails leaves behind is no other fault's.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import sys
import tempfile
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


def _main() -> None:
    """Run the tests once for each fault."""
    asked = json.load(sys.stdin)
    bench = next(bench for target in TARGETS if isinstance(bench := target.bench, BlockTests)
                 and (bench.file, bench.block.__name__) == (asked["file"], asked["block"]))
    substitute = Substitute(bench.component(), NetlistModel(asked["text"], asked["widths"]), limit=asked["limit"])
    substitute.netlist.library  # noqa: B018 - compiled once, not in each process
    simulation.Simulator = substituted(substitute)
    context = multiprocessing.get_context("fork")
    found = {}
    for number in asked["faults"]:
        substitute.fault = number
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_tests, args=(bench, substitute, theirs))
        process.start()
        theirs.close()
        result = {"code": None, "cycles": 0, "log": ""}
        if ours.poll(_SECONDS):
            with contextlib.suppress(EOFError):  # it has died
                result = ours.recv()
        process.kill()
        process.join()
        found[number] = result
    print(json.dumps(found))


def _tests(bench: BlockTests, substitute: Substitute, result: Any) -> None:
    """Run the tests with the fault that is chosen, in a process of its own: first those of `make test`, and of what
    they do not notice the others. What passes is not remembered as what passes without a fault."""
    log = io.StringIO()
    code = pytest.ExitCode.OK
    with tempfile.TemporaryDirectory(prefix="caesura-faults-") as folder:
        os.environ["CAESURA_CACHE"] = folder
        for chosen in "not full", "full":
            with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
                code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-n", "0", "-m", chosen, "--timeout", "0",
                                    "--rootdir", str(ROOT), str(FOLDER / bench.file)])
            if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                break
            code = pytest.ExitCode.OK
    result.send({"code": int(code), "cycles": max(substitute.ran, default=0), "log": log.getvalue()[-3000:]})
    result.close()


if __name__ == "__main__":
    _main()

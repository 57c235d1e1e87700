"""Tests of a block in Amaranth's simulator, run on its netlist with faults."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar
from unittest.mock import patch

import pytest
from amaranth.hdl import Fragment
from amaranth.lib import wiring

from caesura.hw.arch.geometry import Geometry
from caesura.hw.export.ports import ports_of
from caesura.sim.cocotb.run import BenchError
from support.checkout import ROOT
from support.hw.netlist_model import top_module
from support.sources import closure

from .planting import NETLIST, SELECT, SELECT_BITS, Mutated

__all__ = ["FOLDER", "BlockTests"]

FOLDER = ROOT / "tests" / "hw"
"""Folder of the tests."""


@dataclass(frozen=True)
class BlockTests:
    """Tests of a block: those of a file, the long ones too.

    Attributes
    ----------
    file : str
        Below `tests/hw`.
    block : type
    geometry : Geometry, optional
        Of the blocks that have the faults; those of other geometries in the file have none. None where the block
        takes no geometry.
    arguments : tuple
        Arguments of the block besides the geometry.
    more : tuple of str
        Other files with tests of the block.
    inside : tuple of str
        Tests that set registers inside the block, which those of a netlist do not follow: they are left out.
    constants : tuple of tuple
        Modules, names and values of constants that the tests change while the block is elaborated.
    """

    file: str
    block: Callable[..., wiring.Component]
    geometry: Geometry | None
    arguments: tuple[Any, ...] = ()
    more: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    constants: tuple[tuple[ModuleType, str, int], ...] = ()
    batch: ClassVar[int] = 60
    """Faults of one process."""

    def component(self) -> wiring.Component:
        """Return the block."""
        block: Any = self.block(*([] if self.geometry is None else [self.geometry]), *self.arguments)
        if self.constants:
            plain = block.elaborate

            def elaborate(platform: Any) -> Fragment:
                with contextlib.ExitStack() as changed:
                    for module, name, constant in self.constants:
                        changed.enter_context(patch.object(module, name, constant))
                    return Fragment.get(plain(platform), platform)

            block.elaborate = elaborate
        return block

    def texts(self) -> list[str]:
        """Return what decides what the tests do, besides the block."""
        paths = {FOLDER / file for file in (self.file, *self.more)}
        own = [Path(__file__).with_name(f"{name}.py")
               for name in ("block_tests", "cosimulation", "replay", "run_tests")]
        return [*(file.read_text() for file in sorted(paths.union(own, *map(closure, paths)))), *self.inside]

    def limit(self, mutated: Mutated, seed: int) -> dict[str, Any]:
        """Return what holds without a fault: how many cycles a simulation may take (twice what the longest takes), and
        which tests run the netlist.

        Raises
        ------
        BenchError
            If a test fails without a fault, or the block is in none.
        """
        found = self._run(mutated, [0], 1 << 40)["0"]
        if found["code"] != pytest.ExitCode.OK or not found["cycles"]:
            raise BenchError(f"{self.file} fails on the netlist without a fault, or does not run it:\n{found['log']}")
        return {"cycles": 2 * found["cycles"] + 100, "tests": found["tests"]}

    def caught(self, mutated: Mutated, numbers: list[int], limit: dict[str, Any], seed: int) -> set[int]:
        """Return which of some faults the tests notice: one fails, or does not end in time.

        Raises
        ------
        BenchError
            If tests could not be run.
        """
        found = self._run(mutated, numbers, limit["cycles"], limit["tests"])
        return {number for number in numbers if found[str(number)]["code"] != pytest.ExitCode.OK}

    def _run(self, mutated: Mutated, numbers: list[int], limit: int, tests: list[str] | None = None) -> dict[str, Any]:
        """Return the results of the tests for each fault.

        They are pytest's exit code (None if it died or took too long), cycles of the longest simulation, names of the
        tests that ran the netlist, and the printed output.
        """
        ports = ports_of(self.component())
        text = f"{top_module(NETLIST, ports, [(SELECT, SELECT_BITS)])}\n{mutated.netlist}"
        asked = {"text": text, "widths": [*(port.width for port in ports), SELECT_BITS], "faults": numbers,
                 "tests": tests, "limit": limit, "file": self.file, "block": self.block.__name__}
        server = _server()
        if server.stdin is None or server.stdout is None:
            raise BenchError("the process that runs tests has no pipes")
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        found = json.loads(server.stdout.readline() or '{"error": "the process that runs tests has ended"}')
        if "error" in found:
            raise BenchError(f"{self.file} with faults:\n{found['error']}")
        return found


@functools.cache
def _server() -> subprocess.Popen[str]:
    """Return the process that runs tests, started once, with all imported that blocks need; it ends with this one."""
    return subprocess.Popen([sys.executable, "-W", "ignore", "-m", "support.mutation.run_tests"], cwd=ROOT,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            env=os.environ | {"PYTHONPATH": str(ROOT / "tests")})

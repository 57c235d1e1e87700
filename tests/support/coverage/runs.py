"""The benches whose runs are counted, and the results of a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caesura.cache import cache_directory, digest, read_packed, write_packed
from caesura.sim.cocotb.build import program
from caesura.sim.cocotb.run import BenchError, exported, simulate
from support.checkout import ROOT
from support.sources import closure

from .points import Point, points

__all__ = ["FOLDER", "LONG", "RUNS", "Replay", "Run", "bench_texts"]


FOLDER = "CAESURA_REPLAY"
"""Environment variable with the folder into which `replay` writes."""
LONG = Path(__file__).with_name("long.txt")
"""Cases of the full set that are replayed with the quick ones, by file and name in `tests/hw/preempt`."""


@dataclass(frozen=True)
class Run:
    """A run of a bench.

    Attributes
    ----------
    bench : str
        A module of `support.benches`.
    parameters : dict
    seed : int
    """

    bench: str
    parameters: dict[str, Any] = field(default_factory=dict)
    seed: int = 1

    @property
    def module(self) -> str:
        """The module's whole name."""
        return f"support.benches.{self.bench}"

    def __str__(self) -> str:
        values = ", ".join(f"{name} {value}" for name, value in self.parameters.items())
        return f"{self.bench} ({values})" if values else self.bench

    def points(self) -> list[list[Point]]:
        """Return what was counted of its design, from the cache if the same was run before.

        Raises
        ------
        BenchError
            If a test of the bench fails.
        """
        name, text = exported(self.module, json.dumps(self.parameters, sort_keys=True), located=True)
        key = digest([text, *bench_texts(self.bench), str(self), str(self.seed)])
        kept = cache_directory() / "coverage" / f"{key}.dat.gz"
        counted = read_packed(kept)
        if counted is None:
            counted = self._counted(name, text)
            write_packed(kept, counted)
        return [list(points(text, counted.splitlines()))]

    def _counted(self, name: str, text: str) -> str:
        """Run the bench, which does not stir its block: nobody looks at that. Return what Verilator has counted."""
        with tempfile.TemporaryDirectory(prefix="caesura-coverage-") as folder:
            target = Path(folder) / "coverage.dat"
            outcome = simulate(program(text, name, coverage=True), self.module, self.parameters, seed=self.seed,
                               plusargs=["+stirred=0"], keep={"coverage.dat": target})
            if outcome.failed or not outcome.passed:
                raise BenchError(f"{self}: {', '.join(outcome.failed) or 'no test'} failed\n{outcome.log[-2000:]}")
            return target.read_text(encoding="latin-1")


@dataclass(frozen=True)
class Replay:
    """Tests of a block, those that `make test` runs and those of `LONG`, on the exported SystemVerilog too (`replay`);
    toggles are not counted.

    Attributes
    ----------
    tests : str
        A file of `tests/hw/preempt`.
    """

    tests: str

    def __str__(self) -> str:
        return f"tests of {self.tests.removesuffix('.py').replace('test_', '')}"

    def points(self) -> list[list[Point]]:
        """Return what was counted of each design, from the cache if the same was run before.

        Raises
        ------
        BenchError
            If a test fails.
        """
        path = ROOT / "tests" / "hw" / "preempt" / self.tests
        texts = [file.read_text() for file in sorted({path, *closure(path)})]
        model = ROOT / "tests" / "support" / "hw" / "netlist_model.py"
        own = [file.read_text() for file in (
            Path(__file__).with_name("verilated.py"), Path(__file__).with_name("replay.py"), LONG, model,
            model.with_suffix(".cpp"))]
        # The file names places of the source by whole paths, so it belongs to this checkout.
        kept = cache_directory() / "coverage" / f"{digest([*texts, *own, str(self), str(ROOT)])}.json.gz"
        found = read_packed(kept)
        if found is None:
            found = json.dumps(self._counted(path))
            write_packed(kept, found)
        return [list(points(text, counted.splitlines())) for text, counted in json.loads(found)]

    def _counted(self, path: Path) -> list[tuple[str, str]]:
        """Run the tests; return the SystemVerilog of each design and what Verilator has counted."""
        with tempfile.TemporaryDirectory(prefix="caesura-replay-") as folder:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-p", "support.coverage.replay", "-n", "0",
                 "-q", "-m", "not full", "--timeout", "3000", str(path)], cwd=ROOT, capture_output=True,
                text=True, env=os.environ | {FOLDER: folder, "PYTHONPATH": str(ROOT / "tests")})
            if done.returncode:
                raise BenchError(f"{self} failed ({done.returncode})\n{(done.stdout + done.stderr)[-3000:]}")
            texts = sorted(Path(folder).glob("*.sv.gz"))
            return [(str(read_packed(text)), str(read_packed(text.with_name(f"{text.name.partition('.')[0]}.dat.gz"))))
                    for text in texts]


def bench_texts(bench: str) -> list[str]:
    """Return the sources that decide what a bench of `support.benches` does, besides the block."""
    path = ROOT / "tests" / "support" / "benches" / f"{bench}.py"
    deciding = ROOT / "tests" / "support", ROOT / "sim" / "cocotb", ROOT / "hw" / "arch"
    return [file.read_text() for file in sorted({path, *closure(path)})
            if any(folder in file.parents for folder in deciding)]


def _sizes(bench: str, *sizes: tuple[int, int], **more: Any) -> list[Run]:
    return [Run(bench, {"warp": warp, "lanes": lanes, **more}) for warp, lanes in sizes]


_BLOCKS = {
    "in_place": ("staying_table", "evict_sequencer"),
    "sequence": ("adopt_sequencer", "counters", "generations_checksum", "preempt_sequencer", "read_ahead",
                 "resume_sequencer", "saved_entries", "sequencer"),
    "restore": ("encoding_table", "entry_buffer", "expander", "record_reader", "row_writer"),
    "save": ("closer", "collector", "kernel_record", "records"),
}
"""Blocks of each room that the pipelines and the unit do not run completely."""
SIZES = (16, 4), (32, 32), (32, 8)
RUNS: Sequence[Run | Replay] = (
    Run("packer", {"size": 4, "most": 4}), Run("packer", {"size": 8, "most": 8}),
    *_sizes("compressor", *SIZES), *_sizes("encoder", *SIZES), *_sizes("tb_compressor", (8, 8)),
    *_sizes("decoder", *SIZES, name="decompressor"), *_sizes("decoder", *SIZES, name="group_decoder"),
    *(Run(pipeline, {"shape": shape}) for pipeline in ("save", "restore")
      for shape in ("plain", "tiny", "beats", "narrow")),
    *(Run("unit", {"shape": shape}) for shape in ("tiny", "beats")),
    *(Replay(f"{room}/test_{block}.py") for room, blocks in _BLOCKS.items() for block in blocks),
)
"""All of them."""

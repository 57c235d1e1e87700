"""The benches whose runs are counted, and what a run leaves."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caesura.cache import cache_directory, digest, read_packed, write_packed
from caesura.sim.cocotb.build import program
from caesura.sim.cocotb.run import BenchError, exported, simulate
from support.checkout import ROOT, source
from support.sources import closure

from .points import Point, points

__all__ = ["RUNS", "Run", "bench_texts"]


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

    def points(self) -> list[Point]:
        """Return what was counted, from the cache if the same was run before.

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
            with tempfile.TemporaryDirectory(prefix="caesura-coverage-") as folder:
                target = Path(folder) / "coverage.dat"
                outcome = simulate(program(text, name, coverage=True), self.module, self.parameters, seed=self.seed,
                                   keep={"coverage.dat": target})
                if outcome.failed or not outcome.passed:
                    raise BenchError(f"{self}: {', '.join(outcome.failed) or 'no test'} failed\n{outcome.log[-2000:]}")
                counted = target.read_text(encoding="latin-1")
            write_packed(kept, counted)
        return list(points(text, counted.splitlines()))


def bench_texts(bench: str) -> list[str]:
    """Return the sources that decide what a bench of `support.benches` does, besides the block."""
    path = ROOT / "tests" / "support" / "benches" / f"{bench}.py"
    deciding = ROOT / "tests" / "support", source("sim/cocotb"), source("hw/arch")
    return [file.read_text() for file in sorted({path, *closure(path)})
            if any(folder in file.parents for folder in deciding)]


def _sizes(bench: str, *sizes: tuple[int, int], **more: Any) -> list[Run]:
    return [Run(bench, {"warp": warp, "lanes": lanes, **more}) for warp, lanes in sizes]


SIZES = (16, 4), (32, 32), (32, 8)
RUNS: Sequence[Run] = (
    Run("packer", {"size": 4, "most": 4}), Run("packer", {"size": 8, "most": 8}),
    *_sizes("compressor", *SIZES), *_sizes("encoder", *SIZES), *_sizes("tb_compressor", (8, 8)),
    *_sizes("decoder", *SIZES, name="decompressor"), *_sizes("decoder", *SIZES, name="group_decoder"),
    *(Run(pipeline, {"shape": shape}) for pipeline in ("save", "restore")
      for shape in ("plain", "tiny", "beats", "narrow")),
    *(Run("unit", {"shape": shape}) for shape in ("tiny", "beats")),
)
"""All of them, the short ones first."""

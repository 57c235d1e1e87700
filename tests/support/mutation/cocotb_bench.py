"""A bench of exported SystemVerilog, run with faults in its block."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

from amaranth.lib import wiring

from caesura.sim.cocotb.build import program
from caesura.sim.cocotb.run import BenchError, Outcome, simulate
from support.coverage.runs import bench_texts

from .planting import Mutated

__all__ = ["CocotbBench"]

_TIME = re.compile(r"\bPASS +(\d+\.\d+)")


@dataclass(frozen=True)
class CocotbBench:
    """A bench of `support.benches`.

    Attributes
    ----------
    name : str
        Name of its module.
    parameters : dict
    tests : str, optional
        A regular expression; only tests whose names it matches are run.
    """

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    tests: str | None = None
    batch: ClassVar[int] = 10
    """Faults of one simulation."""

    @property
    def _module(self) -> str:
        return f"support.benches.{self.name}"

    def component(self) -> wiring.Component:
        """Return the block."""
        return importlib.import_module(self._module).block(**self.parameters)

    def texts(self) -> list[str]:
        """Return what decides what it does, besides the block."""
        return [*bench_texts(self.name), str(self.parameters), str(self.tests)]

    def limit(self, mutated: Mutated, seed: int) -> int:
        """Return how long a test may take with a fault, in nanoseconds: twice what the longest takes without.

        Raises
        ------
        BenchError
            If a test fails without a fault.
        """
        outcome = self._run(mutated, [0], 1 << 40, seed)
        if outcome.failed or not outcome.passed:
            raise BenchError(f"{self.name} fails without a fault:\n{outcome.log[-2000:]}")
        return 2 * int(max(float(time) for time in _TIME.findall(outcome.log))) + 1000

    def caught(self, mutated: Mutated, numbers: list[int], limit: int, seed: int) -> set[int]:
        """Return which of some faults it notices: a test fails, or does not end in time."""
        try:
            outcome = self._run(mutated, numbers, limit, seed)
        except BenchError:  # the simulation has died of one of them
            if len(numbers) == 1:
                return set(numbers)
            return {number for each in numbers for number in self.caught(mutated, [each], limit, seed)}
        failed = {int(name.rpartition("__")[2]) for name in outcome.failed}
        passed = {int(name.rpartition("__")[2]) for name in outcome.passed}
        return failed | (set(numbers) - passed)

    def _run(self, mutated: Mutated, numbers: list[int], limit: int, seed: int) -> Outcome:
        binary = program(mutated.text, f"{self.name} with faults")
        return simulate(binary, "support.mutation.batch", seed=seed, parameters={
            **self.parameters, "bench": self._module, "faults": numbers, "limit": limit, "tests": self.tests})

"""A campaign on a block: each fault is simulated with the bench; of those that pass unseen it is asked whether they can
be seen."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from caesura.cache import cache_directory, digest, write_atomically
from caesura.sim.cocotb.build import program
from caesura.sim.cocotb.run import BenchError, Outcome, simulate
from support.coverage.runs import bench_texts

from .equivalence import Verdict, equivalent
from .planting import SELECT, Fault, Mutated, planted
from .targets import Target

__all__ = ["Result", "campaign"]

CAUGHT = "caught"
_TIME = re.compile(r"\bPASS +(\d+\.\d+)")
_PERIOD = 10
"""Nanoseconds of a cycle (`caesura.sim.cocotb.Bench`)."""


@dataclass(frozen=True)
class Result:
    """How a campaign went.

    Attributes
    ----------
    target : Target
    faults : tuple of Fault
    fates : tuple of str
        Of each fault: `CAUGHT`, or the value of a `Verdict`.
    """

    target: Target
    faults: tuple[Fault, ...]
    fates: tuple[str, ...]

    def count(self, fate: str) -> int:
        """Return how many faults have a fate."""
        return self.fates.count(fate)

    @property
    def survivors(self) -> list[tuple[Fault, str]]:
        """Faults that were not noticed and not proved equivalent, with what is known of each."""
        return [(fault, fate) for fault, fate in zip(self.faults, self.fates, strict=True)
                if fate not in (CAUGHT, Verdict.PROVED.value)]

    @property
    def share(self) -> float:
        """Caught faults among those that are not proved equivalent."""
        asked = len(self.faults) - self.count(Verdict.PROVED.value)
        return self.count(CAUGHT) / asked if asked else 1.0


def campaign(target: Target, count: int | None = None, report: Callable[[str, str], None] = lambda text, detail: None
             ) -> Result:
    """Return the fates of a target's faults, or of as many as asked; what was found before is in the cache.

    Raises
    ------
    BenchError
        If the bench fails without a fault.
    """
    component = target.component()
    mutated = planted(component, count or target.count, target.seed)
    texts = [mutated.text, *bench_texts(), json.dumps(target.parameters, sort_keys=True), str(target.seed),
             str(target.tests)]
    binary = program(mutated.text, f"{target.name} with faults")
    noticed = _Kept(f"noticed-{digest(texts)}")
    limit = noticed.get("limit", lambda: _cycles(simulate(
        binary, target.module, target.parameters, seed=target.seed, tests=target.tests), target) * 2 + 1000)
    verdicts = _Kept(f"proved-{digest([mutated.rtlil, *_proof_texts()])}")
    fates = []
    for fault in mutated.faults:
        report(f"faults of the {target.name}", f"{fault.number} of {len(mutated.faults)}")
        caught = noticed.get(str(fault.number), lambda fault=fault: _caught(target, binary, fault, limit))
        fates.append(CAUGHT if caught else verdicts.get(
            str(fault.number), lambda fault=fault: _verdict(target, mutated, fault)))
    return Result(target, mutated.faults, tuple(fates))


def _verdict(target: Target, mutated: Mutated, fault: Fault) -> str:
    return equivalent(target.component(), mutated, fault.number, target.contract).value


def _caught(target: Target, binary, fault: Fault, limit: int) -> bool:
    """Return whether the bench fails, or does not end within its limit."""
    try:
        outcome = simulate(binary, target.module, target.parameters, seed=target.seed, tests=target.tests,
                           plusargs=[f"+{SELECT}={fault.number}", f"+limit={limit}"])
    except BenchError:
        return True
    return bool(outcome.failed) or not outcome.passed


def _cycles(outcome: Outcome, target: Target) -> int:
    """Return how many cycles a run without a fault has taken."""
    if outcome.failed or not outcome.passed:
        raise BenchError(f"{target.name}: fails without a fault: {', '.join(outcome.failed)}\n{outcome.log[-2000:]}")
    return int(sum(float(time) for time in _TIME.findall(outcome.log))) // _PERIOD


def _proof_texts() -> list[str]:
    from . import equivalence, targets

    return [open(str(module.__file__)).read() for module in (equivalence, targets)]


class _Kept:
    """A small file of the cache: answers by name, written as they come, so that a campaign goes on where it stopped."""

    def __init__(self, name: str):
        self._path = cache_directory() / "mutation" / f"{name}.json"
        self._answers = json.loads(self._path.read_text()) if self._path.exists() else {}

    def get(self, name: str, find: Callable[[], object]):
        """Return an answer, found now if it was not before."""
        if name not in self._answers:
            self._answers[name] = find()
            write_atomically(self._path, json.dumps(self._answers))
        return self._answers[name]

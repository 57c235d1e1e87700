"""A campaign on a block: each fault is simulated with the bench; of those that pass unseen it is asked whether they can
be seen."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caesura.cache import cache_directory, digest, write_atomically
from caesura.hw.export.verilog import ExportError

from .equivalence import Verdict, equivalent
from .one_step import OneStep
from .planting import Fault, Mutated, planted
from .targets import Target

__all__ = ["Result", "campaign"]

CAUGHT = "caught"


@dataclass(frozen=True)
class Result:
    """How a campaign went.

    Attributes
    ----------
    target : Target
    faults : tuple of Fault
    fates : tuple of str
        Fate of each fault: `CAUGHT`, or the value of a `Verdict`.
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
    mutated = planted(target.bench.component(), count or target.count, target.seed, target.without)
    noticed = _noticed(target, mutated, report)
    verdicts = _Kept("proved", [mutated.rtlil, *_proof_texts()])
    prover = _Prover(target, mutated)
    fates = []
    for fault in mutated.faults:
        report(f"what is not noticed of the {target.name}", f"{fault.number} of {len(mutated.faults)}")
        fates.append(CAUGHT if noticed[str(fault.number)] else verdicts.get(
            str(fault.number), lambda fault=fault: prover.verdict(fault).value))
    return Result(target, mutated.faults, tuple(fates))


def _noticed(target: Target, mutated: Mutated, report: Callable[[str, str], None]) -> _Kept:
    """Return for the number of each fault whether the bench notices it."""
    bench, seed = target.bench, target.seed
    kept = _Kept("noticed", [mutated.text, *bench.texts(), str(seed)])
    for first in range(0, len(mutated.faults), bench.batch):
        numbers = [fault.number for fault in mutated.faults[first:first + bench.batch]]
        report(f"faults of the {target.name}", f"{first} of {len(mutated.faults)}")
        if any(str(number) not in kept for number in numbers):
            limit = kept.get("limit", lambda: bench.limit(mutated, seed))
            found = bench.caught(mutated, numbers, limit, seed)
            kept.update({str(number): number in found for number in numbers})
    return kept


class _Prover:
    """Proves facts about a target's faults: for all times; or, if that is not decided, within one cycle."""

    def __init__(self, target: Target, mutated: Mutated):
        self._target, self._mutated = target, mutated
        self._one_step = functools.cache(lambda: OneStep(mutated.rtlil))

    def verdict(self, fault: Fault) -> Verdict:
        if self._target.contract is None:
            return self._one_step().equivalent(fault.number)
        found = Verdict.UNDECIDED
        with contextlib.suppress(ExportError):  # Yosys cannot prepare the two of them
            found = equivalent(self._target.bench.component(), self._mutated, fault.number, self._target.contract)
            if found is Verdict.UNDECIDED:  # what never shows within a cycle never does
                found = self._one_step().equivalent(fault.number)
        return found


def _proof_texts() -> list[str]:
    """Return the sources that decide what a proof says."""
    return [Path(__file__).with_name(f"{name}.py").read_text()
            for name in ("campaign", "equivalence", "contracts", "one_step")]


class _Kept:
    """A small file of the cache: answers by name, written as they come, so that a campaign goes on where it stopped."""

    def __init__(self, name: str, texts: Sequence[str]):
        self._path = cache_directory() / "mutation" / f"{name}-{digest(texts)}.json"
        self._answers = json.loads(self._path.read_text()) if self._path.exists() else {}

    def __contains__(self, name: str) -> bool:
        return name in self._answers

    def __getitem__(self, name: str) -> Any:
        return self._answers[name]

    def update(self, answers: dict[str, Any]) -> None:
        """Add answers."""
        self._answers |= answers
        write_atomically(self._path, json.dumps(self._answers))

    def get(self, name: str, find: Callable[[], Any]) -> Any:
        """Return an answer, found now if it was not before."""
        if name not in self._answers:
            self.update({name: find()})
        return self._answers[name]

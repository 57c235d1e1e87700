"""Properties of blocks: the claim, the method of proof, and the faults that the prover has to find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from caesura.hw.formal.prover import Outcome, Status, prove

from .faults import Fault, planted
from .harness import Harness

__all__ = ["Property"]


@dataclass(frozen=True)
class Property:
    """A claim about a block.

    Attributes
    ----------
    name : str
        Name of its group and its own name, with a slash between.
    claim : str
        Claim, in a sentence or two.
    bench : callable
        Returns a new bench, with the block in it.
    depth : int
        Cycles of induction, or cycles checked after a reset.
    bounded : bool
        Whether later cycles are not proved.
    faults : tuple of Fault
        Faults; with each of them alone, the prover finds a wrong run from reset.
    fault_depth : int
        Most cycles of such a run.
    short : bool
        Whether `make test` proves it.
    timeout : int
        Seconds.
    defect : str
        Reason why it does not hold; empty if it holds.
    """

    name: str
    claim: str
    bench: Callable[[], Harness]
    depth: int = 1
    bounded: bool = False
    faults: tuple[Fault, ...] = ()
    fault_depth: int = 8
    short: bool = False
    timeout: int = 300
    defect: str = ""

    @property
    def expected(self) -> Status:
        """The status that its proof has."""
        return Status.BOUNDED if self.bounded else Status.PROVED

    @property
    def status(self) -> str:
        """The same in words."""
        if self.defect:
            return f"does not hold: {self.defect}"
        return f"bounded to {self.depth} cycles" if self.bounded else "proved by induction"

    def prove(self, trace: Path | None = None) -> Outcome:
        """Return the result of the prover."""
        return prove(self.bench(), self.depth, induction=not self.bounded, timeout=self.timeout, trace=trace)

    def refute(self, fault: Fault, trace: Path | None = None) -> Outcome:
        """Return the result of the prover for the block with a fault."""
        with planted(fault):
            bench = self.bench()
            return prove(bench, self.fault_depth, induction=False, timeout=self.timeout, trace=trace)

"""What is proved of a block, how, and which faults the prover has to find."""

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
        Its group and its own, with a slash between.
    claim : str
        What holds, a sentence or two.
    bench : callable
        Returns a new bench, with the block in it.
    depth : int
        Cycles of induction, or those that are looked at after a reset.
    bounded : bool
        Nothing is said of later cycles.
    faults : tuple of Fault
        With each of them, alone, the prover finds a run from reset that is wrong.
    fault_depth : int
        Cycles of such a run at most.
    short : bool
        `make test` proves it.
    timeout : int
        Seconds.
    defect : str
        Why it does not hold, if it does not.
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
        """Return what the prover says."""
        return prove(self.bench(), self.depth, induction=not self.bounded, timeout=self.timeout, trace=trace)

    def refute(self, fault: Fault, trace: Path | None = None) -> Outcome:
        """Return what the prover says of the block with a fault."""
        with planted(fault):
            bench = self.bench()
            return prove(bench, self.fault_depth, induction=False, timeout=self.timeout, trace=trace)

"""What the counters say of a preempt, a checkpoint or a resume."""

from __future__ import annotations

from dataclasses import dataclass

from caesura.hw.arch.switch_cost import SwitchCost
from caesura.hw.arch.waiting import UNLIMITED
from caesura.hw.arch.way import Way

__all__ = ["PreemptReport", "ResumeReport"]


@dataclass(frozen=True)
class PreemptReport:
    """What the counters say of a preempt or a checkpoint; cycles are of the core clock.

    There is one set of counters, of the preempt that was carried out last. Where that may have been another launch's
    `counted` is False, and all that counters say is None. What hardware queues preempt is not noticed.

    Attributes
    ----------
    way : hw.arch.way.Way
        How it was carried out. Its patience is what was given or the default, after which warps stopped where they
        were; what they had outstanding then is drain too. It is None if warps do not wait for preemption points.
    save_cycles : int
        Preemption latency: from the request, or the end of its grace, until the SM's resources are free; of a
        checkpoint, until all TBs run on.
    drain_cycles : int
        Part of it in which no save traffic flows because warps still run.
    data_bytes, metadata_bytes : int
        Written.
    registers, lines, tbs, warps : int
        Saved.
    occupied_bytes : int
        Registers and shared memory the saved TBs had allocated.
    grace_cycles : int
        How many cycles TBs took of their grace.
    counted : bool
        The counters are of this preempt.
    """

    way: Way
    save_cycles: int
    drain_cycles: int
    data_bytes: int
    metadata_bytes: int
    registers: int
    lines: int
    tbs: int
    warps: int
    occupied_bytes: int
    grace_cycles: int = 0
    counted: bool = True

    @property
    def saved_bytes(self) -> int:
        """Written: data and metadata."""
        return self.data_bytes + self.metadata_bytes

    @property
    def cost(self) -> SwitchCost | None:
        """The cost; None if the counters are of another command."""
        return SwitchCost(self.save_cycles, self.tbs, self.saved_bytes) if self.counted else None

    @property
    def patience_over(self) -> bool | None:
        """Warps that had not come to a preemption point within the patience were stopped where they were; None if it is
        not known."""
        patience = self.way.patience
        if patience is None or patience == UNLIMITED:
            return False
        return self.drain_cycles >= int(patience) if self.counted else None


@dataclass(frozen=True)
class ResumeReport:
    """What the counters say of a resume; None, and `counted` False, if another launch was resumed at the same time.

    Attributes
    ----------
    restore_cycles : int
        From the request until all TBs run.
    resume_cycles : int
        From the request until the first instruction issued.
    bytes : int
        Read.
    counted : bool
        The counters are of this resume.
    """

    restore_cycles: int
    resume_cycles: int
    bytes: int
    counted: bool = True

    @property
    def cost(self) -> SwitchCost | None:
        """The cost; None if the counters are of another command."""
        return SwitchCost(self.restore_cycles) if self.counted else None

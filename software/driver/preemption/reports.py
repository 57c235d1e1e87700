"""Reports of a preempt, a checkpoint or a resume, from the counters."""

from __future__ import annotations

from dataclasses import dataclass

from caesura.hw.arch.switch_cost import SwitchCost
from caesura.hw.arch.waiting import UNLIMITED
from caesura.hw.arch.way import Way

__all__ = ["PreemptReport", "ResumeReport"]


@dataclass(frozen=True)
class PreemptReport:
    """The counters of a preempt or a checkpoint; cycles are cycles of the core clock.

    One set of counters exists, for the preempt carried out last. If that preempt may belong to another launch,
    `counted` is False, and all counter values are None. Preempts by hardware queues are not noticed.

    Attributes
    ----------
    way : hw.arch.way.Way
        Way in which it was carried out. Its patience is the given or the default one. Warps stopped where they were
        after it, and the time of their outstanding work counts as drain too. It is None if warps do not wait for
        preemption points.
    save_cycles : int
        Preemption latency: the cycles from the request, or the end of its grace, until the SM's resources are free.
        For a checkpoint it ends when all TBs run on.
    drain_cycles : int
        Part of `save_cycles` in which no save traffic flows because warps still run.
    data_bytes, metadata_bytes : int
        Bytes written.
    registers, lines, tbs, warps : int
        Numbers of saved items.
    occupied_bytes : int
        Bytes of registers and shared memory that the saved TBs had allocated.
    grace_cycles : int
        Cycles of grace that TBs used.
    counted : bool
        Whether the counters belong to this preempt.
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
        """Bytes written: data and metadata."""
        return self.data_bytes + self.metadata_bytes

    @property
    def cost(self) -> SwitchCost | None:
        """The cost; None if the counters belong to another command."""
        return SwitchCost(self.save_cycles, self.tbs, self.saved_bytes) if self.counted else None

    @property
    def patience_over(self) -> bool | None:
        """Whether warps were stopped because they had not reached a preemption point within the patience; None if not
        known."""
        patience = self.way.patience
        if patience is None or patience == UNLIMITED:
            return False
        return self.drain_cycles >= int(patience) if self.counted else None


@dataclass(frozen=True)
class ResumeReport:
    """The counters of a resume. They are None, and `counted` is False, if another launch was resumed at the same time.

    Attributes
    ----------
    restore_cycles : int
        Cycles from the request until all TBs run.
    resume_cycles : int
        Cycles from the request until the first instruction issued.
    bytes : int
        Bytes read.
    counted : bool
        Whether the counters belong to this resume.
    """

    restore_cycles: int
    resume_cycles: int
    bytes: int
    counted: bool = True

    @property
    def cost(self) -> SwitchCost | None:
        """The cost; None if the counters belong to another command."""
        return SwitchCost(self.restore_cycles) if self.counted else None

"""The cost of taking thread blocks (TBs) off an SM, or of bringing them back."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SwitchCost"]


@dataclass(frozen=True)
class SwitchCost:
    """The cost of a preempt, a checkpoint or a resume.

    Attributes
    ----------
    cycles : int
        A preempt counts from the request, or the end of its grace, until the SM's resources are
        free; a checkpoint until all TBs run on; a resume until all TBs run.
    tbs : int
        TBs saved; 0 of a resume.
    saved_bytes : int
        Bytes written, data and metadata; 0 of a resume, and on a machine that does not know them.
    """

    cycles: int
    tbs: int = 0
    saved_bytes: int = 0

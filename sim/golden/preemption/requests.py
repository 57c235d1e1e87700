"""Preempts and resumes that were asked for, and how a command ends."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.way import Way

from ..execution import Execution
from ..in_place import Newcomer
from ..state.kernel import Kernel
from ..state.staying import Stay

__all__ = ["Preempt", "Resume", "tell"]


@dataclass(eq=False)
class Preempt:
    """A preempt whose TBs have grace, or that waits for the one in hand, or is in hand."""

    kernel: Kernel
    way: Way
    random: np.random.Generator | None  # of a way with `scramble`
    began: int
    deadline: int | None  # the last cycle of its grace, if it has one
    spared: int  # a vector of entries
    newcomer: Newcomer | None
    grace_used: int = 0
    at_once: bool = False  # warps were told to stop at their next instruction
    stay: dict[int, Stay] = field(default_factory=dict)  # by entry, what is to stay
    drained: int = 0  # a vector of entries whose TBs have the grace, once the others are saved
    selects: bool = False  # its first pass, without them, is still to end
    again: bool = False  # others of its TBs have been saved before


@dataclass
class Resume:
    """A resume that is to be carried out, or waits for room."""

    kernel: Kernel
    scramble: np.random.Generator | None
    began: int
    entries: list[int]  # whose TBs are still to come back


def tell(machine: Execution, kernel: Kernel, error: CommandError, event: str) -> None:
    """End a preempt, a resume or an adoption of a kernel."""
    kernel.error = error
    machine.raise_event(event)

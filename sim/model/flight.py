"""A work of the model that has a kernel slot."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import simpy

from caesura.hw.arch.geometry import SEGMENT_BYTES, Geometry
from caesura.software.sched import Submission

from .costs import KernelCosts
from .residents import Sm, Tb

__all__ = ["Flight"]

_NUMBERS = itertools.count()


@dataclass(eq=False)
class Flight:
    """A work with a kernel slot.

    Attributes
    ----------
    signal : Submission
    costs : KernelCosts
    footprint : tuple of int
        Register rows and shared-memory lines of a TB.
    total, fresh, ended : int
        Number of TBs of the grid, of those that have not begun, and of those that have ended.
    sms : list of Sm
        SMs on which it may run.
    begun : bool
        The start command was given.
    held : bool
        No fresh TBs begin, because it is preempted or a preempt is under way.
    saved : dict of Tb to Sm
        Preempted TBs, with the SM to which each returns.
    warm : set of Sm
        SMs on which one of its TBs has ended.
    over : bool
        It has finished or was killed.
    number : int
        Position in the order of starts; works take turns in this order.
    process : simpy.Process or None
        Process of the command that is under way.
    """

    signal: Submission
    costs: KernelCosts
    footprint: tuple[int, int]
    total: int
    sms: list[Sm]
    fresh: int = -1
    ended: int = 0
    begun: bool = False
    held: bool = False
    over: bool = False
    saved: dict[Tb, Sm] = field(default_factory=dict)
    warm: set[Sm] = field(default_factory=set)
    drained: simpy.Event | None = None
    process: simpy.Process | None = None
    commands: int = 0
    number: int = field(default_factory=lambda: next(_NUMBERS))

    def __post_init__(self):
        if self.fresh < 0:
            self.fresh = self.total

    @property
    def launches(self) -> bool:
        """Fresh TBs of it may begin."""
        return self.begun and not self.held and not self.over and self.fresh > 0

    def on(self, sm: Sm) -> list[Tb]:
        """Return its TBs on an SM, the oldest first."""
        return [tb for tb in sm.tbs if tb.launch is self]

    def occupied_tb_bytes(self, g: Geometry) -> int:
        """Bytes of registers and shared memory of a TB."""
        return self.costs.warps * self.costs.registers * g.vector_bytes + self.footprint[1] * SEGMENT_BYTES

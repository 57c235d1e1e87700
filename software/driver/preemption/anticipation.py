"""Prepares an announced preempt: it saves bases of the thread blocks that will be on the SM then (PEP III-D)."""

from __future__ import annotations

from dataclasses import dataclass

from caesura.hw.arch.way import Way

from ..launch.arguments import whole_number
from ..launch.launch import Launch
from ..time.simulated_time import SimulatedTime
from .estimate import TbEstimate
from .preempt_options import check_machine
from .preemption import Preemption
from .reports import PreemptReport

__all__ = ["SETTLED_INSTRUCTIONS", "Anticipation", "Anticipator"]

SETTLED_INSTRUCTIONS = 1_000
"""Warp instructions after which a thread block that began after the announcement is saved (PEP III-D)."""
LOOKS = 32
"""The largest number of looks at the thread blocks until the preempt is due."""


@dataclass(frozen=True)
class Anticipation:
    """The results of the time between the announcement of a preempt and its due time.

    Attributes
    ----------
    checkpoints : tuple of PreemptReport
        Reports of the checkpoints, in their order.
    saved, spared : tuple of int
        Launch ids of the thread blocks on the SM at the end: those with a base, and those without, which were about to
        end or had just begun. Empty if the launch has finished.
    cycles : int
        Cycles passed; more than announced if a checkpoint took longer.
    """

    checkpoints: tuple[PreemptReport, ...]
    saved: tuple[int, ...]
    spared: tuple[int, ...]
    cycles: int


class Anticipator:
    """Saves bases of launches before they are preempted.

    Parameters
    ----------
    preemption : Preemption
    time : SimulatedTime
    """

    def __init__(self, preemption: Preemption, time: SimulatedTime):
        self._preemption, self._time = preemption, time

    def anticipate(self, launch: Launch, cycles: int, way: Way, *, settled: int, max_cycles: int) -> Anticipation:
        """Let a launch run until the preempt is due, and save bases with `checkpoint`; see `Device.anticipate`."""
        announced, settled = whole_number(cycles, "cycles"), whole_number(settled, "settled")
        limit = whole_number(max_cycles, "max_cycles")
        check_machine(launch.device.geometry, way)
        clock = launch.device.transport
        start, step = clock.cycle, -(-announced // LOOKS)
        reports: list[PreemptReport] = []
        saved: set[int] = set()
        known: set[int] | None = None
        while not launch.finished and (left := start + announced - clock.cycle) > 0:
            estimate = self._preemption.estimate(launch)
            known = {tb.launch_id for tb in estimate.tbs} if known is None else known
            due = [tb.launch_id for tb in estimate.tbs
                   if tb.launch_id not in saved and (tb.launch_id in known or tb.instructions >= settled)
                   and _outlasts(tb, max(left, estimate.switch_cycles))]
            if due:
                self._preemption.begin_preempt(launch, way, due)
                if report := self._preemption.finish_preempt(launch, limit):
                    reports.append(report)
                    saved |= {*due}
            else:
                self._time.run(launch, min(step, left))
        resident = [] if launch.finished else self._preemption.resident_tbs(launch)
        return Anticipation(tuple(reports), tuple(tb for tb in resident if tb in saved),
                            tuple(tb for tb in resident if tb not in saved), clock.cycle - start)


def _outlasts(tb: TbEstimate, cycles: int) -> bool:
    """Return whether a TB will still be there. A TB without an estimate is assumed to last long."""
    return tb.cycles_left is None or tb.cycles_left > cycles

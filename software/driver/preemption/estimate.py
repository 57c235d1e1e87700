"""Estimates of how long a launch would hold the SM after a preempt: drained, or switched.

The SM counts the time of thread blocks that ran from beginning to end, and the progress of those that it holds
(`hw/dispatch/tb_profile.py`). Two estimates of the remaining time of a thread block follow from these counts. One is
the mean time of those that have ended, minus the time that it has taken (PEP III-B). The other is the number of
remaining instructions at its own pace so far (Chimera).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..launch.inspection import Inspection, TbAge
from ..launch.launch import Launch
from ..launch.profile import profile
from ..machine.errors import DriverError
from ..machine.host_interface import HostInterface

__all__ = ["Estimate", "TbEstimate", "Estimator"]


@dataclass(frozen=True)
class TbEstimate:
    """The estimate of the remaining time of a thread block on the SM.

    Attributes
    ----------
    launch_id : int
    cycles, instructions : int
        Cycles and warp instructions since the thread block began, or came back from memory.
    whole : bool
        Whether it began on the SM. Otherwise both counts start at its return, and less remains than estimated.
    by_time, by_pace : int or None
        Cycles left, by the mean time of others (PEP), and by its own pace (Chimera); None if not known.
    """

    launch_id: int
    cycles: int
    instructions: int
    whole: bool
    by_time: int | None
    by_pace: int | None

    @property
    def cycles_left(self) -> int | None:
        """Cycles left by the mean time of others, or by its own pace while none has ended."""
        return self.by_pace if self.by_time is None else self.by_time


@dataclass(frozen=True)
class Estimate:
    """How long a launch would hold the SM, in cycles.

    Attributes
    ----------
    tbs : tuple of TbEstimate
        Estimates of the thread blocks on the SM, the oldest first.
    tb_cycles, tb_instructions : float or None
        Means over the thread blocks that have ended; the instructions may be those of an earlier launch.
    switch_cycles : int
        Time of a preempt with `occupied`, the worst case. It is the bus time for everything that the thread blocks have
        allocated, plus one answer of the memory (PEP III-B).
    """

    tbs: tuple[TbEstimate, ...]
    tb_cycles: float | None
    tb_instructions: float | None
    switch_cycles: int

    @property
    def drain_cycles(self) -> int | None:
        """Cycles until the last thread block on the SM has ended; None if the time of one is not known."""
        return _longest([tb.cycles_left for tb in self.tbs])

    @property
    def drain_cycles_by_pace(self) -> int | None:
        """The same time as Chimera estimates it."""
        return _longest([tb.by_pace for tb in self.tbs])


def _longest(left: list[int | None]) -> int | None:
    known = [cycles for cycles in left if cycles is not None]
    return max(known, default=0) if len(known) == len(left) else None


class Estimator:
    """Reads the counts of the SMs.

    Parameters
    ----------
    host : HostInterface
    inspection : Inspection
    """

    def __init__(self, host: HostInterface, inspection: Inspection):
        self._host, self._inspection = host, inspection

    def estimate(self, launch: Launch) -> Estimate:
        """Return the estimate of a launch; see `Device.estimate`."""
        g = self._host.geometry
        if not g.profile:
            raise DriverError(f"this machine ({g.name}) does not count what thread blocks take: its geometry says "
                              "profile = false; take one without that line")
        tbs, cycles, instructions = profile(self._host, launch.slot, "tbs", "cycles", "instructions")
        known = launch.kernel.tb_instructions
        if tbs:
            known[launch.block] = instructions / tbs
        usual = known.get(launch.block)
        time = cycles / tbs if tbs else None
        ages = self._inspection.ages(launch.slot)
        now = self._host.read("cycle_low")
        bus = len(ages) * launch.occupied_tb_bytes / g.bytes_per_cycle
        left = tuple(_left(tb, age, now - age.at & 0xFFFF_FFFF, time, usual) for tb, age in ages.items())
        return Estimate(left, time, usual, int(bus) + g.memory_latency if ages else 0)


def _left(launch_id: int, age: TbAge, since: int, time: float | None, instructions: float | None) -> TbEstimate:
    """Return the estimate of a TB that was looked at `since` cycles ago."""
    cycles = age.cycles + since
    by_time = None if time is None else max(round(time) - cycles, 0)
    by_pace = None
    if instructions is not None and age.instructions:
        left = max(instructions - age.instructions, 0) * age.cycles / age.instructions
        by_pace = max(round(left) - since, 0)
    return TbEstimate(launch_id, cycles, age.instructions, age.whole, by_time, by_pace)

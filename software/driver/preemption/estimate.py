"""Estimates of how long a launch would hold the SM after a preempt: drained, or switched.

The SM counts what thread blocks take from their beginning to their end, and how far those are that it holds
(`hw/dispatch/tb_profile.py`). From that two estimates of what is left of a thread block are made: the mean time of
those that have ended, less what it has taken (PEP III-B); and the instructions that are left, at the pace it has had
(Chimera).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..launch.inspection import Inspection, TbAge
from ..launch.launch import Launch
from ..machine.errors import DriverError
from ..machine.host_interface import HostInterface

__all__ = ["Estimate", "TbEstimate", "Estimator"]


@dataclass(frozen=True)
class TbEstimate:
    """What is left of a thread block on the SM.

    Attributes
    ----------
    launch_id : int
    cycles, instructions : int
        Since it began, or came back from memory; warp instructions.
    whole : bool
        It began on the SM. Otherwise both count from its return, and what is left is less than estimated.
    by_time, by_pace : int or None
        Cycles left, by the mean time of others (PEP), and by its own pace (Chimera); None if it cannot be known.
    """

    launch_id: int
    cycles: int
    instructions: int
    whole: bool
    by_time: int | None
    by_pace: int | None

    @property
    def cycles_left(self) -> int | None:
        """By the mean time of others, by its own pace while none has ended."""
        return self.by_pace if self.by_time is None else self.by_time


@dataclass(frozen=True)
class Estimate:
    """How long a launch would hold the SM, in cycles.

    Attributes
    ----------
    tbs : tuple of TbEstimate
        Those on the SM, the oldest first.
    tb_cycles, tb_instructions : float or None
        Mean of the thread blocks that have ended; the instructions may be those of an earlier launch.
    switch_cycles : int
        Preempt with `occupied`, the worst case: all that the thread blocks have allocated, at the pace of the bus, and
        one answer of the memory (PEP III-B).
    """

    tbs: tuple[TbEstimate, ...]
    tb_cycles: float | None
    tb_instructions: float | None
    switch_cycles: int

    @property
    def drain_cycles(self) -> int | None:
        """Until the last thread block on the SM has ended; None if of one it cannot be known."""
        return _longest([tb.cycles_left for tb in self.tbs])

    @property
    def drain_cycles_by_pace(self) -> int | None:
        """The same, as Chimera estimates it."""
        return _longest([tb.by_pace for tb in self.tbs])


def _longest(left: list[int | None]) -> int | None:
    known = [cycles for cycles in left if cycles is not None]
    return max(known, default=0) if len(known) == len(left) else None


class Estimator:
    """Reads what the SM has counted.

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
        tbs, cycles, instructions = (sum(counts) for counts in zip(*(
            self._profile(sm, launch.slot) for sm in range(g.sms)), strict=True))
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


    def _profile(self, sm: int, slot: int) -> list[int]:
        """Return what an SM has counted of the TBs that have ended."""
        with self._host.of_sm(sm):
            return [self._host.read(f"kernel[{slot}].profile_{name}") for name in ("tbs", "cycles", "instructions")]


def _left(launch_id: int, age: TbAge, since: int, time: float | None, instructions: float | None) -> TbEstimate:
    """Return the estimate of a TB, `since` cycles after it was looked at."""
    cycles = age.cycles + since
    by_time = None if time is None else max(round(time) - cycles, 0)
    by_pace = None
    if instructions is not None and age.instructions:
        left = max(instructions - age.instructions, 0) * age.cycles / age.instructions
        by_pace = max(round(left) - since, 0)
    return TbEstimate(launch_id, cycles, age.instructions, age.whole, by_time, by_pace)

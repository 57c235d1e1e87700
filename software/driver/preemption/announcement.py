"""Announces launches to the machine, which prepares for them by itself (PEP III-D)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.image.context import Capability
from caesura.hw.arch.proactive import UNKNOWN, Case
from caesura.hw.arch.waiting import WANTED, waiting_cycles
from caesura.hw.arch.way import Way

from ..launch.arguments import whole_number
from ..launch.launch import Launch
from ..launch.launcher import Launcher
from ..machine.errors import DriverError
from ..machine.lock import FairLock, whole
from .patience import default_patience
from .preempt_options import check_machine

__all__ = ["AnnouncementCounts", "Announcer"]

MOST_CYCLES = UNKNOWN - 1
"""Cycles that a prediction can have."""


@dataclass(frozen=True)
class AnnouncementCounts:
    """Results of announcements since the machine was reset, on all SMs.

    Attributes
    ----------
    cases : dict of Case to int
        Thread blocks on the SMs when an announced launch arrived.
    bases, bases_wasted : int
        Thread blocks saved as bases; those of them that ended before the launch arrived.
    base_cycles : int
        Cycles in which bases were saved.
    """

    cases: dict[Case, int]
    bases: int
    bases_wasted: int
    base_cycles: int


class Announcer:
    """Writes the registers of announcements.

    Parameters
    ----------
    launcher : Launcher
    """

    def __init__(self, launcher: Launcher):
        self._launcher, self._host = launcher, launcher.host

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        return self._host.lock

    @whole
    def announce(self, victims: Sequence[Launch], cycles: int, way: Way, expiry: int | str, run_on: bool) -> None:
        """Announce a launch; see `Device.announce`."""
        predicted = whole_number(cycles, "cycles")
        if predicted > MOST_CYCLES:
            raise DriverError(f"cycles must be at most {MOST_CYCLES}, not {cycles}; predict a nearer arrival")
        if (lasts := waiting_cycles(expiry)) is None:
            raise DriverError(f"expiry {expiry!r}: {WANTED}")
        self._check()
        check_machine(self._host.geometry, way)
        if not victims:
            raise DriverError("victims: no launch is to give way; name one, or `withdraw`")
        for launch in victims:
            self._launcher.check_own(launch)
            if launch.ended:
                raise DriverError(f"kernel {launch.kernel.image.name!r} has ended, and gives way already; leave it out")
        if way.mechanism.has(Capability.STOPS_AT_POINTS):
            if way.patience is None:
                way = way.but(patience=min(default_patience(launch, way.mechanism) for launch in victims))
            self._host.write("patience", way.patience_cycles)
        self._host.hold("announce_cycles", predicted)
        self._host.hold("announce_expiry", lasts)
        self._host.write("announce", victims=sum(1 << launch.slot for launch in victims), mechanism=way.mechanism,
                         run_on=int(run_on))

    @whole
    def withdraw(self) -> None:
        """Withdraw the announcement; see `Device.withdraw`."""
        self._check()
        self._host.write("announce", 0)

    @whole
    def announced(self) -> list[Launch]:
        """Return the launches of the announcement; see `Device.announced`."""
        self._check()
        victims = 0
        for sm in range(self._host.geometry.sms):
            with self._host.of_sm(sm):
                victims |= self._host.read("announced")
        return [launch for slot, launch in sorted(self._launcher.launches.items())
                if victims >> slot & 1 and launch.state is not KernelState.FINISHED]

    @whole
    def counts(self) -> AnnouncementCounts:
        """Return what announcements have led to; see `Device.announcement_counts`."""
        self._check()
        cases = {case: self._host.read(f"case_{case.name.lower()}") for case in Case}
        return AnnouncementCounts(cases, *(self._host.read(name) for name in ("bases", "bases_wasted", "base_cycles")))

    def _check(self) -> None:
        if not (g := self._host.geometry).proactive:
            raise DriverError(f"this machine ({g.name}) takes no announcements: its geometry says proactive = false; "
                              "use `anticipate`, or a geometry with proactive = true")

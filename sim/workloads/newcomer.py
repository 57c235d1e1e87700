"""Preempts a kernel for a newcomer that was launched already, completely or in place (Lin et al. III-A)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from caesura.hw.arch.image.context import Mechanism
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob, judged
from caesura.sim.trace.changes import EventKind
from caesura.sim.workloads.everywhere import Campaign
from caesura.software.driver import Launch, PreemptReport, ResumeReport

__all__ = ["Departure", "Switch", "PairCampaign", "first_start"]

_SELDOM = 1 << 40
"""Cycles between samples of the bus, which are not needed."""
_SOON = 1_000
"""Cycles after a preempt in which a newcomer with enough room starts."""


@dataclass(frozen=True)
class Departure:
    """A preempt for a newcomer.

    Attributes
    ----------
    report : PreemptReport
    registers_stay, lines_stay : int
        Number of thread blocks whose registers, and whose shared memory, stayed on the SM.
    first : int or None
        Cycles from the request until the start of the newcomer's first later thread block; None if there was none.
    """

    report: PreemptReport
    registers_stay: int
    lines_stay: int
    first: int | None


@dataclass(frozen=True)
class Switch:
    """A preempt for a newcomer, and the events after it.

    Attributes
    ----------
    departure : Departure
    newcomer : int
        Cycles from the request to the end of the newcomer.
    evicted_tbs, evicted_bytes : int
        Number of TBs, and of bytes, that were evicted to memory between the preempt and the newcomer's end.
    resumed : ResumeReport
        Report of the preempted kernel's resume, after the newcomer's end.
    total : int
        Cycles from the request to the end of both kernels.
    correct : bool
        All memory is as without a preemption, and the results of both kernels are equal to the bit.
    """

    departure: Departure
    newcomer: int
    evicted_tbs: int
    evicted_bytes: int
    resumed: ResumeReport
    total: int
    correct: bool


def first_start(events: np.ndarray, kernel: int) -> tuple[int, int | None]:
    """Return the cycle of the first preempt in a timeline, and the first start of a later warp of a kernel slot.

    Later warps are those that enter a warp slot after the preempt. A warp starts when it becomes active. The second
    cycle is None if no such warp starts.
    """
    request = int(events["cycle"][events["kind"] == EventKind.PREEMPT][0])
    slots: set[int] = set()
    for event in events[events["cycle"] >= request]:
        if event["kind"] == EventKind.INIT and event["kernel"] == kernel:
            slots.add(int(event["slot"]))
        elif event["kind"] == EventKind.ACTIVE and any(int(event["value"]) >> slot & 1 for slot in slots):
            return request, int(event["cycle"])
    return request, None


class PairCampaign(Campaign):
    """Preemptions of one kernel for another.

    Parameters
    ----------
    transport : RtlTransport
    work, newcomer : CompiledJob
    max_cycles : int
        Limit of every run and every wait.
    fill : bool
        See `Campaign`.
    """

    def __init__(self, transport: RtlTransport, work: CompiledJob, newcomer: CompiledJob, max_cycles: int = 5_000_000,
                 *,
                 fill: bool = False):
        super().__init__(transport, work, newcomer, max_cycles, fill=fill)
        self._rtl = transport
        self._run_neighbour()
        self._other_expected = self._other_results()
        self._back(self._origin)

    def _other_results(self) -> dict[str, bytes]:
        return {name: array.get().tobytes() for name, array in self._other_arrays.items()}

    def _other_wrong(self) -> bool:
        by_judge = judged(self.neighbour.job, self._other_arrays)
        now = self._other_results()
        return any(by_judge.values()) or any(now[name] != value for name, value in self._other_expected.items()
                                             if name not in by_judge)

    def _launch_newcomer(self) -> Launch:
        job = self.neighbour.job
        arguments = [self._other_arrays.get(name, value) for name, value in job.arguments.items()]
        return self._other(job.grid, job.block, arguments, job.shared_bytes)

    def _evicted(self) -> tuple[int, int]:
        return self.device.read("evicted_tbs"), self.device.read("evicted_bytes")

    def _stay(self, what: str) -> int:
        return self.device.read(f"kernel[{self._launch.slot}].{what}_stay").bit_count()

    def _depart(self, mechanism: Mechanism, patience: int | str | None, newcomer: Launch, in_place: bool,
                cycles: int) -> tuple[Departure, int, tuple[int, int]] | None:
        """Preempt, and let the newcomer run for some cycles or to its end.

        Return the departure, the cycle of the request, and the TBs and bytes that were evicted before the newcomer ran
        on. Return None if there was nothing to save.
        """
        self._rtl.record_timeline(_SELDOM)
        report = self.device.preempt(self._launch, mechanism, patience=patience, max_cycles=self.max_cycles,
                                     newcomer=newcomer if in_place else None)
        if report is None or not report.tbs:
            self._rtl.record_timeline(0)
            return None
        stay = self._stay("registers"), self._stay("lines")
        evicted = self._evicted()
        self.device.run(newcomer, cycles)
        request, first = first_start(self._rtl.take_timeline()[0], newcomer.slot)
        self._rtl.record_timeline(0)
        return Departure(report, *stay, None if first is None else first - request), request, evicted

    def _switch(self, mechanism: Mechanism, patience: int | str | None, newcomer: Launch, in_place: bool
                ) -> Switch | None:
        """Preempt, run the newcomer to its end, resume, run to the end; return None if there was nothing to save."""
        self._note(newcomer)
        found = self._depart(mechanism, patience, newcomer, in_place, self.max_cycles)
        if found is None:
            return None
        departure, request, before = found
        self.device.wait(newcomer, self.max_cycles)
        ended, evicted = self.device.cycle, self._evicted()
        resumed = self.device.resume(self._launch, max_cycles=self.max_cycles)
        self.device.wait(self._launch, self.max_cycles)
        total = self.device.cycle - request
        return Switch(departure, ended - request, evicted[0] - before[0], evicted[1] - before[1], resumed, total,
                      not self._wrong() and not self._other_wrong())

    def switches(self, mechanism: Mechanism, cycles: Iterable[int], patience: int | str | None
                 ) -> Iterator[tuple[Switch, Switch, Departure, Departure] | None]:
        """Launch the newcomer at each cycle (ascending), and yield a complete preempt for it and one in place.

        The departures of both with the driver's own patience follow. All fork from one state of the machine.

        The result is None if the kernel ended before anything was saved.

        Parameters
        ----------
        mechanism : Mechanism
        cycles : iterable of int
            Cycles from the launch of the kernel.
        patience : int or str, optional
            Patience of the first two; see `Device.preempt`.
        """
        for _ in self._at_each(cycles):
            newcomer = self._launch_newcomer()
            fork = self._fork()
            switches, departures = [], []
            for in_place in (False, True):
                switches.append(self._switch(mechanism, patience, newcomer, in_place))
                self._back(fork)
                departures.append(self._depart(mechanism, None, newcomer, in_place, _SOON))
                self._back(fork)
            (complete, ours), (own_complete, own) = switches, departures
            yield (complete, ours, own_complete[0], own[0]) if complete and ours and own_complete and own else None

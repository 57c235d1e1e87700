"""One kernel preempted for another that has been launched already, everything saved or in place (Lin et al. III-A)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from caesura.hw.arch.context import Mechanism
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import Work, judged
from caesura.sim.timeline import EventKind
from caesura.sim.workloads.everywhere import Campaign
from caesura.software.driver import Launch, PreemptReport, ResumeReport

__all__ = ["Switch", "PairCampaign", "first_start"]

_SELDOM = 1 << 40
"""Cycles between samples of the bus, which nobody wants."""


@dataclass(frozen=True)
class Switch:
    """A preempt for a newcomer, and what came after it; cycles are from the request unless said otherwise.

    Attributes
    ----------
    report : PreemptReport
    registers_stay, lines_stay : int
        Thread blocks of which they stayed on the SM.
    first : int or None
        Until the first thread block of the newcomer that came after the request has started; None if there was none.
    newcomer : int
        Until all of the newcomer had ended.
    evicted_tbs, evicted_bytes : int
        Written to memory after the preempt.
    resumed : ResumeReport
        Of the preempted kernel, after the newcomer's end.
    total : int
        Until both had ended.
    correct : bool
        All memory is as without a preemption, the results of both kernels to the bit.
    """

    report: PreemptReport
    registers_stay: int
    lines_stay: int
    first: int | None
    newcomer: int
    evicted_tbs: int
    evicted_bytes: int
    resumed: ResumeReport
    total: int
    correct: bool


def first_start(events: np.ndarray, kernel: int) -> tuple[int, int | None]:
    """Return the cycle of the first preempt among a timeline's events, and that in which a warp of a kernel slot that
    was put into its slot after it became active, None if there is none."""
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
    work, newcomer : Work
    max_cycles : int
        Of every run and every wait.
    """

    def __init__(self, transport: RtlTransport, work: Work, newcomer: Work, max_cycles: int = 5_000_000):
        super().__init__(transport, work, newcomer, max_cycles)
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

    def _switch(self, mechanism: Mechanism, patience: int | str | None, newcomer: Launch, in_place: bool
                ) -> Switch | None:
        """Preempt, run the newcomer to its end, resume, run to the end; None if nothing was left to be saved."""
        self._note(newcomer)
        self._rtl.record_timeline(_SELDOM)
        report = self.device.preempt(self._launch, mechanism, patience=patience, max_cycles=self.max_cycles,
                                     newcomer=newcomer if in_place else None)
        if report is None or not report.tbs:
            self._rtl.record_timeline(0)
            return None
        stay = self._stay("registers"), self._stay("lines")
        before = self._evicted()
        self.device.wait(newcomer, self.max_cycles)
        ended = self.device.cycle
        request, first = first_start(self._rtl.take_timeline()[0], newcomer.slot)
        self._rtl.record_timeline(0)
        evicted = self._evicted()
        resumed = self.device.resume(self._launch, max_cycles=self.max_cycles)
        self.device.wait(self._launch, self.max_cycles)
        correct = not self._wrong() and not self._other_wrong()
        return Switch(report, *stay, None if first is None else first - request, ended - request,
                      evicted[0] - before[0], evicted[1] - before[1], resumed, self.device.cycle - request, correct)

    def switches(self, mechanism: Mechanism, cycles: Iterable[int], patiences: Sequence[int | str | None]
                 ) -> Iterator[list[tuple[Switch, Switch]] | None]:
        """Launch the newcomer at each cycle (ascending) and yield, for each patience, what two preempts for it come to:
        one that saves everything and one in place, all from one state of the machine.

        None where the kernel ended before anything was saved.

        Parameters
        ----------
        mechanism : Mechanism
        cycles : iterable of int
            From the launch of the kernel.
        patiences : sequence of int, str or None
            As of `Device.preempt`.
        """
        for _ in self._at_each(cycles):
            newcomer = self._launch_newcomer()
            fork, found = self._fork(), []
            for patience in patiences:
                complete = self._switch(mechanism, patience, newcomer, False)
                self._back(fork)
                in_place = self._switch(mechanism, patience, newcomer, True) if complete else None
                self._back(fork)
                if complete and in_place:
                    found.append((complete, in_place))
            yield found if len(found) == len(patiences) else None

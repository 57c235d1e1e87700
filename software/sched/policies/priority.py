"""Strict priority: less urgent works leave the SMs, in a chosen way, as long as there are more urgent ones.

The scheduler uses only the protocol (`machine`), so it runs on each machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.waiting import UNLIMITED
from caesura.hw.arch.way import Way
from caesura.software.compiler import KernelImage
from caesura.software.compiler.errors import ImageError
from caesura.software.compiler.preemption.restartable import reason, spoilers

from ..machine import Event, EventKind, KernelRun, Machine, MachineError, QueueSpec, RunState, Submission

__all__ = ["Technique", "TECHNIQUES", "Arrival", "Request", "PriorityScheduler"]


@dataclass(frozen=True)
class Technique:
    """A scheduler's way to make room for more urgent works.

    Attributes
    ----------
    name : str
    preempt : Way or None
        Way of the preempt; None for no preemption, or for a kill.
    kill : bool
        Kill the work, and launch it again from the beginning (REEF: reset-based preemption).
    bases : bool
        Save bases ahead of an announced arrival, for an incremental preempt (PEP III-D).
    newcomer : bool
        Preempt in place, for the works that arrive (Lin et al. III-A).
    idempotent : bool
        The technique is only for kernels whose TBs can begin anew. Other kernels are refused if they may have to leave.
    """

    name: str
    preempt: Way | None = None
    kill: bool = False
    bases: bool = False
    newcomer: bool = False
    idempotent: bool = False


TECHNIQUES: dict[str, Technique] = {technique.name: technique for technique in (
    Technique("none"),
    Technique("drain", Way(grace=UNLIMITED)),
    Technique("live+cp", Way(Mechanism.LIVE_CP)),
    Technique("in-place", Way(Mechanism.LIVE_CP, in_place=True), newcomer=True),
    Technique("checkpoint", Way(Mechanism.LIVE, incremental=True), bases=True),
    Technique("flush", Way(restart=True), idempotent=True),
    Technique("reset", kill=True, idempotent=True))}
"""The techniques by name: no preemption, draining and flushing (Chimera), contexts (whole, in place, as increments of a
base), and killing.
"""


@dataclass(frozen=True)
class Arrival:
    """A future work.

    Attributes
    ----------
    cycle : int
    work : KernelRun
    priority : int
        Priority; higher is more urgent.
    """

    cycle: int
    work: KernelRun
    priority: int


@dataclass(eq=False)
class Request:
    """A work that was given to the scheduler.

    Attributes
    ----------
    work : KernelRun
    priority : int
    arrived : int
        Cycle of the arrival.
    signal : Submission or None
        Its last submission, None before the first.
    tries : int
        Number of submissions.
    """

    work: KernelRun
    priority: int
    arrived: int
    signal: Submission | None = None
    tries: int = 0
    signals: list[Submission] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Return whether the work has finished, with or without a fault."""
        return self.signal is not None and self.signal.state in (RunState.FINISHED, RunState.FAULTED)

    @property
    def latency(self) -> int | None:
        """Cycles from the arrival to the end, None until then."""
        return self.signal.ended - self.arrived if self.done and self.signal and self.signal.ended else None


class PriorityScheduler:
    """Runs the most urgent works; works of equal priority run side by side.

    Parameters
    ----------
    machine : Machine
    technique : Technique
    capacity : mapping of int to int
        Most works in flight of each priority; their sum is at most the machine's kernel slots.
    lead : int
        Cycles from the announcement of an arrival to the arrival, for a technique with bases.
    finished : callable, optional
        Called with each request that has finished.

    Raises
    ------
    MachineError
        If the machine refuses the queues. Also raised at the arrival of a work that may have to leave and whose TBs
        cannot begin anew, if the technique lets TBs begin anew.
    """

    def __init__(self, machine: Machine, technique: Technique, capacity: dict[int, int], lead: int = 0,
                 finished: Callable[[Request], None] = lambda request: None):
        self.machine, self.technique, self._lead, self._finished = machine, technique, lead, finished
        self._queues = {priority: machine.queue(QueueSpec(priority, capacity[priority])) for priority in capacity}
        self._capacity = capacity
        self._requests: list[Request] = []
        self._once: dict[int, str] = {}  # by identity of an image: reason why its TBs cannot begin anew
        self._images: list[KernelImage] = []

    # Arrivals

    def submit(self, work: KernelRun, priority: int) -> Request:
        """Take a work now."""
        self._check(work, priority)
        request = Request(work, priority, self.machine.cycle)
        self._requests.append(request)
        self._review()
        return request

    def _check(self, work: KernelRun, priority: int) -> None:
        """Refuse a work of an unknown priority, or one that would run twice with wrong results."""
        if priority not in self._queues:
            raise MachineError(f"there is no priority {priority}; this scheduler has {sorted(self._queues)}")
        if self.technique.idempotent and priority < max(self._queues) and (why := self._why_once(work.image)):
            raise MachineError(f"work {work.name!r} of priority {priority} may have to leave, and "
                               f"{self.technique.name!r} has its thread blocks begin anew: {why}; choose a technique "
                               "that saves them, such as 'live+cp'")

    def _why_once(self, image: KernelImage) -> str:
        """Return the reason why TBs of a kernel cannot begin anew, empty if they can. Arrays of a work do not overlap.
        """
        if id(image) not in self._once:
            try:
                spoiler = spoilers(image).apart
                self._once[id(image)] = "" if spoiler is None else reason(spoiler)
            except ImageError as error:  # machine code from the user
                self._once[id(image)] = f"what it may overwrite is not known: {error}"
            self._images.append(image)  # keeps the image, so that no other gets its identity
        return self._once[id(image)]

    def announce(self) -> None:
        """Prepare for an urgent arrival: save bases of the works that would leave, if the technique has bases."""
        if not self.technique.bases or self.technique.preempt is None:
            return
        top = max(self._queues)
        for request in self._requests:
            signal = request.signal
            if signal and request.priority < top and signal.state is RunState.RUNNING:
                self.machine.checkpoint(signal, self.technique.preempt.mechanism)

    def run(self, arrivals: Iterable[Arrival], until: Callable[[], bool] | None = None, limit: int = 1 << 62) -> None:
        """Let time pass: take arrivals, and act on events.

        Parameters
        ----------
        arrivals : iterable of Arrival
            Arrivals, ordered by cycle.
        until : callable, optional
            Called after each event; the run ends when it returns true. Without it, the run ends when all works have
            ended.
        limit : int
            Cycle at which the run ends at the latest.
        """
        coming = iter(arrivals)
        following = next(coming, None)
        announced = False
        while self.machine.cycle < limit and not (until() if until else following is None and not self._requests):
            due = limit if following is None else following.cycle
            if following is not None and not announced and due - self._lead <= self.machine.cycle:
                announced = True
                if due > self.machine.cycle and following.priority == max(self._queues):
                    self.announce()
            if following is not None and due <= self.machine.cycle:
                self._take(following)
                following, announced = next(coming, None), False
                continue
            stop = due if following is None or announced else due - self._lead
            event = self.machine.run_until(min(stop, limit))
            if event is not None:
                self._act(event)

    def _take(self, arrival: Arrival) -> None:
        """Take an arrival, and count it from its planned cycle, since the scheduler may have been busy."""
        self._check(arrival.work, arrival.priority)
        self._requests.append(Request(arrival.work, arrival.priority, arrival.cycle))
        self._review()

    # Events

    def _act(self, event: Event) -> None:
        for request in [request for request in self._requests if request.signal is event.signal]:
            if event.kind in (EventKind.FINISHED, EventKind.FAULTED):
                self._requests.remove(request)
                self._finished(request)
        self._review()

    def _review(self) -> None:
        """Give every work the next command towards its right state."""
        top = max((request.priority for request in self._requests), default=0)
        strict = self.technique.preempt is not None or self.technique.kill
        less = [request for request in self._requests if strict and request.priority < top]
        newcomers = [request for request in self._requests if request not in less]
        if self.technique.newcomer:  # a preempt makes room only for a newcomer that was started
            self._bring(newcomers)
        for request in less:
            self._send_away(request, newcomers)
        self._bring(newcomers)

    def _bring(self, requests: list[Request]) -> None:
        for request in requests:
            signal = request.signal
            if signal is None or signal.state is RunState.KILLED:
                memory_of = next((before for before in reversed(request.signals) if before.started is not None), None)
                request.signal = self.machine.submit(self._queues[request.priority], request.work, memory_of)
                request.tries += 1
                request.signals.append(request.signal)
            elif signal.state is RunState.PREEMPTED:
                self.machine.resume(signal)

    def _send_away(self, request: Request, newcomers: list[Request]) -> None:
        signal, technique = request.signal, self.technique
        if signal is None:
            return
        if technique.kill:
            self.machine.kill(signal)
        elif signal.state in (RunState.RUNNING, RunState.RESUMING) and technique.preempt is not None:
            newcomer = next((new.signal for new in newcomers if new.signal and new.signal.state is RunState.RUNNING),
                            None) if technique.newcomer else None
            # TBs that are being resumed have no base yet, so the preempt is not incremental
            way = technique.preempt
            given = way.but(incremental=False) if signal.state is RunState.RESUMING else way
            self.machine.preempt(signal, given, newcomer)

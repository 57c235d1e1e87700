"""Strict priority: what is less urgent leaves the SMs as long as something more urgent is there, in a chosen way.

The scheduler uses nothing but the protocol (`machine`), so it runs on each machine.
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
    """How a scheduler makes room for what is more urgent.

    Attributes
    ----------
    name : str
    preempt : Way or None
        None for no preemption, or for a kill.
    kill : bool
        The work is ended, and launched again from the beginning (REEF: reset-based preemption).
    bases : bool
        Bases are saved ahead of an announced arrival, and the preempt is incremental (PEP III-D).
    newcomer : bool
        In place, for the works that arrive (Lin et al. III-A).
    idempotent : bool
        Only for kernels of which TBs can begin anew; others are refused where they may have to leave.
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
"""The techniques by name: no preemption; draining and flushing (Chimera); contexts, whole, in place and as
increments of a base; and killing."""


@dataclass(frozen=True)
class Arrival:
    """A work that is to come.

    Attributes
    ----------
    cycle : int
    work : KernelRun
    priority : int
        The higher the more urgent.
    """

    cycle: int
    work: KernelRun
    priority: int


@dataclass(eq=False)
class Request:
    """A work that the scheduler was given.

    Attributes
    ----------
    work : KernelRun
    priority : int
    arrived : int
        Cycle.
    signal : Submission or None
        Of its last submission, None before there is one.
    tries : int
        Submissions.
    """

    work: KernelRun
    priority: int
    arrived: int
    signal: Submission | None = None
    tries: int = 0
    signals: list[Submission] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """It has finished, well or with a fault."""
        return self.signal is not None and self.signal.state in (RunState.FINISHED, RunState.FAULTED)

    @property
    def latency(self) -> int | None:
        """Cycles from its arrival to its end, None until then."""
        return self.signal.ended - self.arrived if self.done and self.signal and self.signal.ended else None


class PriorityScheduler:
    """Runs what is most urgent; works of one priority run side by side.

    Parameters
    ----------
    machine : Machine
    technique : Technique
    capacity : mapping of int to int
        Works in flight of each priority there is; their sum is at most the machine's kernel slots.
    lead : int
        Cycles ahead at which an arrival is announced, for a technique with bases.
    finished : callable, optional
        Called with each request that has finished.

    Raises
    ------
    MachineError
        If the machine does not have such queues. Also, when a work comes whose TBs cannot begin anew, if it may have
        to leave for another and the technique would have it run twice.
    """

    def __init__(self, machine: Machine, technique: Technique, capacity: dict[int, int], lead: int = 0,
                 finished: Callable[[Request], None] = lambda request: None):
        self.machine, self.technique, self._lead, self._finished = machine, technique, lead, finished
        self._queues = {priority: machine.queue(QueueSpec(priority, capacity[priority])) for priority in capacity}
        self._capacity = capacity
        self._requests: list[Request] = []
        self._once: dict[int, str] = {}  # by number of an image: why its TBs cannot begin anew
        self._images: list[KernelImage] = []

    # What comes

    def submit(self, work: KernelRun, priority: int) -> Request:
        """Take a work now."""
        self._check(work, priority)
        request = Request(work, priority, self.machine.cycle)
        self._requests.append(request)
        self._review()
        return request

    def _check(self, work: KernelRun, priority: int) -> None:
        """Refuse a work of a priority that there is not, or that would be run twice, and not be right."""
        if priority not in self._queues:
            raise MachineError(f"there is no priority {priority}; this scheduler has {sorted(self._queues)}")
        if self.technique.idempotent and priority < max(self._queues) and (why := self._why_once(work.image)):
            raise MachineError(f"work {work.name!r} of priority {priority} may have to leave, and "
                               f"{self.technique.name!r} has its thread blocks begin anew: {why}; choose a technique "
                               "that saves them, such as 'live+cp'")

    def _why_once(self, image: KernelImage) -> str:
        """Return why TBs of a kernel cannot begin anew; empty if they can. Arrays of a work do not overlap."""
        if id(image) not in self._once:
            try:
                spoiler = spoilers(image).apart
                self._once[id(image)] = "" if spoiler is None else reason(spoiler)
            except ImageError as error:  # machine code of the user's own
                self._once[id(image)] = f"what it may overwrite is not known: {error}"
            self._images.append(image)  # or another could have its number
        return self._once[id(image)]

    def announce(self) -> None:
        """Something urgent is about to come: save bases of what would have to leave, if this technique has any."""
        if not self.technique.bases or self.technique.preempt is None:
            return
        top = max(self._queues)
        for request in self._requests:
            signal = request.signal
            if signal and request.priority < top and signal.state is RunState.RUNNING:
                self.machine.checkpoint(signal, self.technique.preempt.mechanism)

    def run(self, arrivals: Iterable[Arrival], until: Callable[[], bool] | None = None, limit: int = 1 << 62) -> None:
        """Let time pass: take what arrives, and act on what happens.

        Parameters
        ----------
        arrivals : iterable of Arrival
            In the order of their cycles.
        until : callable, optional
            Asked after each event; ends the run when true. Without it the run ends when all is done.
        limit : int
            Cycle at which the run ends in any case.
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
        """An arrival counts from the cycle that it was for: the scheduler may have been busy."""
        self._check(arrival.work, arrival.priority)
        self._requests.append(Request(arrival.work, arrival.priority, arrival.cycle))
        self._review()

    # What happens

    def _act(self, event: Event) -> None:
        for request in [request for request in self._requests if request.signal is event.signal]:
            if event.kind in (EventKind.FINISHED, EventKind.FAULTED):
                self._requests.remove(request)
                self._finished(request)
        self._review()

    def _review(self) -> None:
        """Give every work the command that brings it nearer to where it should be."""
        top = max((request.priority for request in self._requests), default=0)
        strict = self.technique.preempt is not None or self.technique.kill
        less = [request for request in self._requests if strict and request.priority < top]
        newcomers = [request for request in self._requests if request not in less]
        if self.technique.newcomer:  # room is made for one that has been started
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
            # what is being resumed has no base yet of what it brings back: taken off, it is as it was saved
            way = technique.preempt
            given = way.but(incremental=False) if signal.state is RunState.RESUMING else way
            self.machine.preempt(signal, given, newcomer)

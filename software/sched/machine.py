"""What a scheduler sees of a GPU: queues, works, commands that do not wait, events, and a clock.

A `Machine` carries out and reports; it decides nothing but the order in which what its queues hold begins. So a
scheduler is written once: for the RTL and the golden model through the driver (`driver_machine`), and for a
discrete-event model with the costs of the RTL (`caesura.sim.model`).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from caesura.errors import UserError
from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.switch_cost import SwitchCost
from caesura.hw.arch.way import Way
from caesura.software.compiler import KernelImage

__all__ = ["MachineError", "KernelRun", "QueueSpec", "RunState", "IN_FLIGHT", "ENDED", "Counts", "Submission",
           "EventKind", "Event", "Left", "Machine"]

Size = tuple[int, int, int]


class MachineError(UserError):
    """What a machine is asked for and does not do."""


@dataclass(frozen=True, eq=False)
class KernelRun:
    """A kernel to be run once, with all that it takes to start it.

    Attributes
    ----------
    image : KernelImage
    grid, block : tuple of int
        TBs of the grid, threads of a TB in x, y, z.
    arguments : callable
        Returns the arguments in the order of the parameters, by name; called when a machine with memory first starts
        the work. Arrays are copied to that machine.
    shared_bytes : int
        Dynamic shared memory.
    """

    image: KernelImage
    grid: Size
    block: Size
    arguments: Callable[[], Mapping[str, Any]]
    shared_bytes: int = 0

    @property
    def name(self) -> str:
        """Of the kernel."""
        return self.image.name

    @property
    def tbs(self) -> int:
        """TBs of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """Threads of a TB."""
        return self.block[0] * self.block[1] * self.block[2]


@dataclass(frozen=True)
class QueueSpec:
    """A queue of works.

    Attributes
    ----------
    priority : int
        Of queues that have something to begin the highest goes first, of equals the older queue.
    capacity : int
        Works in flight at once, at least 1. Each takes a kernel slot of the machine until it has ended.
    sms : frozenset of int or None
        SMs on which its works run, all unless given.
    """

    priority: int = 0
    capacity: int = 1
    sms: frozenset[int] | None = None


class RunState(enum.Enum):
    """Where a work is."""

    WAITING = "waiting"
    """In its queue."""
    RUNNING = "running"
    PREEMPTING = "preempting"
    CHECKPOINTING = "checkpointing"
    PREEMPTED = "preempted"
    RESUMING = "resuming"
    FINISHED = "finished"
    FAULTED = "faulted"
    """Finished, with a fault in one of its TBs at least; or it could not be started (`Event.text`)."""
    KILLED = "killed"


ENDED = frozenset({RunState.FINISHED, RunState.FAULTED, RunState.KILLED})
"""Nothing more comes of it."""
IN_FLIGHT = frozenset(RunState) - ENDED - {RunState.WAITING}
"""It has a kernel slot."""


@dataclass
class Counts:
    """What happened to a work so far, as the machine has counted.

    Attributes
    ----------
    preempts, checkpoints, resumes : int
        That have ended well.
    saved_tbs, saved_bytes, save_cycles, resume_cycles : int
        Sums over those of which the cost is known (`Event.cost`).
    """

    preempts: int = 0
    checkpoints: int = 0
    resumes: int = 0
    saved_tbs: int = 0
    saved_bytes: int = 0
    save_cycles: int = 0
    resume_cycles: int = 0

    def add(self, kind: EventKind, cost: SwitchCost | None) -> None:
        """Count a preempt, a checkpoint or a resume that has ended well."""
        self.preempts += kind is EventKind.PREEMPTED
        self.checkpoints += kind is EventKind.CHECKPOINTED
        self.resumes += kind is EventKind.RESUMED
        if cost is None:
            return
        self.saved_tbs += cost.tbs
        self.saved_bytes += cost.saved_bytes
        if kind is EventKind.RESUMED:
            self.resume_cycles += cost.cycles
        else:
            self.save_cycles += cost.cycles


@dataclass(eq=False)
class Submission:
    """A kernel run that was submitted, with its completion signal.

    Attributes
    ----------
    work : KernelRun
    queue : int
    submitted, started, ended : int or None
        Cycles; None as long as it has not come to that.
    state : RunState
        As the machine has last seen it; the events that led there may not have been given out yet.
    counts : Counts
    memory_of : Submission or None
        An earlier submission whose memory it works in.
    """

    work: KernelRun
    queue: int
    submitted: int
    memory_of: Submission | None = None
    started: int | None = None
    ended: int | None = None
    state: RunState = RunState.WAITING
    counts: Counts = field(default_factory=Counts)

    def __repr__(self):
        return f"Submission({self.work.name!r}, queue {self.queue}, {self.state.value})"

    @property
    def done(self) -> bool:
        """Nothing more comes of it."""
        return self.state in ENDED

    @property
    def latency(self) -> int | None:
        """Cycles from its submission to its end, None until then."""
        return None if self.ended is None else self.ended - self.submitted


class EventKind(enum.Enum):
    """What has happened to a work."""

    STARTED = "started"
    FINISHED = "finished"
    FAULTED = "faulted"
    PREEMPTED = "preempted"
    CHECKPOINTED = "checkpointed"
    RESUMED = "resumed"
    KILLED = "killed"
    REFUSED = "refused"
    """A preempt, a checkpoint or a resume has come to nothing; `Event.text` says why, the signal's state where the work
    is now."""


@dataclass(frozen=True)
class Event:
    """Something that happened.

    Attributes
    ----------
    cycle : int
        When the machine saw it.
    kind : EventKind
    signal : Submission
    cost : SwitchCost or None
        Of a preempt, a checkpoint or a resume that has ended well; None if the machine cannot tell, since another work
        was being switched then.
    text : str
        Of `REFUSED` and `FAULTED`: why.
    """

    cycle: int
    kind: EventKind
    signal: Submission
    cost: SwitchCost | None = None
    text: str = ""


@dataclass(frozen=True)
class Left:
    """An estimate of how long a work would hold its SMs.

    Attributes
    ----------
    drain_cycles : int or None
        Until its TBs on the SMs have ended, None where it cannot be known.
    switch_cycles : int
        To save all that they have allocated.
    """

    drain_cycles: int | None
    switch_cycles: int


class Machine(Protocol):
    """A GPU as schedulers see it.

    Commands return at once, but for the cycles that it takes to give them; what comes of them is an `Event`. Time
    passes in `run_until` alone, and in commands.

    Attributes
    ----------
    name : str
        Says on which machine a result was got: ``"rtl"``, ``"golden"``, ``"model"``.
    geometry : Geometry
        Of an SM, and of the memory.
    sms : int
    """

    name: str
    geometry: Geometry
    sms: int

    @property
    def cycle(self) -> int:
        """The clock."""
        ...

    def queue(self, spec: QueueSpec) -> int:
        """Make a queue and return its number.

        Raises
        ------
        MachineError
            If the queues would have more works in flight than the machine has kernel slots, or it cannot keep a queue
            to some SMs.
        """
        ...

    def submit(self, queue: int, work: KernelRun, memory_of: Submission | None = None) -> Submission:
        """Put a work into a queue; it starts as soon as its turn comes.

        Parameters
        ----------
        queue : int
        work : KernelRun
        memory_of : Submission, optional
            Of an earlier submission of the same work that has ended: it works in that one's memory as it is, rather
            than in a fresh copy of the arguments.

        Raises
        ------
        MachineError
            If a TB does not fit the SM, or that memory cannot be had.
        """
        ...

    def preempt(self, signal: Submission, way: Way, newcomer: Submission | None = None,
                sms: frozenset[int] | None = None) -> None:
        """Ask for a running work, or one being resumed, to be taken off the SMs.

        Parameters
        ----------
        signal : Submission
        way : Way
        newcomer : Submission, optional
            In place, but for what is in the way of this one's TBs.
        sms : frozenset of int, optional
            Off these only; on the others it runs on.
        """
        ...

    def checkpoint(self, signal: Submission, mechanism: Mechanism) -> None:
        """Ask for bases of a running work's TBs to be saved, for an incremental preempt later."""
        ...

    def resume(self, signal: Submission) -> None:
        """Ask for a preempted work to be brought back."""
        ...

    def kill(self, signal: Submission) -> None:
        """End a work in any state; the event follows."""
        ...

    def reset(self, queue: int) -> list[Submission]:
        """Empty a queue: kill what is in flight, withdraw what waits; return all of these, the oldest first."""
        ...

    def run_until(self, cycle: int) -> Event | None:
        """Let time pass until something happens or the clock is at `cycle`; return the event, the oldest that was not
        given out yet, or None."""
        ...

    def progress(self, signal: Submission) -> tuple[int, int]:
        """Return how many TBs of a work have ended, and how many it has."""
        ...

    def estimate(self, signal: Submission) -> Left:
        """Estimate how long a running work would hold its SMs."""
        ...

    def close(self) -> None:
        """End the machine; safe to repeat."""
        ...

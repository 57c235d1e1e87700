"""The interface of a GPU for schedulers: queues, works, commands that do not wait, events, and a clock.

A `Machine` carries out commands and reports events. It only decides the order in which the works in its queues begin.
So a scheduler is written once. It runs on the RTL and on the golden model through the driver (`driver_machine`), and on
a discrete-event model with the costs of the RTL (`caesura.sim.model`).
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
    """A request that a machine refuses."""


@dataclass(frozen=True, eq=False)
class KernelRun:
    """A kernel that runs once, with everything that its start needs.

    Attributes
    ----------
    image : KernelImage
    grid, block : tuple of int
        TBs of the grid, and threads of a TB, in x, y, z.
    arguments : callable
        Returns the arguments by name, in the order of the parameters. A machine with memory calls it at the first start
        of the work, and copies the arrays.
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
        """Name of the kernel."""
        return self.image.name

    @property
    def tbs(self) -> int:
        """Number of TBs of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """Number of threads of a TB."""
        return self.block[0] * self.block[1] * self.block[2]


@dataclass(frozen=True)
class QueueSpec:
    """A queue of works.

    Attributes
    ----------
    priority : int
        Priority. Among queues with a work to begin, the highest priority goes first, then the older queue.
    capacity : int
        Most works in flight at once, at least 1. Each occupies a kernel slot of the machine until its end.
    sms : frozenset of int or None
        SMs on which its works run; None for all.
    """

    priority: int = 0
    capacity: int = 1
    sms: frozenset[int] | None = None


class RunState(enum.Enum):
    """State of a work."""

    WAITING = "waiting"
    """The work waits in its queue."""
    RUNNING = "running"
    PREEMPTING = "preempting"
    CHECKPOINTING = "checkpointing"
    PREEMPTED = "preempted"
    RESUMING = "resuming"
    FINISHED = "finished"
    FAULTED = "faulted"
    """The work finished with a fault in at least one TB, or could not be started (`Event.text`)."""
    KILLED = "killed"


ENDED = frozenset({RunState.FINISHED, RunState.FAULTED, RunState.KILLED})
"""States of works that have ended."""
IN_FLIGHT = frozenset(RunState) - ENDED - {RunState.WAITING}
"""States of works with a kernel slot."""


@dataclass
class Counts:
    """The machine's counts of a work so far.

    Attributes
    ----------
    preempts, checkpoints, resumes : int
        Numbers of successful commands.
    saved_tbs, saved_bytes, save_cycles, resume_cycles : int
        Sums over the commands with a known cost (`Event.cost`).
    """

    preempts: int = 0
    checkpoints: int = 0
    resumes: int = 0
    saved_tbs: int = 0
    saved_bytes: int = 0
    save_cycles: int = 0
    resume_cycles: int = 0

    def add(self, kind: EventKind, cost: SwitchCost | None) -> None:
        """Count a successful preempt, checkpoint or resume."""
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
        Cycles of these events; None before the event.
    state : RunState
        Latest state that the machine has seen. Events that led to it may not have been given out yet.
    counts : Counts
    memory_of : Submission or None
        An earlier submission whose memory it uses.
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
        """Return whether the work has ended."""
        return self.state in ENDED

    @property
    def latency(self) -> int | None:
        """Cycles from the submission to the end, None until then."""
        return None if self.ended is None else self.ended - self.submitted


class EventKind(enum.Enum):
    """Kinds of events of a work."""

    STARTED = "started"
    FINISHED = "finished"
    FAULTED = "faulted"
    PREEMPTED = "preempted"
    CHECKPOINTED = "checkpointed"
    RESUMED = "resumed"
    KILLED = "killed"
    REFUSED = "refused"
    """A preempt, a checkpoint or a resume had no effect. `Event.text` gives the reason, and the signal has the present
    state.
    """


@dataclass(frozen=True)
class Event:
    """An event of a work.

    Attributes
    ----------
    cycle : int
        Cycle at which the machine saw the event.
    kind : EventKind
    signal : Submission
    cost : SwitchCost or None
        Cost of a successful preempt, checkpoint or resume. It is None if the machine cannot measure it because another
        work was switched meanwhile.
    text : str
        Reason of `REFUSED` and `FAULTED`.
    """

    cycle: int
    kind: EventKind
    signal: Submission
    cost: SwitchCost | None = None
    text: str = ""


@dataclass(frozen=True)
class Left:
    """An estimate of the time for which a work would hold its SMs.

    Attributes
    ----------
    drain_cycles : int or None
        Cycles until its TBs on the SMs end, None if unknown.
    switch_cycles : int
        Cycles to save everything that its TBs have allocated.
    """

    drain_cycles: int | None
    switch_cycles: int


class Machine(Protocol):
    """A GPU for schedulers.

    A command returns as soon as it is given; its result is an `Event`. Time passes in `run_until`, and while commands
    are given.

    Attributes
    ----------
    name : str
        Name of the machine in results: ``"rtl"``, ``"golden"``, ``"model"``.
    geometry : Geometry
        Geometry of an SM and of the memory.
    sms : int
    """

    name: str
    geometry: Geometry
    sms: int

    @property
    def cycle(self) -> int:
        """The clock, in cycles."""
        ...

    def queue(self, spec: QueueSpec) -> int:
        """Make a queue and return its number.

        Raises
        ------
        MachineError
            If the queues could have more works in flight than the machine has kernel slots, or if the machine cannot
            restrict a queue to some SMs.
        """
        ...

    def submit(self, queue: int, work: KernelRun, memory_of: Submission | None = None) -> Submission:
        """Put a work into a queue; it starts when its turn comes.

        Parameters
        ----------
        queue : int
        work : KernelRun
        memory_of : Submission, optional
            An earlier submission of the same work that has ended. The work uses its memory unchanged instead of a fresh
            copy of the arguments.

        Raises
        ------
        MachineError
            If a TB does not fit the SM, or the earlier memory is not available.
        """
        ...

    def preempt(self, signal: Submission, way: Way, newcomer: Submission | None = None,
                sms: frozenset[int] | None = None) -> None:
        """Ask for a preempt of a work that runs or is being resumed.

        Parameters
        ----------
        signal : Submission
        way : Way
        newcomer : Submission, optional
            Work for whose TBs room is made; the preempted TBs that are not in its way stay in place.
        sms : frozenset of int, optional
            SMs to free; the work runs on on the others.
        """
        ...

    def checkpoint(self, signal: Submission, mechanism: Mechanism) -> None:
        """Ask for bases of a running work's TBs, for a later incremental preempt."""
        ...

    def resume(self, signal: Submission) -> None:
        """Ask for a resume of a preempted work."""
        ...

    def kill(self, signal: Submission) -> None:
        """End a work in any state; an event follows."""
        ...

    def reset(self, queue: int) -> list[Submission]:
        """Empty a queue: kill works in flight, withdraw waiting works; return all of these, the oldest first."""
        ...

    def run_until(self, cycle: int) -> Event | None:
        """Let time pass until an event, or until the clock is at `cycle`; return the oldest pending event, or None."""
        ...

    def progress(self, signal: Submission) -> tuple[int, int]:
        """Return the number of TBs of a work that have ended, and the number of all its TBs."""
        ...

    def estimate(self, signal: Submission) -> Left:
        """Estimate the time for which a running work would hold its SMs."""
        ...

    def close(self) -> None:
        """End the machine; safe to repeat."""
        ...

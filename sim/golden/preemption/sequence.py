"""Preempt, resume and adoption in the golden model: whose turn it is, which warps stop, and when it is over."""

from __future__ import annotations

import numpy as np

from caesura.hw.arch.commands import BUSY_STATES, KernelState, Switch
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.waiting import UNLIMITED
from caesura.hw.arch.way import Way

from ..execution import Execution
from ..image_store import COUNTED
from ..in_place import Newcomer, decide
from ..state.kernel import Kernel
from ..state.thread_block import ThreadBlock
from .announced import Announced
from .requests import Preempt, Resume, tell
from .restore import Restorer
from .save import Saver

__all__ = ["Preemption"]


class Preemption:
    """The preempts, resumes and adoptions under way, and the counters of the last ones.

    As in the hardware one preempt is carried out at a time, others wait for it; resumes and adoptions have their turn
    when there is none, and each resume brings back the TBs for which there is room.

    Attributes
    ----------
    counters : dict of str to int
        Counters by register name (``save_cycles``, ...).
    saver : Saver
    restorer : Restorer
    """

    def __init__(self, machine: Execution):
        self.machine = machine
        self.counters: dict[str, int] = {}
        self.saver = Saver(machine, self.counters)
        self.restorer = Restorer(machine, self.saver, self.counters)
        self.announced = Announced(machine, self.saver)
        self._deadline: int | None = None  # the last cycle in which warps run on to a preemption point
        self._asked: Preempt | None = None  # the one in hand
        self._began = 0
        self._graceful: list[Preempt] = []  # whose TBs have grace
        self._preempts: list[Preempt] = []  # that wait for the one in hand
        self._resumes: list[Resume] = []
        self._adoptions: list[Kernel] = []

    @property
    def kernel(self) -> Kernel | None:
        """Being preempted."""
        return self._asked and self._asked.kernel

    @property
    def busy(self) -> bool:
        """Something is in progress, or waits."""
        return any(kernel.state in BUSY_STATES for kernel in self.machine.kernels)

    @property
    def holds_launches(self) -> bool:
        """A resume waits for room, so that no fresh TB may take it."""
        return bool(self._resumes)

    @property
    def wants_room(self) -> bool:
        """A resume is to bring TBs back."""
        return any(not resume.kernel.saved.keys().isdisjoint(resume.entries) for resume in self._resumes)

    @property
    def overdue(self) -> bool:
        """The patience of the preempt in progress is used up, and warps still run; or a grace is."""
        return any(self.machine.cycle > deadline for deadline in self._deadlines())

    def most(self, cycles: int) -> int:
        """Return how many of the next cycles, the current one included, pass before one of them is used up."""
        return min([cycles, *(deadline + 1 - self.machine.cycle for deadline in self._deadlines())])

    def _deadlines(self) -> list[int]:
        look = self.announced.next_look - 1 if self.announced.victims else None
        each = (self._deadline, look, *(preempt.deadline for preempt in self._graceful))
        return [deadline for deadline in each if deadline is not None]

    # Commands

    def preempt(self, kernel: Kernel, way: Way, random: np.random.Generator | None = None, spared: int = 0,
                newcomer: Newcomer | None = None) -> None:
        """Begin to take the TBs of a kernel off the SM, or to save them as bases, when it is its turn; patience that is
        not given has no limit.

        Ends at its turn with an error, nothing changed, if a save area is too small (`AREA_TOO_SMALL`) or not in
        memory (`BUS_ERROR`). A resume of the kernel ends first.
        """
        self._withdraw_resume(kernel)
        spared &= (1 << self.machine.g.context_entries) - 1
        drained = self.announced.drains(kernel) & ~spared if way.select else 0
        self.announced.arrive(kernel)
        kernel.state, kernel.error, kernel.others = KernelState.PREEMPTING, CommandError.NONE, False
        preempt = Preempt(kernel, way, random, self.machine.cycle, None, spared, newcomer)
        others = any(not (spared | drained) >> tb.entry & 1 for tb in self.machine.resident(kernel))
        if way.select and others:  # those are saved first
            preempt.drained, preempt.selects = drained, True
            self._preempts.append(preempt)
            self._next()
        elif way.grace_cycles:
            self._give_grace(preempt)
        else:
            self._preempts.append(preempt)
            self._next()

    def resume(self, kernel: Kernel, scramble: np.random.Generator | None) -> None:
        """Begin to bring a preempted kernel back; ends at its turn with `BAD_IMAGE` if an image is not one."""
        kernel.state, kernel.error, kernel.others = KernelState.RESUMING, CommandError.NONE, False
        self._resumes.append(Resume(kernel, scramble, self.machine.cycle, sorted(kernel.saved)))
        self.counters |= {"restore_bytes": 0, "resume_cycles": 0, "restore_cycles": 0}
        self.machine.attention = True
        if self.kernel is None and not self.restorer.judge(self._resumes[-1]):
            self._resumes.pop()

    def adopt(self, kernel: Kernel) -> None:
        """Begin to take a kernel over from memory; ends at its turn with `BAD_IMAGE` if what is there is not believed,
        with `BUS_ERROR` if its CCB is not in memory."""
        kernel.state = KernelState.ADOPTING
        self._adoptions.append(kernel)
        self.machine.attention = True

    def abort(self, kernel: Kernel) -> None:
        """Withdraw the preempt of a kernel, and resume what it has saved; or its resume."""
        if kernel.state is KernelState.RESUMING:
            self._withdraw_resume(kernel)
            kernel.state, kernel.others = KernelState.PREEMPTED, True
            self.machine.attention = True
            return
        if kernel is self.kernel:
            self._let_go(kernel)
        in_hand = [self._asked] if self._asked else []
        asked = next(each for each in (*in_hand, *self._graceful, *self._preempts) if each.kernel is kernel)
        self._forget(kernel)
        tell(self.machine, kernel, CommandError.ABORTED, "preempted")
        if kernel.kept and not asked.way.checkpoint:
            self.resume(kernel, asked.random)
            kernel.error = CommandError.ABORTED
        else:
            kernel.state = KernelState.PREEMPTED if kernel.kept else KernelState.RUNNING
            kernel.others = kernel.kept and bool(self.machine.resident(kernel))
        self.machine.attention = True
        self._next()

    def hasten(self, kernel: Kernel) -> None:
        """Have the warps of a kernel that is preempted, or is to be, stop where they are."""
        if kernel is self.kernel:
            self._stop(kernel)
        for preempt in (*self._graceful, *self._preempts):
            if preempt.kernel is kernel:
                preempt.way = preempt.way.but(patience=0)
                self._end_grace(preempt)

    def kill(self, kernel: Kernel) -> None:
        """End a kernel: its TBs are gone, and what is saved of it."""
        machine = self.machine
        self._forget(kernel)
        for tb in machine.resident(kernel):
            machine.remove(tb)
        for row in machine.stays(kernel):
            machine.leave(row)
        machine.forget_away(kernel)
        kernel.saved, kernel.stopping = {}, 0
        kernel.state = KernelState.IDLE
        machine.attention = True
        machine.raise_event("killed")
        self._next()

    # Their course

    def progress(self) -> None:
        """Save the TBs that have stopped, or take kernels over and bring back the TBs that have room."""
        self.announced.look(busy=self.kernel is not None)
        for preempt in [*self._graceful]:
            over = preempt.deadline is not None and self.machine.cycle > preempt.deadline
            if over or all(preempt.spared >> tb.entry & 1 for tb in self.machine.resident(preempt.kernel)):
                self._end_grace(preempt)
        if self._asked is not None:
            if self._deadline is not None and self.machine.cycle > self._deadline:
                self._stop(self._asked.kernel)
            self._save(self._asked)
        if self.kernel is None:
            for kernel in self._adoptions:
                self.restorer.take_over(kernel)
            self._adoptions = []
            for resume in [*self._resumes]:
                if self.restorer.restore(resume):
                    self._resumes.remove(resume)

    def _end_grace(self, preempt: Preempt) -> None:
        """Have a preempt carried out when it is its turn, if it had grace so far."""
        if preempt in self._graceful:
            self._graceful.remove(preempt)
            preempt.grace_used = self.machine.cycle - preempt.began
            self._preempts.append(preempt)
            self._next()

    def _next(self) -> None:
        """Begin the preempt that has waited longest, if there is none in hand."""
        while self.kernel is None and self._preempts:
            preempt = self._preempts.pop(0)
            kernel = preempt.kernel
            g = self.machine.g
            self.counters |= ({} if preempt.again else dict.fromkeys(COUNTED, 0)) | {"grace_cycles": preempt.grace_used}
            if refusal := self.saver.refusal(kernel):
                kernel.state = KernelState.PREEMPTED if kernel.kept else KernelState.RUNNING
                tell(self.machine, kernel, refusal, "preempted")
                continue
            self._asked, self._began = preempt, self.machine.cycle
            self.saver.begin_generation()
            kernel.stopping = ~(preempt.spared | preempt.drained) & (1 << g.context_entries) - 1
            kernel.trapping = preempt.way.trap and kernel.descriptor.trap_base > 0
            if preempt.way.in_place:
                preempt.stay = decide(self.machine, kernel, preempt.newcomer)
            self.machine.attention = True
            if not preempt.way.stops_at_points:
                self._stop(kernel)
            elif preempt.way.patience not in (None, UNLIMITED):
                preempt.at_once = preempt.way.patience == 0
                self._deadline = self._began + int(preempt.way.patience)

    def _stop(self, kernel: Kernel) -> None:
        """Stop the warps of the kernel being preempted, where they are, that still run."""
        self._deadline = None
        if self._asked is not None:
            self._asked.at_once = True
        for tb in self._chosen(kernel):
            for warp in tb.warps:
                if warp.live and not (warp.waiting or warp.parked):
                    warp.parked = warp.between = True
                    warp.after_pp = False
        self.machine.ready = type(self.machine.ready)(w for w in self.machine.ready if w.runs)
        self.machine.attention = True

    def _let_go(self, kernel: Kernel) -> None:
        """Let the warps of a kernel run on that have stopped for a preempt."""
        chosen, kernel.stopping = self._chosen(kernel), 0
        for tb in chosen:
            self._run_on(tb)

    def _run_on(self, tb: ThreadBlock) -> None:
        """Let the warps of a TB run on that have stopped."""
        for warp in tb.warps:
            if warp.parked:
                warp.parked = warp.between = False
                if warp.runs:
                    self.machine.ready.append(warp)
        self.machine.settle(tb)

    def _chosen(self, kernel: Kernel) -> list[ThreadBlock]:
        """Return the TBs on the SM that are being preempted."""
        return [tb for tb in self.machine.resident(kernel) if tb.stopping]

    def _save(self, asked: Preempt) -> None:
        machine, kernel = self.machine, asked.kernel
        for tb in self._chosen(kernel):
            if tb.stopped:
                self.saver.save(tb, asked)
                if asked.way.checkpoint:
                    kernel.stopping &= ~(1 << tb.entry)
                    self._run_on(tb)
                else:
                    machine.remove(tb)
        if self._chosen(kernel):
            return
        if asked.selects and not kernel.done:
            return self._wait_for_drained(asked)
        if not asked.way.in_place and not asked.way.checkpoint:
            self.saver.evict(machine.stays(kernel))
        cycles = machine.cycle - self._began
        self.counters |= {"save_cycles": cycles, "drain_cycles": cycles}
        on = bool(machine.resident(kernel))
        back = asked.way.checkpoint and not kernel.taken
        kernel.others = on and not back
        if not on and not asked.way.checkpoint and not machine.stays(kernel):
            self.saver.record(kernel)
        over = kernel.done
        kernel.switches[Switch.FINISHED if over else Switch.CHECKPOINTED if asked.way.checkpoint
                        else Switch.DRAINED if not self.counters["save_tbs"]
                        else Switch.AT_ONCE if asked.at_once else Switch.AT_POINTS] += 1
        kernel.stopping = 0
        kernel.state = KernelState.FINISHED if over else KernelState.RUNNING if back else KernelState.PREEMPTED
        if over:
            machine.raise_event("finished", kernel.index)
        self._forget(kernel)
        tell(self.machine, kernel, CommandError.NONE, "preempted")
        self._next()

    def _give_grace(self, preempt: Preempt) -> None:
        """Have a preempt wait from now on for TBs that end by themselves."""
        preempt.began = self.machine.cycle
        if preempt.way.grace != UNLIMITED:
            preempt.deadline = preempt.began + preempt.way.grace_cycles - 1
        self._graceful.append(preempt)
        self.machine.attention = True

    def _wait_for_drained(self, asked: Preempt) -> None:
        """Give the grace to the TBs that drain, now that the others of a preempt that selects are saved."""
        asked.selects, asked.drained, asked.again, asked.kernel.stopping = False, 0, True, 0
        self._asked = self._deadline = None
        self._give_grace(asked)
        self._next()

    def finds_room(self, kernel: Kernel) -> bool:
        """Return whether a TB of a kernel can be placed now, after evictions if need be; those wait for the end of a
        preempt in hand."""
        return self.restorer.finds_room(kernel, None, evicts=self.kernel is None)

    def _forget(self, kernel: Kernel) -> None:
        """Nothing is to be done for a kernel any more: neither the preempt in hand nor what waits."""
        if kernel is self.kernel:
            self._asked = self._deadline = None
        self._graceful = [each for each in self._graceful if each.kernel is not kernel]
        self._preempts = [each for each in self._preempts if each.kernel is not kernel]
        self._resumes = [each for each in self._resumes if each.kernel is not kernel]
        self._adoptions = [each for each in self._adoptions if each is not kernel]

    def _withdraw_resume(self, kernel: Kernel) -> None:
        if any(each.kernel is kernel for each in self._resumes):
            self._forget(kernel)
            tell(self.machine, kernel, CommandError.ABORTED, "resumed")


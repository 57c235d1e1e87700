"""Priorities of streams: preemption gives the device to the kernel with the highest priority."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.way import Way

from ..launch.launch import Launch
from ..machine.errors import CommandRefused, NoSlot
from ..preemption.preemption import Preemption
from .task import KernelTask

__all__ = ["Priorities"]

_RETRIES = 3
"""Number of resumes that memory may make fail, one after the other, before the kernel is given up."""


class Priorities:
    """Has kernels preempted for those of streams with a higher priority, and resumed when none of these is left.

    Parameters
    ----------
    preemption : Preemption

    Attributes
    ----------
    by : Way or None
        Way in which kernels are preempted. None: nothing is preempted, and a priority only sets the order of beginning.
    preempts, resumes : int
        Numbers of preempts and resumes asked for.
    """

    def __init__(self, preemption: Preemption):
        self._preemption = preemption
        self.by: Way | None = Way()
        self.preempts = self.resumes = 0
        self._failed: dict[KernelTask, int] = {}

    def holds_back(self, task: KernelTask, running: Sequence[KernelTask]) -> bool:
        """Return whether a kernel must not begin because one of a higher priority runs."""
        return self.by is not None and any(other.stream.priority > task.stream.priority and self._wants(other)
                                           for other in running)

    @staticmethod
    def _wants(task: KernelTask) -> bool:
        """Return whether a kernel that has begun should run; a kernel that the host has preempted by hand should
        not."""
        assert task.launch is not None
        return task.preempted or task.launch.state is not KernelState.PREEMPTED

    def keep(self, running: Sequence[KernelTask], waiting: Sequence[KernelTask]) -> None:
        """Preempt running kernels below the highest wanted priority, and resume preempted kernels that are not below
        it. Switches under way go on."""
        if self.by is None:
            return
        tasks = [*(task for task in running if self._wants(task)), *waiting]
        top = max((task.stream.priority for task in tasks), default=0)
        for task in running:
            assert task.launch is not None
            state = task.launch.state
            if task.stream.priority < top:
                self._take_off(task, state)
                if waiting and task.preempted and state is KernelState.PREEMPTED:
                    self._take_off_whole(task)
            elif task.preempted and state is KernelState.PREEMPTED:
                self._bring_back(task)
            elif state is KernelState.RUNNING:
                task.preempted = False
                self._failed.pop(task, None)

    def _take_off(self, task: KernelTask, state: KernelState) -> None:
        if state not in (KernelState.RUNNING, KernelState.RESUMING):
            return
        assert task.launch is not None and self.by is not None
        try:
            self._preemption.begin_preempt(task.launch, self._way(task.launch))
        except CommandRefused as refused:
            if refused.error not in (CommandError.NOT_RUNNING, CommandError.BUSY):
                raise
            return
        self._failed.pop(task, None)
        task.preempted = True
        self.preempts += 1

    def _way(self, launch: Launch) -> Way:
        """Return the way in which a kernel is preempted, without options that it does not allow."""
        assert self.by is not None
        return self.by.but(trap=self.by.trap and bool(launch.kernel.image.traps),
                           incremental=self.by.incremental and not launch.scrambled - {self.by.scramble})

    def _take_off_whole(self, task: KernelTask) -> None:
        """Bring the state of a kernel on the SMs to memory, so that the kernel can do without its kernel slot."""
        assert task.launch is not None and self.by is not None
        if not self._preemption.keeps_slot(task.launch):
            return
        whole = Way(self.by.mechanism, self.by.patience, scramble=task.launch.scramble)
        with contextlib.suppress(CommandRefused):
            self._preemption.begin_preempt(task.launch, whole)

    def _bring_back(self, task: KernelTask) -> None:
        """Ask for a resume; a kernel whose context cannot be read is killed, and its task fails."""
        assert task.launch is not None
        if (outcome := task.launch.outcome) and self._failed_again(task, outcome):
            return
        try:
            self._preemption.begin_resume(task.launch)
        except NoSlot:
            return
        except CommandRefused as refused:
            self._failed_again(task, refused.error)
            return
        self.resumes += 1

    def _failed_again(self, task: KernelTask, error: CommandError) -> bool:
        """Count a resume that has failed; return whether the kernel is given up."""
        self._failed[task] = self._failed.get(task, 0) + 1
        if error is CommandError.BUS_ERROR and self._failed[task] <= _RETRIES:
            return False
        assert task.launch is not None
        state = task.launch.known_state()
        self._preemption.kill(task.launch)
        task.end(CommandRefused(f"resume of {task.name}, put into the stream at {task.where}", error,
                                state=state))
        return True

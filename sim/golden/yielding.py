"""Thread blocks (TBs) that leave the SM by themselves, while what they wait for has not been written, and come back
(docs/preemption.md, Yield; GPUpIO VII)."""

from __future__ import annotations

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.image.image_reader import BadImage

from .execution import Execution
from .preemption.sequence import Preemption
from .state.kernel import Away, Kernel
from .state.thread_block import ThreadBlock

__all__ = ["Yielding"]


class Yielding:
    """Decides which thread blocks leave, and when they come back.

    Parameters
    ----------
    machine : Execution
    preemption : Preemption
        Saves and restores.
    """

    def __init__(self, machine: Execution, preemption: Preemption):
        self.machine, self.preemption = machine, preemption
        self._count = 0

    # Leaving

    def leave(self, tb: ThreadBlock) -> bool:
        """Save a TB that waits at a ``bar.yield`` and take it off the SM, if its watch has not fired and others want
        its place; return whether that was so. If memory has no room for it, it stays."""
        machine, kernel = self.machine, tb.kernel
        watch = machine.watch_of(tb)
        if (kernel.state not in (KernelState.RUNNING, KernelState.RESUMING) or machine.watches.fired(watch)
                or not self.wanted() or not self.preemption.saver.save_away(tb)):
            return False
        segment, away = machine.watches.segment(watch), Away(self._count)
        self._count += 1
        free = [row for row in machine.watches.table(machine.number) if machine.watches.free(row)]
        if segment is not None and free:
            away.row = free[0]
            self._release(free[0])
            machine.watches.watch(free[0], segment)
        machine.remove(tb)
        kernel.left[tb.entry] = away
        kernel.yields += 1
        return True

    def _release(self, row: int) -> None:
        """Clear a row of the watch table that has fired: whose it was is ready without it."""
        for kernel in self.machine.kernels:
            for away in kernel.left.values():
                if away.row == row:
                    away.row, away.ready = None, True
        self.machine.watches.clear(row)

    def wanted(self) -> bool:
        """Whether there are TBs that have found no room: fresh ones with an entry for them, or saved ones that are to
        come back."""
        return self._fresh() or self.preemption.wants_room or bool(self._ready())

    def _fresh(self) -> bool:
        """Whether there are TBs to be launched, with an entry for them."""
        return any(kernel.state is KernelState.RUNNING and not kernel.exhausted and kernel.has_entry
                   for kernel in self.machine.kernels)

    # Coming back

    def _ready(self) -> list[tuple[Kernel, int]]:
        """Return kernel and entry of the TBs that are to come back, in the order in which they left."""
        found = [(away.number, kernel, entry) for kernel in self.machine.kernels if kernel.state is KernelState.RUNNING
                 for entry, away in kernel.left.items()
                 if away.ready or away.row is not None and self.machine.watches.fired(away.row)]
        return [(kernel, entry) for _, kernel, entry in sorted(found, key=lambda each: each[0])]

    def bring_back(self) -> bool:
        """Restore the TBs that are to come back up to one that has no room, unless preempts or resumes go first; return
        whether there are others, for which fresh TBs have to wait."""
        if not any(kernel.left for kernel in self.machine.kernels):
            return False
        if not self._fresh():
            self.take_turns()
        if self.preemption.kernel is None and not self.preemption.holds_launches:
            for kernel, entry in self._ready():
                if kernel.state is not KernelState.RUNNING:
                    continue  # an image of it was bad
                if not self.preemption.finds_room(kernel):
                    break
                self._restore(kernel, entry)
        return bool(self._ready())

    def _restore(self, kernel: Kernel, entry: int) -> None:
        try:
            self.preemption.restorer.bring_back(kernel, entry)
        except BadImage:
            self.preemption.restorer.refuse(kernel)
            kernel.others = bool(self.machine.resident(kernel))

    def take_turns(self) -> None:
        """Those that wait for their turn are to come back: a fresh TB has been launched since they left, or there is
        none."""
        for kernel in self.machine.kernels:
            for away in kernel.left.values():
                away.ready |= away.row is None

    def forget(self, kernel: Kernel, entry: int | None = None) -> None:
        """A TB of a kernel is not away any more, or none of them."""
        for gone in [*kernel.left] if entry is None else [entry] if entry in kernel.left else []:
            away = kernel.left.pop(gone)
            if away.row is not None:
                self.machine.watches.clear(away.row)

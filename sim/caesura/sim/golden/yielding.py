"""Thread blocks (TBs) that leave the SM by themselves, while what they wait for has not been written, and come back
(docs/architecture.md, Yield; GPUpIO section 7)."""

from __future__ import annotations

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.image_reader import BadImage

from .execution import Execution
from .preemption import Preemption
from .state.kernel import Away, Kernel
from .state.thread_block import ThreadBlock

__all__ = ["Yielding"]


class Yielding:
    """Who leaves, and who comes back when.

    Parameters
    ----------
    machine : Execution
    preemption : Preemption
        Saves and restores.
    """

    def __init__(self, machine: Execution, preemption: Preemption):
        self.machine, self.preemption = machine, preemption

    # Leaving

    def leave(self, tb: ThreadBlock) -> bool:
        """Save a TB that waits at a ``bar.yield`` and take it off the SM, if its watch has not fired and others want
        its place; return whether that was so. If memory has no room for it, it stays."""
        machine, kernel = self.machine, tb.kernel
        watch = machine.watch_of(tb)
        if (kernel.state not in (KernelState.RUNNING, KernelState.RESUMING) or machine.watches.fired(watch)
                or not self.wanted() or not self.preemption.save_away(tb)):
            return False
        segment, away = machine.watches.segment(watch), Away(None)
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
        running = [kernel for kernel in self.machine.kernels if kernel.state is KernelState.RUNNING]
        fresh = any(not kernel.exhausted and kernel.has_entry for kernel in running)
        return fresh or self.preemption.wants_room or any(self._ready(kernel) for kernel in running)

    # Coming back

    def _ready(self, kernel: Kernel) -> list[int]:
        """Return the entries of a kernel whose TBs are to come back."""
        return [entry for entry, away in sorted(kernel.left.items())
                if away.ready or away.row is not None and self.machine.watches.fired(away.row)]

    def bring_back(self) -> bool:
        """Restore the TBs that are to come back and have room, unless preempts or resumes go first; return whether
        others are left, for which fresh TBs have to wait."""
        machine = self.machine
        if not any(kernel.left for kernel in machine.kernels):
            return False
        if not self.wanted():
            self._take_turns()
        for kernel in machine.kernels:
            for entry in self._ready(kernel):
                if (kernel.state is KernelState.RUNNING and self.preemption.kernel is None
                        and not self.preemption.holds_launches and self.preemption.finds_room(kernel)):
                    self._restore(kernel, entry)
        return any(self._ready(kernel) for kernel in machine.kernels if kernel.state is KernelState.RUNNING)

    def _restore(self, kernel: Kernel, entry: int) -> None:
        try:
            self.preemption.bring_back(kernel, entry)
        except BadImage:
            self.preemption.refuse(kernel)
            kernel.others = bool(self.machine.resident(kernel))

    def placed(self, tb: ThreadBlock) -> None:
        """A TB has been given room: it is not away, and those that wait for their turn are to come back."""
        self.forget(tb.kernel, tb.entry)
        self._take_turns()

    def _take_turns(self) -> None:
        for kernel in self.machine.kernels:
            for away in kernel.left.values():
                away.ready |= away.row is None

    def forget(self, kernel: Kernel, entry: int | None = None) -> None:
        """A TB of a kernel is not away any more, or none of them."""
        for gone in [*kernel.left] if entry is None else [entry] if entry in kernel.left else []:
            away = kernel.left.pop(gone)
            if away.row is not None:
                self.machine.watches.clear(away.row)

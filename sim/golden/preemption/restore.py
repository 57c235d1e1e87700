"""Restores of thread blocks (TBs), and kernels that are taken over from memory."""

from __future__ import annotations

import numpy as np

from caesura.hw.arch.commands import KernelState, Switch
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image.context import ENTRY_WORDS
from caesura.hw.arch.image.image_reader import BadImage

from ..control_block import demote, read_record, void_record
from ..execution import Execution
from ..image_store import read_entries, read_image
from ..in_place import in_the_way
from ..state.kernel import Kernel
from ..state.staying import Staying
from .requests import Resume, tell
from .save import Saver

__all__ = ["Restorer"]


class Restorer:
    """Brings TBs back from memory.

    Parameters
    ----------
    machine : Execution
    saver : Saver
        Writes what is in the way of TBs that come back.
    counters : dict of str to int
        Counters by register name; restores add to them.
    """

    def __init__(self, machine: Execution, saver: Saver, counters: dict[str, int]):
        self.machine, self.counters, self._saver = machine, counters, saver

    def bring_back(self, kernel: Kernel, index: int, scramble: np.random.Generator | None = None,
                   back: Staying | None = None) -> None:
        """Restore the TB of an entry, for which there is room; `back` is what stays of it.

        Raises
        ------
        BadImage
            If what is in memory is not what was saved.
        """
        machine = self.machine
        tb = read_image(machine, kernel, index, scramble)
        demote(machine, kernel, index)
        if machine.checker is not None:
            machine.checker.restored(tb)
        machine.place(tb, back)

    def finds_room(self, kernel: Kernel, back: Staying | None, evicts: bool) -> bool:
        """Return whether a TB of a kernel can be placed now, `back` being what stays of it; with `evicts` after
        evictions if need be."""
        machine = self.machine
        if not machine.has_slots(kernel):
            return False
        if not machine.lacking(kernel, back):
            return True
        rows = in_the_way(machine, kernel, back) if evicts else []
        self._saver.evict(rows)
        return bool(rows)

    def judge(self, resume: Resume) -> bool:
        """Check all images of a kernel that is to be resumed; if one is bad the resume ends."""
        kernel = resume.kernel
        read = 4 * ENTRY_WORDS * self.machine.g.context_entries
        try:
            for index in kernel.saved:
                read_image(self.machine, kernel, index, resume.scramble)
                entry, *others = read_entries(self.machine, kernel, index)
                read += entry["length"] + sum(4 * ENTRY_WORDS + other["length"] for other in others)
        except BadImage:
            self.refuse(kernel)
            return False
        self.counters["restore_bytes"] += read
        return True

    def restore(self, resume: Resume) -> bool:
        """Bring back what there is room for; return whether the resume is over."""
        machine, kernel = self.machine, resume.kernel
        if kernel.abandoned:
            kernel.saved = {}
            machine.forget_away(kernel)
        if kernel.recorded and not kernel.saved:
            void_record(machine, kernel)
        while resume.entries:
            index = resume.entries[0]
            back = machine.staying_of(kernel, index)
            if index in kernel.saved:
                if not self.finds_room(kernel, back, evicts=True):
                    return False
                try:
                    self.bring_back(kernel, index, resume.scramble, back)
                except BadImage:
                    self.refuse(kernel)
                    return True
            del resume.entries[0]
        kernel.state = KernelState.RUNNING
        kernel.switches[Switch.RESUMED] += 1
        machine.attention = True
        self.counters["restore_cycles"] = machine.cycle - resume.began
        tell(machine, kernel, CommandError.NONE, "resumed")
        return True

    def take_over(self, kernel: Kernel) -> None:
        """Adopt a kernel, or say why not."""
        error = CommandError.NONE if self._saver.in_memory(kernel) else CommandError.BUS_ERROR
        try:
            if not error:
                record, kernel.saved, kernel.bases = read_record(self.machine, kernel)
                kernel.launched, kernel.completed = record["launched"], record["completed"]
                kernel.progress.adopt(record["launched"], (record["next_x"], record["next_y"], record["next_z"]))
                kernel.entries, kernel.recorded = record["saved"], True
                self._saver.generation = max(self._saver.generation, record["generation"])
        except BadImage:
            error = CommandError.BAD_IMAGE
        kernel.state = KernelState.IDLE if error else KernelState.PREEMPTED
        tell(self.machine, kernel, error, "adopted")

    def refuse(self, kernel: Kernel) -> None:
        """A resume has come upon what is not an image."""
        kernel.state = KernelState.PREEMPTED
        tell(self.machine, kernel, CommandError.BAD_IMAGE, "resumed")

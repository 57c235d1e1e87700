"""Announcements of launches in the golden model: which TBs get a base, and which drain (PEP III-D)."""

from __future__ import annotations

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.image.context import Mechanism, mechanisms_of
from caesura.hw.arch.proactive import (
    ARRIVED,
    WAITING,
    Case,
    Choice,
    Situation,
    case_of,
    choose,
    cycles_left,
    switch_cycles,
)
from caesura.hw.arch.registers import UNLIMITED_EXPIRY
from caesura.hw.arch.tb_footprint import tb_footprint
from caesura.hw.arch.way import Way

from ..execution import Execution
from ..image_store import COUNTED
from ..state.kernel import Kernel
from ..state.thread_block import ThreadBlock
from .requests import Preempt
from .save import Saver

__all__ = ["Announced"]

LOOK = 16
"""Cycles between two looks at the TBs."""


class Announced:
    """The announcement of an SM. Its bases are saved at once, wherever warps stand.

    Parameters
    ----------
    machine : Execution
    saver : Saver

    Attributes
    ----------
    victims : set of int
        Kernel slots that are to give way.
    next_look : int
        Cycle of the next look at their TBs; means nothing without victims.
    counts : dict of str to int
        Counts by register name.
    """

    def __init__(self, machine: Execution, saver: Saver):
        self.machine, self.saver = machine, saver
        self.victims: set[int] = set()
        self.next_look = 0
        self.counts = {f"case_{case.name.lower()}": 0 for case in Case} | {"bases": 0, "bases_wasted": 0}
        self._arrival = self._end = 0
        self._mechanism = Mechanism.OCCUPIED
        self._first: set[tuple[int, int]] = set()  # TBs that were there at the announcement, by kernel and launch id
        self._based: set[tuple[int, int]] = set()

    def announce(self, victims: int, mechanism: int, run_on: int, cycles: int, expiry: int) -> None:
        """Take an announcement: `victims` is a vector of kernel slots. As bases take no time, `run_on` says nothing."""
        machine = self.machine
        known = mechanism <= max(mechanisms_of(machine.g))
        self.victims = {kernel.index for kernel in machine.kernels
                        if known and victims >> kernel.index & 1 and kernel.state is KernelState.RUNNING}
        self._arrival = machine.cycle + cycles
        self._end = machine.cycle + expiry if expiry != UNLIMITED_EXPIRY else -1
        if known:
            self._mechanism = Mechanism(mechanism)
        self._based, self._first = set(), {_name(tb) for tb in machine.resident()}
        self.next_look, machine.attention = machine.cycle, True

    def look(self, busy: bool) -> None:
        """Save bases of the TBs that are due, unless the machine is `busy` with a preempt."""
        if not self.victims:
            return
        machine = self.machine
        self.next_look = machine.cycle + LOOK
        self.victims = {k for k in self.victims if machine.kernels[k].state is KernelState.RUNNING}
        if 0 <= self._end <= machine.cycle:
            self.victims = set()
        for k in sorted(self.victims):
            kernel = machine.kernels[k]
            due = [tb for tb in machine.resident(kernel) if choose(WAITING, self._situation(tb)) is Choice.CHECKPOINT]
            if not due or busy:
                continue
            if self.saver.refusal(kernel):
                self.victims.discard(k)
            else:
                self._save(kernel, due)

    def drains(self, kernel: Kernel) -> int:
        """Return the vector of entries whose TBs a preempt that selects leaves to end."""
        return sum(1 << tb.entry for tb in self.machine.resident(kernel)
                   if choose(ARRIVED, self._situation(tb)) is Choice.DRAIN)

    def arrive(self, kernel: Kernel) -> None:
        """Count the cases of a kernel that is preempted now."""
        if kernel.index in self.victims:
            for tb in self.machine.resident(kernel):
                self.counts[f"case_{case_of(self._situation(tb)).name.lower()}"] += 1
            self.victims.discard(kernel.index)

    def ended(self, tb: ThreadBlock) -> None:
        """Count the base of a TB that has ended before the launch came."""
        if _name(tb) in self._based and tb.kernel.index in self.victims:
            self.counts["bases_wasted"] += 1
            self._based.discard(_name(tb))

    def _situation(self, tb: ThreadBlock) -> Situation:
        machine, kernel = self.machine, tb.kernel
        d, profile = kernel.descriptor, kernel.profile
        mean = profile.cycles // profile.tbs if profile.tbs else d.usual_cycles or None
        rows, lines = tb_footprint(machine.g, d.grid, d.threads, d.registers, d.warps, d.shared_bytes) or (0, 0)
        announced = kernel.index in self.victims
        return Situation(
            cycles_left(mean, machine.cycle - tb.begun), max(self._arrival - machine.cycle, 0) if announced else 0,
            switch_cycles(machine.g, len(machine.resident(kernel)), rows, lines), tb.instructions,
            announced and _name(tb) not in self._first, announced and _name(tb) in self._based)

    def _save(self, kernel: Kernel, tbs: list[ThreadBlock]) -> None:
        """Save bases. Counters of preempts do not count them."""
        machine, counters = self.machine, self.saver.counters
        uncounted: dict[str, int] = dict.fromkeys(COUNTED, 0)
        self.saver.counters = uncounted
        self.saver.begin_generation()
        asked = Preempt(kernel, Way(self._mechanism, checkpoint=True), None, machine.cycle, None, 0, None)
        for tb in tbs:
            machine.synchronize(tb)
            stopped = [warp for warp in tb.warps if warp.runs]
            for warp in stopped:
                warp.parked = warp.between = True
            self.saver.save(tb, asked)
            for warp in stopped:
                warp.parked = warp.between = False
            self._based.add(_name(tb))
        self.counts["bases"] += len(tbs)
        self.saver.counters = counters


def _name(tb: ThreadBlock) -> tuple[int, int]:
    """Return what tells a TB from others."""
    return tb.kernel.index, tb.launch_id

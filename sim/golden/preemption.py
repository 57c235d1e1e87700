"""Preempt, resume and adoption in the golden model: who stops, what is saved where, and when it is over."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from caesura.hw.arch.commands import BUSY_STATES, KernelState, Switch
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import ENTRY_WORDS, Mechanism, State
from caesura.hw.arch.image.image_reader import BadImage
from caesura.hw.arch.waiting import UNLIMITED
from caesura.hw.arch.way import Way

from .completion import completion
from .context_image import clean, save
from .control_block import demote, read_record, void_record, write_record
from .execution import Execution
from .image_store import COUNTED, counts, read_entries, read_image, write_image
from .in_place import Newcomer, decide, in_the_way, staying
from .state.kernel import Base, Kernel, SavedEntry
from .state.staying import NOTHING, Stay, Staying
from .state.thread_block import ThreadBlock

__all__ = ["Preemption"]


@dataclass(eq=False)
class _Preempt:
    """A preempt whose TBs have grace, or that waits for the one in hand, or is in hand."""

    kernel: Kernel
    way: Way
    random: np.random.Generator | None  # of a way with `scramble`
    began: int
    deadline: int | None  # the last cycle of its grace, if it has one
    spared: int  # a vector of entries
    newcomer: Newcomer | None
    grace_used: int = 0
    at_once: bool = False  # warps were told to stop at their next instruction
    stay: dict[int, Stay] = field(default_factory=dict)  # by entry, what is to stay


@dataclass
class _Resume:
    """A resume that is to be carried out, or waits for room."""

    kernel: Kernel
    scramble: np.random.Generator | None
    began: int
    entries: list[int]  # whose TBs are still to come back


class Preemption:
    """The preempts, resumes and adoptions under way, and the counters of the last ones.

    As in the hardware one preempt is carried out at a time, others wait for it; resumes and adoptions have their turn
    when there is none, and each resume brings back the TBs for which there is room.

    Attributes
    ----------
    counters : dict of str to int
        By register name (``save_cycles``, ...).
    """

    def __init__(self, machine: Execution):
        self.machine = machine
        self.counters: dict[str, int] = {}
        self._deadline: int | None = None  # the last cycle in which warps run on to a preemption point
        self._asked: _Preempt | None = None  # the one in hand
        self._generation = 0
        self._began = 0
        self._graceful: list[_Preempt] = []  # whose TBs have grace
        self._preempts: list[_Preempt] = []  # that wait for the one in hand
        self._resumes: list[_Resume] = []
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
        each = (self._deadline, *(preempt.deadline for preempt in self._graceful))
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
        kernel.state, kernel.error, kernel.others = KernelState.PREEMPTING, CommandError.NONE, False
        spared &= (1 << self.machine.g.context_entries) - 1
        began = self.machine.cycle
        deadline = None if way.grace == UNLIMITED else began + way.grace_cycles - 1
        preempt = _Preempt(kernel, way, random, began, deadline, spared, newcomer)
        if way.grace_cycles:
            self._graceful.append(preempt)
            self.machine.attention = True
        else:
            self._preempts.append(preempt)
            self._next()

    def resume(self, kernel: Kernel, scramble: np.random.Generator | None) -> None:
        """Begin to bring a preempted kernel back; ends at its turn with `BAD_IMAGE` if an image is not one."""
        kernel.state, kernel.error, kernel.others = KernelState.RESUMING, CommandError.NONE, False
        self._resumes.append(_Resume(kernel, scramble, self.machine.cycle, sorted(kernel.saved)))
        self.counters |= {"restore_bytes": 0, "resume_cycles": 0, "restore_cycles": 0}
        self.machine.attention = True
        if self.kernel is None and not self._judge(self._resumes[-1]):
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
        self._tell(kernel, CommandError.ABORTED, "preempted")
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
                self._take_over(kernel)
            self._adoptions = []
            for resume in [*self._resumes]:
                if self._restore(resume):
                    self._resumes.remove(resume)

    def _end_grace(self, preempt: _Preempt) -> None:
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
            self.counters |= dict.fromkeys(COUNTED, 0) | {"grace_cycles": preempt.grace_used}
            if refusal := self._refusal(kernel):
                kernel.state = KernelState.PREEMPTED if kernel.kept else KernelState.RUNNING
                self._tell(kernel, refusal, "preempted")
                continue
            self._asked, self._began = preempt, self.machine.cycle
            self._generation = self._generation + 1 & 0xFFFF_FFFF
            kernel.stopping = ~preempt.spared & (1 << g.context_entries) - 1
            kernel.trapping = preempt.way.trap and kernel.descriptor.trap_base > 0
            if preempt.way.in_place:
                preempt.stay = decide(self.machine, kernel, preempt.newcomer)
            self.machine.attention = True
            if not preempt.way.stops_at_points:
                self._stop(kernel)
            elif preempt.way.patience not in (None, UNLIMITED):
                preempt.at_once = preempt.way.patience == 0
                self._deadline = self._began + int(preempt.way.patience)

    def _refusal(self, kernel: Kernel) -> CommandError:
        """Return why TBs of a kernel cannot be saved, `NONE` if they can."""
        descriptor = kernel.descriptor
        bound = context.area_bound(self.machine.g, kernel.warps, kernel.registers, kernel.shared_bytes)
        if descriptor.area_bytes < bound:
            return CommandError.AREA_TOO_SMALL
        return CommandError.NONE if self._in_memory(kernel) else CommandError.BUS_ERROR

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

    def _save(self, asked: _Preempt) -> None:
        machine, kernel = self.machine, asked.kernel
        for tb in self._chosen(kernel):
            if tb.stopped:
                self._write(tb, asked)
                if asked.way.checkpoint:
                    kernel.stopping &= ~(1 << tb.entry)
                    self._run_on(tb)
                else:
                    machine.remove(tb)
        if self._chosen(kernel):
            return
        if not asked.way.in_place and not asked.way.checkpoint:
            self._evict(machine.stays(kernel))
        cycles = machine.cycle - self._began
        self.counters |= {"save_cycles": cycles, "drain_cycles": cycles}
        on = bool(machine.resident(kernel))
        back = asked.way.checkpoint and not kernel.taken
        kernel.others = on and not back
        if not on and not asked.way.checkpoint and not machine.stays(kernel):
            write_record(machine, kernel, self._generation)
        over = kernel.done
        kernel.switches[Switch.FINISHED if over else Switch.CHECKPOINTED if asked.way.checkpoint
                        else Switch.DRAINED if not self.counters["save_tbs"]
                        else Switch.AT_ONCE if asked.at_once else Switch.AT_POINTS] += 1
        kernel.stopping = 0
        kernel.state = KernelState.FINISHED if over else KernelState.RUNNING if back else KernelState.PREEMPTED
        if over:
            machine.raise_event("finished", kernel.index)
        self._forget(kernel)
        self._tell(kernel, CommandError.NONE, "preempted")
        self._next()

    def _write(self, tb: ThreadBlock, asked: _Preempt) -> None:
        """Write a TB's image, without what is to stay on the SM."""
        machine, kernel, way = self.machine, tb.kernel, asked.way
        base = kernel.bases.get(tb.entry)
        side = 0 if base is None else base.side ^ 1
        incremental = way.incremental and base is not None and not (way.checkpoint or way.restart)
        stay = asked.stay.get(tb.entry, NOTHING) if None in machine.staying else NOTHING
        block = save(tb, way.mechanism, way.scramble, way.restart, incremental, stay)
        if machine.checker is not None and not way.restart:
            machine.checker.saved(tb)
        crc = write_image(machine, tb, side, block, State.BASE if way.checkpoint else State.COMPLETE,
                          self._generation, base.crc if incremental and base else 0)
        if way.checkpoint:
            kernel.bases[tb.entry] = Base(side, crc)
            clean(tb)
        else:
            kernel.saved[tb.entry] = SavedEntry.of(block.entry | {"generation": self._generation}, side)
        if stay:
            kernel.bases.pop(tb.entry, None)
            machine.stay(staying(tb, stay, way.mechanism, way.scramble, crc))
        for name, amount in counts(block).items():
            self.counters[name] += amount

    # TBs that leave by themselves

    def save_away(self, tb: ThreadBlock) -> bool:
        """Save a TB that waits at a barrier, as a preempt with `live` does; return whether memory has room for it."""
        machine, kernel = self.machine, tb.kernel
        if self._refusal(kernel):
            return False
        base = kernel.bases.get(tb.entry)
        side = 0 if base is None else base.side ^ 1
        block = save(tb, Mechanism.LIVE)
        if machine.checker is not None:
            machine.checker.saved(tb)
        self._generation = self._generation + 1 & 0xFFFF_FFFF
        write_image(machine, tb, side, block, State.COMPLETE, self._generation)
        kernel.saved[tb.entry] = SavedEntry.of(block.entry | {"generation": self._generation}, side)
        return True

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

    # What stays

    def finds_room(self, kernel: Kernel, back: Staying | None = None) -> bool:
        """Return whether a TB of a kernel can be placed now, `back` being what stays of it, after evictions if need be;
        those wait for the end of a preempt in hand."""
        machine = self.machine
        if not machine.has_slots(kernel):
            return False
        if not machine.lacking(kernel, back):
            return True
        rows = in_the_way(machine, kernel, back) if self.kernel is None else []
        self._evict(rows)
        return bool(rows)

    def _evict(self, rows: list[Staying]) -> None:
        """Write what stays of TBs to memory; kernels that have nothing left on the SM get their record."""
        machine = self.machine
        for row in rows:
            kernel, block = row.tb.kernel, completion(row)
            side = kernel.saved[row.tb.entry].side ^ 1
            write_image(machine, row.tb, side, block, State.BASE, self._generation, row.crc)
            machine.leave(row)
            for name, amount in (("evicted_tbs", 1), ("evicted_bytes", block.entry["length"] + 4 * ENTRY_WORDS)):
                self.counters[name] = self.counters.get(name, 0) + amount
            if not machine.stays(kernel) and not machine.resident(kernel):
                write_record(machine, kernel, self._generation)

    def _judge(self, resume: _Resume) -> bool:
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

    def _restore(self, resume: _Resume) -> bool:
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
                if not self.finds_room(kernel, back):
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
        self._tell(kernel, CommandError.NONE, "resumed")
        return True

    def _take_over(self, kernel: Kernel) -> None:
        """Adopt a kernel, or say why not."""
        error = CommandError.NONE if self._in_memory(kernel) else CommandError.BUS_ERROR
        try:
            if not error:
                record, kernel.saved, kernel.bases = read_record(self.machine, kernel)
                kernel.launched, kernel.completed = record["launched"], record["completed"]
                kernel.progress.adopt(record["launched"], (record["next_x"], record["next_y"], record["next_z"]))
                kernel.entries, kernel.recorded = record["saved"], True
                self._generation = max(self._generation, record["generation"])
        except BadImage:
            error = CommandError.BAD_IMAGE
        kernel.state = KernelState.IDLE if error else KernelState.PREEMPTED
        self._tell(kernel, error, "adopted")

    def _in_memory(self, kernel: Kernel) -> bool:
        """Return whether a kernel's CCB is, with its save areas."""
        descriptor = kernel.descriptor
        end = descriptor.ccb_base + context.ccb_bytes(self.machine.g, descriptor.area_bytes, kernel.most_entries)
        return end <= len(self.machine.memory)

    def refuse(self, kernel: Kernel) -> None:
        """A resume has come upon what is not an image."""
        kernel.state = KernelState.PREEMPTED
        self._tell(kernel, CommandError.BAD_IMAGE, "resumed")

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
            self._tell(kernel, CommandError.ABORTED, "resumed")

    def _tell(self, kernel: Kernel, error: CommandError, event: str) -> None:
        """A preempt, resume or adoption has ended."""
        kernel.error = error
        self.machine.raise_event(event)

"""Preempt and resume in the golden model: who stops, what is saved where, and when it is over."""

from __future__ import annotations

import numpy as np

from caesura.hw.arch import context
from caesura.hw.arch.context import CCB_ENTRY, Capability, Mechanism, State
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image_reader import BadImage
from caesura.hw.arch.registers import KernelState

from .context_image import read_entry, restore, save
from .execution import Execution
from .state.kernel import Kernel
from .state.thread_block import ThreadBlock

__all__ = ["Preemption"]

_ENTRY_WORDS = CCB_ENTRY.size // 32
_ENTRY_BYTES = 4 * _ENTRY_WORDS


def _check_place(entry: dict[str, int], area: int, area_bytes: int, lines: int, generation: int) -> None:
    """Check what an entry says of itself against what is known of it."""
    if entry["generation"] != generation:
        raise BadImage(f"generation {entry['generation']}, not {generation}")
    inside = area <= entry["shared_image"] < area + area_bytes
    if entry["register_image"] != area or not (inside if lines else entry["shared_image"] == 0):
        raise BadImage("a pointer out of its save area")
    if entry["length"] > area_bytes or entry["length"] % 4 or entry["data_bytes"] > entry["length"]:
        raise BadImage(f"{entry['length']} bytes")


class Preemption:
    """The preempt or resume in progress, and the counters of the last ones.

    Attributes
    ----------
    kernel : Kernel or None
        Being preempted or resumed.
    error : CommandError
        How the last command ended.
    counters : dict of str to int
        By register name (``save_cycles``, ...).
    """

    def __init__(self, machine: Execution):
        self.machine = machine
        self.kernel: Kernel | None = None
        self.error = CommandError.NONE
        self.counters: dict[str, int] = {}
        self._mechanism, self._scramble = Mechanism.OCCUPIED, False
        self._generation = 0
        self._began = 0
        self._waiting: list[tuple[int, ThreadBlock]] = []

    @property
    def busy(self) -> bool:
        """A preempt or resume is in progress."""
        return self.kernel is not None

    def preempt(self, kernel: Kernel, mechanism: Mechanism, scramble: bool = False) -> None:
        """Begin to take the TBs of a running kernel off the SM.

        Ends at once with an error, nothing changed, if a save area is too small (`AREA_TOO_SMALL`) or not in
        memory (`BUS_ERROR`).
        """
        g, descriptor = self.machine.g, kernel.descriptor
        if descriptor.area_bytes < context.area_bound(g, kernel.warps, kernel.registers, kernel.shared_bytes):
            return self._end(CommandError.AREA_TOO_SMALL, "preempted")
        if descriptor.ccb_base + context.ccb_bytes(g, descriptor.area_bytes) > len(self.machine.memory):
            return self._end(CommandError.BUS_ERROR, "preempted")
        self._begin(kernel)
        self.counters |= dict.fromkeys(("save_data_bytes", "save_metadata_bytes", "save_registers", "save_lines",
                                        "save_tbs", "save_warps"), 0)
        self._mechanism, self._scramble = mechanism, scramble
        self._generation = self._generation + 1 & 0xFFFF_FFFF
        kernel.state = KernelState.PREEMPTING
        if not mechanism.has(Capability.STOPS_AT_POINTS):
            for tb in self.machine.resident(kernel):
                for warp in tb.warps:
                    warp.parked = bool(warp.live) and not warp.waiting
            self.machine.ready = type(self.machine.ready)(w for w in self.machine.ready if w.runs)

    def resume(self, kernel: Kernel, scramble: np.random.Generator | None) -> None:
        """Begin to bring a preempted kernel back; ends at once with `BAD_IMAGE` if an image is not one."""
        g, descriptor = self.machine.g, kernel.descriptor
        words = self.machine.views[2]
        waiting = []
        try:
            for index, generation in sorted(kernel.saved.items()):
                address = context.entry_address(descriptor.ccb_base, index)
                entry = read_entry(g, words[address // 4:address // 4 + _ENTRY_WORDS])
                area = context.area_address(g, descriptor.ccb_base, descriptor.area_bytes, index)
                _check_place(entry, area, descriptor.area_bytes, kernel.lines, generation)
                stream = words[area // 4:area // 4 + entry["length"] // 4]
                waiting.append((index, restore(kernel, index, entry, stream, scramble)))
        except BadImage:
            return self._end(CommandError.BAD_IMAGE, "resumed")
        self._begin(kernel)
        self._waiting = waiting
        streams = sum(self._entry(kernel, index)["length"] for index, _ in waiting)
        self.counters |= {"restore_bytes": 4 * _ENTRY_WORDS * g.tb_slots + streams, "resume_cycles": 0}
        kernel.state = KernelState.RESUMING

    def progress(self) -> None:
        """Save the TBs that have stopped, or bring back those that have room."""
        kernel = self.kernel
        if kernel is None:
            return
        if kernel.abandoned:
            self._waiting = []
        if kernel.state is KernelState.PREEMPTING:
            self._save(kernel)
        else:
            self._restore(kernel)

    def _save(self, kernel: Kernel) -> None:
        machine = self.machine
        for tb in machine.resident(kernel):
            if tb.stopped:
                self._write(tb)
                machine.remove(tb)
        if machine.resident(kernel):
            return
        cycles = machine.cycle - self._began
        self.counters |= {"save_cycles": cycles, "drain_cycles": cycles}
        over = kernel.completed == kernel.tbs
        kernel.state = KernelState.FINISHED if over else KernelState.PREEMPTED
        if over:
            machine.raise_event("finished", kernel.index)
        self._end(CommandError.NONE, "preempted")

    def _write(self, tb: ThreadBlock) -> None:
        """Write a TB's image and its committed CCB entry."""
        g, descriptor = self.machine.g, tb.kernel.descriptor
        block = save(tb, self._mechanism, self._scramble)
        if self.machine.checker is not None:
            self.machine.checker.saved(tb)
        area = context.area_address(g, descriptor.ccb_base, descriptor.area_bytes, tb.entry)
        words = self.machine.views[2]
        words[area // 4:area // 4 + len(block.stream)] = block.stream
        entry = context.to_words(
            CCB_ENTRY, state=State.COMPLETE, generation=self._generation, register_image=area,
            shared_image=area + block.shared_offset if block.shared_offset else 0, **block.entry)
        entry[1] = context.entry_crc(entry)
        tb.kernel.saved[tb.entry] = self._generation
        address = context.entry_address(descriptor.ccb_base, tb.entry) // 4
        words[address:address + _ENTRY_WORDS] = entry
        warps = block.entry["live_warps"].bit_count()
        for name, amount in (("save_data_bytes", block.entry["data_bytes"]), ("save_registers", block.registers),
                             ("save_metadata_bytes", block.entry["length"] - block.entry["data_bytes"] + _ENTRY_BYTES),
                             ("save_lines", block.lines), ("save_tbs", 1), ("save_warps", warps)):
            self.counters[name] += amount

    def _restore(self, kernel: Kernel) -> None:
        machine = self.machine
        while self._waiting and machine.has_room(kernel):
            index, tb = self._waiting.pop(0)
            address = context.entry_address(kernel.descriptor.ccb_base, index)
            machine.memory[address] = State.DEMOTED
            del kernel.saved[index]
            if machine.checker is not None:
                machine.checker.restored(tb)
            machine.place(tb)
        if self._waiting:
            return
        kernel.state = KernelState.RUNNING
        machine.attention = True
        self.counters["restore_cycles"] = machine.cycle - self._began
        self._end(CommandError.NONE, "resumed")

    def _entry(self, kernel: Kernel, index: int) -> dict[str, int]:
        address = context.entry_address(kernel.descriptor.ccb_base, index) // 4
        return context.from_words(CCB_ENTRY, self.machine.views[2][address:address + _ENTRY_WORDS])

    def _begin(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._began = self.machine.cycle
        self.machine.attention = True

    def _end(self, error: CommandError, event: str) -> None:
        self.kernel = None
        self.error = error
        self.machine.raise_event(event)

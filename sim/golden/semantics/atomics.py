"""Atomics: the lanes of one instruction, each of which reads, changes and writes memory in one step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from caesura.hw.arch.geometry import SEGMENT_BYTES
from caesura.hw.arch.isa.opcodes import AtomicOp, Size, Space
from caesura.hw.arch.isa.words import Instruction
from caesura.hw.core.memory.atomics import AtomicLane

from ..state.kernel import Kernel
from ..state.lanes import lanes_of
from ..state.pending import PendingAtomic
from ..state.sm import Sm
from ..state.thread_block import Warp
from .load_store import address_of, check_alignment, shared_views
from .operands import wide_operand

__all__ = ["Atomic"]


class Atomic:
    """One atomic instruction of a kernel."""

    def __init__(self, instruction: Instruction, sm: Sm, kernel: Kernel):
        op = instruction.op
        self.sm, self.kernel, self.size = sm, kernel, sm.g.warp_size
        self.function, self.shared = AtomicOp(op.function or 0), op.space is Space.SHARED
        self.access = op.size or Size.B32
        self.wide, self.returns = op.size is Size.B64, "d" in op.operands
        self.d = instruction.get("d")
        self.b, self.c = (wide_operand(instruction, name, self.size) for name in "bc")
        self.address = address_of(instruction, self.size)

    def begin(self, warp: Warp, pc: int, mask: int) -> PendingAtomic:
        """Return the atomic with its operands read and memory unchanged.

        Raises
        ------
        WarpFault
            If a lane may not access its address; then no lane has an effect.
        """
        lanes = lanes_of(mask, self.size)
        address = self.address(warp)
        executing = address[lanes]
        check_alignment(executing, self.access.bytes)
        if self.shared:
            views = shared_views(warp, executing, self.access, True)
        else:
            fault = self.sm.access_fault(self.kernel, executing)
            if fault is not None:
                raise fault
            views = self.sm.views
        view = views[3 if self.wide else 2]
        place = np.where(lanes, address, np.uint32(0)) // np.uint32(self.access.bytes)
        return PendingAtomic(self.shared, pc, mask, view, place, self.b(warp), self.c(warp))

    def perform(self, pending: PendingAtomic, lanes: np.ndarray) -> None:
        """Change memory for `lanes`, all at different addresses."""
        place = pending.place[lanes]
        old = pending.view[place].astype(np.uint64)
        value = AtomicLane.compute(self.function, self.wide, old, pending.b[lanes], pending.c[lanes])
        pending.view[place] = value.astype(pending.view.dtype)
        if not self.shared:
            self.sm.wrote((place * self.access.bytes)[value != old])
        pending.old[lanes] = old
        pending.left.difference_update(lanes.tolist())

    def run(self, warp: Warp, pc: int, mask: int) -> None:
        """Do all of it: segment by segment from the lowest lane, in each the lanes in ascending order."""
        pending = self.begin(warp, pc, mask)
        order = np.array([lane for lanes in _segments(pending, self.access.bytes) for lane in lanes])
        for lanes in _rounds(pending.place[order]):
            self.perform(pending, order[lanes])
        for lane in order.tolist():
            self.record(warp, pending, lane)
        self.finish(warp, pending)

    def record(self, warp: Warp, pending: PendingAtomic, lane: int) -> None:
        """Put a lane into the trace, if there is one."""
        if self.sm.recorder:
            self.sm.recorder.atomic(warp, self.shared, pending.pc, lane, int(pending.old[lane]))

    def finish(self, warp: Warp, pending: PendingAtomic) -> None:
        """Write the result."""
        if self.returns:
            for k in range(2 if self.wide else 1):
                value = (pending.old >> np.uint64(32 * k)).astype(np.uint32)
                self.sm.write_register(warp, pending.mask, self.d + k, value)


def _segments(pending: PendingAtomic, size: int) -> Iterator[list[int]]:
    """Yield the lanes of each memory segment; the lowest lane left leads."""
    found: dict[int, list[int]] = {}
    per_segment = SEGMENT_BYTES // size
    for lane in sorted(pending.left):
        found.setdefault(int(pending.place[lane]) // per_segment, []).append(lane)
    yield from found.values()


def _rounds(place: np.ndarray) -> Iterator[np.ndarray]:
    """Yield positions of `place` such that each round has an address once, and lower positions of one come first."""
    left = np.arange(len(place))
    while len(left):
        _, first = np.unique(place[left], return_index=True)
        yield left[first]
        left = np.delete(left, first)

"""Atomics of the golden model: at once, or lane by lane in the order in which another machine changed its memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from caesura.hw.arch.encoding import Instruction
from caesura.hw.arch.geometry import SEGMENT_BYTES
from caesura.hw.arch.isa import AtomicOp, Size, Space
from caesura.hw.core.atomics import AtomicLane

from .access import address_of, check_alignment, shared_views
from .alu import lanes_of
from .warp import Warp

if TYPE_CHECKING:
    from .kernel import Kernel
    from .machine import Machine

__all__ = ["Atomic", "Pending", "AtomicOrder", "OrderMismatch"]


class OrderMismatch(Exception):
    """The model cannot follow the order of a trace: the trace has an atomic where the model does not stand at one."""


class Pending:
    """An atomic of a warp that has begun.

    Attributes
    ----------
    atomic : Atomic
    pc, mask : int
        Where it stands, and the lanes that execute it.
    left : set of int
        Lanes whose turn is still to come.
    view : ndarray of uint32 or uint64
        The memory it changes.
    place : ndarray of int
        Index in `view` of each lane.
    b, c, old : ndarray of uint64
        Operands of each lane, and what was in memory before it.
    tags, shadow
        What `bounds` keeps of it.
    """

    __slots__ = ("atomic", "pc", "mask", "left", "view", "place", "b", "c", "old", "tags", "shadow")

    def __init__(self, atomic: Atomic, pc: int, mask: int, view: np.ndarray, place: np.ndarray, b: np.ndarray,
                 c: np.ndarray):
        self.atomic, self.pc, self.mask = atomic, pc, mask
        self.view, self.place, self.b, self.c = view, place, b, c
        self.old = np.zeros(len(place), np.uint64)
        self.left = set(np.flatnonzero(lanes_of(mask, len(place))).tolist())


class Atomic:
    """One atomic instruction of a kernel."""

    def __init__(self, instruction: Instruction, machine: Machine, kernel: Kernel):
        op = instruction.op
        self.machine, self.kernel, self.size = machine, kernel, machine.g.warp_size
        self.function, self.shared = AtomicOp(op.function or 0), op.space is Space.SHARED
        self.access = op.size or Size.B32
        self.wide, self.returns = op.size is Size.B64, "d" in op.operands
        self.d, self.b, self.c = (instruction.get(x) for x in ("d", "b", "c"))
        self.address = address_of(instruction, self.size)

    def begin(self, warp: Warp, pc: int, mask: int) -> Pending:
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
            fault = self.machine.check(self.kernel, executing)
            if fault is not None:
                raise fault
            views = self.machine.views
        view = views[3 if self.wide else 2]
        place = np.where(lanes, address, np.uint32(0)) // np.uint32(self.access.bytes)
        return Pending(self, pc, mask, view, place, self._operand(warp, self.b), self._operand(warp, self.c))

    def _operand(self, warp: Warp, register: int) -> np.ndarray:
        registers = warp.registers
        low = registers[register].astype(np.uint64)
        return registers[register + 1].astype(np.uint64) << np.uint64(32) | low if self.wide else low

    def perform(self, pending: Pending, lanes: np.ndarray) -> None:
        """Change memory for `lanes`, all at different addresses."""
        place = pending.place[lanes]
        old = pending.view[place].astype(np.uint64)
        value = AtomicLane.compute(self.function, self.wide, old, pending.b[lanes], pending.c[lanes])
        pending.view[place] = value.astype(pending.view.dtype)
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

    def record(self, warp: Warp, pending: Pending, lane: int) -> None:
        """Put a lane into the trace, if there is one."""
        if self.machine.recorder:
            self.machine.recorder.atomic(warp, self.shared, pending.pc, lane, int(pending.old[lane]))

    def finish(self, warp: Warp, pending: Pending) -> None:
        """Write the result."""
        if self.returns:
            for k in range(2 if self.wide else 1):
                value = (pending.old >> np.uint64(32 * k)).astype(np.uint32)
                self.machine.write_register(warp, pending.mask, self.d + k, value)


def _segments(pending: Pending, size: int) -> Iterator[list[int]]:
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


class AtomicOrder:
    """The order of the atomics of a trace, which the model follows: one of global and one of shared memory.

    Parameters
    ----------
    events : iterable of (shared, kernel, launch, warp, pc, lane)
        In the order in which each memory changed.
    """

    def __init__(self, events: Iterable[tuple[int, int, int, int, int, int]]):
        self._events: tuple[deque[tuple[int, int, int, int, int]], ...] = deque(), deque()
        for shared, kernel, launch, warp, pc, lane in events:
            self._events[shared].append((kernel, launch, warp, pc, lane))
        self._waiting: dict[tuple[int, int, int], tuple[Warp, Pending]] = {}

    @property
    def waits(self) -> bool:
        """A warp stands at an atomic."""
        return bool(self._waiting)

    def wait(self, warp: Warp, pending: Pending) -> None:
        """Let a warp stand at an atomic until each of its lanes had its turn."""
        warp.pending = pending
        self._waiting[_key(warp)] = warp, pending

    def forget(self, warp: Warp) -> None:
        """Drop what a warp waits for."""
        self._waiting.pop(_key(warp), None)
        warp.pending = None

    def released(self) -> Iterator[Warp]:
        """Do what is next in the order; yield the warps whose atomic is complete, its result written.

        Atomics beyond the last event of their memory are done at once: comparing the traces finds them.

        Raises
        ------
        OrderMismatch
            If the next lane is of another instruction than the one its warp stands at, or had its turn.
        """
        going = True
        while going:
            going = False
            for events in self._events:
                while events and events[0][:3] in self._waiting:
                    warp, pending = self._waiting[events[0][:3]]
                    if pending.atomic.shared != (events is self._events[1]):
                        break
                    self._perform(warp, pending, *events[0][3:])
                    events.popleft()
                    if not pending.left:
                        going = True
                        yield self._complete(warp, pending)
        for warp, pending in list(self._waiting.values()):
            if not self._events[pending.atomic.shared]:
                for lane in sorted(pending.left):
                    self._perform(warp, pending, pending.pc, lane)
                yield self._complete(warp, pending)

    def _perform(self, warp: Warp, pending: Pending, pc: int, lane: int) -> None:
        if pc != pending.pc or lane not in pending.left:
            kernel, launch, number = _key(warp)
            raise OrderMismatch(f"kernel {kernel} TB {launch} warp {number}: lane {lane} of the atomic at pc {pc} is "
                                f"next, the model stands at pc {pending.pc} with lanes {sorted(pending.left)}")
        pending.atomic.perform(pending, np.array([lane]))
        pending.atomic.record(warp, pending, lane)

    def _complete(self, warp: Warp, pending: Pending) -> Warp:
        recorder = pending.atomic.machine.recorder
        if recorder:
            recorder.pc = pending.pc
        pending.atomic.finish(warp, pending)
        self.forget(warp)
        return warp

    def stuck(self) -> str:
        """Describe what the order wants next, for a model that can do nothing else."""
        wanted = [f"kernel {kernel} TB {launch} warp {warp}: lane {lane} of the atomic at pc {pc}"
                  for events in self._events if events for kernel, launch, warp, pc, lane in [events[0]]]
        return f"the model does not get to what is next: {'; '.join(wanted)}"


def _key(warp: Warp) -> tuple[int, int, int]:
    return warp.tb.kernel.index, warp.tb.launch_id, warp.index

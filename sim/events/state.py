"""Signals that tell their readers of changes, and the processes that they wake."""
# The stubs of Amaranth lack its private parts:
# pyright: reportAttributeAccessIssue=false, reportIndexIssue=false

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush
from typing import Any

from amaranth.hdl import Signal
from amaranth.sim._base import BaseSignalState
from amaranth.sim.pysim import _PyEngineState, _run_wakers

__all__ = ["Process", "Slot", "State"]


class Process:
    """Code that drives some signals.

    Parameters
    ----------
    dirty : set of Process, optional
        Processes that run at the next edge of the clock of a clocked process.
    """

    __slots__ = ("dirty", "queued", "rank", "run")

    def __init__(self, dirty: set[Process] | None = None):
        self.dirty: Any = dirty
        self.rank = 0
        """Rank of a combinational process; the queued process with the lowest rank runs first."""
        self.queued = False
        self.run: Callable[[], None]


class Slot(BaseSignalState):
    """State of a signal."""

    __slots__ = ("comb", "curr", "drivers", "is_comb", "next", "pending", "queue", "signal", "sync", "wakers")

    def __init__(self, signal: Signal, pending: set, queue: list[int]):
        self.signal, self.pending, self.queue = signal, pending, queue
        self.is_comb = False
        self.wakers: list[Callable[[int, int], bool]] = []
        self.comb: list[Process] = []
        """Combinational processes that read the signal."""
        self.sync: list[Process] = []
        """Clocked processes that read the signal."""
        self.drivers: list[Process] = []
        """Clocked processes that drive the signal."""
        self.reset()

    def reset(self) -> None:
        """Return to the initial value."""
        self.curr = self.next = self.signal.init

    def add_waker(self, waker: Callable[[int, int], bool]) -> None:
        """Call a function with the old and the new value at each change, as long as it returns True."""
        self.wakers.append(waker)

    def update(self, value: int, mask: int = ~0) -> None:
        """Set the signal from outside the design, from a testbench, an asynchronous process or a clock."""
        value = (self.next & ~mask) | (value & mask)
        if self.next != value:
            self.next = value
            self.pending.add(self)
            for process in self.drivers:
                process.dirty.add(process)

    def commit(self) -> bool:
        """Take the next value; return whether the value has changed."""
        if self.curr == self.next:
            return False
        self.change(self.next)
        return True

    def change(self, value: int) -> None:
        """Take another value, and wake the processes that depend on it."""
        if self.wakers:
            _run_wakers(self.wakers, self.curr, value)
        self.curr = self.next = value
        for process in self.comb:
            if not process.queued:
                process.queued = True
                heappush(self.queue, process.rank)
        for process in self.sync:
            process.dirty.add(process)


class State(_PyEngineState):
    """All signals and memories, the pending changes of a step, and the queue of combinational processes."""

    def __init__(self):
        super().__init__()
        self.queue: list[int] = []
        """Ranks of the processes to run, a heap."""
        self._numbers: dict[int, int] = {}
        """Numbers of slots by the identity of their signals; `signals` keeps the signals alive."""

    def get_signal(self, signal: Signal) -> int:
        """Return the number of a signal's slot."""
        index = self._numbers.get(id(signal))
        if index is None:
            index = self._numbers[id(signal)] = self.signals[signal] = len(self.slots)
            self.slots.append(Slot(signal, self.pending, self.queue))
        return index

    def slot(self, signal: Signal) -> Slot:
        """Return the state of a signal."""
        return self.slots[self.get_signal(signal)]

"""Atomics lane by lane, in the order in which another machine changed its memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np

from ..state.pending import PendingAtomic
from ..state.thread_block import Warp
from .atomics import Atomic

__all__ = ["AtomicOrder", "OrderMismatch"]


class OrderMismatch(Exception):
    """The model cannot follow the order of a trace: the trace has an atomic where the model does not stand at one."""


class AtomicOrder:
    """The order of the atomics of a trace, which the model follows: one of global and one of shared memory.

    Parameters
    ----------
    events : iterable of (shared, kernel, launch, warp, pc, lane)
        Events in the order in which each memory changed.
    """

    def __init__(self, events: Iterable[tuple[int, int, int, int, int, int]]):
        self._events: tuple[deque[tuple[int, int, int, int, int]], ...] = deque(), deque()
        for shared, kernel, launch, warp, pc, lane in events:
            self._events[shared].append((kernel, launch, warp, pc, lane))
        self._waiting: dict[tuple[int, int, int], tuple[Warp, Atomic, PendingAtomic]] = {}

    @property
    def waits(self) -> bool:
        """A warp stands at an atomic."""
        return bool(self._waiting)

    def wait(self, warp: Warp, atomic: Atomic, pending: PendingAtomic) -> None:
        """Let a warp stand at an atomic until each of its lanes had its turn."""
        warp.pending = pending
        self._waiting[_key(warp)] = warp, atomic, pending

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
                    warp, atomic, pending = self._waiting[events[0][:3]]
                    if pending.shared != (events is self._events[1]):
                        break
                    self._perform(warp, atomic, pending, *events[0][3:])
                    events.popleft()
                    if not pending.left:
                        going = True
                        yield self._complete(warp, atomic, pending)
        for warp, atomic, pending in list(self._waiting.values()):
            if not self._events[pending.shared]:
                for lane in sorted(pending.left):
                    self._perform(warp, atomic, pending, pending.pc, lane)
                yield self._complete(warp, atomic, pending)

    def _perform(self, warp: Warp, atomic: Atomic, pending: PendingAtomic, pc: int, lane: int) -> None:
        if pc != pending.pc or lane not in pending.left:
            kernel, launch, number = _key(warp)
            raise OrderMismatch(f"kernel {kernel} TB {launch} warp {number}: lane {lane} of the atomic at pc {pc} is "
                                f"next, the model stands at pc {pending.pc} with lanes {sorted(pending.left)}")
        atomic.perform(pending, np.array([lane]))
        atomic.record(warp, pending, lane)

    def _complete(self, warp: Warp, atomic: Atomic, pending: PendingAtomic) -> Warp:
        recorder = atomic.sm.recorder
        if recorder:
            recorder.pc = pending.pc
        atomic.finish(warp, pending)
        self.forget(warp)
        return warp

    def stuck(self) -> str:
        """Describe what the order wants next, for a model that can do nothing else."""
        wanted = [f"kernel {kernel} TB {launch} warp {warp}: lane {lane} of the atomic at pc {pc}"
                  for events in self._events if events for kernel, launch, warp, pc, lane in [events[0]]]
        return f"the model does not get to what is next: {'; '.join(wanted)}"


def _key(warp: Warp) -> tuple[int, int, int]:
    return warp.tb.kernel.index, warp.tb.launch_id, warp.index

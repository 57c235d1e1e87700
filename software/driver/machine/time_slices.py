"""Slices of wall time for long stretches of simulated time, so that a person can watch and interrupt them."""

from __future__ import annotations

import threading
import time
import weakref
from _signal import SIGINT, default_int_handler, getsignal, signal  # pyright: ignore[reportMissingImports] - no enums
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

__all__ = ["TimeSlices", "uninterrupted"]

SLICE_SECONDS = 0.1
"""Wall time that a slice should take."""
FIRST_CYCLES = 256
"""The first slice of a machine whose speed is not known. It takes a third of a second on the slowest machine."""
GROWTH = 4
"""The largest ratio of a slice to the one before. The first slice of a stretch is at most `FIRST_CYCLES` times this
ratio cubed, since idle time passes faster than the learnt speed suggests."""


class TimeSlices:
    """The number of cycles of a machine per slice, learnt as the machine runs.

    The cycles of a slice pass in a single call. Nothing is read or written at the end of a slice.
    """

    def __init__(self):
        self._cycles = FIRST_CYCLES

    def run(self, call: Callable[[int], int], cycles: int, after: Callable[[], bool] = lambda: False) -> int:
        """Let cycles pass in slices; return how many did.

        Parameters
        ----------
        call : callable
            Lets at most so many cycles pass, and returns how many did. A smaller number ends the stretch. It defers an
            interrupt (`uninterrupted`), so the machine always stops at a whole cycle and can go on.
        cycles : int
        after : callable, optional
            Called after each slice; True ends the stretch.
        """
        passed = 0
        self._cycles = min(self._cycles, FIRST_CYCLES * GROWTH**3)
        while passed < cycles:
            asked = min(self._cycles, cycles - passed)
            started = time.monotonic()
            came = call(asked)
            passed += came
            if after() or came < asked:
                break
            self._learn(asked, time.monotonic() - started)
        return passed

    def _learn(self, cycles: int, seconds: float) -> None:
        """Choose the next slice from the time that `cycles` cycles took."""
        if cycles == self._cycles or seconds > SLICE_SECONDS:
            fitting = int(cycles * SLICE_SECONDS / max(seconds, 1e-6))
            self._cycles = max(1, min(fitting, GROWTH * self._cycles))


class uninterrupted:  # noqa: N801 - a context manager that is called like a function
    """Defer an interrupt (Ctrl-C) to the end of a block, which runs as a whole. The interrupt is raised there even if
    the block has raised another exception.

    It works only in the main thread, and only where Python's own handler would raise `KeyboardInterrupt`. A handler
    that a program has installed stays in place. Within another `uninterrupted` block it does nothing.
    """

    def __init__(self):
        self.came = False
        self._installed = False

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """Raise interrupts at once inside this block."""
        if not self._installed:
            yield
            return
        try:
            signal(SIGINT, default_int_handler)
            yield
        finally:
            signal(SIGINT, _PutOff(self))

    def __enter__(self) -> uninterrupted:
        if threading.current_thread() is threading.main_thread():
            now = getsignal(SIGINT)
            if now is default_int_handler or isinstance(now, _PutOff) and now.left:
                signal(SIGINT, _PutOff(self))  # from here on nothing is raised
                self._installed = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if self._installed:
            signal(SIGINT, default_int_handler)
            if self.came:
                raise KeyboardInterrupt


class _PutOff:
    """The handler for an interrupt inside an `uninterrupted` block.

    It may stay installed: a handler of the program for another signal may raise at the end of `uninterrupted`.
    """

    def __init__(self, block: uninterrupted):
        self._block = weakref.ref(block)

    @property
    def left(self) -> bool:
        """Whether the block to run as a whole has been left."""
        return self._block() is None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        block = self._block()
        if block is None:
            default_int_handler(number, frame)
        else:
            block.came = True

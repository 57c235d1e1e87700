"""Long stretches of simulated time in slices of wall time, so that a person can watch and interrupt them."""

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
"""Wall time that a slice aims at."""
FIRST_CYCLES = 256
"""The first slice of a machine whose speed is not known: a third of a second on the slowest."""
GROWTH = 4
"""A slice is at most this many times the one before, and the first of a stretch at most `FIRST_CYCLES` times this to
the power of 3: time in which nothing happens passes faster than any."""


class TimeSlices:
    """How many cycles of a machine pass in a slice; learnt as it runs.

    The cycles that pass are those of a single call: where a slice ends, nothing is read or written.
    """

    def __init__(self):
        self._cycles = FIRST_CYCLES

    def run(self, call: Callable[[int], int], cycles: int, after: Callable[[], bool] = lambda: False) -> int:
        """Let cycles pass in slices; return how many did.

        Parameters
        ----------
        call : callable
            Lets at most so many cycles pass and returns how many did; fewer ends the stretch. It puts off an interrupt
            (`uninterrupted`): the machine always stands at a whole cycle, and can go on.
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
        """Choose the next slice from how long `cycles` took."""
        if cycles == self._cycles or seconds > SLICE_SECONDS:
            fitting = int(cycles * SLICE_SECONDS / max(seconds, 1e-6))
            self._cycles = max(1, min(fitting, GROWTH * self._cycles))


class uninterrupted:  # noqa: N801 - a context manager that is called like a function
    """Put off an interrupt (Ctrl-C) until the end of what is done, which then is done as a whole; it is raised there
    also if what is done has raised something else.

    Only in the main thread, and only where Python's own handler would raise `KeyboardInterrupt`: a program that has
    installed a handler of its own keeps it. Within another one it does nothing.
    """

    def __init__(self):
        self.came = False
        self._installed = False

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """Raise interrupts again, where they come, until the end of this."""
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
    """What handles an interrupt meanwhile.

    A handler of the program for another signal may raise where `uninterrupted` ends, and leave this here.
    """

    def __init__(self, block: uninterrupted):
        self._block = weakref.ref(block)

    @property
    def left(self) -> bool:
        """What was to be done as a whole has gone."""
        return self._block() is None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        block = self._block()
        if block is None:
            default_int_handler(number, frame)
        else:
            block.came = True

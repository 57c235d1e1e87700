"""Long stretches of simulated time in slices of wall time, so that a person can watch and interrupt them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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

        An interrupt (Ctrl-C) that comes during a slice is raised at its end: the machine always stands at a whole
        cycle, and can go on.

        Parameters
        ----------
        call : callable
            Lets at most so many cycles pass and returns how many did; fewer ends the stretch.
        cycles : int
        after : callable, optional
            Called after each slice; True ends the stretch.
        """
        passed = 0
        self._cycles = min(self._cycles, FIRST_CYCLES * GROWTH**3)
        while passed < cycles:
            asked = min(self._cycles, cycles - passed)
            started = time.monotonic()
            with uninterrupted():
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


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Put off an interrupt (Ctrl-C) until the end of what is done, which then is done as a whole.

    Only in the main thread, and only where Python's own handler would raise `KeyboardInterrupt`: a program that has
    installed a handler of its own keeps it.
    """
    if threading.current_thread() is not threading.main_thread() \
            or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if came:
        raise KeyboardInterrupt

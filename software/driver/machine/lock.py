"""One thread at a time: several register accesses together are atomic for other threads."""

from __future__ import annotations

import _thread
import functools
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from .time_slices import uninterrupted

__all__ = ["FairLock", "whole"]

_LOOK_SECONDS = 0.0001
"""Seconds between two looks at whether another thread has had the lock."""
_MOST_SECONDS = 0.05
"""Longest time that a thread gives way. A thread that asked may have been interrupted, or be slow to wake up."""


class FairLock(_thread.RLock):  # pyright: ignore[reportGeneralTypeIssues] - final in stubs only
    """A reentrant lock that gives other threads a turn before its last owner gets it again.

    ``with lock`` takes it. ``with lock.turn, lock`` lets other threads that ask go first if this thread had it last.
    Python's own locks let a thread that releases a lock and asks at once have it again. A thread that lets time pass in
    slices would then keep all others out.

    Python takes and releases the lock in C, so a signal handler that raises (Ctrl-C) runs before or after, and the lock
    belongs to the thread in the block. Code in Python does not guarantee this. So the threads that ask and the last
    owner are noted beside the lock, and only the order depends on these notes. A handler may use the device too.

    Attributes
    ----------
    turn : Turn
    """

    def __init__(self):
        self.turn = Turn(self)

    @property
    def mine(self) -> bool:
        """Whether this thread has the lock."""
        return self._is_owned()  # pyright: ignore[reportAttributeAccessIssue] - not in stubs


class Turn:
    """The turn to take a lock (`FairLock`): entered before the lock is taken, left when it has been released.

    Parameters
    ----------
    lock : FairLock
    """

    def __init__(self, lock: FairLock):
        self._lock = lock
        self._asking: set[int] = set()
        self._last: int | None = None

    def __enter__(self) -> Turn:
        if not self._lock.mine:
            me = threading.get_ident()
            if self._last == me and self._asking:
                self._give_way(me)
            self._asking.add(me)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if not self._lock.mine:
            me = self._last = threading.get_ident()
            self._asking.discard(me)

    def _give_way(self, me: int) -> None:
        """Let another thread that asks go first."""
        end = time.monotonic() + _MOST_SECONDS
        while self._last == me and self._asking - {me} and time.monotonic() < end:
            time.sleep(_LOOK_SECONDS)


class HasLock(Protocol):
    """An object that uses a device.

    Attributes
    ----------
    lock : FairLock
        The lock of the device.
    """

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        ...


Some = TypeVar("Some", bound=HasLock)
Given = ParamSpec("Given")
Result = TypeVar("Result")


def whole(method: Callable[Concatenate[Some, Given], Result]) -> Callable[Concatenate[Some, Given], Result]:
    """Make a method atomic: no other thread uses the device meanwhile, and an interrupt (Ctrl-C) is deferred."""
    @functools.wraps(method)
    def guarded(self: Some, *arguments: Given.args, **options: Given.kwargs) -> Result:
        lock = self.lock
        with lock.turn, lock, uninterrupted():
            return method(self, *arguments, **options)

    return guarded

"""One thread at a time: what several register accesses do together is done as a whole."""

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
"""Between two looks at whether another thread has had the lock."""
_MOST_SECONDS = 0.05
"""Longest that a thread lets others go first: who has asked may have been interrupted, or be slow to wake up."""


class FairLock(_thread.RLock):  # pyright: ignore[reportGeneralTypeIssues] - final in stubs only
    """A lock that a thread may take again while it has it, and that others get before who had it last.

    ``with lock`` takes it, ``with lock.turn, lock`` lets others that ask go first if this thread had it last. Python's
    own locks let a thread that gives one back and asks at once have it again: one that lets time pass in slices would
    keep all others out.

    Taking it and giving it back are Python's, in C: a signal handler that raises (Ctrl-C) comes before or after, and
    the lock belongs to who is in the block. That may not be said of anything written in Python. So who asks and who had
    it last are noted beside it, and nothing but the order depends on that; a handler may use the device too.

    Attributes
    ----------
    turn : Turn
    """

    def __init__(self):
        self.turn = Turn(self)

    @property
    def mine(self) -> bool:
        """Whether this thread has it."""
        return self._is_owned()  # pyright: ignore[reportAttributeAccessIssue] - not in stubs


class Turn:
    """Whose turn it is to take a lock (`FairLock`): entered before it is taken, left when it has been given back.

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
    """What uses a device.

    Attributes
    ----------
    lock : FairLock
        Of the device.
    """

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        ...


Some = TypeVar("Some", bound=HasLock)
Given = ParamSpec("Given")
Result = TypeVar("Result")


def whole(method: Callable[Concatenate[Some, Given], Result]) -> Callable[Concatenate[Some, Given], Result]:
    """Have a method done as a whole: no other thread uses the device meanwhile, an interrupt (Ctrl-C) is put off."""
    @functools.wraps(method)
    def guarded(self: Some, *arguments: Given.args, **options: Given.kwargs) -> Result:
        lock = self.lock
        with lock.turn, lock, uninterrupted():
            return method(self, *arguments, **options)

    return guarded

"""One thread at a time: what several register accesses do together is done as a whole, by whoever came first."""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from .time_slices import uninterrupted

__all__ = ["FairLock", "whole"]

_HANDED_ON = -1


class FairLock:
    """A lock that threads get in the order in which they have asked, and may take again while they have it.

    Python's own locks let a thread that gives one back and asks at once have it again: one that lets time pass in
    slices would keep all others out.
    """

    def __init__(self):
        self._mutex = threading.Lock()
        self._owner: int | None = None
        self._depth = 0
        self._waiting: deque[threading.Lock] = deque()

    def __enter__(self) -> FairLock:
        me = threading.get_ident()
        if self._owner != me:
            self._acquire()
            self._owner = me
        self._depth += 1
        return self

    def _acquire(self) -> None:
        with self._mutex:
            if self._owner is None:
                self._owner = _HANDED_ON
                return
            gate = threading.Lock()
            gate.acquire()
            self._waiting.append(gate)
        try:
            gate.acquire()
        except BaseException:  # an interrupt (Ctrl-C) while it waits
            with self._mutex:
                if gate in self._waiting:
                    self._waiting.remove(gate)
                else:
                    self._hand_on()
            raise

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            with self._mutex:
                self._hand_on()

    def _hand_on(self) -> None:
        """Give the lock to who waits longest."""
        if self._waiting:
            self._owner = _HANDED_ON
            self._waiting.popleft().release()
        else:
            self._owner = None


class HasLock(Protocol):
    """What uses a device.

    Attributes
    ----------
    lock : FairLock
        Of the device.
    """

    @property
    def lock(self) -> FairLock:
        """Of the device."""
        ...


Some = TypeVar("Some", bound=HasLock)
Given = ParamSpec("Given")
Result = TypeVar("Result")


def whole(method: Callable[Concatenate[Some, Given], Result]) -> Callable[Concatenate[Some, Given], Result]:
    """Have a method done as a whole: no other thread uses the device meanwhile, an interrupt (Ctrl-C) is put off."""
    @functools.wraps(method)
    def guarded(self: Some, *arguments: Given.args, **options: Given.kwargs) -> Result:
        with self.lock, uninterrupted():
            return method(self, *arguments, **options)

    return guarded

"""How long work says how far it is: one function, passed down or found, and one display for all of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Protocol

__all__ = ["Progress", "quiet", "report", "reporting_to"]


class Progress(Protocol):
    """Called when a step begins, and again with the same text as it goes on."""

    def __call__(self, text: str, done: int = 0, total: int = 0) -> None:
        """Say what goes on.

        Parameters
        ----------
        text : str
            The step; another text begins another step.
        done, total : int
            How far it is, in whatever it counts; 0 of 0: not known.
        """


def quiet(text: str, done: int = 0, total: int = 0) -> None:
    """Show nothing."""


_current: ContextVar[Progress] = ContextVar("caesura_progress", default=quiet)


def report(text: str, done: int = 0, total: int = 0) -> None:
    """Pass a step to whoever shows them at present; nobody may."""
    _current.get()(text, done, total)


@contextlib.contextmanager
def reporting_to(progress: Progress) -> Iterator[Progress]:
    """Let `report` pass on to a function, in this thread, as long as the context lasts."""
    token = _current.set(progress)
    try:
        yield progress
    finally:
        _current.reset(token)

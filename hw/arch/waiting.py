"""How the bounds of a preempt's waiting, its patience and its grace, are written in a program, a
job file and on the command line."""

from __future__ import annotations

import operator
from typing import Any

from .registers import UNLIMITED_EXPIRY, UNLIMITED_GRACE, UNLIMITED_PATIENCE

__all__ = ["UNLIMITED", "WANTED", "waiting", "waiting_cycles"]

UNLIMITED = "unlimited"
"""A preempt waits for ever."""
WANTED = f"a number of cycles from 0 to {UNLIMITED_PATIENCE - 1}, or {UNLIMITED!r}, is wanted"
"""Words for a permitted bound, in messages."""

assert UNLIMITED_EXPIRY == UNLIMITED_GRACE == UNLIMITED_PATIENCE


def waiting_cycles(given: Any) -> int | None:
    """Return a bound as registers ``patience`` and ``grace`` hold it, None if it is none."""
    if given == UNLIMITED:
        return UNLIMITED_PATIENCE
    try:
        cycles = -1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        return None
    return cycles if 0 <= cycles < UNLIMITED_PATIENCE else None


def waiting(cycles: int) -> int | str:
    """Return what a value of register ``patience`` or ``grace`` is written as."""
    return UNLIMITED if cycles == UNLIMITED_PATIENCE else cycles

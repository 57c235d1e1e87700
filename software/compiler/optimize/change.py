"""The answer of a pass: whether it has changed a kernel."""

from __future__ import annotations

import enum

__all__ = ["Change"]


class Change(enum.IntEnum):
    """Whether a pass has changed a kernel; as a truth value that alone."""

    NONE = 0
    SOME = 1
    SETTLED = 2
    """It has, and would find nothing in what it has left."""

"""The answer of a pass: whether it has changed a kernel."""

from __future__ import annotations

import enum

__all__ = ["Change"]


class Change(enum.IntEnum):
    """Whether a pass has changed a kernel; its truth value says only that."""

    NONE = 0
    SOME = 1
    SETTLED = 2
    """The pass has changed it, and would find nothing more."""

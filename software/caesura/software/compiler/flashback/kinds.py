"""Which preemption routines there are."""

from __future__ import annotations

import enum

from caesura.hw.arch.errors import InputError

__all__ = ["RoutineKind"]


class RoutineKind(enum.Enum):
    """What the preemption routines of a kernel do; the value is the printed name."""

    LIVE = "live"
    """Stop at once, and save what is live."""
    RELAXED = "relaxed"
    """Flash back to a point whose registers are there, without reverting (CTXBack III-B)."""
    CTXBACK = "ctxback"
    """Flash back, reverting as well (III-C)."""
    CS_DEFER = "cs-defer"
    """Run on to where less is live."""
    CTXBACK_CS_DEFER = "ctxback+cs-defer"
    """The better of the last two."""

    @classmethod
    def of(cls, name: str) -> RoutineKind:
        """Return the kind of a name.

        Raises
        ------
        InputError
            If there is none; the message lists those there are.
        """
        for kind in cls:
            if kind.value == name:
                return kind
        raise InputError(f"no preemption routines {name!r}; there are {', '.join(kind.value for kind in cls)}")

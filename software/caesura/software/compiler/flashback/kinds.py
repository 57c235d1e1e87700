"""Which preemption routines there are."""

from __future__ import annotations

import enum

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

    @property
    def flashes_back(self) -> bool:
        """Something may be executed again."""
        return self not in (RoutineKind.LIVE, RoutineKind.CS_DEFER)

    @property
    def reverts(self) -> bool:
        """Instructions may be reverted."""
        return self in (RoutineKind.CTXBACK, RoutineKind.CTXBACK_CS_DEFER)

    @property
    def defers(self) -> bool:
        """Warps may run on."""
        return self in (RoutineKind.CS_DEFER, RoutineKind.CTXBACK_CS_DEFER)

"""Which preemption routines there are."""

from __future__ import annotations

import enum
import itertools
from typing import NamedTuple

__all__ = ["ROUTINES", "RoutineForm", "RoutineKind", "Routines"]


class RoutineForm(enum.Enum):
    """Who saves the vector registers that a routine names; the value is the printed name."""

    HARDWARE = "hardware"
    """The save pipeline, which compresses them: the routine stops at a point that hands them over."""
    SOFTWARE = "software"
    """The routine, which stores them to local memory, and loads them when it goes on. Predicates and uniform registers
    are handed over."""


class RoutineKind(enum.Enum):
    """What the preemption routines of a kernel do; the value is the printed name."""

    ALL = "all"
    """Stop at once, and save every register: what CTXBack compares with."""

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
        return self not in (RoutineKind.ALL, RoutineKind.LIVE, RoutineKind.CS_DEFER)

    @property
    def reverts(self) -> bool:
        """Instructions may be reverted."""
        return self in (RoutineKind.CTXBACK, RoutineKind.CTXBACK_CS_DEFER)

    @property
    def defers(self) -> bool:
        """Warps may run on."""
        return self in (RoutineKind.CS_DEFER, RoutineKind.CTXBACK_CS_DEFER)


class Routines(NamedTuple):
    """Which preemption routines a kernel has."""

    kind: RoutineKind
    form: RoutineForm = RoutineForm.HARDWARE

    @property
    def label(self) -> str:
        """The printed name: that of the kind, behind ``software-`` where routines save registers themselves."""
        return f"software-{self.kind.value}" if self.form is RoutineForm.SOFTWARE else self.kind.value


ROUTINES: dict[str, Routines] = {
    routines.label: routines for form, kind in itertools.product(RoutineForm, RoutineKind)
    for routines in (Routines(kind, form),)}
"""All there are, by label."""

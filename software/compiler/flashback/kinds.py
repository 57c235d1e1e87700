"""The kinds and forms of preemption routines."""

from __future__ import annotations

import enum
import itertools
from typing import NamedTuple

__all__ = ["ROUTINES", "RoutineForm", "RoutineKind", "Routines"]


class RoutineForm(enum.Enum):
    """The part that saves the vector registers of a routine; the value is the printed name."""

    HARDWARE = "hardware"
    """The save pipeline compresses and saves them: the routine stops at a point that hands them over."""
    SOFTWARE = "software"
    """The routine stores them to local memory, and loads them at resume; it hands over predicates and uniforms."""


class RoutineKind(enum.Enum):
    """The strategy of a kernel's preemption routines; the value is the printed name."""

    ALL = "all"
    """Stop at once, and save every register; CTXBack compares with this."""

    LIVE = "live"
    """Stop at once, and save the live registers."""
    RELAXED = "relaxed"
    """Flash back to a point whose registers are there, without reverting (CTXBack III-B)."""
    CTXBACK = "ctxback"
    """Flash back, reverting as well (III-C)."""
    CS_DEFER = "cs-defer"
    """Run on to a place with fewer live registers."""
    CTXBACK_CS_DEFER = "ctxback+cs-defer"
    """The better of the last two."""

    @property
    def flashes_back(self) -> bool:
        """Whether instructions may be executed again."""
        return self not in (RoutineKind.ALL, RoutineKind.LIVE, RoutineKind.CS_DEFER)

    @property
    def reverts(self) -> bool:
        """Whether instructions may be reverted."""
        return self in (RoutineKind.CTXBACK, RoutineKind.CTXBACK_CS_DEFER)

    @property
    def defers(self) -> bool:
        """Whether warps may run on."""
        return self in (RoutineKind.CS_DEFER, RoutineKind.CTXBACK_CS_DEFER)


class Routines(NamedTuple):
    """Kind and form of a kernel's preemption routines."""

    kind: RoutineKind
    form: RoutineForm = RoutineForm.HARDWARE

    @property
    def label(self) -> str:
        """The printed name: the name of the kind, behind ``software-`` where routines save registers themselves."""
        return f"software-{self.kind.value}" if self.form is RoutineForm.SOFTWARE else self.kind.value


ROUTINES: dict[str, Routines] = {
    routines.label: routines for form, kind in itertools.product(RoutineForm, RoutineKind)
    for routines in (Routines(kind, form),)}
"""All kinds and forms, by label."""

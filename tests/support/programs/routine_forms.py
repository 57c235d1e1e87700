"""The preemption routines that tests try: every kind that hands registers over, and some that store them."""

import dataclasses

from caesura.hw.arch.geometry import Geometry
from caesura.sim.scenario import CompiledJob
from caesura.software.compiler.flashback.kinds import RoutineForm, RoutineKind
from caesura.software.compiler.flashback.traps import with_routines
from caesura.software.kernels.ctxback import KERNELS

__all__ = ["ROUTINES", "SOME_ROUTINES", "TABLE_ONE", "routine_id", "with_routines_of"]

ROUTINES = [*((kind, RoutineForm.HARDWARE) for kind in RoutineKind),
            *((kind, RoutineForm.SOFTWARE) for kind in (
                RoutineKind.ALL, RoutineKind.CTXBACK, RoutineKind.CTXBACK_CS_DEFER))]
SOME_ROUTINES = [(RoutineKind.CTXBACK_CS_DEFER, RoutineForm.HARDWARE), (RoutineKind.CTXBACK, RoutineForm.SOFTWARE)]

TABLE_ONE = [each.name for each in KERNELS if each.name != "persistent"]
"""The kernels of CTXBack Table I; the other one of the folder is after Lin et al., Fig. 2."""


def with_routines_of(work: CompiledJob, g: Geometry, kind: RoutineKind, form: RoutineForm) -> CompiledJob:
    """Return a kernel with preemption routines, and the same job."""
    return dataclasses.replace(work, image=with_routines(work.image, g, kind, form=form))


def routine_id(value):
    """Name of a parameter of a test, None of what is neither kind nor form."""
    return value.value if isinstance(value, RoutineForm | RoutineKind) else None

"""The preemption routines that tests try: every kind that hands registers over, and some that store them."""

from caesura.software.compiler.flashback.kinds import RoutineForm, RoutineKind

__all__ = ["ROUTINES", "SOME_ROUTINES", "routine_id"]

ROUTINES = [*((kind, RoutineForm.HARDWARE) for kind in RoutineKind),
            *((kind, RoutineForm.SOFTWARE) for kind in (
                RoutineKind.ALL, RoutineKind.CTXBACK, RoutineKind.CTXBACK_CS_DEFER))]
SOME_ROUTINES = [(RoutineKind.CTXBACK_CS_DEFER, RoutineForm.HARDWARE), (RoutineKind.CTXBACK, RoutineForm.SOFTWARE)]


def routine_id(value):
    """Name of a parameter of a test, None of what is neither kind nor form."""
    return value.value if isinstance(value, RoutineForm | RoutineKind) else None

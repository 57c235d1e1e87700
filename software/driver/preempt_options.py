"""How a preempt may be asked for: which options a machine, a mechanism and a launch allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caesura.hw.arch.context import Capability, Mechanism, mechanisms_of
from caesura.hw.arch.geometry import Geometry
from caesura.software.waiting import WANTED, waiting_cycles

from .errors import DriverError
from .launch import Launch

__all__ = ["check_checkpoints", "check_grace", "check_in_place", "check_options", "check_patience", "check_restart",
           "check_trap", "named_mechanism"]

_NOT_IN_PLACE = "{} does not go with in_place, or a newcomer: what stays on the SM is whole; give one"


def check_options(g: Geometry, mechanism: Mechanism | str, how: Mapping[str, Any]) -> None:
    """Check how launches that are not known yet are to be preempted.

    Raises
    ------
    DriverError
        If there is no such mechanism or option, or the machine has none.
    """
    chosen = named_mechanism(mechanism, g)
    known = {"patience", "grace", "incremental", "in_place", "trap", "scramble"}
    if unknown := set(how) - known:
        raise DriverError(f"no option {sorted(unknown)[0]!r} of preempts that nobody asks for one by one; there are "
                          f"{', '.join(sorted(known))}")
    check_patience(chosen, how.get("patience"))
    check_grace(g, how.get("grace", 0))
    for option, there in (("incremental", g.checkpoints), ("in_place", g.in_place), ("trap", g.traps)):
        if how.get(option) and not there:
            raise DriverError(f"this machine ({g.name}) has no {option}: its geometry says so; leave it out")
    if how.get("in_place") and how.get("incremental"):
        raise DriverError(_NOT_IN_PLACE.format("incremental"))
    if how.get("trap"):
        _check_stops_at_points(chosen, False)


def named_mechanism(given: Mechanism | str, g: Geometry) -> Mechanism:
    """Return the mechanism of a name or a number, if the machine has it."""
    try:
        mechanism = Mechanism.of(given) if isinstance(given, str) else Mechanism(given)
    except ValueError:
        names = ", ".join(repr(m.label) for m in Mechanism)
        raise DriverError(f"no mechanism {given!r}; there are {names}") from None
    if mechanism not in mechanisms_of(g):
        raise DriverError(f"this machine ({g.name}) has no mechanism {mechanism.label!r}: its geometry says "
                          "tb_compressor = false; choose another mechanism")
    return mechanism


def check_patience(mechanism: Mechanism, given: int | str | None) -> None:
    """Refuse a patience that is none, or that the mechanism does not have."""
    if given is None:
        return
    if not mechanism.has(Capability.STOPS_AT_POINTS):
        raise DriverError(f"mechanism {mechanism.label!r} does not wait for preemption points: it takes no patience; "
                          "leave it out, or choose another mechanism")
    if waiting_cycles(given) is None:
        raise DriverError(f"patience {given!r}: {WANTED}")


def check_grace(g: Geometry, given: int | str) -> None:
    """Refuse a grace that is none, or where the machine gives none."""
    if waiting_cycles(given) is None:
        raise DriverError(f"grace {given!r}: {WANTED}")
    if waiting_cycles(given) and not g.grace:
        raise DriverError(f"this machine ({g.name}) gives no grace: its geometry says grace = false; leave it out")


def check_restart(launch: Launch) -> None:
    """Refuse to restart the thread blocks of a launch where that is not right, or the machine cannot."""
    name, g = launch.kernel.image.name, launch.device.geometry
    if not g.restart:
        raise DriverError(f"this machine ({g.name}) cannot restart thread blocks: its geometry says restart = false; "
                          "leave it out")
    if launch.not_restartable:
        raise DriverError(f"the thread blocks of kernel {name!r} cannot begin anew: {launch.not_restartable}; leave "
                          "restart out")


def check_checkpoints(launch: Launch, scramble: bool, option: str) -> None:
    """Refuse a checkpoint, or an increment (`option`), that the machine or the launch cannot have."""
    g = launch.device.geometry
    if not g.checkpoints:
        what = "saves no increments" if option else "takes no checkpoints"
        raise DriverError(f"this machine ({g.name}) {what}: its geometry says checkpoints = false; "
                          + (f"leave {option} out" if option else "preempt the launch instead"))
    if option and launch.scrambled - {scramble}:
        raise DriverError("a base of this launch may have been saved with another `scramble`; a launch is resumed with "
                          "one, so give the same")


def check_trap(launch: Launch, mechanism: Mechanism, restart: bool) -> None:
    """Refuse traps where the machine, the kernel or the way has none."""
    g, image = launch.device.geometry, launch.kernel.image
    if not g.traps:
        raise DriverError(f"this machine ({g.name}) has no traps: its geometry says traps = false; leave trap out")
    _check_stops_at_points(mechanism, restart)
    if not image.traps:
        raise DriverError(f"kernel {image.name!r} has no preemption routines to trap into; compile it with them "
                          "(caesura compile --routines), or leave trap out")


def _check_stops_at_points(mechanism: Mechanism, restart: bool) -> None:
    if not mechanism.has(Capability.STOPS_AT_POINTS) or restart:
        raise DriverError(f"{'restart' if restart else f'mechanism {mechanism.label!r}'} does not go with trap: its "
                          "warps stop at once, and not in a routine; leave it out")


def check_in_place(launch: Launch, others: dict[str, bool]) -> None:
    """Refuse to keep a launch in place where the machine cannot; `others` are options that do not go with it."""
    g = launch.device.geometry
    if not g.in_place:
        raise DriverError(f"this machine ({g.name}) keeps nothing in place: its geometry says in_place = false; leave "
                          "in_place and newcomer out")
    for name in (name for name, given in others.items() if given):
        raise DriverError(_NOT_IN_PLACE.format(name))

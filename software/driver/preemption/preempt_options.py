"""The options of a preempt: the driver's keywords, and the checks against the machine and the launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.way import FLAGS, Way

from ..launch.launch import Launch
from ..machine.errors import DriverError
from ..machine.wanted import FLAG, shown

__all__ = ["base_of", "check_launch", "check_machine", "standing_of", "way_of"]

_OPTIONS = ("patience", "grace", *FLAGS)
_OF_BASES = ("patience", "scramble")
"""Options of checkpoints."""
_STANDING = ("patience", "grace", "incremental", "in_place", "trap", "scramble")
"""Options of preempts that the machine starts by itself."""


def way_of(call: str, given: Way | Mechanism | str, options: dict[str, Any]) -> Way:
    """Return the way in which a call preempts.

    Parameters
    ----------
    call : str
        Name of the call, for messages.
    given : Way, Mechanism or str
        A way, which admits no other options; or a mechanism, its name or its number.
    options : dict
        Options by name.

    Raises
    ------
    DriverError
        If there is no such mechanism or option, or a flag is neither True nor False.
    """
    _check_known(call, options, tuple(name for name in _OPTIONS if name != "checkpoint"))
    for name in FLAGS:
        if name in options and not FLAG.holds(options[name]):
            raise DriverError(f"{call}: {name} must be {FLAG.what}, not {shown(options[name])}")
    if isinstance(given, Way):
        if options:
            raise DriverError(f"{call}: {sorted(options)[0]} is given beside a Way, which says it all; give one of the "
                              "two")
        return given
    try:
        mechanism = Mechanism.of(given) if isinstance(given, str) else Mechanism(given)
    except ValueError:
        names = ", ".join(repr(m.label) for m in Mechanism)
        raise DriverError(f"no mechanism {given!r}; there are {names}") from None
    return Way(mechanism, **options)


def base_of(call: str, given: Way | Mechanism | str, options: dict[str, Any]) -> Way:
    """Return the way in which a call saves bases; for parameters and errors see `way_of`."""
    _check_known(call, options, _OF_BASES)
    return way_of(call, given, options).but(checkpoint=True)


def standing_of(call: str, given: Way | Mechanism | str, options: dict[str, Any], g: Geometry) -> Way:
    """Return the way in which a machine preempts launches that are not known yet; for parameters and errors see
    `way_of`. Options that the machine lacks are refused."""
    _check_known(call, options, _STANDING)
    way = way_of(call, given, options)
    if way.restart or way.checkpoint:
        raise DriverError(f"{call}: a Way with {'restart' if way.restart else 'checkpoint'} is of one launch; give "
                          "another, or preempt the launch by hand")
    check_machine(g, way)
    return way


def _check_known(call: str, options: dict[str, Any], known: tuple[str, ...]) -> None:
    """Refuse options that a call does not have."""
    if unknown := sorted(options.keys() - {*known}):
        raise DriverError(f"{call}: no option {unknown[0]!r}; there are {', '.join(known)}")


def check_machine(g: Geometry, way: Way, names: Mapping[str, str] | None = None) -> None:
    """Check that a machine can preempt in a way; for `names` see `Way.refusal`.

    Raises
    ------
    DriverError
        If it cannot.
    """
    if why := way.refusal(g, names):
        raise DriverError(why)


def check_launch(launch: Launch, way: Way, newcomer: Launch | None) -> None:
    """Check that a launch can be preempted in a way.

    Raises
    ------
    DriverError
        If the machine, the kernel or an earlier preempt of the launch does not allow it.
    """
    check_machine(launch.device.geometry, way, None if newcomer is None else {"in_place": "newcomer"})
    name = launch.kernel.image.name
    if way.restart and launch.not_restartable:
        raise DriverError(f"the thread blocks of kernel {name!r} cannot begin anew: {launch.not_restartable}; leave "
                          "restart out")
    if way.incremental and launch.scrambled - {way.scramble}:
        raise DriverError("a base of this launch may have been saved with another `scramble`; a launch is resumed with "
                          "one, so give the same")
    if way.trap and not launch.kernel.image.traps:
        raise DriverError(f"kernel {name!r} has no preemption routines to trap into; compile it with them "
                          "(caesura compile --routines), or leave trap out")

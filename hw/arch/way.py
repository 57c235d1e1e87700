"""How thread blocks (TBs) are taken off an SM: all options of a preempt as one value.

Whatever asks for a preempt makes a `Way`: a call of the driver, a scheduler, a job file, the
command line, a register write. `Way.refusal` alone decides what a machine can do and what goes
together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from .geometry import Geometry
from .image.context import Capability, Mechanism, mechanisms_of
from .waiting import WANTED, waiting, waiting_cycles

__all__ = ["FLAGS", "Way", "WayOptions"]

FLAGS = ("restart", "checkpoint", "incremental", "in_place", "trap", "select", "scramble")
"""The options that are given or not; fields of register ``command`` too."""

_NEEDS = {
    "grace": ("grace", "gives no grace", "leave {} out"),
    "restart": ("restart", "cannot restart thread blocks", "leave {} out"),
    "checkpoint": ("checkpoints", "takes no checkpoints", "preempt without {}"),
    "incremental": ("checkpoints", "saves no increments", "leave {} out"),
    "in_place": ("in_place", "keeps nothing in place", "leave {} out"),
    "trap": ("traps", "has no traps", "leave {} out"),
    "select": ("proactive", "does not choose by thread block", "leave {} out"),
}
"""An option needs a feature of the geometry; the texts say what a machine lacks, and what to do."""

_CLASHES = (
    ("restart", "checkpoint", "a base is saved of thread blocks that run on"),
    ("restart", "in_place", "what stays on the SM is whole"),
    ("checkpoint", "in_place", "what stays on the SM is whole"),
    ("incremental", "in_place", "what stays on the SM is whole"),
    ("checkpoint", "select", "all thread blocks of a base run on"),
    ("restart", "trap", "its warps stop at once, and not in a routine"),
)
"""Options that do not go together, and why."""


class WayOptions(TypedDict, total=False):
    """The options besides the mechanism, as keywords; see `Way`."""

    patience: int | str | None
    grace: int | str
    restart: bool
    checkpoint: bool
    incremental: bool
    in_place: bool
    trap: bool
    select: bool
    scramble: bool


@dataclass(frozen=True)
class Way:
    """How a preempt, or a checkpoint, is carried out.

    Attributes
    ----------
    mechanism : Mechanism
    patience : int, str or None
        Cycles of drain, or ``"unlimited"``, after which warps stop where they are; None for the
        driver's default. Only with a mechanism that stops at points.
    grace : int or str
        Cycles, or ``"unlimited"``, that TBs are given to run to their end first (draining).
    restart : bool
        Nothing is saved: TBs stop at once, and begin anew (flushing).
    checkpoint : bool
        TBs are saved as bases, and run on (PEP III-C).
    incremental : bool
        TBs with a base save only what they have written since (PEP III-C).
    in_place : bool
        Registers and shared memory stay on the SM until others need the room (Lin et al. III-A).
    trap : bool
        Warps stop in the preemption routines of their kernel (CTXBack).
    select : bool
        TBs that end sooner than they could be saved are given the grace, the others are saved at
        once (PEP III-D 2).
    scramble : bool
        Test mode: registers that are not saved come back as random bits.
    """

    mechanism: Mechanism = Mechanism.LIVE
    patience: int | str | None = None
    grace: int | str = 0
    restart: bool = False
    checkpoint: bool = False
    incremental: bool = False
    in_place: bool = False
    trap: bool = False
    select: bool = False
    scramble: bool = False

    @property
    def stops_at_points(self) -> bool:
        """Warps run on to a preemption point, as long as there is patience."""
        return self.mechanism.has(Capability.STOPS_AT_POINTS) and not self.restart

    @property
    def patience_cycles(self) -> int | None:
        """Patience as register ``patience`` holds it; None if it is not given, or is none."""
        return None if self.patience is None else waiting_cycles(self.patience)

    @property
    def grace_cycles(self) -> int:
        """Grace as register ``grace`` holds it."""
        return waiting_cycles(self.grace) or 0

    def but(self, **options: Any) -> Way:
        """Return this way with some options changed."""
        return dataclasses.replace(self, **options)

    def refusal(self, g: Geometry, names: Mapping[str, str] | None = None) -> str:
        """Return why a machine cannot preempt so, in one line; empty if it can.

        Parameters
        ----------
        g : Geometry
            The geometry of the machine.
        names : mapping of str to str, optional
            The names that the user gave options, where they differ.
        """
        if self.mechanism not in mechanisms_of(g):
            return (f"this machine ({g.name}) has no mechanism {self.mechanism.label!r}: its "
                    "geometry says tb_compressor = false; choose another mechanism")
        for name, (feature, lack, remedy) in _NEEDS.items():
            given = self.grace_cycles if name == "grace" else getattr(self, name)
            if given and not getattr(g, feature):
                return (f"this machine ({g.name}) {lack}: its geometry says {feature} = false; "
                        f"{remedy.format(_called(name, names))}")
        return self.clash(names)

    def clash(self, names: Mapping[str, str] | None = None) -> str:
        """Return which options no machine takes together, in one line; empty if some machine does.

        Parameters
        ----------
        names : mapping of str to str, optional
            The names that the user gave options, as in `refusal`.
        """
        patience = 0 if self.patience is None else self.patience
        for name, given in (("patience", patience), ("grace", self.grace)):
            if waiting_cycles(given) is None:
                return f"{name} {given!r}: {WANTED}"
        if not self.mechanism.has(Capability.STOPS_AT_POINTS):
            label = f"mechanism {self.mechanism.label!r}"
            if self.patience is not None:
                return (f"{label} does not wait for preemption points: it takes no patience; "
                        "leave it out, or choose another mechanism")
            if self.trap:
                return (f"{label} does not go with {_called('trap', names)}: its warps stop at "
                        "once, and not in a routine; give one of them")
        if self.select and not self.grace_cycles:
            return (f"{_called('select', names)} needs {_called('grace', names)}: it bounds the "
                    "wait for thread blocks that end by themselves; give one")
        for one, other, why in _CLASHES:
            if getattr(self, one) and getattr(self, other):
                return (f"{_called(one, names)} does not go with {_called(other, names)}: {why}; "
                        "give one of them")
        return ""

    @property
    def fields(self) -> dict[str, int]:
        """Fields of register ``command``: mechanism and `FLAGS`."""
        flags = {name: int(getattr(self, name)) for name in FLAGS}
        return {"mechanism": int(self.mechanism), **flags}

    @classmethod
    def from_fields(cls, fields: Mapping[str, int], patience: int, grace: int) -> Way | None:
        """Return what registers ask for; None if the mechanism is none.

        Parameters
        ----------
        fields : mapping of str to int
            As `fields`; others are passed over, and what is not there is not asked for.
        patience, grace : int
            Values of these registers.
        """
        if fields["mechanism"] not in list(Mechanism):
            return None
        mechanism = Mechanism(fields["mechanism"])
        waits = mechanism.has(Capability.STOPS_AT_POINTS)
        flags = {name: bool(fields.get(name)) for name in FLAGS}
        return cls(mechanism, waiting(patience) if waits else None, waiting(grace), **flags)


def _called(name: str, names: Mapping[str, str] | None) -> str:
    """Return the name that the user gave an option."""
    return (names or {}).get(name, name)

"""Opens machines for schedulers by name, so that a measurement is the same on each."""

from __future__ import annotations

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry
from caesura.sim import open_device
from caesura.software.sched import DriverMachine, Machine, Technique

from .costs import Costs, check_geometry
from .model import ModelMachine

__all__ = ["MACHINES", "MEMORY_BYTES", "of_one_sm", "open_machine", "possible"]

MACHINES = ("rtl", "model")
"""Machines with time. A cycle of the golden model is an instruction."""
MEMORY_BYTES = 256 << 20
"""Memory of a device. Pages that are never written take no room on the host."""


def of_one_sm(g: Geometry) -> Geometry:
    """Return the geometry to measure: a single SM of a device, with the memory to itself."""
    return g.replace(sms=1, queues=0) if g.has_uncore else g


def open_machine(name: str, g: Geometry, costs: Costs | None = None, seed: int = 1) -> Machine:
    """Return a machine.

    Parameters
    ----------
    name : str
        ``"rtl"``, ``"golden"`` or ``"model"``.
    g : Geometry
        Geometry of one or several SMs. Several SMs share the memory's bandwidth.
    costs : Costs, optional
        Costs of one SM; a model needs them.
    seed : int
        Seed of a model.

    Raises
    ------
    InputError
        If there is no such machine, or a model has no costs or the costs of another geometry.
    """
    if name == "model":
        if costs is None:
            raise InputError("a model needs costs: calibrate first")
        check_geometry(costs, of_one_sm(g))
        return ModelMachine(costs, g.sms, g.bytes_per_cycle, seed)
    if name not in ("rtl", "golden"):
        raise InputError(f"there is no machine {name!r}; there are {', '.join((*MACHINES, 'golden'))}")
    return DriverMachine(open_device(name, g, MEMORY_BYTES))


def possible(g: Geometry, technique: Technique) -> bool:
    """Return whether an SM has what a way of preempting needs."""
    return technique.preempt is None or not technique.preempt.refusal(g)

"""Statistics of a run: how full SMs were, how many instructions they issued, why warps waited, and the use of caches
and the bus.

::

    device = open_device("rtl", "gtx480", observed=True)
    with counting(device) as counted:
        ...                                         # launch, preempt, resume, wait
    print(counted.statistics.kernels[0].ipc)

Everything is counted cycle by cycle from the ports that the RTL of an SM shows to simulations (`hw.sm.TracePorts` and,
of an observed one, `hw.sm.ObservationPorts`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry
from caesura.hw.interfaces.observation import CACHES, WARP_STATES
from caesura.sim.trace.changes import READERS, WRITERS
from caesura.sim.trace.counts import WHOLE
from caesura.software.driver import Device

from .kernel_names import KernelNames

__all__ = ["CacheUse", "Counting", "KernelUse", "SmUse", "Statistics", "counting", "statistics"]

BUS = tuple(dict.fromkeys((*READERS, *WRITERS)))
"""Kinds of bus use, in the order of the AXI ids of readers, then of writers."""


@dataclass(frozen=True)
class CacheUse:
    """Lookups of a cache, those that missed, and bytes that it fetched (with what it fetched ahead)."""

    lookups: int
    misses: int
    fetched_bytes: int

    @property
    def hit_rate(self) -> float | None:
        """Share of the lookups that hit; None if there were none."""
        return 1 - self.misses / self.lookups if self.lookups else None


@dataclass(frozen=True)
class _Counts:
    """The counts that an SM and a kernel on an SM have in common.

    Attributes
    ----------
    sm : int
        Its number.
    cycles : int
        That were counted; of a kernel those in which it had warps on the SM.
    instructions, thread_instructions : int
        Warp instructions that retired, and for how many threads they were executed.
    warps : float
        Mean number of warps on the SM over `cycles`.
    states : dict of str to float
        Share of each of the `hw.interfaces.observation.WARP_STATES` in the cycles of warps that had started and not
        ended. Empty if the simulator was not an observed one.
    """

    sm: int
    cycles: int
    instructions: int
    thread_instructions: int
    warps: float
    states: dict[str, float]

    @property
    def ipc(self) -> float:
        """Instructions a cycle."""
        return self.instructions / self.cycles if self.cycles else 0.0


@dataclass(frozen=True)
class KernelUse(_Counts):
    """A kernel in a kernel slot of an SM, all its launches there together.

    Attributes
    ----------
    name : str
    slot : int
        Launches that run at the same time have slots of their own.
    """

    name: str = ""
    slot: int = 0


@dataclass(frozen=True)
class SmUse(_Counts):
    """An SM.

    Attributes
    ----------
    busy_cycles : int
        Cycles in which it held warps.
    occupancy, tb_occupancy : float
        Share of the warp slots, and of the TB slots, that were in use, on average.
    issue_cycles : int or None
        Cycles in which the issue stage took an instruction, also one that does nothing or faults; None if the simulator
        was not an observed one.
    caches : dict of str to CacheUse
        Use of the `hw.interfaces.observation.CACHES` by name; empty likewise.
    bus : dict of str to int
        Bytes moved, by kind.
    """

    busy_cycles: int = 0
    occupancy: float = 0.0
    tb_occupancy: float = 0.0
    issue_cycles: int | None = None
    caches: dict[str, CacheUse] = field(default_factory=dict)
    bus: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Statistics:
    """The statistics of a machine over the counted cycles.

    Attributes
    ----------
    cycles : int
    sms : list of SmUse
    kernels : list of KernelUse
        A row for each kernel on each SM, and for each slot that it held there, by name.
    queue_bytes : int
        That hardware queues moved on the bus.
    bus_use : float
        Share of what the memory could have moved.
    """

    cycles: int
    sms: list[SmUse]
    kernels: list[KernelUse]
    queue_bytes: int
    bus_use: float

    @property
    def ipc(self) -> float:
        """Instructions a cycle of all SMs together."""
        return sum(sm.instructions for sm in self.sms) / self.cycles if self.cycles else 0.0


def _shares(row: np.ndarray) -> dict[str, float]:
    total = int(row["states"].sum())
    return {name: int(count) / total for name, count in zip(WARP_STATES, row["states"], strict=True)} if total else {}


def _counts(row: np.ndarray) -> dict[str, Any]:
    cycles = int(row["cycles"])
    return {"sm": int(row["sm"]), "cycles": cycles, "instructions": int(row["instructions"]),
            "thread_instructions": int(row["lanes"]), "states": _shares(row),
            "warps": int(row["warp_cycles"]) / cycles if cycles else 0.0}


def _caches(row: np.ndarray, bus: dict[str, int]) -> dict[str, CacheUse]:
    fetched = {"icache": bus["instruction fetch"], "constants": bus["constants"]}
    return {name: CacheUse(int(lookups), int(misses), fetched[name])
            for name, lookups, misses in zip(CACHES, row["lookups"], row["misses"], strict=True)}


def _sm(g: Geometry, row: np.ndarray, bus: dict[str, int], observed: bool) -> SmUse:
    slots = max(1, int(row["cycles"]))
    return SmUse(**_counts(row), busy_cycles=int(row["busy_cycles"]),
                 occupancy=int(row["warp_cycles"]) / (slots * g.warps),
                 tb_occupancy=int(row["tb_cycles"]) / (slots * g.tb_slots),
                 issue_cycles=int(row["states"][WARP_STATES.index("issued")]) if observed else None,
                 caches=_caches(row, bus) if observed else {}, bus=bus)


def _kernels(rows: np.ndarray, names: dict[int, str], held: KernelNames) -> list[KernelUse]:
    """Return a row for each kernel, SM and slot: launches of one name are added up, which do not overlap in a slot."""
    named: dict[tuple[str, int, int], list[np.ndarray]] = {}
    for row in rows:
        code, slot = int(row["code"]), int(row["slot"])
        name = names.get(code, f"kernel at {code:#x}") if code else held.at(slot, 0)
        named.setdefault((name, int(row["sm"]), slot), []).append(row)
    found = []
    for (name, _, slot), mine in sorted(named.items(), key=lambda item: item[0]):
        total = mine[0].copy()
        for row in mine[1:]:
            for part in ("cycles", "warp_cycles", "instructions", "lanes", "states"):
                total[part] += row[part]
        found.append(KernelUse(**_counts(total), name=name, slot=slot))
    return found


def statistics(g: Geometry, rows: np.ndarray, buses: list[dict[str, int]], queue_bytes: int, names: dict[int, str],
               held: KernelNames, observed: bool) -> Statistics:
    """Return the statistics of what was counted.

    Parameters
    ----------
    g : Geometry
    rows : numpy.ndarray
        Rows as `sim.trace.counts.COUNTED`.
    buses : list of dict of str to int
        Bytes by kind for each SM.
    queue_bytes : int
    names : dict of int to str
        Names of kernels by the address of their code.
    held : KernelNames
        Names of the kernels that slots held when counting began.
    observed : bool
        The simulator showed what warps do.
    """
    whole = rows[rows["slot"] == WHOLE]
    cycles = int(whole["cycles"][0])
    moved = queue_bytes + sum(sum(bus.values()) for bus in buses)
    return Statistics(cycles, [_sm(g, row, bus, observed) for row, bus in zip(whole, buses, strict=True)],
                      _kernels(rows[rows["slot"] != WHOLE], names, held), queue_bytes,
                      moved / (cycles * g.bytes_per_cycle) if cycles else 0.0)


class Counting:
    """The result of `counting`: `statistics`, final once its block has ended, or those so far.

    Attributes
    ----------
    statistics : Statistics
    """

    def __init__(self, device: Device):
        self._device = device
        self._transport: Any = device.transport
        self._held = KernelNames({slot: launch.kernel.image.name for slot, launch in device.launches.items()})
        self._before = self._traffic()
        self._result: Statistics | None = None
        self._transport.count(True)

    def _traffic(self) -> np.ndarray:
        g = self._device.geometry
        found = [self._transport.traffic_of(unit) for unit in range(g.sms + (g.queues > 0))]
        return np.array([[*traffic.read, *traffic.written] for traffic in found], np.int64)

    def end(self) -> None:
        """Count no more."""
        self._result = self.statistics
        self._transport.count(False)

    @property
    def statistics(self) -> Statistics:
        """Statistics of the cycles since counting began."""
        if self._result is not None:
            return self._result
        device, sms = self._device, self._device.geometry.sms
        moved = self._traffic() - self._before
        ids = [*enumerate(READERS), *((8 + k, name) for k, name in enumerate(WRITERS))]
        buses = [{name: int(sm[k]) for k, name in ids} for sm in moved[:sms]]
        return statistics(device.geometry, self._transport.counted(), buses, int(moved[sms:].sum()), device.code_names,
                          self._held, self._transport.observed)


@contextmanager
def counting(device: Device) -> Iterator[Counting]:
    """Count what the machine does inside the block.

    Parameters
    ----------
    device : Device
        Device on the RTL (``"rtl"``), opened with ``observed=True`` if states of warps and lookups of caches are to be
        counted.

    Raises
    ------
    ValueError
        If the device's back end cannot count.
    """
    transport: Any = device.transport
    if not hasattr(transport, "count"):
        raise InputError(f"no statistics of the back end {transport.name!r}: they are counted by the RTL under "
                         "Verilator, `--backend rtl`")
    found = Counting(device)
    try:
        yield found
    finally:
        found.end()

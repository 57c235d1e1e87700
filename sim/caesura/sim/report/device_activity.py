"""What a machine did over a run, of one SM or of several: its SMs, and what they have in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.packets import QueueState
from caesura.hw.arch.registers import register_map
from caesura.sim.timeline import READERS, WRITERS, EventKind

from .activity import Activity, Counter, Slice, activity, state_changes
from .kernel_names import KernelNames

__all__ = ["DeviceActivity", "commands", "device_activity", "device_counters", "dispatches", "queue_slices"]

_STARTED = 3
"""Cycles, at most, between the start of a packet and that of its kernel."""


@dataclass(frozen=True)
class DeviceActivity:
    """Everything on a timeline.

    Attributes
    ----------
    sms : list of Activity
    commands : list of Slice
        Commands of the host, each in the cycle in which it was written.
    dispatches : list of Slice
        Thread blocks as they are handed out to SMs; of one SM none.
    queues : list of list of Slice
        What each hardware queue does.
    counters : list of Counter
        Of the device as a whole; of one SM none, they are its own.
    """

    sms: list[Activity]
    commands: list[Slice]
    dispatches: list[Slice]
    queues: list[list[Slice]]
    counters: list[Counter]


def commands(events: np.ndarray, names: KernelNames) -> list[Slice]:
    """Return the commands of the host; one that was refused says why."""
    fields = register_map()["command"].fields

    def part(value: int, name: str) -> int:
        field = fields[name]
        return value >> field.low & (1 << field.width) - 1

    found = []
    for row in events[events["kind"] == EventKind.COMMAND]:
        value, cycle, error = int(row["value"]), int(row["cycle"]), int(row["slot"])
        op = part(value, "op")
        what = Command(op).name.lower() if op in list(Command) else f"command {op}"
        why = f", refused: {CommandError(error).name.lower()}" if error else ""
        found.append(Slice(f"{what} {names.at(part(value, 'kernel'), cycle)}{why}", cycle, cycle + 1))
    return found


def dispatches(events: np.ndarray, names: KernelNames) -> list[Slice]:
    """Return the thread blocks that were handed out, each in its cycle; a device hands out one a cycle."""
    rows = events[events["kind"] == EventKind.DISPATCHED]
    return [Slice(f"{names.at(int(row['kernel']), int(row['cycle']))} TB {row['launch']} to SM {row['unit']}",
                  int(row["cycle"]), int(row["cycle"]) + 1, notes={"TB": int(row["launch"]), "SM": int(row["unit"])})
            for row in rows]


def queue_slices(events: np.ndarray, queue: int, end: int, names: KernelNames) -> list[Slice]:
    """Return what a hardware queue did: the packet in hand waits, runs or has failed.

    A packet waits from its doorbell, or from the end of the one before, until its kernel is started or, if it is a
    barrier, until that has been passed; it runs until its completion signal is written and the queue goes on.
    """
    rows = events[np.isin(events["kind"], (EventKind.QUEUE, EventKind.DOORBELL)) & (events["unit"] == queue)]
    starts = {(slot, cycle) for k in np.unique(events["unit"]).tolist()
              for cycle, slot, state in state_changes(_of_sm(events, k)) if state is KernelState.RUNNING}
    state = written = 0
    found: list[Slice] = []
    for row in rows:
        cycle = int(row["cycle"])
        if row["kind"] == EventKind.QUEUE:
            state = int(row["value"])
        else:
            written = int(row["value"])
        packet, started, slot = state & 0xffffffff, state >> 32 & 1, state >> 33 & 127
        name = ""
        if started:
            of_kernel = any((slot, at) in starts for at in range(cycle - _STARTED, cycle + _STARTED + 1))
            name = f"packet {packet}: {names.at(slot, cycle) if of_kernel else 'barrier'}"
        elif QueueState(state >> 40) is QueueState.FAILED:
            name = f"packet {packet} failed"
        elif packet != written:
            name = f"packet {packet} waits"
        if found and found[-1].end < 0:
            if found[-1].name == name or started and found[-1].notes == {"packet": packet, "started": 1}:
                continue
            found[-1].end = cycle
        if name:
            found.append(Slice(name, cycle, notes={"packet": packet, "started": started}))
    if found and found[-1].end < 0:
        found[-1].end = end
    return [piece for piece in found if piece.cycles]


def device_counters(samples: np.ndarray, sms: int) -> list[Counter]:
    """Return bus bytes by kind and instructions a span between samples, and TBs resident, of all SMs together.

    Parameters
    ----------
    samples : numpy.ndarray
        Of `sim.timeline.SAMPLE`: of each SM, and of the queues if there are any.
    sms : int
    """
    by_unit = np.stack([samples[samples["unit"] == unit] for unit in np.unique(samples["unit"])])
    of_sms, of_queues = by_unit[:sms], by_unit[sms:]
    cycles = by_unit["cycle"][0].tolist()

    def total(part: str, ids: list[int]) -> np.ndarray:
        return of_sms[part][:, :, ids].sum(axis=(0, 2)).astype(np.int64)

    def per_span(name: str, unit: str, totals: np.ndarray) -> Counter:
        return Counter(name, unit, list(zip(cycles, [*np.diff(totals).tolist(), 0], strict=True)))

    save, restore = WRITERS.index("save"), READERS.index("restore")
    moved = {"running kernels": total("read", [*range(restore)]) + total("written", [*range(save)]),
             "save": total("written", [save]), "restore": total("read", [restore])}
    if len(of_queues):
        moved["queues"] = (of_queues["read"] + of_queues["written"]).sum(axis=(0, 2)).astype(np.int64)
    return [*(per_span(f"bus: {name}", "bytes", totals) for name, totals in moved.items()),
            per_span("instructions issued", "instructions", of_sms["instructions"].sum(axis=0).astype(np.int64)),
            Counter("TBs resident", "TBs", list(zip(cycles, of_sms["tbs"].sum(axis=0).tolist(), strict=True)))]


def _of_sm(events: np.ndarray, sm: int) -> np.ndarray:
    return events[(events["unit"] == sm) & (events["kind"] < EventKind.COMMAND)]


def device_activity(events: np.ndarray, samples: np.ndarray, names: KernelNames, sms: int, queues: int
                    ) -> DeviceActivity:
    """Return everything on the timeline of a recording (`RtlTransport.take_timeline`).

    Parameters
    ----------
    events, samples : numpy.ndarray
    names : KernelNames
    sms, queues : int
        Of the geometry.
    """
    end = int(samples["cycle"][-1])
    each = [activity(_of_sm(events, k), samples[samples["unit"] == k], names) for k in range(sms)]
    return DeviceActivity(each, commands(events, names), dispatches(events, names),
                          [queue_slices(events, q, end, names) for q in range(queues)],
                          device_counters(samples, sms) if sms > 1 else [])

"""The activity of a machine over a run, with one SM or several: its SMs, and the parts they share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from caesura.hw.arch.commands import Command
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.packets import QueueState
from caesura.hw.arch.registers import register_map
from caesura.sim.trace.changes import READERS, WRITERS, EventKind

from .activity import Activity, Counter, Slice, activity
from .kernel_names import KernelNames

__all__ = ["DeviceActivity", "commands", "device_activity", "device_counters", "dispatches", "queue_slices"]


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
    queues : list of list of list of Slice
        Activity of each hardware queue, by track.
    counters : list of Counter
        Of the device as a whole; of one SM none, they are its own.
    """

    sms: list[Activity]
    commands: list[Slice]
    dispatches: list[Slice]
    queues: list[list[list[Slice]]]
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


def queue_slices(events: np.ndarray, queue: int, capacity: int, end: int, names: KernelNames) -> list[list[Slice]]:
    """Return what a hardware queue did, on as many tracks as what overlaps needs.

    A packet waits from its doorbell, or from when the one before was begun or left room, until it is begun; a kernel
    is in flight, and a barrier that has been passed is one, until its completion signal is written.

    Parameters
    ----------
    events : numpy.ndarray
        Events as `sim.trace.changes.EVENT`.
    queue : int
    capacity : int
        `queue_capacity` of the geometry.
    end : int
        Cycle at which what has not ended ends.
    names : KernelNames
    """
    kernels = [piece for place in range(capacity) for piece in _flights(events, queue * capacity + place, end, names)]
    tracks: list[list[Slice]] = []
    for piece in sorted([*_waits(events, queue, end), *kernels], key=lambda piece: (piece.begin, piece.end)):
        track = next((track for track in tracks if track[-1].end <= piece.begin), None)
        if track is None:
            tracks.append(track := [])
        track.append(piece)
    return tracks


def _waits(events: np.ndarray, queue: int, end: int) -> list[Slice]:
    """Return what became of the packets that a queue was to begin, until it did."""
    rows = events[np.isin(events["kind"], (EventKind.QUEUE, EventKind.DOORBELL)) & (events["unit"] == queue)]
    state = written = 0
    found: list[Slice] = []
    for row in rows:
        if row["kind"] == EventKind.QUEUE:
            state = int(row["value"])
        else:
            written = int(row["value"])
        packet, passing, full = state & 0xffffffff, state >> 32 & 1, state >> 33 & 1
        name = ""
        if passing:
            name = f"packet {packet - 1 & 0xffffffff}: barrier"
        elif QueueState(state >> 40) is QueueState.FAILED:
            name = f"packet {packet} failed"
        elif packet != written and not full:
            name = f"packet {packet} waits"
        _go_on(found, name, int(row["cycle"]))
    return _ended(found, end)


def _flights(events: np.ndarray, flight: int, end: int, names: KernelNames) -> list[Slice]:
    """Return the kernels that were in flight in one place."""
    found: list[Slice] = []
    for row in events[(events["kind"] == EventKind.FLIGHT) & (events["unit"] == flight)]:
        cycle, value = int(row["cycle"]), int(row["value"])
        packet, busy, slot = value & 0xffffffff, value >> 32 & 1, value >> 33
        if busy and found and found[-1].end < 0 and found[-1].notes == {"packet": packet}:
            continue  # it is away, or has come back to another slot
        _go_on(found, f"packet {packet}: {names.at(slot, cycle)}" if busy else "", cycle, {"packet": packet})
    return _ended(found, end)


def _go_on(found: list[Slice], name: str, cycle: int, notes: dict[str, int] | None = None) -> None:
    """Begin a slice of this name, unless it is still the last one's."""
    if found and found[-1].end < 0:
        if found[-1].name == name:
            return
        found[-1].end = cycle
    if name:
        found.append(Slice(name, cycle, notes=notes or {}))


def _ended(found: list[Slice], end: int) -> list[Slice]:
    """Return the slices that take some time; the last one ends at the latest at `end`."""
    if found and found[-1].end < 0:
        found[-1].end = end
    return [piece for piece in found if piece.cycles]


def device_counters(samples: np.ndarray, sms: int) -> list[Counter]:
    """Return bus bytes by kind and instructions a span between samples, and TBs resident, of all SMs together.

    Parameters
    ----------
    samples : numpy.ndarray
        Samples as `sim.trace.changes.SAMPLE`: those of each SM, and those of the queues if there are any.
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


def device_activity(events: np.ndarray, samples: np.ndarray, names: KernelNames, sms: int, queues: int,
                    queue_capacity: int) -> DeviceActivity:
    """Return everything on the timeline of a recording (`RtlTransport.take_timeline`).

    Parameters
    ----------
    events, samples : numpy.ndarray
    names : KernelNames
    sms, queues, queue_capacity : int
        Numbers of the geometry.
    """
    end = int(samples["cycle"][-1])
    each = [activity(_of_sm(events, k), samples[samples["unit"] == k], names) for k in range(sms)]
    return DeviceActivity(each, commands(events, names), dispatches(events, names),
                          [queue_slices(events, q, queue_capacity, end, names) for q in range(queues)],
                          device_counters(samples, sms) if sms > 1 or queues else [])

"""What an SM did over a run, made of what `RtlTransport.record_timeline` recorded: slices of time and counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from caesura.hw.arch.commands import KernelState
from caesura.hw.sm import STATE_BITS
from caesura.sim.timeline import READERS, WRITERS, EventKind

__all__ = ["Slice", "Counter", "Activity", "activity", "phases", "warp_slices", "counters"]

SLOTS = 64 // STATE_BITS
"""Kernel slots for which an event of kind STATES has room."""
_VECTORS = EventKind.VALID, EventKind.ACTIVE, EventKind.WAITING, EventKind.STOPPED


@dataclass
class Slice:
    """Something that lasts.

    Attributes
    ----------
    name : str
    begin, end : int
        Cycles; `end` is the first one after it.
    inner : list of Slice
        What it consists of, in order.
    """

    name: str
    begin: int
    end: int = -1
    inner: list[Slice] = field(default_factory=list)

    @property
    def cycles(self) -> int:
        """How long."""
        return self.end - self.begin


@dataclass(frozen=True)
class Counter:
    """A value over time.

    Attributes
    ----------
    name, unit : str
    points : list of (int, int)
        Cycle and value; a value holds until the next cycle. What is counted a span of time stands at its beginning.
    """

    name: str
    unit: str
    points: list[tuple[int, int]]


@dataclass(frozen=True)
class Activity:
    """Everything on a timeline; `warps` is by warp slot."""

    phases: list[Slice]
    warps: dict[int, list[Slice]]
    counters: list[Counter]


def _named(names: Mapping[int, str], kernel: int) -> str:
    return names.get(kernel, f"kernel {kernel}")


def _draining(events: np.ndarray) -> list[tuple[int, int]]:
    """Return the spans in which the drain was counted."""
    rows = events[events["kind"] == EventKind.DRAINING]
    ups, downs = (rows["cycle"][rows["value"] == value].tolist() for value in (1, 0))
    return list(zip(ups, downs, strict=False))


def _split(whole: Slice, spans: list[tuple[int, int]]) -> None:
    """Cut a preempt into drain and save."""
    at = whole.begin
    for first, last in (span for span in spans if whole.begin <= span[0] < whole.end):
        if first > at:
            whole.inner.append(Slice("save", at, first))
        whole.inner.append(Slice("drain", first, last))
        at = last
    if at < whole.end:
        whole.inner.append(Slice("save", at, whole.end))


def _last(events: np.ndarray, kind: EventKind, begin: int, end: int) -> int | None:
    """Return the cycle of the last event of a kind in a span."""
    rows = events["cycle"][(events["kind"] == kind) & (events["cycle"] >= begin) & (events["cycle"] <= end)]
    return int(rows[-1]) if len(rows) else None


def _state_changes(events: np.ndarray) -> Iterator[tuple[int, int, KernelState]]:
    """Yield cycle, kernel slot and new state."""
    before = 0
    for row in events[events["kind"] == EventKind.STATES]:
        value = int(row["value"])
        for slot in range(SLOTS):
            new, old = (states >> STATE_BITS * slot & (1 << STATE_BITS) - 1 for states in (value, before))
            if new != old:
                yield int(row["cycle"]), slot, KernelState(new)
        before = value


def phases(events: np.ndarray, end: int, names: Mapping[int, str]) -> list[Slice]:
    """Return the phases of a run: each kernel's running, preempts (cut into drain and save) and restores, by time.

    A preempt lasts from its command until the last TB is done with (the counter ``save_cycles``), of which `drain`
    is what ``drain_cycles`` counts; a restore from its command until the last TB starts (``restore_cycles``).

    Parameters
    ----------
    events : numpy.ndarray
        Of `sim.timeline.EVENT`.
    end : int
        Cycle at which recording ended.
    names : mapping
        Of the kernel in each slot.
    """
    found: list[Slice] = []
    running: dict[int, Slice] = {}
    resumed_from: dict[int, int] = {}
    spans = _draining(events)
    changes = list(_state_changes(events))
    for number, (cycle, slot, state) in enumerate(changes):
        until = next((c for c, s, _ in changes[number + 1:] if s == slot), end)
        name = _named(names, slot)
        if state is KernelState.RUNNING:
            again = slot in resumed_from
            running[slot] = Slice(f"rest of {name}" if again else f"run {name}", resumed_from.pop(slot, cycle), until)
            found.append(running[slot])
        elif state is KernelState.PREEMPTING:
            begin = _last(events, EventKind.PREEMPT, 0, cycle)
            begin = cycle if begin is None else begin
            if slot in running:
                running[slot].end = begin
            whole = Slice(f"preempt {name}", begin, _last(events, EventKind.DROPPED, begin, until) or until)
            _split(whole, spans)
            found.append(whole)
        elif state is KernelState.RESUMING:
            begin = _last(events, EventKind.RESUME, 0, cycle)
            begin = cycle if begin is None else begin
            finish = _last(events, EventKind.STARTED, begin, until) or until
            found.append(Slice(f"restore {name}", begin, finish))
            resumed_from[slot] = finish
    return sorted(found, key=lambda piece: piece.begin)


class _WarpSlot:
    """Collects the slices of one warp slot."""

    def __init__(self):
        self.slices: list[Slice] = []
        self.open = self.was_active = False
        self.owner = "a warp from before the recording"

    def close(self, cycle: int) -> None:
        if self.open:
            self.slices[-1].end = self.slices[-1].inner[-1].end = cycle
        self.open = False

    def enter(self, cycle: int, state: str) -> None:
        if not self.open:
            self.slices.append(Slice(self.owner, cycle))
            self.open, self.was_active = True, False
        inner = self.slices[-1].inner
        if inner and inner[-1].name == state:
            return
        if inner:
            inner[-1].end = cycle
        inner.append(Slice(state, cycle))

    def update(self, cycle: int, valid: bool, active: bool, waiting: bool, stopped: bool) -> None:
        if not valid:
            return self.close(cycle)
        if not self.open:
            self.was_active = False
        if not active:
            state = "ended" if self.open and self.was_active else "loading"
        else:
            state = "stopped" if stopped else "waiting at barrier" if waiting else "running"
        self.enter(cycle, state)
        self.was_active |= active


def warp_slices(events: np.ndarray, end: int, names: Mapping[int, str]) -> dict[int, list[Slice]]:
    """Return what each warp slot held (kernel, TB, warp) and, inside, the state of the warp over time.

    States are ``loading``, ``running``, ``waiting at barrier``, ``stopped`` (for a preempt, with nothing
    outstanding) and ``ended``.
    """
    slots: dict[int, _WarpSlot] = {}
    vectors: dict[EventKind, int] = dict.fromkeys(_VECTORS, 0)
    rows = events[(events["kind"] <= EventKind.STOPPED) | (events["kind"] == EventKind.INIT)]
    cycles, starts = np.unique(rows["cycle"], return_index=True)
    for cycle, group in zip(cycles.tolist(), np.split(rows, starts[1:]) if len(rows) else [], strict=True):
        touched, entering = 0, []
        for row in group:
            kind = EventKind(int(row["kind"]))
            if kind is EventKind.INIT:
                entering.append(row)
                continue
            touched |= vectors[kind] ^ int(row["value"])
            vectors[kind] = int(row["value"])
        for slot in range(touched.bit_length()):
            if touched >> slot & 1:
                slots.setdefault(slot, _WarpSlot()).update(cycle, *(bool(vectors[k] >> slot & 1) for k in _VECTORS))
        for row in entering:  # in the slot from the next cycle on
            slot = slots.setdefault(int(row["slot"]), _WarpSlot())
            slot.close(cycle + 1)
            slot.owner = f"{_named(names, int(row['kernel']))} TB {row['launch']} warp {row['warp']}"
    for slot in slots.values():
        slot.close(end)
    return {number: slot.slices for number, slot in sorted(slots.items())}


def counters(samples: np.ndarray) -> list[Counter]:
    """Return bus bytes by source and instructions a span between samples, and TBs resident."""
    cycles = samples["cycle"].tolist()

    def per_span(name: str, unit: str, totals: np.ndarray) -> Counter:
        gained = [*np.diff(totals.astype(np.int64)).tolist(), 0]
        return Counter(name, unit, list(zip(cycles, gained, strict=True)))

    moved = [per_span(f"bus: {name}", "bytes", samples[part][:, k])
             for part, sources in (("read", READERS), ("written", WRITERS)) for k, name in enumerate(sources)]
    return [*moved, per_span("instructions issued", "instructions", samples["instructions"]),
            Counter("TBs resident", "TBs", list(zip(cycles, samples["tbs"].tolist(), strict=True)))]


def activity(events: np.ndarray, samples: np.ndarray, names: Mapping[int, str]) -> Activity:
    """Return everything on the timeline of a recording (`RtlTransport.take_timeline`).

    Parameters
    ----------
    events, samples : numpy.ndarray
    names : mapping
        Name of the kernel in each kernel slot.
    """
    end = int(samples["cycle"][-1])
    return Activity(phases(events, end, names), warp_slices(events, end, names), counters(samples))

"""The activity of an SM over a run, from `RtlTransport.record_timeline`: slices of time and counters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from caesura.hw.arch.commands import KernelState
from caesura.hw.sm import STATE_BITS
from caesura.sim.trace.changes import READERS, WRITERS, EventKind

from .kernel_names import KernelNames

__all__ = ["Activity", "Counter", "Slice", "activity", "counters", "phases", "residency", "state_changes",
           "warp_slices"]

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
        Slices inside it, in order.
    notes : dict of str to int
        Further numbers that describe it.
    """

    name: str
    begin: int
    end: int = -1
    inner: list[Slice] = field(default_factory=list)
    notes: dict[str, int] = field(default_factory=dict)

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
    """Everything of an SM on a timeline.

    Attributes
    ----------
    phases : list of Slice
    tbs : list of list of Slice
        Thread blocks while they are on the SM, in as few rows as hold them.
    warps : dict of int to list of Slice
        Slices by warp slot.
    counters : list of Counter
    """

    phases: list[Slice]
    tbs: list[list[Slice]]
    warps: dict[int, list[Slice]]
    counters: list[Counter]


def _draining(events: np.ndarray) -> list[tuple[int, int]]:
    """Return the spans in which the drain was counted."""
    rows = events[events["kind"] == EventKind.DRAINING]
    ups, downs = (rows["cycle"][rows["value"] == value].tolist() for value in (1, 0))
    return list(zip(ups, downs, strict=False))


def _split(whole: Slice, taken: int, spans: list[tuple[int, int]]) -> None:
    """Cut a preempt, which the engine takes at a cycle, into what is before that, drain and save."""
    at = min(max(whole.begin, taken), whole.end)
    if at > whole.begin:
        whole.inner.append(Slice("waits", whole.begin, at))
    for first, last in (span for span in spans if at <= span[0] < whole.end):
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


def _taken(events: np.ndarray, kind: EventKind, kernel: int, before: int, cycle: int, until: int) -> int:
    """Return when the engine took a command for a kernel, which was given in the state that the kernel had from the
    cycle `before` to `cycle`, and ended by `until`: the last one up to `cycle`, else the first one after it; `cycle` if
    there was none."""
    rows = events["cycle"][(events["kind"] == kind) & (events["kernel"] == kernel)
                           & (events["cycle"] >= before) & (events["cycle"] < until)]
    early, late = rows[rows <= cycle], rows[rows > cycle]
    return int(early[-1] if len(early) else late[0] if len(late) else cycle)


def state_changes(events: np.ndarray) -> Iterator[tuple[int, int, KernelState]]:
    """Yield cycle, kernel slot and new state from the events of an SM."""
    before = 0
    for row in events[events["kind"] == EventKind.STATES]:
        value = int(row["value"])
        for slot in range(SLOTS):
            new, old = (states >> STATE_BITS * slot & (1 << STATE_BITS) - 1 for states in (value, before))
            if new != old:
                yield int(row["cycle"]), slot, KernelState(new)
        before = value


def phases(events: np.ndarray, end: int, names: KernelNames) -> list[Slice]:
    """Return the phases of a run: each kernel's running, preempts (cut into drain and save) and restores, by time.

    A preempt lasts from its command until the last TB is done with: it `waits` for the end of its grace, or for the
    engine, if that has to be; the rest is the counter ``save_cycles``, of which `drain` is what ``drain_cycles``
    counts. A restore lasts from its command until the last TB starts (``restore_cycles``).

    Parameters
    ----------
    events : numpy.ndarray
        Events as `sim.trace.changes.EVENT`, of one SM.
    end : int
        Cycle at which recording ended.
    names : KernelNames
    """
    found: list[Slice] = []
    running: dict[int, Slice] = {}
    resumed_from: dict[int, int] = {}
    spans = _draining(events)
    changes = list(state_changes(events))
    last: dict[int, int] = {}
    for number, (cycle, slot, state) in enumerate(changes):
        until = next((c for c, s, _ in changes[number + 1:] if s == slot), end)
        before, last[slot] = last.get(slot, 0), cycle
        name = names.at(slot, cycle)
        if state is KernelState.RUNNING:
            again = slot in resumed_from
            running[slot] = Slice(f"rest of {name}" if again else f"run {name}", resumed_from.pop(slot, cycle), until)
            found.append(running[slot])
        elif state is KernelState.PREEMPTING:
            taken = _taken(events, EventKind.PREEMPT, slot, before, cycle, until)
            begin = min(taken, cycle)
            if slot in running:
                running[slot].end = begin
            whole = Slice(f"preempt {name}", begin, _last(events, EventKind.DROPPED, begin, until) or until)
            _split(whole, taken, spans)
            found.append(whole)
        elif state is KernelState.RESUMING:
            begin = min(_taken(events, EventKind.RESUME, slot, before, cycle, until), cycle)
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


def warp_slices(events: np.ndarray, end: int, names: KernelNames) -> dict[int, list[Slice]]:
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
            slot.owner = f"{names.at(int(row['kernel']), cycle)} TB {row['launch']} warp {row['warp']}"
    for slot in slots.values():
        slot.close(end)
    return {number: slot.slices for number, slot in sorted(slots.items())}


class _Residency:
    """Collects the stays of thread blocks: from the first of their warps in a slot to the last."""

    def __init__(self):
        self.owner: dict[int, Slice] = {}
        self.left: dict[int, int] = {}  # warp slots of a stay, by its id
        self.stays: list[Slice] = []
        self.here: dict[tuple[int, int], Slice] = {}

    def enter(self, cycle: int, slot: int, kernel: int, launch: int, name: str) -> None:
        self.release(cycle, slot)
        stay = self.here.get((kernel, launch))
        if stay is None:
            stay = Slice(f"{name} TB {launch}", cycle, notes={"TB": launch, "warps": 0})
            self.here[kernel, launch] = stay
            self.stays.append(stay)
        self.owner[slot] = stay
        stay.notes["warps"] += 1
        self.left[id(stay)] = self.left.get(id(stay), 0) + 1

    def release(self, cycle: int, slot: int) -> None:
        stay = self.owner.pop(slot, None)
        if stay is None:
            return
        self.left[id(stay)] -= 1
        if not self.left[id(stay)]:
            stay.end = cycle
            self.here = {key: other for key, other in self.here.items() if other is not stay}


def residency(events: np.ndarray, end: int, names: KernelNames) -> list[list[Slice]]:
    """Return the stays of thread blocks on an SM, in rows: each in the first that is free when it begins.

    A TB is there from the cycle in which its first warp has its slot until the last has lost it; one that is saved and
    comes back has a stay before and one after. TBs whose warps came before the recording are not shown. Parameters are
    those of `phases`.
    """
    found, valid = _Residency(), 0
    rows = events[(events["kind"] == EventKind.VALID) | (events["kind"] == EventKind.INIT)]
    # a warp that is put into a slot has it from the next cycle on
    cycles = rows["cycle"] + (rows["kind"] == EventKind.INIT)
    for at in np.lexsort((rows["kind"] != EventKind.INIT, cycles)).tolist():
        row, cycle = rows[at], int(cycles[at])
        if row["kind"] == EventKind.INIT:
            kernel = int(row["kernel"])
            found.enter(cycle, int(row["slot"]), kernel, int(row["launch"]), names.at(kernel, cycle))
            continue
        lost, valid = valid & ~int(row["value"]), int(row["value"])
        for slot in range(lost.bit_length()):
            if lost >> slot & 1:
                found.release(cycle, slot)
    for stay in found.here.values():
        stay.end = end
    return _in_rows(found.stays)


def _in_rows(stays: list[Slice]) -> list[list[Slice]]:
    rows: list[list[Slice]] = []
    for stay in sorted(stays, key=lambda piece: piece.begin):
        free = next((row for row in rows if row[-1].end <= stay.begin), None)
        if free is None:
            rows.append([stay])
        else:
            free.append(stay)
    return rows


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


def activity(events: np.ndarray, samples: np.ndarray, names: KernelNames) -> Activity:
    """Return everything of an SM on the timeline.

    Parameters
    ----------
    events, samples : numpy.ndarray
        Those of the SM.
    names : KernelNames
    """
    end = int(samples["cycle"][-1])
    return Activity(phases(events, end, names), residency(events, end, names), warp_slices(events, end, names),
                    counters(samples))

"""Reads from a timeline when thread blocks (TBs) were on an SM, and how much kernels slow each other down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from caesura.sim.trace.changes import EventKind

from .costs import KernelCosts

__all__ = ["Span", "tb_spans", "crowding", "slowdown"]

_LEAST, _MOST = -0.5, 60.0
"""Range in which a slow-down is sought."""


class Span(NamedTuple):
    """A TB on the SM.

    Attributes
    ----------
    kernel : int
        Kernel slot.
    begin, end : int
        Cycles.
    """

    kernel: int
    begin: int
    end: int


def tb_spans(events: np.ndarray) -> list[Span]:
    """Return each TB of a timeline, in the order of their ends.

    Parameters
    ----------
    events : numpy.ndarray
        Records of `sim.trace.changes.EVENT` from a run without preempts.
    """
    owner: dict[int, tuple[int, int]] = {}
    begun: dict[tuple[int, int], int] = {}
    left: dict[tuple[int, int], int] = {}
    spans, before = [], 0
    for row in events[(events["kind"] == EventKind.INIT) | (events["kind"] == EventKind.VALID)]:
        if row["kind"] == EventKind.INIT:
            tb, slot = (int(row["kernel"]), int(row["launch"])), int(row["slot"])
            owner[slot] = tb
            begun.setdefault(tb, int(row["cycle"]))
            left[tb] = left.get(tb, 0) + 1
        elif row["kind"] == EventKind.VALID:
            now = int(row["value"])
            for slot in [slot for slot in owner if before >> slot & 1 and not now >> slot & 1]:
                tb = owner.pop(slot)
                left[tb] -= 1
                if not left[tb]:
                    spans.append(Span(tb[0], begun.pop(tb), int(row["cycle"])))
            before = now
    return spans


def crowding(spans: Sequence[Span], own: int, other: int) -> Iterator[tuple[int, int, int]]:
    """Yield the stretches of time with TBs of a kernel: cycles, number of its TBs, number of TBs of another kernel."""
    changes = sorted((cycle, kernel, step) for kernel, begin, end in spans for cycle, step in ((begin, 1), (end, -1)))
    count = {own: 0, other: 0}
    since = 0
    for cycle, kernel, step in changes:
        if cycle > since and count[own]:
            yield cycle - since, count[own], count[other]
        count[kernel], since = count[kernel] + step, cycle


def slowdown(spans: Sequence[Span], own: int, other: int, costs: KernelCosts) -> float:
    """Return the slow-down of a kernel's TB by each TB of another kernel beside it, as a share of its time alone.

    With this slow-down, the work done in the spans is equal to the work of the TBs that ended in them.

    Parameters
    ----------
    spans : sequence of Span
        All spans of a run of two kernels.
    own, other : int
        Kernel slots of the two kernels.
    costs : KernelCosts
        Costs of the first kernel.
    """
    stretches = list(crowding(spans, own, other))
    done = sum(span.kernel == own for span in spans) + costs.cold_cycles / costs.cycles_with(1)

    def work(slower: float) -> float:
        return sum(cycles * ours / (costs.cycles_with(ours) * max(0.2, 1 + slower * theirs))
                   for cycles, ours, theirs in stretches)

    low, high = _LEAST, _MOST
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if work(middle) > done else (low, middle)
    return round((low + high) / 2, 4)

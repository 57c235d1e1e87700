"""When TBs were on an SM, and how much kernels slow each other down: of timelines that are known."""

import numpy as np
import pytest

from caesura.sim.model.spans import Span, crowding, slowdown, tb_spans
from caesura.sim.trace.changes import EVENT, EventKind
from support.sim.sched import round_kernel


def timeline(*rows):
    """Events of (cycle, kind, value, slot, kernel, launch)."""
    events = np.zeros(len(rows), EVENT)
    for event, (cycle, kind, value, slot, kernel, launch) in zip(events, rows, strict=True):
        event["cycle"], event["kind"], event["value"] = cycle, kind, value
        event["slot"], event["kernel"], event["launch"] = slot, kernel, launch
    return events


def test_a_tb_lasts_from_its_first_warp_to_its_last():
    init, valid = EventKind.INIT, EventKind.VALID
    events = timeline((10, init, 0, 0, 0, 7), (11, valid, 0b01, 0, 0, 0), (12, init, 0, 1, 0, 7),
                      (13, valid, 0b11, 0, 0, 0), (20, init, 0, 2, 1, 0), (21, valid, 0b111, 0, 0, 0),
                      (50, valid, 0b110, 0, 0, 0), (60, init, 0, 0, 1, 1), (61, valid, 0b111, 0, 0, 0),
                      (70, valid, 0b101, 0, 0, 0), (80, valid, 0b001, 0, 0, 0), (95, valid, 0, 0, 0, 0))
    assert tb_spans(events) == [Span(0, 10, 70), Span(1, 20, 80), Span(1, 60, 95)]


def test_stretches_in_which_the_company_stays_the_same():
    spans = [Span(0, 0, 100), Span(1, 40, 60), Span(0, 80, 130)]
    assert [*crowding(spans, 0, 1)] == [(40, 1, 0), (20, 1, 1), (20, 1, 0), (20, 2, 0), (30, 1, 0)]
    assert [*crowding(spans, 1, 0)] == [(20, 1, 1)]


@pytest.mark.parametrize("slower", [0.0, 0.4, 3.0])
def test_a_slow_down_is_found_again(slower):
    """Ten TBs, of which each has another kernel beside it for half of its work."""
    costs, spans, at = round_kernel("vecadd", ((1, 1000.0), (2, 1500.0))), [], 0
    for _ in range(10):
        beside = round(500 * (1 + slower))
        spans += [Span(0, at, at + 500 + beside), Span(1, at, at + beside)]
        at += 500 + beside
    assert slowdown(spans, 0, 1, costs) == pytest.approx(slower, abs=0.01)


def test_two_of_a_kind_are_no_slow_down_by_another():
    costs = round_kernel("vecadd", ((1, 1000.0), (2, 1500.0)))
    spans = [Span(0, 0, 1500), Span(0, 0, 1500), Span(0, 1500, 2500), Span(1, 1500, 2500)]
    assert slowdown(spans, 0, 1, costs) == pytest.approx(0, abs=0.01)

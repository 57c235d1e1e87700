"""The regression of cycles: nothing that a kernel does on the bus, and no cycle, is other than recorded.

A row that differs is a change of what the machine does, or of the code of a kernel. If it is meant, the rows are
recorded anew (docs/verification.md), and the commit names them and says why.
"""

import functools
from pathlib import Path

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.bench.cycles import GEOMETRIES, MOMENTS, measure, neighbour, recorded, recorded_state
from caesura.sim.bench.recording import NOTHING, compare
from caesura.sim.bench.state_bits import state_bits
from caesura.sim.memory import MemoryTiming
from caesura.software.kernels import KERNELS

RECORDED = Path(__file__).parent / "recorded"
GTX480 = PRESETS["gtx480"]
SAMPLES = [("reduction", Mechanism.OCCUPIED), ("collatz", Mechanism.LIVE), ("hotspot", Mechanism.LIVE_CP)]
"""Barriers, divergence and compressed contexts, all in shared use of the bus."""
MOMENT = "1/2"

other = functools.cache(lambda: neighbour(RECORDED))


def report(differences):
    """What the reader of a failed test sees: a line a difference."""
    return "\n" + "\n".join(map(str, differences))


def sampled(name, mechanism):
    """Measure two runs of a kernel; return what differs from their rows."""
    rows = measure(GTX480, name, other(), [mechanism], [MOMENT])
    keys = {row.key for row in rows}
    assert keys == {(name, NOTHING, NOTHING), (name, mechanism.label, MOMENT)}
    return compare("gtx480", [row for row in recorded(RECORDED, "gtx480", name) if row.key in keys], rows)


@pytest.mark.full
@pytest.mark.parametrize("name, mechanism", SAMPLES, ids=lambda x: getattr(x, "label", x))
def test_sampled_rows_are_as_recorded(name, mechanism):
    found = sampled(name, mechanism)
    assert not found, report(found)


@pytest.mark.full
def test_a_slower_memory_is_noticed(monkeypatch):
    timing = MemoryTiming.of(GTX480.replace(memory_latency=GTX480.memory_latency + 1))
    monkeypatch.setattr(MemoryTiming, "of", lambda g: timing)
    found = {(d.row, d.column) for d in sampled("reduction", Mechanism.OCCUPIED)}
    assert {("gtx480 reduction", "cycles"), ("gtx480 reduction", "beats"),
            ("gtx480 reduction occupied 1/2", "beats")} <= found
    assert ("gtx480 reduction", "image") not in found


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_every_kernel_is_recorded(geometry):
    for name in KERNELS:
        rows = recorded(RECORDED, geometry, name)
        runs = [(name, NOTHING, NOTHING), *((name, m.label, moment) for m in Mechanism for moment in MOMENTS)]
        fits = not (len(rows) == 1 and rows[0].outcome.startswith("does not fit: "))
        assert [row.key for row in rows] == (runs if fits else runs[:1])


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_cycles_are_as_recorded(geometry, name):
    found = compare(geometry, recorded(RECORDED, geometry, name), measure(PRESETS[geometry], name, other()))
    assert not found, report(found)


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_state_is_as_recorded(geometry):
    found = compare(NOTHING, recorded_state(RECORDED, geometry), [state_bits(PRESETS[geometry])])
    assert not found, report(found)

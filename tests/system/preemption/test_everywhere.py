"""Preempt everywhere on the RTL: at every cycle of small runs, for all mechanisms, nothing may be lost.

`make test` takes a sample of smaller runs on `tiny`; `make test-full` one on the whole SM of `gtx480`, and every cycle
on an SM of fewer warps that other kernels fill sooner, beside a memory that is near, in chunks, of which an interrupted
campaign repeats none that has passed.
Every kernel that ships is interrupted in `test_every_kernel`.
"""

import dataclasses

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Capability, Mechanism
from caesura.hw.arch.isa.formats import Format
from caesura.hw.arch.isa.liveness import LIVE_BITS
from caesura.hw.arch.isa.words import decode
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob
from caesura.sim.workloads.everywhere import SMALL_SM, Campaign, totals
from caesura.software.driver import CycleLimit, KernelFault
from caesura.software.kernels import hostile
from support.programs.small_runs import SMALL_RUNS, TINY_RUNS
from support.selection import quick
from support.sim.campaigns import bring_memory_near, chunk_of

FULL, TINY = PRESETS["gtx480"], PRESETS["tiny"]
MOST_CYCLES = 2000
LONGER = {"doubles": 4000, "atomics": 6000}
"""Two rounds of `doubles`, whose points are a division and a root apart; the lanes of `atomics` follow each other."""
CHUNKS = 8
SAMPLES = 5
SINCE = 0, 1, 20, 75, 250, 600
"""Cycles from a base to its increment."""


FLOATS = "matmul", "hotspot", "layerforward"
"""Compressed contexts."""
UNITS = "doubles", "atomics", "shuffles", "local"
"""State beside registers, predicates and shared memory. Preemption points lie far apart: with `live` many requests come
to nothing. In the campaign the mechanisms take turns: each cycle is interrupted by one of them."""
CASES = [(name, mechanism) for name in SMALL_RUNS for mechanism in Mechanism
         if name not in FLOATS or mechanism.has(Capability.COMPRESSES)]
TINY_CASES = [(name, mechanism) for name in TINY_RUNS for mechanism in Mechanism]
IN_TURN = [(name, [*Mechanism][number % len(Mechanism)]) for number, name in enumerate(TINY_RUNS)]
"""`make test` takes each run of `tiny` with one mechanism, in turn."""
_campaigns = {}


def campaign(name, geometry=FULL):
    key = name, geometry.warps
    if key not in _campaigns:
        transport = RtlTransport(geometry, memory_bytes=1 << 20 if geometry is TINY else 8 << 20)
        if geometry is SMALL_SM or name in FLOATS + UNITS:  # which that keeps within `MOST_CYCLES`
            bring_memory_near(transport)
        runs = TINY_RUNS if geometry is TINY else SMALL_RUNS
        _campaigns[key] = Campaign(transport, runs[name](), CompiledJob(*hostile(geometry)), fill=True)
    return _campaigns[key]


@pytest.mark.parametrize("name, mechanism", quick(TINY_CASES, IN_TURN))
def test_sampled_cycles_of_tiny(name, mechanism):
    c = campaign(name, TINY)
    cycles = range(7 * mechanism, c.cycles, c.cycles // SAMPLES)
    _, saved = totals(c.at_cycles(mechanism, cycles))
    assert saved > len(cycles) // (6 if name in UNITS else 2)


@pytest.mark.parametrize("name, mechanism", quick(TINY_CASES, [
    ("barriers", Mechanism.LIVE_TB), ("random", Mechanism.OCCUPIED), ("divergent", Mechanism.LIVE_CP)]))
def test_sampled_cycles_of_tiny_after_a_base(name, mechanism):
    c = campaign(name, TINY)
    cycles, saved = range(11 * mechanism, c.cycles, c.cycles // SAMPLES), 0
    for cycle, since in zip(cycles, SINCE, strict=False):
        saved += totals(c.at_cycles(mechanism, [cycle], since=since))[1]
    assert saved > (0 if name in UNITS else 1)


@pytest.mark.parametrize("name, mechanism", quick(TINY_CASES, [
    ("barriers", Mechanism.LIVE_CP), ("random", Mechanism.LIVE_TB)]))
def test_periodic_preemption_on_tiny_terminates(name, mechanism):
    (outcome,) = campaign(name, TINY).at_cycles(mechanism, [150], 400)
    assert outcome.wrong_bytes == 0
    assert outcome.requests >= 1


@pytest.mark.full
@pytest.mark.parametrize("name, mechanism", CASES)
def test_sampled_cycles(name, mechanism):
    c = campaign(name)
    assert c.cycles <= LONGER.get(name, MOST_CYCLES)
    cycles = range(7 * mechanism, c.cycles, c.cycles // SAMPLES)
    _, saved = totals(c.at_cycles(mechanism, cycles))
    assert saved > len(cycles) // (6 if name in UNITS else 2)


@pytest.mark.full
@pytest.mark.parametrize("name, mechanism", CASES)
def test_sampled_cycles_after_a_base(name, mechanism):
    c = campaign(name)
    cycles = range(11 * mechanism, c.cycles, c.cycles // SAMPLES)
    saved = 0
    for cycle, since in zip(cycles, SINCE, strict=False):
        saved += totals(c.at_cycles(mechanism, [cycle], since=since))[1]
    assert saved > (0 if name in UNITS else 1)


@pytest.mark.full
@pytest.mark.parametrize("name, mechanism", CASES)
def test_periodic_bases_and_increments_terminate(name, mechanism):
    (outcome,) = campaign(name).at_cycles(mechanism, [300], 400, since=90)
    assert outcome.wrong_bytes == 0


@pytest.mark.parametrize("name, geometry", quick(
    [*((name, FULL) for name in SMALL_RUNS if name not in FLOATS), ("barriers", TINY)], [("barriers", TINY)]),
    ids=lambda value: getattr(value, "name", value))
def test_campaign_notices_liveness_that_is_wrong(name, geometry):
    work = (TINY_RUNS if geometry is TINY else SMALL_RUNS)[name]()
    points = [k for k, word in enumerate(work.image.code) if decode(word).op.format is Format.L]
    code = tuple(word & ~((1 << LIVE_BITS) - 1) if k in points else word for k, word in enumerate(work.image.code))
    broken = CompiledJob(dataclasses.replace(work.image, code=code), work.job)
    c = Campaign(RtlTransport(geometry, memory_bytes=8 << 20), broken, CompiledJob(*hostile(geometry)), fill=True)
    c.max_cycles = 8 * c.cycles + 30_000  # one that does not end is wrong, too; the neighbour takes a while
    wrong = 0
    for cycle in range(c.cycles // 4, c.cycles, c.cycles // 8):
        try:
            wrong += sum(o.wrong_bytes for o in c.at_cycles(Mechanism.LIVE, [cycle]))
        except (CycleLimit, KernelFault):
            wrong += 1
    assert wrong > 0


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("name, mechanism", CASES)
def test_every_cycle(name, mechanism, chunk):
    c = campaign(name, SMALL_SM)
    cycles = range(mechanism, c.cycles, len(Mechanism)) if name in UNITS else range(c.cycles)
    totals(c.at_cycles(mechanism, chunk_of(cycles, chunk, CHUNKS)))


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name, mechanism", CASES)
def test_every_seventh_cycle_after_a_base(name, mechanism):
    c = campaign(name, SMALL_SM)
    for k, since in enumerate(SINCE):
        totals(c.at_cycles(mechanism, range(7 * k + mechanism, c.cycles, 7 * len(SINCE)), since=since))


@pytest.mark.full
@pytest.mark.parametrize("name, mechanism", CASES)
def test_periodic_preemption_terminates(name, mechanism):
    (outcome,) = campaign(name).at_cycles(mechanism, [500], 500)
    assert outcome.wrong_bytes == 0
    assert outcome.requests >= 1

"""Random sequences of mechanisms: a kernel is preempted at least twenty times a run, each time with another mechanism
and in another way, with what is not saved random; nothing may be lost."""

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.workloads.everywhere import SMALL_SM
from caesura.software.compiler.flashback.kinds import RoutineForm, RoutineKind
from support.programs.routine_forms import with_routines_of
from support.programs.small_runs import SMALL_RUNS, TINY_RUNS
from support.selection import quick
from support.sim.campaigns import bring_memory_near
from support.sim.mechanism_sequences import WAYS, MechanismSequences

RUNS, SHARE = 48, 8
"""Runs of each kernel, and of a test of the campaign."""
WITHOUT_ROUTINES = {"routines"}
"""Its calls are nested: its machine code cannot be lifted."""
_machines = {}


def sequences(machine, name):
    if (machine, name) not in _machines:
        _machines.clear()
        if machine == "golden":
            transport = GoldenTransport(SMALL_SM, memory_bytes=8 << 20)
        elif machine == "tiny":
            transport = RtlTransport(PRESETS["tiny"], memory_bytes=1 << 20)
        else:
            g, memory = (SMALL_SM, 8 << 20) if machine == "rtl" else (PRESETS["gtx480"], 16 << 20)
            transport = RtlTransport(g, memory)
            bring_memory_near(transport)
        work = (TINY_RUNS if machine == "tiny" else SMALL_RUNS)[name]()
        if name not in WITHOUT_ROUTINES:
            work = with_routines_of(work, transport.geometry, RoutineKind.CTXBACK, RoutineForm.HARDWARE)
        _machines[machine, name] = MechanismSequences(transport, work)
    return _machines[machine, name]


@pytest.mark.parametrize("name, runs", quick([*((name, 3) for name in SMALL_RUNS), ("barriers", 1)], [("barriers", 1)]))
def test_on_the_golden_model(name, runs):
    found = sequences("golden", name)
    for seed in range(runs):
        found.run(seed)
    assert len({mechanism for _, mechanism in found.ways}) == len(Mechanism)


@pytest.mark.parametrize("machine, name", quick(
    [*(("whole sm", name) for name in SMALL_RUNS), *(("tiny", name) for name in TINY_RUNS)], [("tiny", "random")]))
def test_on_the_whole_sm(machine, name):
    found = sequences(machine, name)
    found.run(0)
    assert found.ways.total() >= 20


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(0, RUNS, SHARE))
@pytest.mark.parametrize("name", SMALL_RUNS)
def test_on_the_rtl(name, first):
    found = sequences("rtl", name)
    for seed in range(first, first + SHARE):
        found.run(seed)
    ways = {way for way, _ in found.ways}
    rare = {"bit by bit", "restart", *(["trap"] if name in WITHOUT_ROUTINES else [])}
    assert {*WAYS} - rare <= ways and any(way.startswith("one: ") for way in ways)
    assert found.evicted

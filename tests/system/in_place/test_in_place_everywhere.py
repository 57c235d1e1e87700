"""Preempt in place everywhere on the RTL: what stays, what has to leave for a newcomer, and what is evicted later comes
back as it was.

`make test` takes a sample, `make test-full` every cycle of small runs, in the geometry of the campaign of
`test_everywhere`; mechanisms, and who comes meanwhile, take turns.
"""

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Capability, Mechanism
from caesura.hw.arch.waiting import UNLIMITED
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob
from caesura.sim.workloads.everywhere import SMALL_SM, totals
from caesura.sim.workloads.newcomer import PairCampaign
from caesura.software.kernels import hostile
from support.programs.small_runs import SMALL_RUNS, TINY_RUNS
from support.selection import quick
from support.sim.campaigns import bring_memory_near, chunk_of

CHUNKS = 4
NAMED, UNNAMED, NOBODY = "named", "unnamed", "nobody"
WAYS = NAMED, UNNAMED, NOBODY
"""Who comes: one for whom half of the SM is left at the preempt, one for whom all that stays is evicted, nobody."""


def guest(g, way):
    """Return a geometry that the hostile kernel fills with one thread block: it needs half of `g`, or all of it."""
    if way != NAMED:
        return g.replace(tb_slots=1)
    return g.replace(registers=g.registers // 2, shared_bytes=g.shared_bytes // 2, tb_slots=1, warps=g.warps // 2)


class InPlace(PairCampaign):
    """Preempts in place; `stayed` and `evicted` count thread blocks."""

    def __init__(self, name, way, g):
        self.way, self.stayed, self.evicted = way, 0, 0
        transport = RtlTransport(g, memory_bytes=8 << 20)
        bring_memory_near(transport)
        runs = TINY_RUNS if g is PRESETS["tiny"] else SMALL_RUNS
        super().__init__(transport, runs[name](), CompiledJob(*hostile(guest(g, way))), 200_000, fill=True)

    def _interrupt(self, mechanism, patience, since):
        device, launch, (before, _) = self.device, self._launch, self._evicted()
        newcomer = self._launch_newcomer() if self.way == NAMED else None
        saved = device.preempt(launch, mechanism, patience=patience, in_place=True, newcomer=newcomer, scramble=True,
                               max_cycles=self.max_cycles)
        if saved:
            self.stayed += max(self._stay("registers"), self._stay("lines"))
        if newcomer:
            self._note(newcomer)
            device.wait(newcomer, self.max_cycles)
            assert not self._other_wrong()
        elif self.way == UNNAMED:
            self._run_neighbour()
        self.evicted += self._evicted()[0] - before
        if saved:
            device.resume(launch, max_cycles=self.max_cycles)
        return saved is not None


SAMPLED = [("barriers", NAMED, "tiny"), ("random", NOBODY, "tiny")]
_campaigns = {}


def campaign(name, way, g=SMALL_SM):
    key = name, way, g.warps
    if key not in _campaigns:
        _campaigns.clear()
        _campaigns[key] = InPlace(name, way, g)
    found = _campaigns[key]
    found.stayed = found.evicted = 0
    return found


def patience(mechanism, cycle):
    """Half of the preempts wait for preemption points, the others stop warps where they are."""
    waits = mechanism.has(Capability.STOPS_AT_POINTS)
    return (UNLIMITED if cycle // 12 % 2 else 0) if waits else None


def preempt_at(machine, cycles):
    """Preempt at each of some cycles, mechanisms in turn."""
    saved = 0
    for number, cycle in enumerate(cycles):
        mechanism = [*Mechanism][number % len(Mechanism)]
        saved += totals(machine.at_cycles(mechanism, [cycle], patience=patience(mechanism, number)))[1]
    return saved


@pytest.mark.parametrize("name, way, geometry", quick(
    [("barriers", NAMED, "gtx480"), ("random", NOBODY, "gtx480"), ("hotspot", NAMED, "gtx480"), *SAMPLED], SAMPLED))
def test_sampled_cycles_on_a_whole_sm(name, way, geometry):
    machine = campaign(name, way, PRESETS[geometry])
    assert preempt_at(machine, range(13, machine.cycles, machine.cycles // 5)) > 2
    assert machine.stayed and not machine.evicted


@pytest.mark.full
@pytest.mark.parametrize("name", SMALL_RUNS)
@pytest.mark.parametrize("way", WAYS)
def test_something_stays_and_is_evicted(name, way):
    machine = campaign(name, way)
    assert preempt_at(machine, range(13, machine.cycles, machine.cycles // 8)) > 2
    assert machine.stayed and (way != UNNAMED or machine.evicted) and (way != NOBODY or not machine.evicted)


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("name", SMALL_RUNS)
@pytest.mark.parametrize("way", WAYS)
def test_every_cycle(name, way, chunk):
    """Of all cycles of a run a third each way."""
    machine = campaign(name, way)
    cycles = range(WAYS.index(way), machine.cycles, len(WAYS))
    preempt_at(machine, chunk_of(cycles, chunk, CHUNKS))

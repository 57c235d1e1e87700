"""Any commands in any order, with any mechanism, whatever memory does meanwhile: no TB is lost or runs twice, every
command ends, and nothing but the kernels' own arrays changes."""

import pytest

from caesura.hw.arch.geometry import preset
from support.selection import quick
from support.sim.schedules import Schedules

RUNS = {"tiny": 1600, "ecp5": 300, "gtx480": 100}
"""Runs of 20 commands and more."""
SHARE = 5
"""Runs of a test."""


def shares():
    for name, runs in RUNS.items():
        for first in range(0, runs, SHARE):
            yield pytest.param(name, first, id=f"{name}-{first}")


@pytest.fixture(scope="module")
def machines():
    made = {}

    def machine(name, **options):
        key = name, *options.items()
        if key not in made:
            made[key] = Schedules(preset(name), **options)
        return made[key]

    return machine


@pytest.mark.full
@pytest.mark.parametrize("name, first", list(shares()))
def test_every_kernel_ends_as_if_nothing_had_happened(machines, name, first):
    schedules = machines(name)
    for seed in range(first, first + SHARE):
        schedules.run(f"{name} {seed}")


@pytest.mark.parametrize("count", quick([SHARE, 1], [1]))
def test_so_it_does_where_memory_fails_but_holds_nothing_back(machines, count):
    for seed in range(count):
        machines("tiny", late=False).run(seed)


@pytest.mark.parametrize("seeds", quick([range(60), range(30), range(8)], [range(8)]))
def test_every_kernel_of_the_golden_model_ends_as_if_nothing_had_happened(machines, seeds):
    schedules, evicted = machines("tiny", rtl=False), 0
    for seed in seeds:
        schedules.run(seed)
        evicted += schedules.bench.get("evicted_tbs")
        assert not schedules.transport.machine.stays()
    assert len(schedules.taken) >= 10 and evicted > len(seeds) // 3

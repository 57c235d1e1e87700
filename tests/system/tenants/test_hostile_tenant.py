"""Random tenants with streams, priorities and preempts, beside one whose kernels reach for memory of the others."""

import pytest

from caesura.hw.arch.geometry import preset
from support.attacks.hostile_tenant import HostileTenantSchedules
from support.selection import quick

ONE, TWO = preset("gtx480"), preset("gtx480").replace(sms=2)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("first, count", quick([*((first, 5) for first in range(0, 200, 5)), (0, 1)], [(0, 1)]))
def test_what_is_reached_for_is_refused_and_all_else_is_right(first, count):
    """Whoever was in the registers, the shared memory or the caches before, and whoever is preempted meanwhile."""
    schedules = HostileTenantSchedules("golden", TWO if first % 10 else ONE)
    for seed in range(first, first + count):
        schedules.run(seed)
    assert schedules.attacks > 2 * count and schedules.recorded > schedules.attacks // 2


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(20))
def test_so_it_is_on_the_rtl(seed):
    schedules = HostileTenantSchedules("rtl", ONE)
    schedules.run(2000 + seed, steps=12)
    assert schedules.attacks

"""The limits of save and restore that are not kept are missed by no more than is said of them."""

import pytest
from system.test_limits import FEW, MISSED, WIDE_PORT

from caesura.sim.bench.limits import LimitRuns

MOST = 1.10
"""Of the limit (docs/mechanisms.md says by how much each is missed)."""
RUNS = sorted({(name, mechanism) for _, name, mechanism, _ in MISSED})


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name, mechanism", RUNS)
def test_they_are_missed_by_less_than_a_tenth(name, mechanism):
    times = []
    for pair in LimitRuns(WIDE_PORT, name).pairs(mechanism, FEW):
        for result in pair:
            times += [limit for limit in (result.save_limit, result.restore_limit) if limit]
    assert times and max(each.cycles / each.limit for each in times) <= MOST
    assert not all(each.met for each in times), "they are kept now: take them off the list"

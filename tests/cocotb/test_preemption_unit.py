"""The whole preemption unit as exported SystemVerilog, under cocotb."""

import pytest

from caesura.sim.cocotb.run import check_bench
from support.benches.faults import caught_share

BENCH = "support.benches.unit"


@pytest.mark.full
@pytest.mark.parametrize("shape", ["tiny", "beats", "narrow", "plain"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_contexts_are_saved_and_brought_back(shape, seed):
    check_bench(BENCH, {"shape": shape}, seed=seed)


@pytest.mark.full
def test_faults_are_noticed():
    """In a unit without options, whose every part the bench uses."""
    assert caught_share(BENCH, {"shape": "plain", "rounds": 2}, 12, 1) >= 0.7

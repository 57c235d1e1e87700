"""The register block as exported SystemVerilog, under cocotb."""

import pytest

from caesura.sim.cocotb.run import check_bench
from support.benches.faults import caught_share

BENCH = "support.benches.registers"


def test_the_register_block_keeps_to_its_map_for_some_accesses():
    check_bench(BENCH, {"count": 50})


@pytest.mark.full
def test_the_register_block_keeps_to_its_map():
    check_bench(BENCH)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 6))
def test_so_it_does_with_other_numbers(seed):
    check_bench(BENCH, {"count": 600}, seed=seed)


@pytest.mark.full
def test_faults_are_noticed():
    assert caught_share(BENCH, {}, 12, 4) >= 0.75

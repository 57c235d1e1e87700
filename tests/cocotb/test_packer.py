"""The packer as exported SystemVerilog, under cocotb."""

import pytest

from caesura.sim.cocotb.run import check_bench
from support.benches.faults import caught_share
from support.selection import quick


@pytest.mark.parametrize("size, most", quick([(1, 4), (2, 4), (4, 4), (8, 8), (32, 4)], []))
def test_every_word_stays_in_its_place(size, most):
    check_bench("support.benches.packer", {"size": size, "most": most})


@pytest.mark.full
def test_faults_are_noticed():
    assert caught_share("support.benches.packer", {}, 12, 3) >= 0.75

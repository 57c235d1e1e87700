"""The compressors as exported SystemVerilog, under cocotb."""

import pytest

from caesura.sim.cocotb.run import check_bench
from support.selection import quick

COMPRESSORS = quick([(8, 8), (16, 4), (32, 32), (32, 8)], [(16, 4)])


@pytest.mark.parametrize("warp, lanes", COMPRESSORS)
def test_compressor_encodes_as_its_model_says(warp, lanes):
    assert check_bench("support.cocotb.compressor", {"warp": warp, "lanes": lanes}).passed

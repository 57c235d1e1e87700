"""The compressors and decoders as exported SystemVerilog, under cocotb."""

import pytest

from caesura.sim.cocotb.run import check_bench
from support.benches.faults import caught_share
from support.selection import quick

SIZES = (8, 8), (16, 4), (32, 32), (32, 8)
BENCHES = {"compressor": {}, "encoder": {}, "tb_compressor": {}, "decompressor": {"name": "decompressor"},
           "group_decoder": {"name": "group_decoder"}}
MODULES = {"decompressor": "decoder", "group_decoder": "decoder"}
SHORT = ("compressor", 8, 4, 30), ("encoder", 16, 4, 60), ("tb_compressor", 8, 8, 8)
"""Small sizes and few registers."""


def of(name: str) -> str:
    """Return the module of a bench."""
    return f"support.benches.{MODULES.get(name, name)}"


@pytest.mark.parametrize("name, warp, lanes", quick(
    [(name, *size) for name in BENCHES for size in SIZES], []))
def test_registers_go_through_with_nothing_lost(name, warp, lanes):
    check_bench(of(name), {"warp": warp, "lanes": lanes, **BENCHES[name]})


@pytest.mark.parametrize("name, warp, lanes, count", quick(SHORT, SHORT[:1]))
def test_so_do_a_few(name, warp, lanes, count):
    check_bench(of(name), {"warp": warp, "lanes": lanes, "count": count, **BENCHES[name]})


@pytest.mark.full
def test_a_fault_of_the_encoder_is_noticed():
    assert caught_share("support.benches.encoder", {"warp": 8, "lanes": 8}, 1, 1)


@pytest.mark.full
@pytest.mark.parametrize("name", BENCHES)
def test_faults_are_noticed(name):
    """Registers of several beats: with one, most of what counts them does nothing."""
    assert caught_share(of(name), {"warp": 32, "lanes": 8, **BENCHES[name]}, 10, 5) >= 0.7

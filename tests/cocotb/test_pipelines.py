"""Save and restore pipelines as exported SystemVerilog, under cocotb."""

import pytest

from caesura.sim.cocotb.run import check_bench
from support.benches.faults import caught_share
from support.selection import quick

SHAPES = "plain", "tiny", "beats", "narrow"


@pytest.mark.parametrize("pipeline, shape, seed", quick(
    [(pipeline, shape, seed) for pipeline in ("save", "restore") for shape in SHAPES for seed in (1, 2)], []))
def test_contexts_are_what_was_on_the_core(pipeline, shape, seed):
    check_bench(f"support.benches.{pipeline}", {"shape": shape}, seed=seed)


@pytest.mark.full
@pytest.mark.parametrize("pipeline", ["save", "restore"])
def test_faults_are_noticed(pipeline):
    assert caught_share(f"support.benches.{pipeline}", {"shape": "plain"}, 6, 1) >= 0.5

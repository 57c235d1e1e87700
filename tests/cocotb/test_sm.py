"""The SM as exported SystemVerilog, under cocotb: the driver on AXI4-Lite, memory on AXI4. Its simulation takes minutes
to build."""

import pytest

from caesura.hw.arch.image.context import Mechanism
from caesura.sim.cocotb.run import check_bench, run_bench

BENCH = "support.benches.sm"
pytestmark = [pytest.mark.full, pytest.mark.timeout(3000)]


@pytest.mark.parametrize("mechanism", Mechanism, ids=lambda mechanism: mechanism.label)
def test_a_kernel_survives_its_preemption(mechanism):
    check_bench(BENCH, {"mechanism": int(mechanism)}, seed=int(mechanism) + 1)


def test_so_it_does_on_a_bus_that_pauses_often():
    check_bench(BENCH, {"stall": 0.6})


def test_a_fault_is_noticed():
    """Registers that answer with what was read before."""
    outcome = run_bench(BENCH, change=lambda text: text.replace("fresh ? host__read_data : held",
                                                                "fresh ? held : host__read_data"))
    assert outcome.failed

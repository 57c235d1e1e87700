"""The toy GPU of docs/adding-preemption.md, the preemption unit in it as exported SystemVerilog, under cocotb."""

import pytest

from caesura.sim.cocotb.run import check_bench, run_bench
from support.checkout import ROOT

BENCH = "support.benches.toy"
READ = "read_data.data <= file[3'(read.base) + 3'(read.register)];"
LATE = f"logic [255:0] held; read_data.data <= held; {READ.replace('read_data.data', 'held')}"
FAULTS = {
    "a live register that the vector leaves out": ("54'hF;", "54'hB;"),
    "stops that forget where the warp stands": ("pc[select.warp];", "'0;"),
    "a register put back into another": ("3'(write.register)] <=", "3'(write.register) ^ 3'd1] <="),
    "a warp that runs on while it is said to stand": ("&& !halts[w]) begin", ") begin"),
    "a register that is read a cycle late": (READ, f"begin : late {LATE} end"),
    "lanes that exit and are not said to": ("assign exited[w] = there[w] && live[w] == 0", "assign exited[w] = 0"),
}


@pytest.mark.full
def test_a_block_survives_its_preemption():
    check_bench(BENCH, {"count": 5})


def test_the_core_is_about_a_hundred_lines():
    assert len((ROOT / "examples" / "toy_gpu" / "toy_core.sv").read_text().splitlines()) <= 110


@pytest.mark.full
def test_so_it_does_at_many_times():
    check_bench(BENCH, {"count": 60}, seed=2)


@pytest.mark.full
@pytest.mark.parametrize("name", FAULTS)
def test_what_a_core_may_do_wrong_is_noticed(name):
    """Mistakes that a first integration makes."""
    outcome = run_bench(BENCH, {"count": 5}, change=lambda text: text.replace(*FAULTS[name]))
    assert outcome.failed

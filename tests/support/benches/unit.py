"""The whole preemption unit: kernels are preempted and resumed, by every mechanism, on a bus that pauses and fails."""

import cocotb

from caesura.hw.arch.context import Mechanism, mechanisms_of
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.blocks.tops import PreemptionUnit
from caesura.sim.cocotb import parameters
from caesura.sim.cocotb.preemption import PreemptionBench

SHAPES = {"tiny": {}, "beats": {"warp_size": 16, "lanes": 4, "bus_bytes": 16},
          "narrow": {"bus_bytes": 4, "bytes_per_cycle": 4.0}}


def geometry(shape: str = "tiny", **_: int) -> Geometry:
    """Return the geometry of a shape."""
    return preset("tiny").replace(**SHAPES[shape])


def block(**given) -> PreemptionUnit:
    """Return the block."""
    return PreemptionUnit(geometry(**given))


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def saves_and_restores_by_every_mechanism(dut):
    """A kernel is preempted and resumed again and again; the scoreboard compares at each release and start."""
    given = parameters()
    g = geometry(**given)
    bench = await PreemptionBench.start(dut, block(**given), g, stall=given.get("stall", 0.3))
    resident = len(bench.state.blocks)
    for round_number, mechanism in enumerate([*mechanisms_of(g)] * given.get("rounds", 1)):
        for warp in bench.state.warps.values():
            warp.reaches = bench.state.rng.randint(0, 60)
        patience = {} if round_number % 3 else {"patience": 20}
        result = await bench.dispatcher.preempt(0, mechanism, **patience)
        assert result.error == CommandError.NONE and result.saved and not bench.state.blocks
        bench.state.wreck()
        result = await bench.dispatcher.resume(0)
        assert result.error == CommandError.NONE and len(bench.state.blocks) == resident
        assert all(tb.started for tb in bench.state.blocks.values())
    rounds = len(mechanisms_of(g)) * given.get("rounds", 1)
    assert bench.scoreboard.saves == bench.scoreboard.restores == rounds * resident
    assert bench.core.reads and bench.core.writes and bench.bursts.reads and bench.bursts.writes


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_failed_write_frees_nothing(dut):
    """A TB of whose context a write has failed stays on the core; the next preempt saves it."""
    given = parameters()
    g = geometry(**given)
    bench = await PreemptionBench.start(dut, block(**given), g, stall=0.2, drain=0)
    kernel, resident = bench.state.kernels[0], len(bench.state.blocks)
    bench.memory.bad_writes = {segment for segment in range(kernel.ccb_base // 128, (1 << 18) // 128)}
    result = await bench.dispatcher.preempt(0, Mechanism.LIVE)
    assert result.error == CommandError.BUS_ERROR
    assert len(bench.state.blocks) == resident and bench.scoreboard.saves == 0
    bench.memory.bad_writes = set()
    result = await bench.dispatcher.preempt(0, Mechanism.LIVE)
    assert result.error == CommandError.NONE and bench.scoreboard.saves == resident

# amaranth: UnusedElaboratable=no
"""The AXI4 master against a slave that delays, interleaves and reorders as much as AXI4 lets it."""

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.memory.axi import AxiMaster
from support.hw.axi_bench import Bench
from support.hw.buses import with_bus
from support.hw.simulation import Simulator
from support.selection import quick

TINY = preset("tiny")
BUSES = {width: with_bus(width)
         for width in (4, 8, 16, 64, 128)}


@pytest.mark.parametrize("readers, writers, density, width", quick(
    [(*ports, width) for ports in ((3, 2, 0.4), (1, 1, 0.2), (4, 4, 0.0)) for width in BUSES],
    [*((1, 1, 0.2, width) for width in BUSES), (3, 2, 0.4, 8), (4, 4, 0.0, 16)]))
def test_random_bursts_reach_the_memory_and_their_own_port(width, readers, writers, density):
    Bench(BUSES[width], AxiMaster(BUSES[width], readers, writers), 20, f"{width} {readers}", density).run()


def test_a_beat_a_cycle_with_no_gap_between_bursts():
    bench = Bench(BUSES[16], AxiMaster(BUSES[16], 2, 2), 40, 0, 0.0)
    bench.run()
    for cycles in (bench.w_cycles, bench.r_cycles):
        assert len(cycles) >= 0.97 * (cycles[-1] - cycles[0] + 1)


def test_earlier_ports_go_first():
    unit, order = AxiMaster(TINY, 3, 1), []

    async def process(ctx):
        for number, port in enumerate(unit.readers):
            ctx.set(port.request.valid, 1)
            ctx.set(port.request.payload.address, 128 * number)
        ctx.set(unit.axi.arready, 1)
        for _ in range(4):
            _, _, valid, address, *taken = await ctx.tick().sample(
                unit.axi.arvalid, unit.axi.araddr, *(port.request.ready for port in unit.readers))
            if valid:
                order.append(address // 128)
            for port, ready in zip(unit.readers, taken, strict=True):
                if ready:
                    ctx.set(port.request.valid, 0)

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()
    assert order == [0, 1, 2]


def test_the_number_of_ports_is_what_ids_can_tell_apart():
    with pytest.raises(ValueError, match="readers must be 1 to 8, not 9"):
        AxiMaster(TINY, 9, 1)
    with pytest.raises(ValueError, match="writers must be 1 to 8, not 0"):
        AxiMaster(TINY, 1, 0)

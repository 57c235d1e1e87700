"""What is kept of a command, and rows of shared memory: hardware against the format's own functions."""

import pytest
from amaranth.hdl import Module, Signal

from caesura.hw.arch.geometry import MAX_BLOCK_THREADS, preset
from caesura.hw.arch.patterns import pattern_group as model
from caesura.hw.interfaces.payloads import row_access, rows_per_line
from caesura.hw.preempt.formats.accepted_command import pattern_group
from support.hw.simulation import Simulator


@pytest.mark.parametrize("warp_size", [8, 16, 32])
def test_groups_of_every_block_are_those_of_the_format(warp_size):
    g = preset("tiny").replace(warp_size=warp_size)
    m, block_x, pag = Module(), Signal(11), Signal(6)
    m.d.comb += pag.eq(pattern_group(g, block_x))

    async def bench(ctx):
        for size in range(1, MAX_BLOCK_THREADS + 1):
            ctx.set(block_x, size)
            assert ctx.get(pag) == model(size, warp_size), size

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("lanes, rows", [(4, 8), (8, 4), (16, 2), (32, 1)])
def test_a_line_is_as_many_rows_as_the_banks_leave(lanes, rows):
    g = preset("gtx480").replace(lanes=lanes)
    assert rows_per_line(g) == rows
    access = row_access(g)
    assert access["data"].width * rows == 1024 and 1 << access["row"].width >= g.shared_lines * rows

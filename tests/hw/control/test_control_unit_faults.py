"""The control unit as a whole: faults that the front end and the memory units report."""

import pytest

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from support.hw.control_bench import MAP, ControlBench, Kernel

G = preset("tiny").replace(warps=8, tb_slots=3, kernel_slots=3)


@pytest.mark.parametrize("source", ["front", "load_store"])
def test_a_fault_ends_its_tb_only_and_the_first_record_is_kept(source):
    bench = ControlBench(G, duration=(3, 3))

    async def report(bench, ctx, port, slot, pc):
        ctx.set(bench.dut.reports[port], {"valid": 1, "kind": Fault.GLOBAL_WINDOW, "warp": slot, "pc": pc,
                                           "address": 0xBAD00})
        await ctx.tick()
        ctx.set(bench.dut.reports[port].valid, 0)

    async def main(bench, ctx):
        bench.stuck.update((0, 1))
        await bench.launch(ctx, 1, Kernel(grid=(1, 1, 1)))
        await bench.launch(ctx, 0, Kernel(grid=(3, 1, 1), threads=20))
        await bench.until(ctx, "status", "resident", 3)
        for _ in range(20):
            await ctx.tick()
        rows = bench.rows(ctx, 0)
        (tb, row), (tb2, row2) = rows.items()
        slot = next(s for s, w in enumerate(bench.warps) if w and w.tb == tb and w.block_warp == 2)
        await report(bench, ctx, source, slot, 77)
        await ctx.tick()
        assert ctx.get(bench.dut.residency.kill) == row.warps
        while tb in bench.rows(ctx) and bench.rows(ctx)[tb].launch_id == row.launch_id:
            assert ctx.get(bench.dut.residency.kill) == row.warps
            await ctx.tick()
        assert ctx.get(bench.dut.residency.kill) == 0
        fault = {"kind": Fault.GLOBAL_WINDOW, "kernel": 0, "warp": 2}
        assert await bench.read(ctx, "fault_kind") == MAP["fault_kind"].pack(**fault)
        await report(bench, ctx, "front", next(s for s in range(8) if row2.warps >> s & 1), 99)
        for _ in range(20):
            await ctx.tick()
        assert await bench.read(ctx, "fault_count") == 2
        assert await bench.read(ctx, "fault_pc") == 77 and await bench.read(ctx, "fault_address") == 0xBAD00
        assert await bench.read(ctx, "fault_tb") == row.launch_id
        assert await bench.read(ctx, "event", "fault") == 1 and ctx.get(bench.dut.host.interrupt)
        assert await bench.read(ctx, "kernel[0].completed") == 2
        await bench.write(ctx, "event", MAP["event"].pack(fault=1))
        await bench.until(ctx, "kernel[0].launched", "value", 3)
        for _ in range(20):
            await ctx.tick()
        (row3,) = bench.rows(ctx, 0).values()
        await report(bench, ctx, "front", next(s for s in range(8) if row3.warps >> s & 1), 5)
        await bench.finish(ctx, 0)
        assert await bench.read(ctx, "fault_tb") == 2 and await bench.read(ctx, "fault_pc") == 5
        assert await bench.state(ctx, 1) == KernelState.RUNNING

    bench.run(main)


def test_simultaneous_faults_end_every_tb_and_count_each_once():
    bench = ControlBench(G, duration=(3, 3))

    async def main(bench, ctx):
        bench.stuck.add(0)
        await bench.launch(ctx, 0, Kernel(grid=(3, 1, 1), threads=16))
        await bench.until(ctx, "status", "warps", 6)
        for _ in range(20):
            await ctx.tick()
        rows = bench.rows(ctx)
        ports = ("front", "constant", "load_store", "shared")
        lowest = [next(s for s in range(8) if row.warps >> s & 1) for row in rows.values()]
        highest = max(s for s in range(8) if rows[0].warps >> s & 1)
        for port, slot in zip(ports, [*lowest, highest], strict=True):
            ctx.set(bench.dut.reports[port], {"valid": 1, "kind": Fault.TRAP, "warp": slot})
        await ctx.tick()
        for port in ports:
            ctx.set(bench.dut.reports[port].valid, 0)
        await bench.finish(ctx, 0)
        assert await bench.read(ctx, "fault_count") == 3
        assert await bench.read(ctx, "kernel[0].completed") == await bench.read(ctx, "kernel[0].faults") == 3
        await bench.launch(ctx, 0, Kernel(grid=(1, 1, 1), threads=16))
        assert await bench.read(ctx, "kernel[0].faults") == 0 and await bench.read(ctx, "fault_count") == 3

    bench.run(main)

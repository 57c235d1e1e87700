"""Parts of the launch path by themselves: warp slots, stream priority, completion, TB table, failed preempts."""

import random

import pytest
from amaranth.sim import Simulator

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.registers import Command, KernelState
from caesura.hw.device.command_processor import CommandProcessor
from caesura.hw.dispatch.completion import Completion
from caesura.hw.dispatch.launcher import StreamPriority
from caesura.hw.dispatch.tb_table import TbTable
from caesura.hw.dispatch.warp_slots import WarpSlots

G = preset("tiny").replace(warps=6, tb_slots=3, kernel_slots=3)


def simulate(dut, *benches):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("name", ["tiny", "gtx480"])
def test_the_lowest_free_warp_slots_are_collected_one_a_cycle(name):
    g = preset(name)
    dut, rng = WarpSlots(g), random.Random(1)

    async def bench(ctx):
        for _ in range(20):
            taken = rng.getrandbits(g.warps)
            free = [s for s in range(g.warps) if not taken >> s & 1]
            count = rng.randint(0, min(len(free), g.max_block_warps))
            ctx.set(dut.taken, taken)
            ctx.set(dut.pick, {"valid": 1, "count": count})
            await ctx.tick()
            ctx.set(dut.pick.valid, 0)
            for _ in range(count):
                assert not ctx.get(dut.done)
                await ctx.tick()
            assert ctx.get(dut.done)
            assert [ctx.get(dut.slots[k]) for k in range(count)] == free[:count]
            assert ctx.get(dut.mask) == sum(1 << s for s in free[:count])

    simulate(dut, bench)


def test_priority_merges_two_streams_without_loss_or_change_of_an_offer():
    dut, rng = StreamPriority(8), random.Random(2)
    sent = {"first": list(range(0, 100)), "second": list(range(100, 200))}
    received = []

    def source(port, values, pause):
        async def bench(ctx):
            for value in values:
                while rng.random() < pause:
                    await ctx.tick()
                ctx.set(port.payload, value)
                ctx.set(port.valid, 1)
                while True:
                    _, _, ready = await ctx.tick().sample(port.ready)
                    if ready:
                        break
                ctx.set(port.valid, 0)
        return bench

    async def sink(ctx):
        offered = None
        for _ in range(3000):
            ctx.set(dut.merged.ready, rng.random() < 0.4)
            _, _, valid, ready, value = await ctx.tick().sample(dut.merged.valid, dut.merged.ready, dut.merged.payload)
            assert offered is None or (valid and value == offered), "an offer was withdrawn"
            offered = value if valid and not ready else None
            if valid and ready:
                received.append(value)
            if len(received) == 200:
                break

    simulate(dut, source(dut.first, sent["first"], 0.6), source(dut.second, sent["second"], 0.3), sink)
    assert [v for v in received if v < 100] == sent["first"]
    assert [v for v in received if v >= 100] == sent["second"]


def test_a_release_goes_before_an_end_and_only_ends_are_counted():
    dut = Completion(G)

    async def bench(ctx):
        for t, warps in enumerate((0b000011, 0b001100, 0b110000)):
            ctx.set(dut.resident[t], {"valid": 1, "started": t != 2, "kernel": t % 2, "warps": warps})
        ctx.set(dut.exited, 0b110001)
        for _ in range(3):
            assert ctx.get(dut.remove) == 0, "one warp runs, one TB has not started"
            await ctx.tick()
        ctx.set(dut.exited, 0b111101)
        ctx.set(dut.claim, 0b010)
        for _ in range(3):
            assert ctx.get(dut.remove) == 0, "claimed"
            await ctx.tick()
        ctx.set(dut.claim, 0)
        await ctx.tick()
        ctx.set(dut.release, {"valid": 1, "tb": 0})
        assert ctx.get(dut.remove) == 0b001 and ctx.get(dut.free) == 0b000011
        await ctx.tick()
        ctx.set(dut.release.valid, 0)
        ctx.set(dut.resident[0].valid, 0)
        assert ctx.get(dut.remove) == 0b010 and ctx.get(dut.free) == 0b001100
        assert ctx.get(dut.completed[1]) == 0
        await ctx.tick()
        ctx.set(dut.resident[1].valid, 0)
        assert ctx.get(dut.remove) == 0 and ctx.get(dut.completed[1]) == 1
        assert ctx.get(dut.completed[0]) == 0
        ctx.set(dut.start, 0b010)
        await ctx.tick()
        assert ctx.get(dut.completed[1]) == 0

    simulate(dut, bench)


def test_the_table_counts_what_is_resident():
    dut = TbTable(G)

    async def bench(ctx):
        row = {"kernel": 2, "launch_id": 7, "warps": 0b10110, "first_line": 3, "lines": 2}
        ctx.set(dut.insert, {"valid": 1, "tb": 1, "row": row, "warps": 3, "shared_bytes": 200})
        await ctx.tick()
        ctx.set(dut.insert.valid, 0)
        assert (ctx.get(dut.tb_count), ctx.get(dut.warp_count), ctx.get(dut.occupied)) == (1, 3, 0b010)
        assert ctx.get(dut.present) == 0b100 and ctx.get(dut.warps_taken) == 0b10110
        tb = ctx.get(dut.tbs[1])
        assert (tb.kernel, tb.launch_id, tb.shared_base, tb.shared_bytes) == (2, 7, 384, 200)
        assert not ctx.get(dut.resident[1].started)
        ctx.set(dut.start, {"valid": 1, "tb": 1})
        await ctx.tick()
        ctx.set(dut.start.valid, 0)
        assert ctx.get(dut.resident[1].started)
        ctx.set(dut.remove, 0b010)
        ctx.set(dut.insert, {"valid": 1, "tb": 0, "row": {"warps": 1}, "warps": 1})
        await ctx.tick()
        assert (ctx.get(dut.tb_count), ctx.get(dut.warp_count), ctx.get(dut.occupied)) == (1, 1, 0b001)
        assert ctx.get(dut.warps_taken) == 1 and ctx.get(dut.present) == 0b001

    simulate(dut, bench)


@pytest.mark.parametrize("saved", [0, 1])
def test_a_failed_preempt_that_saved_a_tb_leaves_the_kernel_resumable(saved):
    dut = CommandProcessor(G)

    async def bench(ctx):
        sizes = {"grid_x": 5, "grid_y": 1, "grid_z": 1, "threads": 8, "warps": 1, "registers": 4}
        for name, value in sizes.items():
            ctx.set(dut.kernels[1][name], value)
        ctx.set(dut.engine.ready, 1)
        ctx.set(dut.present, 0b010)
        for op in (Command.START, Command.PREEMPT):
            ctx.set(dut.command, {"valid": 1, "op": op, "kernel": 1})
            await ctx.tick()
            ctx.set(dut.command.valid, 0)
            assert ctx.get(dut.error) == CommandError.NONE
        await ctx.tick()
        ctx.set(dut.released, saved)
        await ctx.tick()
        ctx.set(dut.released, 0)
        ctx.set(dut.result, {"valid": 1, "error": CommandError.BUS_ERROR})
        await ctx.tick()
        ctx.set(dut.result.valid, 0)
        assert ctx.get(dut.preempted)
        await ctx.tick()
        assert ctx.get(dut.states[1]) == (KernelState.PREEMPTED if saved else KernelState.RUNNING)
        assert ctx.get(dut.eligible) == (0 if saved else 0b010)
        assert ctx.get(dut.error) == CommandError.BUS_ERROR and not ctx.get(dut.busy)

    simulate(dut, bench)

"""The launcher: each warp's lanes and first stack entry, then the start."""

import random

import pytest

from caesura.hw.arch.geometry import PC_NONE, preset
from caesura.hw.dispatch.launcher import Launcher
from support.hw.simulation import component
from support.hw.stream_bench import get, put_all, simulate, steady, value

GEOMETRIES = {"tiny": preset("tiny"), "32 lanes": preset("ecp5").replace(tb_slots=3, warps=6)}


def some_tb(g, rng, warps):
    return {"tb": rng.randrange(g.tb_slots), "kernel": rng.randrange(g.kernel_slots),
            "base": 4 * rng.randrange(g.registers // 8), "registers": rng.randint(1, 8), "warps": warps,
            "threads": rng.choice([warps * g.warp_size, warps * g.warp_size - rng.randrange(g.warp_size)]),
            "slots": rng.sample(range(g.warps), warps) + [0] * (g.max_block_warps - warps)}


@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("stall", [0.0, 0.5])
def test_every_warp_is_initialised_before_the_start(name, stall):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut, started = component(Launcher, g), []
    tbs = [some_tb(g, rng, warps) for warps in (1, g.max_block_warps, 2, 1, 3)]
    done = {"inits": 0, "pushes": 0}

    async def inits(ctx):
        for tb in tbs:
            for warp in range(tb["warps"]):
                init = value(await get(ctx, dut.launch.warp_init, rng, stall))
                lanes = min(g.warp_size, tb["threads"] - warp * g.warp_size)
                mask = (1 << lanes) - 1
                assert init == {"warp": tb["slots"][warp], "tb": tb["tb"], "kernel": tb["kernel"], "block_warp": warp,
                                "base": tb["base"] + warp * tb["registers"], "registers": tb["registers"],
                                "launched": mask, "live": mask, "waiting": 0, "barrier": 0, "live_vector": 0, "kept": 0}
                done["inits"] += 1

    async def pushes(ctx):
        for tb in tbs:
            for warp in range(tb["warps"]):
                push = value(await get(ctx, dut.launch.stack_push, rng, stall))
                assert done["inits"] == done["pushes"] + 1, "a push before its warp is there"
                lanes = min(g.warp_size, tb["threads"] - warp * g.warp_size)
                assert push == {"warp": tb["slots"][warp], "pc": 0, "mask": (1 << lanes) - 1, "reconv": PC_NONE}
                done["pushes"] += 1

    async def starts(ctx):
        while len(started) < len(tbs):
            hold = rng.random() < stall
            ctx.set(dut.hold, hold)
            _, _, start, taken = await ctx.tick().sample(dut.launch.start, dut.tb.valid & dut.tb.ready)
            assert start.valid == taken and not (hold and taken)
            if start.valid:
                tb = tbs[len(started)]
                started.append(start.tb)
                assert start.tb == tb["tb"] and done["pushes"] == sum(each["warps"] for each in tbs[:len(started)])

    simulate(dut, put_all(dut.tb, tbs, rng, stall), inits, pushes, starts,
             watches=[steady(dut.launch.warp_init), steady(dut.launch.stack_push)])


def test_two_cycles_a_warp_and_one_for_the_start():
    g = GEOMETRIES["tiny"]
    dut = component(Launcher, g)

    async def bench(ctx):
        for signal in (dut.launch.warp_init.ready, dut.launch.stack_push.ready):
            ctx.set(signal, 1)
        for warps in (1, g.max_block_warps):
            ctx.set(dut.tb.payload, {"warps": warps, "threads": warps * g.warp_size})
            ctx.set(dut.tb.valid, 1)
            await ctx.tick()
            for _ in range(2 * warps):
                assert not ctx.get(dut.launch.start.valid)
                await ctx.tick()
            assert ctx.get(dut.launch.start.valid)
            await ctx.tick()

    simulate(dut, bench)

"""Completion: a TB is done when nothing of its bank is pending and its checksum is there, not before."""

import random

from caesura.hw.arch.geometry import preset
from caesura.hw.preempt.restore.completion import Completion
from support.hw.simulation import component
from support.hw.stream_bench import simulate

G = preset("tiny")


def test_a_tb_waits_for_its_own_bank_and_its_checksum():
    dut, rng, seen = component(Completion, G), random.Random(0), 0

    async def bench(ctx):
        nonlocal seen
        for _ in range(60):
            tb = {"entry": rng.randrange(G.tb_slots), "bank": rng.getrandbits(1), "bad": rng.random() < 0.2,
                  "stream_crc": rng.getrandbits(32), "base": rng.getrandbits(1), "increment": rng.getrandbits(1)}
            crc = tb["stream_crc"] ^ (rng.random() < 0.2)
            failed, other = rng.random() < 0.2, 2 - tb["bank"]
            ctx.set(dut.parsed.payload, tb)
            ctx.set(dut.parsed.valid, 1)
            assert ctx.get(dut.parsed.ready)
            ctx.set(dut.pending, 3)
            await ctx.tick()
            ctx.set(dut.parsed.valid, 0)
            written, arrived = rng.randrange(6), rng.randrange(6)
            for cycle in range(max(written, arrived) + 1):
                ctx.set(dut.pending, (cycle < written) << tb["bank"] | other * rng.getrandbits(1))
                ctx.set(dut.crc.valid, cycle >= arrived)
                ctx.set(dut.crc.payload, crc if cycle >= arrived else tb["stream_crc"])
                ctx.set(dut.failed, failed)
                assert not ctx.get(dut.parsed.ready)
                done = ctx.get(dut.done)
                assert done.valid == (cycle == max(written, arrived)) == (ctx.get(dut.crc.ready) & (cycle >= arrived))
                if done.valid:
                    assert done.entry == tb["entry"] and done.base == tb["base"]
                    assert done.clean == (not tb["increment"])
                    assert done.bad == (tb["bad"] or failed or crc != tb["stream_crc"])
                    seen += 1
                await ctx.tick()
            ctx.set(dut.crc.valid, 0)

    simulate(dut, bench)
    assert seen == 60

"""The two-entry buffer that cuts a stream: order, one cycle of latency, a payload a cycle, no path through it."""

import random

import pytest

from caesura.hw.export.ports import ports_of
from caesura.hw.export.timing import Timing
from caesura.hw.lib.skid_buffer import SkidBuffer
from support.hw.simulation import component
from support.hw.stream_bench import get, put_all, simulate, steady


@pytest.mark.parametrize("stall_in, stall_out", [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.3, 0.3)])
def test_payloads_come_out_in_their_order(stall_in, stall_out):
    dut, rng = component(SkidBuffer, 8), random.Random(f"{stall_in} {stall_out}")
    sent, got = [rng.getrandbits(8) for _ in range(150)], []

    async def sink(ctx):
        while len(got) < len(sent):
            got.append(await get(ctx, dut.output, rng, stall_out))

    simulate(dut, put_all(dut.input, sent, rng, stall_in), sink, watches=[steady(dut.output)], cycles=1500)
    assert got == sent


def test_one_cycle_later_and_one_a_cycle():
    dut = component(SkidBuffer, 8)

    async def bench(ctx):
        ctx.set(dut.output.ready, 1)
        ctx.set(dut.input.valid, 1)
        for cycle in range(20):
            ctx.set(dut.input.payload, cycle)
            _, _, ready, valid, payload = await ctx.tick().sample(dut.input.ready, dut.output.valid, dut.output.payload)
            assert ready and valid == (cycle > 0) and (not valid or payload == cycle - 1)

    simulate(dut, bench)


def test_it_takes_two_while_the_output_waits():
    dut, taken = component(SkidBuffer, 8), []

    async def bench(ctx):
        ctx.set(dut.input.valid, 1)
        for _ in range(6):
            _, _, ready = await ctx.tick().sample(dut.input.ready)
            taken.append(ready)

    simulate(dut, bench)
    assert taken == [1, 1, 0, 0, 0, 0]


def test_nothing_follows_an_input_within_a_cycle():
    within = Timing(SkidBuffer(8), ports_of(component(SkidBuffer, 8))).within_cycle()
    assert within == {"input_ready": [], "output_payload": [], "output_valid": []}

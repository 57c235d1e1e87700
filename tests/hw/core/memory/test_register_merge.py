"""Two writers of registers share a stream: whole registers, and none is lost."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.core.memory.register_merge import RegisterMerge
from caesura.hw.interfaces.payloads import GENERATION_BITS
from support.hw.simulation import component
from support.hw.stream_bench import get, put_all, simulate, steady, value

G = preset("tiny").replace(warp_size=16, lanes=4)


def registers(rng, owner, count):
    """Beats of whole registers; the owner stands in the data."""
    return [{"warp": rng.randrange(G.warps), "base": rng.randrange(G.registers), "register": rng.getrandbits(6),
             "beat": beat, "last": beat == G.beats - 1, "release": beat == G.beats - 1 and rng.getrandbits(1),
             "mask": rng.getrandbits(G.lanes), "data": [owner, number, rng.getrandbits(32), beat],
             "generation": rng.getrandbits(GENERATION_BITS)}
            for number in range(count) for beat in range(G.beats)]


@pytest.mark.parametrize("pauses", [(0.7, 0.2), (0.95, 0.5)])
@pytest.mark.parametrize("stall", [0.0, 0.5])
def test_no_register_is_interrupted_and_none_is_lost(pauses, stall):
    rng, dut = random.Random(f"{pauses}"), component(RegisterMerge, G)
    sent = {owner: registers(rng, owner, 8) for owner in (0, 1)}
    received = []

    async def sink(ctx):
        while len(received) < sum(map(len, sent.values())):
            received.append(value(await get(ctx, dut.merged, rng, stall)))

    simulate(dut, put_all(dut.first, sent[0], rng, pauses[0]), put_all(dut.second, sent[1], rng, pauses[1]), sink,
             watches=[steady(dut.merged)])
    for owner, beats in sent.items():
        assert [beat for beat in received if beat["data"][0] == owner] == beats
    for at in range(0, len(received), G.beats):
        assert len({beat["data"][0] for beat in received[at:at + G.beats]}) == 1, "a register was interrupted"


def test_the_first_goes_before_the_second():
    rng, dut, owners = random.Random(1), component(RegisterMerge, G), []

    async def sink(ctx):
        await ctx.tick()
        for _ in range(6 * G.beats):
            owners.append((await get(ctx, dut.merged)).data[0])

    simulate(dut, put_all(dut.first, registers(rng, 0, 3)), put_all(dut.second, registers(rng, 1, 3)), sink)
    assert owners == [0] * 3 * G.beats + [1] * 3 * G.beats

# amaranth: UnusedElaboratable=no
"""Words from memory one by one, and pairs to it, on any bus, while memory delays and fails."""

import random

import pytest

from caesura.hw.memory.pair_writer import PairWriter
from caesura.hw.memory.word_reader import WordReader
from support.hw.buses import with_bus
from support.hw.simulation import Simulator
from support.selection import quick

BUSES = {width: with_bus(width) for width in (4, 8, 16, 64, 128)}


def run(dut, *processes):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for number, process in enumerate(processes):
        simulator.add_testbench(process, background=number > 0)
    simulator.run()


def word_at(address):
    return address * 2654435761 % (1 << 32)


@pytest.mark.parametrize("width", quick(BUSES, [8]))
def test_every_word_of_a_job_comes_in_order(width):
    g, rng = BUSES[width], random.Random(width)
    dut = WordReader(g)
    bursts = []

    def fails(address):
        return address // 512 % 3 == 1

    async def memory(ctx):
        port = dut.port
        while True:
            ctx.set(port.request.ready, rng.random() < 0.7)
            _, _, valid, ready, burst = await ctx.tick().sample(port.request.valid, port.request.ready,
                                                               port.request.payload)
            if not (valid and ready):
                continue
            ctx.set(port.request.ready, 0)
            start, beats = burst.address, burst.extra_beats + 1
            assert start % width == 0 and start // 128 == (start + beats * width - 1) // 128
            bursts.append((start, beats))
            for beat in range(beats):
                while rng.random() < 0.3:
                    await ctx.tick()
                place = start + beat * width
                ctx.set(port.beat.payload, {"data": sum(word_at(place + 4 * k) << 32 * k for k in range(width // 4)),
                                            "last": beat == beats - 1, "error": fails(place)})
                ctx.set(port.beat.valid, 1)
                while not (await ctx.tick().sample(port.beat.ready))[2]:
                    pass
                ctx.set(port.beat.valid, 0)

    async def consumer(ctx):
        for _ in range(25):
            address, words = 4 * rng.randrange(2000), rng.choice((1, 2, 16, rng.randint(1, 90)))
            ctx.set(dut.job.payload, {"address": address, "words": words})
            ctx.set(dut.job.valid, 1)
            while not (await ctx.tick().sample(dut.job.ready))[2]:
                pass
            ctx.set(dut.job.valid, 0)
            for k in range(words):
                while True:
                    ctx.set(dut.word.ready, rng.random() < 0.8)
                    _, _, valid, ready, word = await ctx.tick().sample(dut.word.valid, dut.word.ready, dut.word.payload)
                    if valid and ready:
                        break
                place = address + 4 * k
                assert (word.data, word.last) == (word_at(place), k == words - 1)
                assert word.error == fails(place // width * width)
            ctx.set(dut.word.ready, 0)
        assert sum(beats for _, beats in bursts) < 25 * (91 * 4 // width + 2)

    run(dut, consumer, memory)


@pytest.mark.parametrize("width", BUSES)
def test_a_pair_is_written_where_it_belongs_and_nothing_else(width):
    g, rng = BUSES[width], random.Random(width)
    dut = PairWriter(g)
    memory = {}

    async def slave(ctx):
        port = dut.port
        while True:
            ctx.set(port.request.ready, 1)
            while not (sample := await ctx.tick().sample(port.request.valid, port.request.payload))[2]:
                pass
            ctx.set(port.request.ready, 0)
            start, beats = sample[3].address, sample[3].extra_beats + 1
            for beat in range(beats):
                while rng.random() < 0.3:
                    await ctx.tick()
                ctx.set(port.beat.ready, 1)
                while not (sample := await ctx.tick().sample(port.beat.valid, port.beat.payload))[2]:
                    pass
                ctx.set(port.beat.ready, 0)
                assert sample[3].last == (beat == beats - 1)
                for k in range(width):
                    if sample[3].strobe >> k & 1:
                        memory[start + beat * width + k] = sample[3].data >> 8 * k & 0xFF
            while rng.random() < 0.3:
                await ctx.tick()
            ctx.set(port.ack.payload.error, start // 256 % 2)
            ctx.set(port.ack.valid, 1)
            while not (await ctx.tick().sample(port.ack.ready))[2]:
                pass
            ctx.set(port.ack.valid, 0)

    async def master(ctx):
        for _ in range(20):
            address, value = 8 * rng.randrange(100), rng.getrandbits(64)
            memory.clear()
            ctx.set(dut.pair.payload, {"address": address, "data": value})
            ctx.set(dut.pair.valid, 1)
            while not (await ctx.tick().sample(dut.pair.ready))[2]:
                pass
            ctx.set(dut.pair.valid, 0)
            while not (sample := await ctx.tick().sample(dut.done, dut.error))[2]:
                pass
            assert sample[3] == address // 256 % 2
            assert memory == {address + k: value >> 8 * k & 0xFF for k in range(8)}

    run(dut, master, slave)

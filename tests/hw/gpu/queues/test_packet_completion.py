# amaranth: UnusedElaboratable=no
"""Packet completion, while memory delays and fails: what is in a signal afterwards, who owned it, who is told."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.packets import SIGNAL_END, SIGNAL_START, SIGNAL_VALUE
from caesura.hw.gpu.queues.packet_completion import PacketCompletion
from support.hw.simulation import Simulator

G = preset("tiny").replace(sms=2, queues=1)
PACKETS = 40
WORD = (1 << 64) - 1


class Bench:
    """A memory of 64-bit words, a point of order, and what has happened in which order."""

    def __init__(self, g, seed):
        self.g, self.rng, self.dut = g, random.Random(seed), PacketCompletion(g)
        self.words, self.events, self.errors = {}, [], 0.0

    def fails(self):
        """Return whether memory answers an access with an error."""
        return self.rng.random() < self.errors

    async def wait(self, ctx, *signals):
        """Return what is sampled in the cycle in which the first of these is high."""
        while True:
            _, _, *values = await ctx.tick().sample(*signals)
            if values[0]:
                return values

    async def reader(self, ctx):
        dut = self.dut
        while True:
            ctx.set(dut.job.ready, self.rng.random() < 0.5)
            _, _, valid, ready, job = await ctx.tick().sample(dut.job.valid, dut.job.ready, dut.job.payload)
            if not (valid and ready):
                continue
            ctx.set(dut.job.ready, 0)
            assert job.words == 2
            bad = self.fails()
            which = self.rng.choice([(0, 1), (0,), (1,)])
            for k in range(2):
                await ctx.tick().repeat(self.rng.randrange(1, 8))
                ctx.set(dut.word.payload, {"data": self.words.get(job.address, 0) >> 32 * k & 0xFFFFFFFF,
                                           "error": bad and k in which, "last": k})
                ctx.set(dut.word.valid, 1)
                await self.wait(ctx, dut.word.ready)
                ctx.set(dut.word.valid, 0)
            self.events.append(("read", bad))

    async def writer(self, ctx):
        port = self.dut.write_port
        while True:
            ctx.set(port.request.ready, 1)
            _, request = await self.wait(ctx, port.request.valid, port.request.payload)
            ctx.set(port.request.ready, 0)
            value = strobe = 0
            ctx.set(port.beat.ready, 1)
            for beat in range(request.extra_beats + 1):
                _, payload = await self.wait(ctx, port.beat.valid, port.beat.payload)
                value |= payload.data << 8 * self.g.bus_bytes * beat
                strobe |= payload.strobe << self.g.bus_bytes * beat
            ctx.set(port.beat.ready, 0)
            await ctx.tick().repeat(self.rng.randrange(1, 20))
            first = (strobe & -strobe).bit_length() - 1
            assert strobe >> first == 0xFF, "a word of 64 bits"
            bad = self.fails()
            if not bad or self.rng.random() < 0.5:  # a refused write may have been done
                self.words[request.address + first] = value >> 8 * first & WORD
            self.events.append(("wrote", request.address + first, bad))
            ctx.set(port.ack.payload.error, bad)
            ctx.set(port.ack.valid, 1)
            await self.wait(ctx, port.ack.ready)
            ctx.set(port.ack.valid, 0)

    async def order(self, ctx):
        take, give = self.dut.order.take, self.dut.order.give
        while True:
            ctx.set(take.ready, self.rng.random() < 0.3)
            _, _, taken, segment, given, of = await ctx.tick().sample(
                take.valid & take.ready, take.payload, give.valid, give.segment)
            if taken:
                self.events.append(("take", segment))
            if given:
                self.events.append(("give", of))

    async def listener(self, ctx):
        wrote = self.dut.wrote
        while True:
            ctx.set(wrote.ready, self.rng.random() < 0.2)
            _, _, told, segment = await ctx.tick().sample(wrote.valid & wrote.ready, wrote.payload)
            if told:
                self.events.append(("told", segment))

    def run(self, testbench):
        simulator = Simulator(self.dut)
        simulator.add_clock(1e-6)
        simulator.add_testbench(testbench)
        for process in (self.reader, self.writer, self.order, *([self.listener] if self.g.watches else [])):
            simulator.add_testbench(process, background=True)
        simulator.run()


def expected(address, events, gives_up):
    """Return what should have happened, where memory has answered as `events` say, and whether it was refused."""
    answers = iter([event[-1] for event in events if event[0] in ("read", "wrote")])
    found, segment = [], address >> 7
    for offset in (SIGNAL_START, SIGNAL_END):
        found.append(("wrote", address + offset, next(answers)))
        if found[-1][-1]:
            return found, True
    found += [("take", segment), ("read", next(answers))]
    if found[-1][-1]:
        return [*found, ("give", segment)], True
    while True:
        found.append(("wrote", address + SIGNAL_VALUE, next(answers)))
        if not found[-1][-1] or gives_up:
            return [*found, ("give", segment)], found[-1][-1]


@pytest.mark.parametrize("width", [4, 16])
@pytest.mark.parametrize("watches", [0, 3])
def test_a_signal_is_stamped_and_counted_down_once_by_its_owner(watches, width):
    """Whatever memory answers: it is refused where nothing was counted, and then the same again; a value that was
    refused is written until memory has it."""
    bench = Bench(G.replace(watches=watches, bus_bytes=width, bytes_per_cycle=4), 10 * watches + width)
    dut, rng = bench.dut, bench.rng
    told, insisted = [], []

    async def complete(ctx, address, start, cycle, gives_up):
        """Return what has happened, and whether it was refused."""
        said = len(bench.events)
        for name, value in (("signal", address), ("start", start), ("cycle", cycle), ("give_up", gives_up)):
            ctx.set(getattr(dut, name), value)
        ctx.set(dut.begin, 1)
        await ctx.tick()
        ctx.set(dut.begin, 0)
        _, refused, insists = await bench.wait(ctx, dut.done, dut.refused, dut.insists)
        await ctx.tick()
        insisted.append(insists)
        assert not ctx.get(dut.insists)
        return [event for event in bench.events[said:] if event[0] != "told"], bool(refused)

    async def testbench(ctx):
        for _ in range(PACKETS):
            address = rng.choice([0, 64 * rng.randrange(1, 1000)])
            start, cycle = rng.getrandbits(64), rng.getrandbits(64)
            before = rng.choice([0, 1, rng.getrandbits(64)])
            bench.errors = rng.choice([0, 0, 0.2, 0.5])
            bench.words = {address + SIGNAL_VALUE: before}
            gives_up = bench.errors == 0.5 and rng.random() < 0.5
            refused, counted = True, False
            while refused and not (gives_up and counted):
                events, refused = await complete(ctx, address, start, cycle, gives_up)
                if not address:
                    assert not events and not refused
                    break
                assert (events, refused) == expected(address, events, gives_up)
                counted = any(event[1] == address + SIGNAL_VALUE for event in events)
            if address and not refused:
                told.append(address >> 7)
                assert bench.words == {address + SIGNAL_VALUE: before - 1 & WORD, address + SIGNAL_START: start,
                                       address + SIGNAL_END: cycle}
        bench.errors = 0
        await ctx.tick().repeat(200)

    bench.run(testbench)
    assert [event[1] for event in bench.events if event[0] == "told"] == told * bool(watches)
    assert any(insisted) and not all(insisted)

# amaranth: UnusedElaboratable=no
"""Packet completion, while memory delays and fails: what is in a signal afterwards, who owned it, who is told."""

import itertools
import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.packets import SIGNAL_END, SIGNAL_START, SIGNAL_VALUE
from caesura.hw.device.queues.packet_completion import PAUSE_CYCLES, TRIES, PacketCompletion
from support.hw.lockstep import lockstep, number
from support.hw.simulation import Simulator, component
from support.selection import quick

G = preset("tiny").replace(sms=2, queues=1)
PACKETS = 80
WORD = (1 << 64) - 1


class Bench:
    """A memory of 64-bit words, a point of order, and what has happened in which order."""

    def __init__(self, g, seed):
        self.g, self.rng, self.dut = g, random.Random(seed), PacketCompletion(g)
        self.words, self.events, self.errors, self.now = {}, [], 0.0, 0
        self.asked = []  # when something was read

    def fails(self):
        """Return whether memory answers an access with an error."""
        return self.rng.random() < self.errors

    async def wait(self, ctx, *signals):
        """Return what is sampled in the cycle in which the first of these is high."""
        while True:
            _, _, *values = await ctx.tick().sample(*signals)
            if values[0]:
                return values

    async def clock(self, ctx):
        while True:
            await ctx.tick()
            self.now += 1

    async def reader(self, ctx):
        dut = self.dut
        while True:
            ctx.set(dut.job.ready, self.rng.random() < 0.5)
            _, _, valid, ready, job = await ctx.tick().sample(dut.job.valid, dut.job.ready, dut.job.payload)
            if not (valid and ready):
                continue
            ctx.set(dut.job.ready, 0)
            assert job.words == 2
            self.asked.append(self.now)
            bad, value = self.fails(), self.words.get(job.address, 0)
            which = self.rng.choice([(0, 1), (0,), (1,)])
            for k in range(2):
                await ctx.tick().repeat(self.rng.randrange(1, 8))
                ctx.set(dut.word.payload, {"data": value >> 32 * k & 0xFFFFFFFF, "error": bad and k in which,
                                           "last": k})
                ctx.set(dut.word.valid, 1)
                await self.wait(ctx, dut.word.ready)
                ctx.set(dut.word.valid, 0)
            self.events.append(("read", value, bad))

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
            address, word = request.address + first, value >> 8 * first & WORD
            done = self.rng.choice((WORD, 0xFFFF_FFFF, 0)) if bad else WORD  # of a write that is refused
            self.words[address] = self.words.get(address, 0) & ~done | word & done
            self.events.append(("wrote", address, bad))
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
        for process in (self.clock, self.reader, self.writer, self.order, *([self.listener] if self.g.watches else [])):
            simulator.add_testbench(process, background=True)
        simulator.run()


def expected(address, timed, events, gives_up):
    """Return what should have happened, where memory has answered as `events` say, and how it ends."""
    answers = iter([event for event in events if event[0] in ("read", "wrote")])
    found, segment = [], address >> 7

    def wrote(offset):
        found.append(("wrote", address + offset, next(answers)[-1]))
        return not found[-1][-1]

    for offset in (SIGNAL_START, SIGNAL_END) if timed else ():
        if not wrote(offset):
            return found, "refused"
    found += [("take", segment), next(answers)]
    _, value, bad = found[-1]
    end = "refused" if bad else "done" if wrote(SIGNAL_VALUE) else "refused" if gives_up else "uncertain"
    for _ in range(TRIES if end == "uncertain" else 0):
        found.append(next(answers))
        _, now, bad = found[-1]
        if not bad:
            end = {value - 1 & WORD: "done", value: "refused"}.get(now, end)
            break
    return [*found, ("give", segment)], end


@pytest.mark.parametrize("watches, width", quick(itertools.product((0, 3), (4, 16)), [(3, 16)]))
def test_a_signal_is_stamped_and_counted_down_once_by_its_owner(watches, width):
    """Whatever memory answers: it is refused where nothing was counted, and then the same again. After a write of the
    value that was refused memory is asked what it holds. A barrier writes no times."""
    bench = Bench(G.replace(watches=watches, bus_bytes=width, bytes_per_cycle=4), 10 * watches + width)
    dut, rng = bench.dut, bench.rng
    told, ends, insisted = [], [], []

    async def complete(ctx, **given):
        """Return what has happened, and how it has ended."""
        said = len(bench.events)
        bench.asked.clear()
        for name, value in given.items():
            ctx.set(getattr(dut, name), value)
        ctx.set(dut.begin, 1)
        await ctx.tick()
        ctx.set(dut.begin, 0)
        _, refused, uncertain, insists = await bench.wait(ctx, dut.done, dut.refused, dut.uncertain, dut.insists)
        await ctx.tick()
        insisted.append(insists)
        assert not ctx.get(dut.insists) and not ctx.get(dut.done) and refused >= uncertain
        assert all(b - a >= PAUSE_CYCLES for a, b in zip(bench.asked[1:], bench.asked[2:], strict=False))
        return ([event for event in bench.events[said:] if event[0] != "told"],
                "uncertain" if uncertain else "refused" if refused else "done")

    async def testbench(ctx):
        for _ in range(PACKETS):
            address, timed = rng.choice([0, 64 * rng.randrange(1, 1000)]), rng.random() < 0.5
            start, cycle = rng.getrandbits(64), rng.getrandbits(64)
            before = rng.choice([0, 1, 1 << 32, rng.getrandbits(64)])
            bench.errors = rng.choice([0, 0, 0.2, 0.5, 0.8])
            bench.words = {address + SIGNAL_VALUE: before}
            gives_up = bench.errors >= 0.5 and rng.random() < 0.5
            end = "refused"
            while end == "refused":
                events, end = await complete(ctx, signal=address, timed=timed, start=start, cycle=cycle,
                                             give_up=gives_up)
                if not address:
                    assert not events and end == "done"
                    break
                assert (events, end) == expected(address, timed, events, gives_up)
                ends.append(end)
                if end != "refused" or gives_up:
                    told.append(address >> 7)
                    break
            if address and end == "done":
                times = {address + SIGNAL_START: start, address + SIGNAL_END: cycle} if timed else {}
                assert bench.words == {address + SIGNAL_VALUE: before - 1 & WORD} | times
        bench.errors = 0
        await ctx.tick().repeat(200)

    bench.run(testbench)
    assert [event[1] for event in bench.events if event[0] == "told"] == told * bool(watches)
    assert any(insisted) and not all(insisted) and {"done", "refused", "uncertain"} <= set(ends)


@pytest.mark.parametrize("gives_up", [False, True])
def test_a_memory_that_stays_away_holds_the_processor_for_a_bounded_time(gives_up):
    """The write of the value is refused, and so is every read behind it: `TRIES` reads, and the segment is given back
    and told. A completion that is given up meanwhile ends at once."""
    bench = Bench(G.replace(watches=3), 1)
    dut, address = bench.dut, 0x1000

    async def testbench(ctx):
        bench.words = {address + SIGNAL_VALUE: 5}
        ctx.set(dut.signal, address)
        ctx.set(dut.begin, 1)
        await ctx.tick()
        ctx.set(dut.begin, 0)
        while not any(event[0] == "read" for event in bench.events):
            await ctx.tick()
        bench.errors, since = 1.0, bench.now
        if gives_up:
            while len(bench.asked) < 4:
                await ctx.tick()
            ctx.set(dut.give_up, 1)
            since = bench.now
        _, refused, uncertain = await bench.wait(ctx, dut.done, dut.refused, dut.uncertain)
        assert refused and uncertain == (not gives_up)
        assert bench.now - since < (30 if gives_up else TRIES * (PAUSE_CYCLES + 30) + 60)
        await ctx.tick().repeat(100)
        assert len(bench.asked) == (4 if gives_up else 1 + TRIES)
        assert [event for event in bench.events if event[0] in ("take", "give", "told")] == [
            (name, address >> 7) for name in ("take", "give", "told")]

    bench.run(testbench)


class Model:
    """Completes packets, a `yield` a cycle. What may come in the next cycle is known before it.

    Attributes
    ----------
    given : dict
        Inputs of the cycle, by name.
    idle : bool
        A packet may be begun.
    acknowledged : bool
        Memory may acknowledge a write.
    likely : list of int
        What memory may well hold where the value is read.
    left : int
        Words of it that have not been read.
    """

    def __init__(self, g):
        self.g, self.given, self.idle, self.acknowledged, self.likely, self.left = g, {}, True, False, [], 2
        self.insists, self.told, self.writing, self.written = False, None, False, False

    def outputs(self, said=None):
        """Return what is put out in this cycle: what is `said`, and nothing else."""
        shown = {name: 0 for name in ("done", "refused", "uncertain", "job.valid", "word.ready", "order.take.valid",
                                      "order.give.valid", "write_port.request.valid", "write_port.beat.valid")}
        shown |= {"insists": int(self.insists), "write_port.ack.ready": int(self.writing)}
        if self.written:
            self.writing = self.written = False
        if self.g.watches:
            shown["wrote.valid"] = int(self.told is not None)
            if self.told is not None:
                shown["wrote.payload"] = self.told
            if self.given["wrote.ready"]:
                self.told = None
        return shown | (said or {})

    def end(self, gives=True, tells=True, refused=0, uncertain=0):
        """Show how it ends; the segment of the signal is given back, and told."""
        segment = self.given["signal"] >> 7
        give = {"order.give.valid": 1, "order.give.segment": segment} if gives else {}
        shown = self.outputs({"done": 1, "refused": refused, "uncertain": uncertain} | give)
        if gives:
            self.insists = False
        if tells and self.g.watches:
            self.told = segment
        self.idle = True
        yield shown

    def write(self, offset, word):
        """Write a word; return whether memory has taken it, in the cycle in which it says so."""
        yield self.outputs()
        self.writing = True
        port, width = "write_port.", min(self.g.bus_bytes, 8)
        request = {f"{port}request.valid": 1, f"{port}request.payload": {
            "address": self.given["signal"] + offset, "extra_beats": 8 // width - 1}}
        beats = [{f"{port}beat.valid": 1, f"{port}beat.payload": {
            "data": word >> 8 * first & (1 << 8 * width) - 1, "strobe": (1 << width) - 1,
            "last": int(first + width == 8)}} for first in range(0, 8, width)]
        while not (self.acknowledged and self.given[f"{port}ack.valid"]):
            shown = self.outputs(request | (beats[0] if beats else {}))
            if self.given[f"{port}request.ready"]:
                request = {}
            if self.given[f"{port}beat.ready"]:
                beats = beats[1:]
            self.acknowledged = not request and not beats
            yield shown
        self.acknowledged, self.written = False, True
        return not self.given[f"{port}ack.payload.error"]

    def read(self, likely):
        """Read the value; return it, None if memory has refused that."""
        job = {"job.valid": 1, "job.payload": {"address": self.given["signal"] + SIGNAL_VALUE, "words": 2}}
        self.likely, self.left, value, bad = likely, 2, 0, False
        while not self.given["job.ready"]:
            yield self.outputs(job)
        yield self.outputs(job)
        for k in range(2):
            while not self.given["word.valid"]:
                yield self.outputs({"word.ready": 1})
            value |= self.given["word.payload"]["data"] << 32 * k
            bad |= bool(self.given["word.payload"]["error"])
            self.left -= 1
            yield self.outputs({"word.ready": 1})
        return None if bad else value

    def complete(self):
        """Complete a packet that has a signal."""
        times = {SIGNAL_START: "start", SIGNAL_END: "cycle"}
        for offset in times if self.given["timed"] else {}:
            while offset == SIGNAL_START and self.told is not None:  # of the packet before
                yield self.outputs()
            if not (yield from self.write(offset, self.given[times[offset]])):
                yield from self.end(gives=False, tells=self.given["give_up"], refused=1)
                return
            yield self.outputs()
        while self.told is not None:
            yield self.outputs()
        take = {"order.take.valid": 1, "order.take.payload": self.given["signal"] >> 7}
        while not self.given["order.take.ready"]:
            yield self.outputs(take)
        yield self.outputs(take)
        value = yield from self.read([0, 1, 1 << 32])
        if value is None:
            yield from self.end(tells=self.given["give_up"], refused=1)
            return
        yield self.outputs()
        less = value - 1 & WORD
        if (yield from self.write(SIGNAL_VALUE, less)):
            yield from self.end()
        elif self.given["give_up"]:
            yield from self.end(refused=1)
        else:
            shown = self.outputs()
            self.insists = True
            yield shown
            yield from self.check(value, less)

    def check(self, value, less):
        """See what memory holds after it has refused the write of the value."""
        for following in reversed(range(TRIES)):
            now = yield from self.read([value, less])
            if not self.given["give_up"] and now is None and following:
                yield self.outputs()
                for _ in range(PAUSE_CYCLES):
                    if self.given["give_up"]:
                        break
                    yield self.outputs()
                else:
                    continue
            if self.given["give_up"]:
                yield from self.end(refused=1)
            elif now == less:
                yield from self.end()
            elif now == value:
                yield from self.end(tells=False, refused=1)
            else:
                yield from self.end(refused=1, uncertain=1)
            return

    def run(self):
        """Complete the packets that are begun."""
        while True:
            begun = self.given["begin"]
            self.idle = not begun
            yield self.outputs()
            if begun and self.given["signal"]:
                yield from self.complete()
            elif begun:
                yield from self.end(gives=False, tells=False)


def packets(g, rng, cycles):
    """Yield any packets, with whatever memory answers, and what is to be put out."""
    model, held = Model(g), {}
    run = model.run()
    for cycle in range(cycles):
        if cycle % 1600 == 0:
            often = rng.choice((0.3, 0.9))
            bad, given_up = rng.choice((0, 0.3, 0.4)), rng.choice((0, 0, 0, 0.01, 0.3))
            bad_check = rng.choice((0.2, 1))  # of the value, after its write was refused
        begin = model.idle and rng.random() < 0.7
        if begin:
            held = {"signal": rng.choice([0, 64, 64 * number(rng, 26), 64 * number(rng, 26)]),
                    "timed": rng.getrandbits(1), "start": number(rng, 64)}
        if model.left == 2:
            word = rng.choice([number(rng, 64), *2 * model.likely]) ^ (rng.random() < 0.1) << rng.randrange(64)
        model.given = {
            "begin": int(begin), **held, "cycle": number(rng, 64), "give_up": int(rng.random() < given_up),
            "job.ready": int(rng.random() < often), "order.take.ready": int(rng.random() < often),
            "word.valid": int(rng.random() < often), "word.payload": {
                "data": word >> 32 * (model.left < 2) & 0xFFFFFFFF, "last": int(model.left == 1),
                "error": int(rng.random() < (bad_check if len(model.likely) == 2 else bad))},
            "write_port.request.ready": int(rng.random() < often), "write_port.beat.ready": int(rng.random() < often),
            "write_port.ack.valid": int(model.acknowledged and rng.random() < often),
            "write_port.ack.payload.error": int(rng.random() < bad)}
        if g.watches:
            model.given["wrote.ready"] = int(rng.random() < 0.5 * often)
        shown = next(run)
        yield model.given, shown


@pytest.mark.parametrize("watches, width, cycles", quick(
    [(3, 4, 600), (3, 4, 40000), (0, 8, 5000), (3, 8, 5000)], [(3, 4, 600)]))
def test_every_cycle_is_that_of_a_model(watches, width, cycles):
    g = G.replace(watches=watches, bus_bytes=width, bytes_per_cycle=4)
    lockstep(component(PacketCompletion, g), packets(g, random.Random(width), cycles))

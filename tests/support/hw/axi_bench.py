"""AXI4 masters against a slave that delays, interleaves and reorders as much as AXI4 lets it."""

import hashlib
import random
from collections import defaultdict, deque

from support.hw.simulation import Simulator

__all__ = ["Bench"]

OKAY, SLAVE_ERROR = 0, 2


class Bench:
    """A unit with `readers` and `writers` (`ReadPort`, `WritePort`) on one side, and a slave of its `axi` on the
    other, all random.

    Every burst has an address of its own, which tells the data and whether it fails.
    """

    def __init__(self, g, unit, bursts, seed, density):
        self.g, self.unit = g, unit
        self.rng, self.bursts, self.density = random.Random(seed), bursts, density
        self.cycle, self.finished = 0, 0
        self.written = {}
        self.w_cycles, self.r_cycles = [], []
        self.ports = len(unit.readers) + len(unit.writers)

    def wait(self):
        """Whether to hold back this cycle."""
        return self.rng.random() < self.density

    def burst(self, port, number):
        """Address, extra beats of the burst `number` of a port."""
        beats = self.g.burst_beats
        first = self.rng.randrange(beats)
        return (port * 4096 + number) * 128 + first * self.g.bus_bytes, self.rng.randrange(beats - first)

    @staticmethod
    def fails(address):
        """Whether the slave answers this burst with an error."""
        return address // 128 % 5 == 2

    def beat(self, address, number):
        """Data of beat `number` of the burst at `address`."""
        digest = hashlib.shake_128(f"{address} {number}".encode()).digest(self.g.bus_bytes)
        return int.from_bytes(digest, "little")

    async def reader(self, ctx, number):
        """Request bursts, and check that they are answered in order."""
        port, asked, received, waiting = self.unit.readers[number], 0, 0, deque()
        ask = None
        while received < self.bursts:
            if ask is None and asked < self.bursts and not self.wait():
                ask = self.burst(number, asked)
                ctx.set(port.request.payload, {"address": ask[0], "extra_beats": ask[1]})
            ctx.set(port.request.valid, ask is not None)
            ready = not self.wait()
            ctx.set(port.beat.ready, ready)
            *_, taken, valid, beat = await ctx.tick().sample(port.request.ready, port.beat.valid, port.beat.payload)
            if ask is not None and taken:
                waiting.append([*ask, 0])
                asked, ask = asked + 1, None
            if valid and ready:
                address, extra, position = waiting[0]
                assert beat.data == self.beat(address, position)
                assert beat.error == self.fails(address) and beat.last == (position == extra)
                waiting[0][2] += 1
                if beat.last:
                    waiting.popleft()
                    received += 1
        self.finished += 1

    async def writer(self, ctx, number):
        """Send bursts, requests and beats on their own, and check that they are acknowledged in order."""
        port, asked, received, beats, waiting = self.unit.writers[number], 0, 0, deque(), deque()
        ask = beat = None
        while received < self.bursts:
            if ask is None and asked < self.bursts and not self.wait():
                ask = self.burst(len(self.unit.readers) + 8 + number, asked)
                ctx.set(port.request.payload, {"address": ask[0], "extra_beats": ask[1]})
                for position in range(ask[1] + 1):
                    word = self.beat(ask[0], position)
                    strobe = word & (1 << self.g.bus_bytes) - 1
                    beats.append({"data": word, "strobe": strobe, "last": position == ask[1]})
            ctx.set(port.request.valid, ask is not None)
            if beat is None and beats and not self.wait():
                beat = beats.popleft()
                ctx.set(port.beat.payload, beat)
            ctx.set(port.beat.valid, beat is not None)
            ready = not self.wait()
            ctx.set(port.ack.ready, ready)
            *_, taken, beat_taken, valid, error = await ctx.tick().sample(
                port.request.ready, port.beat.ready, port.ack.valid, port.ack.payload.error)
            if ask is not None and taken:
                waiting.append(ask)
                asked, ask = asked + 1, None
            if beat is not None and beat_taken:
                beat = None
            if valid and ready:
                address, extra = waiting.popleft()
                assert error == self.fails(address)
                assert self.written.pop(address) == extra + 1
                received += 1
        self.finished += 1

    async def slave(self, ctx):
        """Answer reads interleaved between ids and writes in any order of ids; check the master's signals."""
        bus = self.unit.axi
        reads, acks = defaultdict(deque), defaultdict(deque)
        addresses, data = deque(), deque()
        read = ack = None
        held = {}
        payload = {c: [getattr(bus, c + n) for n in ("id", "addr", "len", "size", "burst")] for c in ("aw", "ar")}
        payload["w"] = [bus.wdata, bus.wstrb, bus.wlast]
        while True:
            ready = {channel: not self.wait() for channel in payload}
            for channel, value in ready.items():
                ctx.set(getattr(bus, channel + "ready"), value)
            if read is None and any(reads.values()) and not self.wait():
                read = self.rng.choice([number for number, queue in reads.items() if queue])
                address, extra, position = reads[read][0]
                self._drive(ctx, "r", id=read, data=self.beat(address, position), last=position == extra,
                            resp=SLAVE_ERROR if self.fails(address) else OKAY)
            ctx.set(bus.rvalid, read is not None)
            if ack is None and any(acks.values()) and not self.wait():
                ack = self.rng.choice([number for number, queue in acks.items() if queue])
                self._drive(ctx, "b", id=ack, resp=SLAVE_ERROR if self.fails(acks[ack][0]) else OKAY)
            ctx.set(bus.bvalid, ack is not None)

            signals = [getattr(bus, c + "valid") for c in payload] + [bus.rready, bus.bready]
            signals += [signal for group in payload.values() for signal in group]
            _, _, aw, ar, w, rready, bready, *values = await ctx.tick().sample(*signals)
            self.cycle += 1
            for channel, valid in (("aw", aw), ("ar", ar), ("w", w)):
                now, values = tuple(values[:len(payload[channel])]), values[len(payload[channel]):]
                if channel in held:
                    assert valid and now == held[channel], f"{channel} changed before it was taken"
                held.pop(channel, None)
                if valid and not ready[channel]:
                    held[channel] = now
                elif valid and channel == "w":
                    self.w_cycles.append(self.cycle)
                    data.append(now)
                elif valid:
                    number, address, extra, size, kind = now
                    assert 1 << size == self.g.bus_bytes and kind == 1 and address % self.g.bus_bytes == 0
                    assert address // 4096 == (address + (extra + 1) * self.g.bus_bytes - 1) // 4096
                    if channel == "ar":
                        reads[number].append([address, extra, 0])
                    else:
                        addresses.append((number, address, extra))
            if read is not None and rready:
                self.r_cycles.append(self.cycle)
                reads[read][0][2] += 1
                if reads[read][0][2] > reads[read][0][1]:
                    reads[read].popleft()
                read = None
            if ack is not None and bready:
                acks[ack].popleft()
                ack = None
            while addresses and len(data) > addresses[0][2]:
                number, address, extra = addresses.popleft()
                for position in range(extra + 1):
                    word, strobe, last = data.popleft()
                    assert word == self.beat(address, position) and strobe == word & (1 << self.g.bus_bytes) - 1
                    assert last == (position == extra)
                self.written[address] = extra + 1
                acks[number].append(address)

    def _drive(self, ctx, channel, **values):
        for name, value in values.items():
            ctx.set(getattr(self.unit.axi, channel + name), value)

    def run(self, limit=20_000):
        """Run until every port has all its answers."""
        async def end(ctx):
            for _ in range(limit):
                await ctx.tick()
                if self.finished == self.ports:
                    return
            raise AssertionError(f"not finished in {limit} cycles")

        simulator = Simulator(self.unit)
        simulator.add_clock(1e-6)
        simulator.add_testbench(end)
        simulator.add_testbench(self.slave, background=True)
        for ports, process in ((self.unit.readers, self.reader), (self.unit.writers, self.writer)):
            for number in range(len(ports)):
                simulator.add_testbench(_of_port(process, number), background=True)
        simulator.run()


def _of_port(process, number):
    async def run(ctx):
        await process(ctx, number)
    return run

"""The committer: `SAVING`, data and `COMPLETE` of entries, each behind the acknowledgement it has to wait for."""

import random
from collections import deque

import pytest

from caesura.hw.arch.context import CCB_ENTRY, VERSION, State, entry_address, to_words
from caesura.hw.arch.geometry import preset
from caesura.hw.preempt.save.committer import Committer
from support.hw.simulation import component
from support.hw.stream_bench import put, simulate, steady
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/interfaces", "hw/lib", "hw/memory", "hw/preempt")

TINY = preset("tiny")
GEOMETRIES = {"bus of 4": TINY.replace(bus_bytes=4, bytes_per_cycle=4), "bus of 8": TINY,
              "bus of 16": TINY.replace(bus_bytes=16, tb_slots=5)}
EVERY = [(name, stall) for name in GEOMETRIES for stall in (0.0, 0.4)]
CASES = quick(EVERY, [("bus of 4", 0.0), *((name, 0.4) for name in GEOMETRIES)])
CCB_BASE, GENERATION = 0x4_0000, 0x1234


class Memory:
    """The other side of the write port; `log` has requests, acknowledgements and events in their order.

    Parameters
    ----------
    fails : callable
        Address of a burst -> whether it fails.
    """

    def __init__(self, dut, g, rng, stall=0.3, fails=lambda address: False):
        self.dut, self.g, self.rng, self.stall, self.fails = dut, g, rng, stall, fails
        self.log, self.bytes, self.coming, self.acks, self.cycle = [], {}, deque(), deque(), 0

    def head(self, entry):
        """Words 0 and 1 of an entry."""
        at = entry_address(CCB_BASE, entry)
        return [int.from_bytes(bytes(self.bytes[at + 4 * k + n] for n in range(4)), "little") for k in (0, 1)]

    async def watch(self, ctx):
        dut, rng, port = self.dut, self.rng, self.dut.port
        while True:
            ctx.set(port.request.ready, rng.random() >= self.stall)
            ctx.set(port.beat.ready, rng.random() >= self.stall)
            due = bool(self.acks) and self.acks[0][0] <= self.cycle
            if due:
                ctx.set(port.ack.payload, {"error": self.fails(self.acks[0][1])})
            ctx.set(port.ack.valid, due)
            assert not due or ctx.get(port.ack.ready), "the bus is held"
            if ctx.get(dut.event.valid):
                event = ctx.get(dut.event)
                self.log.append(("event", event.entry, State(event.state), event.error))
            if due:
                self.log.append(("ack", self.acks.popleft()[1]))
            _, _, request, asked, beat, given = await ctx.tick().sample(
                port.request.payload, port.request.valid & port.request.ready,
                port.beat.payload, port.beat.valid & port.beat.ready)
            if asked:
                self.log.append(("request", request.address))
                assert request.address % self.g.bus_bytes == 0
                self.coming.append([request.address, request.address, request.extra_beats])
            if given:
                self._write(beat)
            self.cycle += 1

    def _write(self, beat):
        first, at, left = burst = self.coming[0]
        for k in range(self.g.bus_bytes):
            if beat.strobe >> k & 1:
                self.bytes[at + k] = beat.data >> 8 * k & 255
        assert beat.last == (left == 0)
        burst[1:] = at + self.g.bus_bytes, left - 1
        if beat.last:
            self.coming.popleft()
            self.acks.append((self.cycle + self.rng.choice([1, 2, 20]), first))

    def place(self, *what):
        return self.log.index(what)


def bursts_of(g, entry, number, rng):
    """Bursts of an entry: (address, bytes of its beats)."""
    base = 0x10_0000 + 0x1000 * entry
    counts = [rng.choice([1, g.burst_beats, rng.randint(1, g.burst_beats)]) for _ in range(number)]
    return [(base + 128 * k, [rng.randbytes(g.bus_bytes) for _ in range(count)]) for k, count in enumerate(counts)]


def source(dut, entries, rng):
    """Return the two benches of a segment writer: the bursts of all entries, the last of each final, and their data."""
    async def bursts(ctx):
        for entry, parts in entries.items():
            for k, (address, beats) in enumerate(parts):
                await put(ctx, dut.burst, {"address": address, "extra_beats": len(beats) - 1, "entry": entry,
                                           "final": k == len(parts) - 1}, rng, 0.2)

    async def beats(ctx):
        for parts in entries.values():
            for _, words in parts:
                for word in words:
                    await put(ctx, dut.data, {"data": int.from_bytes(word, "little"),
                                              "strobe": (1 << len(word)) - 1}, rng, 0.2)
    return bursts, beats


def sequencer(dut, entries, memory, rng):
    """Return a bench that begins a command, has `SAVING` written for all entries, and opens them as it is there."""
    async def bench(ctx):
        ctx.set(dut.ccb_base, CCB_BASE)
        ctx.set(dut.generation, GENERATION)
        ctx.set(dut.clear, 1)
        await ctx.tick()
        ctx.set(dut.clear, 0)
        for entry in entries:
            await put(ctx, dut.head, {"entry": entry, "state": State.SAVING, "generation": GENERATION + 1}, rng, 0.7)

    async def opens(ctx):
        while True:
            await ctx.tick()
            opened = sum(1 << entry for entry in entries if ("event", entry, State.SAVING, 0) in memory.log)
            ctx.set(dut.opened, opened)
    return bench, opens


@pytest.mark.parametrize("name, stall", CASES)
def test_every_entry_is_complete_once_its_data_is_acknowledged(name, stall):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut = component(Committer, g)
    order = rng.sample(range(g.tb_slots), g.tb_slots)
    entries = {entry: bursts_of(g, entry, rng.choice([1, 2, 6]), rng) for entry in order}
    memory = Memory(dut, g, rng, stall)
    begin, opens = sequencer(dut, entries, memory, rng)

    async def end(ctx):
        while sum(entry[0] == "event" for entry in memory.log) < 2 * len(entries):
            assert not ctx.get(dut.idle) or ctx.get(dut.head.valid) == 0 and not memory.acks
            await ctx.tick()
        await ctx.tick()
        assert ctx.get(dut.idle) and not ctx.get(dut.sending) and not ctx.get(dut.error)

    simulate(dut, begin, *source(dut, entries, rng), end,
             watches=[memory.watch, opens, steady(dut.port.request), steady(dut.port.beat)])
    for entry, parts in entries.items():
        for address, beats in parts:
            stored = b"".join(beats)
            assert bytes(memory.bytes[address + k] for k in range(len(stored))) == stored
        assert memory.head(entry) == to_words(CCB_ENTRY, state=State.COMPLETE, version=VERSION, generation=GENERATION,
                                              geometry_hash=g.hash)[:2]
        saving, complete = (memory.place("event", entry, state, 0) for state in (State.SAVING, State.COMPLETE))
        assert saving < memory.place("request", parts[0][0]), "data before SAVING was acknowledged"
        heads = [k for k, what in enumerate(memory.log) if what == ("request", entry_address(CCB_BASE, entry))]
        acked = max(memory.place("ack", address) for address, _ in parts)
        assert len(heads) == 2 and heads[0] < saving and acked < heads[1] < complete
    requests = [what[1] for what in memory.log if what[0] == "request" and what[1] >= 0x10_0000]
    assert requests == [address for parts in entries.values() for address, _ in parts]


def test_heads_go_before_data_that_waits_for_its_entry():
    g, rng = GEOMETRIES["bus of 16"], random.Random(1)
    dut = component(Committer, g)
    memory = Memory(dut, g, rng, 0.0)
    entries = {2: bursts_of(g, 2, 3, rng)}

    async def bench(ctx):
        ctx.set(dut.ccb_base, CCB_BASE)
        assert ctx.get(dut.idle)
        await ctx.tick().repeat(20)
        assert not memory.log and not ctx.get(dut.idle), "an entry that is not opened"
        for entry in (0, 1):
            await put(ctx, dut.head, {"entry": entry, "state": State.DEMOTED, "generation": 7})
        ctx.set(dut.opened, 4)
        await put(ctx, dut.head, {"entry": 3, "state": State.FREE, "generation": 8})
        await ctx.tick().until(dut.idle)
        assert [what[1] for what in memory.log if what[0] == "request"] == [
            *(entry_address(CCB_BASE, entry) for entry in (0, 1, 3)), *(address for address, _ in entries[2]),
            entry_address(CCB_BASE, 2)]
        assert [(what[1], what[2]) for what in memory.log if what[0] == "event"] == [
            (0, State.DEMOTED), (1, State.DEMOTED), (3, State.FREE), (2, State.COMPLETE)]
        for entry, state, generation in ((0, State.DEMOTED, 7), (3, State.FREE, 8)):
            assert memory.head(entry)[0] == state | VERSION << 8 | generation << 16

    simulate(dut, bench, *source(dut, entries, rng), watches=[memory.watch])


@pytest.mark.parametrize("failing", ["data", "head"])
def test_after_an_error_no_entry_is_completed_until_the_next_command(failing):
    g, rng = TINY, random.Random(4)
    dut = component(Committer, g)
    entries = {entry: bursts_of(g, entry, 2, rng) for entry in (0, 1)}
    bad = entries[1][0][0] if failing == "data" else entry_address(CCB_BASE, 1)
    memory = Memory(dut, g, rng, 0.2, fails=lambda address: address == bad)
    begin, _ = sequencer(dut, entries, memory, rng)

    async def opened(ctx):
        """Open both entries even if one head has failed: whether its data goes is not this block's to decide."""
        while sum(what[0] == "event" for what in memory.log) < 2:
            await ctx.tick()
        ctx.set(dut.opened, 3)

    async def end(ctx):
        last = ("ack", entries[1][-1][0])
        while last not in memory.log:
            await ctx.tick()
        for _ in range(40):
            await ctx.tick()
        states = [what[1:] for what in memory.log if what[0] == "event"]
        assert (1, State.SAVING, failing == "head") in states and (1, State.COMPLETE, 0) not in states
        assert ((0, State.COMPLETE, 0) in states) == (failing == "data"), "an error before the end of entry 0"
        assert ctx.get(dut.error) and ctx.get(dut.idle)
        ctx.set(dut.clear, 1)
        await ctx.tick()
        ctx.set(dut.clear, 0)
        assert not ctx.get(dut.error)
        await put(ctx, dut.head, {"entry": 0, "state": State.FREE, "generation": 1})
        await ctx.tick().until(dut.event.valid)
        await ctx.tick().until(dut.idle)
        assert memory.head(0)[0] & 255 == State.FREE and not ctx.get(dut.error)

    simulate(dut, opened, begin, *source(dut, entries, rng), end, watches=[memory.watch])


def test_the_beats_of_waiting_bursts_follow_each_other():
    g = TINY
    dut = component(Committer, g)

    async def bursts(ctx):
        for k in range(6):
            await put(ctx, dut.burst, {"address": 128 * k, "extra_beats": g.burst_beats - 1, "entry": 0})

    async def bench(ctx):
        for signal in (dut.opened, dut.data.valid, dut.port.request.ready, dut.port.beat.ready):
            ctx.set(signal, 1)
        await ctx.tick().until(dut.port.beat.valid)
        for _ in range(6 * g.burst_beats - 1):
            assert ctx.get(dut.port.beat.valid) and ctx.get(dut.sending)
            await ctx.tick()
        assert not ctx.get(dut.port.beat.valid)

    simulate(dut, bursts, bench)

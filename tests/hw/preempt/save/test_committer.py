"""The committer: the data of entries on both sides, `COMPLETE` or `BASE` behind it, and other heads."""

import random
from collections import defaultdict, deque

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import CCB_ENTRY, VERSION, State, entry_address, to_words
from caesura.hw.preempt.save.committer import Committer
from support.hw.buses import with_bus
from support.hw.simulation import component
from support.hw.stream_bench import put, simulate, steady
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/interfaces", "hw/lib", "hw/memory", "hw/preempt", "sim/events")

TINY = preset("tiny")
GEOMETRIES = {"bus of 4": TINY.replace(bus_bytes=4, bytes_per_cycle=4), "bus of 8": TINY,
              "bus of 16": TINY.replace(bus_bytes=16, tb_slots=5),
              "bus of 128": with_bus(128)}
EVERY = [(name, stall, base) for name in GEOMETRIES for stall in (0.0, 0.4) for base in (0, 1)]
CASES = quick(EVERY, [("bus of 4", 0.0, 1), *((name, 0.4, k % 2) for k, name in enumerate(GEOMETRIES))])
CCB_BASE = 0x4_0000


def at_index(g, index):
    """Entry and side of the CCB entry at an index."""
    return {"entry": index % g.tb_slots, "side": index // g.tb_slots}


class Memory:
    """The other side of the write port; `log` has requests, acknowledgements and events in their order. An entry is
    named by its index in the CCB.

    Parameters
    ----------
    fails : callable
        Address of a burst -> whether it fails.
    """

    def __init__(self, dut, g, rng, stall=0.3, fails=lambda address: False):
        self.dut, self.g, self.rng, self.stall, self.fails = dut, g, rng, stall, fails
        self.log, self.coming, self.acks, self.cycle = [], deque(), deque(), 0
        self.bytes = defaultdict(int)

    def head(self, index):
        """Words 0 and 1 of an entry."""
        at = entry_address(CCB_BASE, index)
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
                self.log.append(("event", event.entry + self.g.tb_slots * event.side, State(event.state), event.crc,
                                 event.error))
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


def bursts_of(g, index, number, rng):
    """Bursts of an entry: (address, bytes of its beats)."""
    base = 0x10_0000 + 0x1000 * index
    counts = [rng.choice([1, g.burst_beats, rng.randint(1, g.burst_beats)]) for _ in range(number)]
    return [(base + 128 * k, [rng.randbytes(g.bus_bytes) for _ in range(count)]) for k, count in enumerate(counts)]


def crc_of(index, burst):
    """What the n-th burst of an entry says that the checksum of the entry is; the last one is right."""
    return 0x1234_0000 * burst + index + 0xF000


def source(dut, entries, rng):
    """Return the two benches of a segment writer: the bursts of all entries, the last of each final, and their data."""
    async def bursts(ctx):
        for index, parts in entries.items():
            for k, (address, beats) in enumerate(parts):
                await put(ctx, dut.burst, {"address": address, "extra_beats": len(beats) - 1,
                                           **at_index(dut.geometry, index), "final": k == len(parts) - 1,
                                           "crc": crc_of(index, k)}, rng, 0.2)

    async def beats(ctx):
        for parts in entries.values():
            for _, words in parts:
                for word in words:
                    await put(ctx, dut.data, {"data": int.from_bytes(word, "little"),
                                              "strobe": (1 << len(word)) - 1}, rng, 0.2)
    return bursts, beats


async def begin(ctx, dut, base=0):
    """Begin a command."""
    ctx.set(dut.ccb_base, CCB_BASE)
    ctx.set(dut.base, base)
    ctx.set(dut.clear, 1)
    await ctx.tick()
    ctx.set(dut.clear, 0)


@pytest.mark.parametrize("name, stall, base", CASES)
def test_every_entry_is_complete_or_a_base_once_its_data_is_acknowledged(name, stall, base):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut = component(Committer, g)
    order = rng.sample(range(2 * g.tb_slots), 2 * g.tb_slots)
    entries = {index: bursts_of(g, index, rng.choice([1, 2, 6]), rng) for index in order}
    state = State.BASE if base else State.COMPLETE
    memory = Memory(dut, g, rng, stall)

    async def bench(ctx):
        await begin(ctx, dut, base)
        while sum(what[0] == "event" for what in memory.log) < len(entries):
            assert not ctx.get(dut.idle) or ctx.get(dut.head.valid) == 0 and not memory.acks
            await ctx.tick()
        await ctx.tick()
        assert ctx.get(dut.idle) and not ctx.get(dut.beats_pending) and not ctx.get(dut.error)

    simulate(dut, *source(dut, entries, rng), bench,
             watches=[memory.watch, steady(dut.port.request), steady(dut.port.beat)])
    for index, parts in entries.items():
        crc = crc_of(index, len(parts) - 1)
        for address, beats in parts:
            stored = b"".join(beats)
            assert bytes(memory.bytes[address + k] for k in range(len(stored))) == stored
        assert memory.head(index) == to_words(CCB_ENTRY, state=state, version=VERSION, crc=crc)[:2]
        head, = [k for k, what in enumerate(memory.log) if what == ("request", entry_address(CCB_BASE, index))]
        complete = memory.place("event", index, state, crc, 0)
        assert memory.place("request", parts[-1][0]) < head < complete
        assert max(memory.place("ack", address) for address, _ in parts) < complete
    requests = [what[1] for what in memory.log if what[0] == "request" and what[1] >= 0x10_0000]
    assert requests == [address for parts in entries.values() for address, _ in parts]


@pytest.mark.parametrize("name", GEOMETRIES)
def test_heads_go_before_data_and_write_no_more_than_the_state_if_it_is_demoted(name):
    g, rng = GEOMETRIES[name], random.Random(1)
    dut = component(Committer, g)
    memory = Memory(dut, g, rng, 0.0)
    filled = g.tb_slots + 1
    entries = {filled: bursts_of(g, filled, 9, rng)}
    heads = [(0, State.DEMOTED, 7), (g.tb_slots, State.DEMOTED, 6), (1, State.BASE, 8)]
    old = {index: rng.randbytes(8) for index, _, _ in heads}
    memory.bytes |= {entry_address(CCB_BASE, index) + k: old[index][k] for index in old for k in range(8)}

    async def bench(ctx):
        assert ctx.get(dut.idle)
        await begin(ctx, dut)
        memory.stall = 1.0
        await ctx.tick().until(dut.port.request.valid & dut.burst.valid)
        memory.stall = 0.0
        for index, state, crc in heads:
            await put(ctx, dut.head, {**at_index(g, index), "state": state, "crc": crc})
        while sum(what[0] == "event" for what in memory.log) < len(heads):
            await ctx.tick()
        states.extend(memory.head(index) for index in old)
        await put(ctx, dut.head, {"entry": 0, "state": State.COMPLETE, "crc": 9})
        await ctx.tick().until(dut.idle)

    states = []
    simulate(dut, bench, *source(dut, entries, rng), watches=[memory.watch])
    asked = [what[1] for what in memory.log if what[0] == "request"]
    assert asked[1:4] == [entry_address(CCB_BASE, index) for index in old]
    assert [what for what in memory.log if what[0] == "event"][:3] == [("event", *each, 0) for each in heads]
    words = {index: [int.from_bytes(old[index][k:k + 4], "little") for k in (0, 4)] for index in old}
    for index, state in zip((0, g.tb_slots), states, strict=False):
        assert state == [words[index][0] & ~255 | State.DEMOTED, words[index][1]]
    assert states[2] == [State.BASE | VERSION << 8, 8]
    for index, crc in ((0, 9), (filled, crc_of(filled, 8))):
        assert memory.head(index) == [State.COMPLETE | VERSION << 8, crc]
        assert ("event", index, State.COMPLETE, crc, 0) in memory.log


@pytest.mark.parametrize("failing, base", [("data", 0), ("data", 1), ("head", 0), ("head", 1)])
def test_after_an_error_no_entry_counts_as_complete_until_the_next_command(failing, base):
    """The second entry is of the same TB as the first, on the other side."""
    g, rng = TINY, random.Random(4)
    dut = component(Committer, g)
    other, state = g.tb_slots, State.BASE if base else State.COMPLETE
    entries = {index: bursts_of(g, index, 2, rng) for index in (0, other)}
    bad = entries[other][0][0] if failing == "data" else entry_address(CCB_BASE, other)
    memory = Memory(dut, g, rng, 0.2, fails=lambda address: address == bad)
    heads = iter([other] if failing == "head" else [])

    async def end(ctx):
        await begin(ctx, dut, base)
        for index in heads:
            await put(ctx, dut.head, {**at_index(g, index), "state": State.DEMOTED})
        last = ("ack", entries[other][-1][0])
        while last not in memory.log:
            await ctx.tick()
        for _ in range(40):
            await ctx.tick()
        states = [(*what[1:3], what[4]) for what in memory.log if what[0] == "event"]
        assert ((other, State.DEMOTED, 1) in states) == (failing == "head") and (other, state, 0) not in states
        assert ((0, state, 0) in states) == (failing == "data"), "an error before the end of entry 0"
        assert ctx.get(dut.error) and ctx.get(dut.idle)
        ctx.set(dut.clear, 1)
        await ctx.tick()
        ctx.set(dut.clear, 0)
        assert not ctx.get(dut.error)
        await put(ctx, dut.head, {"entry": 0, "state": State.DEMOTED})
        await ctx.tick().until(dut.event.valid)
        await ctx.tick().until(dut.idle)
        assert memory.head(0)[0] & 255 == State.DEMOTED and not ctx.get(dut.error)

    simulate(dut, *source(dut, entries, rng), end, watches=[memory.watch])


def test_an_entry_whose_error_is_known_is_not_written_complete():
    """Its first burst fails long before its last one is there; the entry before it is complete."""
    g, rng = TINY, random.Random(5)
    dut = component(Committer, g)
    entries = {0: bursts_of(g, 0, 1, rng), 1: bursts_of(g, 1, 12, rng)}
    bad = entries[1][0][0]
    memory = Memory(dut, g, rng, 0.2, fails=lambda address: address == bad)

    async def end(ctx):
        await begin(ctx, dut)
        while ("ack", entries[1][-1][0]) not in memory.log:
            await ctx.tick()
        await ctx.tick().repeat(40)
        assert memory.place("ack", bad) < memory.place("request", entries[1][-1][0]), "the error is not known in time"
        assert memory.head(0)[0] & 255 == State.COMPLETE and memory.head(1) == [0, 0]
        assert ("request", entry_address(CCB_BASE, 1)) not in memory.log and ctx.get(dut.idle)

    simulate(dut, *source(dut, entries, rng), end, watches=[memory.watch])


def test_the_beats_of_waiting_bursts_follow_each_other():
    g = TINY
    dut = component(Committer, g)

    async def bursts(ctx):
        for k in range(6):
            await put(ctx, dut.burst, {"address": 128 * k, "extra_beats": g.burst_beats - 1, "entry": 0})

    async def bench(ctx):
        for signal in (dut.data.valid, dut.port.request.ready, dut.port.beat.ready):
            ctx.set(signal, 1)
        await ctx.tick().until(dut.port.beat.valid)
        for _ in range(6 * g.burst_beats - 1):
            assert ctx.get(dut.port.beat.valid) and ctx.get(dut.beats_pending)
            await ctx.tick()
        assert not ctx.get(dut.port.beat.valid)

    simulate(dut, bursts, bench)

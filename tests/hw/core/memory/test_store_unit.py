"""The store unit: what bursts write of the lanes of segments, and when an instruction is done."""

import random
from collections import deque

import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import Size
from caesura.hw.core.memory.store_unit import StoreUnit
from support.core.segment_samples import BYTES, SLOTS, instructions
from support.hw.buses import with_bus
from support.hw.simulation import component
from support.hw.stream_bench import get, simulate, steady, value
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/core", "hw/interfaces", "hw/lib", "hw/memory", "sim/events")

GEOMETRIES = {"8 lanes": preset("tiny"), "16 lanes": preset("tiny").replace(warp_size=16, lanes=4, bus_bytes=16),
              "bus of 4": preset("tiny").replace(lanes=4, bus_bytes=4, bytes_per_cycle=4, load_queue=2),
              "a segment a beat": with_bus(128)}
EVERY = [(name, errors, stall) for name in GEOMETRIES for errors, stall in ((0.0, 0.4), (0.3, 0.0))]
CASES = quick(EVERY, [EVERY[0], EVERY[3]])


def written(segment, registers):
    """Bytes that a segment writes, by address; of lanes that write the same byte the highest wins."""
    base, count, result = segment["address"] // 128 * 128, BYTES[segment["size"]], {}
    for lane, offset in enumerate(segment.get("offset", ())):
        if segment["mask"] >> lane & 1:
            number = sum(words[lane] << 32 * k for k, words in enumerate(registers))
            result.update({base + offset + n: number >> 8 * n & 255 for n in range(count)})
    return result


class Memory:
    """Takes bursts, and acknowledges each some time after its last beat."""

    def __init__(self, dut, g, rng, stall, failing):
        self.dut, self.g, self.rng, self.stall, self.failing = dut, g, rng, stall, failing
        self.bursts, self.acknowledged = [], 0

    async def watch(self, ctx):
        g, rng, port = self.g, self.rng, self.dut.write_port
        queue, acks, cycle, held = deque(), deque(), 0, False
        while True:
            ctx.set(port.request.ready, rng.random() >= self.stall)
            ctx.set(port.beat.ready, bool(queue) and rng.random() >= self.stall)
            held = held or bool(acks) and acks[0][0] <= cycle
            if held:
                ctx.set(port.ack.payload, {"error": acks[0][1] in self.failing})
            ctx.set(port.ack.valid, held)
            _, _, asked, burst, given, beat, acked = await ctx.tick().sample(
                port.request.valid & port.request.ready, port.request.payload, port.beat.valid & port.beat.ready,
                port.beat.payload, port.ack.valid & port.ack.ready)
            cycle += 1
            if acked:
                acks.popleft()
                self.acknowledged, held = self.acknowledged + 1, False
            if given:
                current = queue[0]
                current["bytes"].update({current["at"] + k: beat.data >> 8 * k & 255
                                         for k in range(g.bus_bytes) if beat.strobe >> k & 1})
                current["at"] += g.bus_bytes
                current["left"] -= 1
                assert beat.last == (current["left"] == 0)
                if beat.last:
                    queue.popleft()
                    acks.append((cycle + rng.choice([1, 15]), current["address"] // 128))
            if asked:
                new = {"address": burst.address, "at": burst.address, "left": burst.extra_beats + 1, "bytes": {},
                       "beats": burst.extra_beats + 1}
                queue.append(new)
                self.bursts.append(new)
                assert len(self.bursts) - self.acknowledged <= g.load_queue + 1


@pytest.mark.parametrize("name, errors, stall", CASES)
def test_every_byte_is_written_by_the_highest_lane(name, errors, stall):
    g, rng = GEOMETRIES[name], random.Random(f"{name} {errors}")
    dut = component(StoreUnit, g, SLOTS)
    operations = instructions(g, rng, 16, store=1)
    registers = [[[rng.getrandbits(32) for _ in range(g.warp_size)] for _ in range(4)] for _ in operations]
    segments = [(segment, registers[k]) for k, each in enumerate(operations) for segment in each]
    failing = {segment["address"] // 128 for segment, _ in segments if rng.random() < errors}
    memory, reported, finished = Memory(dut, g, rng, stall, failing), [], []
    faults = []
    for each in operations:
        bad = [s for s in each if s["kind"] == Fault.NONE and s["address"] // 128 in failing][:1]
        faults += [{"kind": Fault.BUS_ERROR, **{name: s[name] for name in ("warp", "pc", "address")}} for s in bad]

    async def source(ctx):
        for segment, words in segments:
            while rng.random() < stall:
                await ctx.tick()
            ctx.set(dut.data, words)
            ctx.set(dut.segment.payload, segment)
            ctx.set(dut.segment.valid, 1)
            await ctx.tick().until(dut.segment.ready)
            ctx.set(dut.segment.valid, 0)
        while len(finished) < len(operations):
            await ctx.tick()
        await ctx.tick().repeat(3)

    async def reports(ctx):
        while True:
            reported.append(value(await get(ctx, dut.fault, rng, stall)))

    async def ends(ctx):
        async for _, _, end in ctx.tick().sample(dut.done):
            if end.valid:
                assert end.warp == operations[len(finished)][0]["warp"]
                finished.append(memory.acknowledged)

    simulate(dut, source, watches=[memory.watch, reports, ends, steady(dut.write_port.request),
                                   steady(dut.write_port.beat)])
    expected = [written(*each) for each in segments if each[0]["kind"] == Fault.NONE]
    assert [burst["bytes"] for burst in memory.bursts] == expected
    for burst, bytes_ in zip(memory.bursts, expected, strict=True):
        assert burst["address"] == min(bytes_) // g.bus_bytes * g.bus_bytes, "it begins before the first byte"
        assert burst["beats"] == max(bytes_) // g.bus_bytes - min(bytes_) // g.bus_bytes + 1
    assert reported == faults and (faults or not errors)
    total = 0
    for end, each in zip(finished, operations, strict=True):
        total += sum(segment["kind"] == Fault.NONE for segment in each)
        assert end >= total, "done before all of its bursts were acknowledged"


def test_bursts_follow_each_other_without_a_gap():
    g = GEOMETRIES["8 lanes"]
    dut, beats = component(StoreUnit, g, SLOTS), []

    async def source(ctx):
        for k in range(6):
            ctx.set(dut.segment.payload, {"mask": 255, "size": Size.B64, "offset": [8 * n for n in range(g.warp_size)],
                                          "address": 128 * k, "last": 1})
            ctx.set(dut.segment.valid, 1)
            await ctx.tick().until(dut.segment.ready)
        ctx.set(dut.segment.valid, 0)

    async def sink(ctx):
        for signal in (dut.write_port.request.ready, dut.write_port.beat.ready, dut.write_port.ack.valid):
            ctx.set(signal, 1)
        for cycle in range(70):
            beats.extend([cycle] * ctx.get(dut.write_port.beat.valid))
            await ctx.tick()

    simulate(dut, source, sink)
    assert len(beats) == 6 * 8 and beats[-1] - beats[0] == len(beats) - 1

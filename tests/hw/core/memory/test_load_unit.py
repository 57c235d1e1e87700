"""The load unit: what every lane loads of segments, and what becomes of failed beats."""

import random
from collections import deque

import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import Size
from caesura.hw.core.memory.load_unit import LoadUnit
from support.core.segment_samples import BYTES, SLOTS, instructions
from support.hw.buses import with_bus
from support.hw.simulation import component
from support.hw.stream_bench import get, put_all, simulate, steady, value
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/core", "hw/interfaces", "hw/lib", "hw/memory", "sim/events")

GEOMETRIES = {"8x8": preset("tiny"), "16x4": preset("tiny").replace(warp_size=16, lanes=4, bus_bytes=16),
              "8x4": preset("tiny").replace(lanes=4, bus_bytes=4, bytes_per_cycle=4),
              "a segment a beat": with_bus(128)}
EVERY = [(name, errors, stall) for name in GEOMETRIES for errors, stall in ((0.0, 0.4), (0.1, 0.2))]
CASES = quick(EVERY, [EVERY[3]])


def byte_at(address):
    return address * 0x9E37_79B1 >> 13 & 255


def loaded(address, size, k):
    """Register `k` of what a lane loads."""
    count = BYTES[size]
    width = min(4, count)
    number = int.from_bytes(bytes(byte_at(address + 4 * k + n) for n in range(width)), "little")
    sign = size in (Size.S8, Size.S16) and number >> 8 * width - 1
    return number | (0xFFFF_FFFF & -1 << 8 * width if sign else 0)


class Memory:
    """Answers whole segments in order; some beats fail."""

    def __init__(self, dut, g, rng, stall, failing):
        self.dut, self.g, self.rng, self.stall, self.failing = dut, g, rng, stall, failing
        self.asked = []

    async def watch(self, ctx):
        g, port, queue, cycle = self.g, self.dut.read_port, deque(), 0
        while True:
            ctx.set(port.request.ready, self.rng.random() >= self.stall)
            due = bool(queue) and queue[0][0] <= cycle and (ctx.get(port.beat.valid) or self.rng.random() >= self.stall)
            if due:
                at = queue[0][1]
                ctx.set(port.beat.payload, {
                    "data": int.from_bytes(bytes(byte_at(at + k) for k in range(g.bus_bytes)), "little"),
                    "last": (at + g.bus_bytes) % 128 == 0, "error": at // g.bus_bytes in self.failing})
            ctx.set(port.beat.valid, due)
            _, _, asked, burst, taken = await ctx.tick().sample(
                port.request.valid & port.request.ready, port.request.payload, port.beat.valid & port.beat.ready)
            cycle += 1
            if taken:
                queue.popleft()
                ctx.set(port.beat.valid, 0)
            if asked:
                assert burst.address % 128 == 0 and burst.extra_beats == g.burst_beats - 1
                self.asked.append(burst.address)
                queue.extend((cycle + g.memory_latency, burst.address + g.bus_bytes * k) for k in range(g.burst_beats))


def outcome(g, operations, failing):
    """Return the beats of every register, the faults and the warps that are done."""
    beats, faults, done = [], [], []
    for segments in operations:
        abandoned = False
        for segment in segments:
            base = segment["address"] // 128 * 128
            error = segment["kind"] == Fault.NONE and any(
                base // g.bus_bytes + k in failing for k in range(g.burst_beats))
            if error and not abandoned:
                faults.append({"kind": Fault.BUS_ERROR, **{name: segment[name] for name in ("warp", "pc", "address")}})
            abandoned |= error
            void = abandoned or segment["kind"] != Fault.NONE
            for k in range(max(1, BYTES[segment["size"]] // 4)):
                for beat in range(g.beats):
                    lanes = range(beat * g.lanes, (beat + 1) * g.lanes)
                    mask = 0 if void else segment["mask"]
                    beats.append({
                        "generation": 0, "warp": segment["warp"], "base": segment["base"],
                        "register": segment["d"] + k, "beat": beat,
                        "last": beat == g.beats - 1, "release": bool(segment["last"]) and beat == g.beats - 1,
                        "mask": mask >> lanes[0] & (1 << g.lanes) - 1,
                        "data": [loaded(base + segment["offset"][lane], segment["size"], k) if mask >> lane & 1 else 0
                                 for lane in lanes]})
        done.append(segments[0]["warp"])
    return beats, faults, done


@pytest.mark.parametrize("name, errors, stall", CASES)
def test_every_lane_gets_its_words(name, errors, stall):
    g, rng = GEOMETRIES[name], random.Random(f"{name} {errors}")
    dut = component(LoadUnit, g, SLOTS)
    operations = instructions(g, rng, 16, store=0)
    segments = [segment for each in operations for segment in each]
    failing = {segment["address"] // 128 * g.burst_beats + rng.randrange(g.burst_beats)
               for segment in segments if rng.random() < errors}
    beats, faults, done = outcome(g, operations, failing)
    memory, reported, finished = Memory(dut, g, rng, stall, failing), [], []

    async def sink(ctx):
        for beat in beats:
            assert value(await get(ctx, dut.write, rng, stall)) == beat
        await ctx.tick().repeat(2)
        assert not ctx.get(dut.write.valid)

    async def reports(ctx):
        while True:
            reported.append(value(await get(ctx, dut.fault, rng, stall)))

    async def ends(ctx):
        async for _, _, end in ctx.tick().sample(dut.done):
            finished.extend([end.warp] * end.valid)

    simulate(dut, put_all(dut.segment, segments, rng, stall), sink,
             watches=[memory.watch, reports, ends, steady(dut.write), steady(dut.fault)])
    assert memory.asked == [s["address"] // 128 * 128 for s in segments if s["kind"] == Fault.NONE]
    assert reported == faults and finished == done and (faults or not errors)

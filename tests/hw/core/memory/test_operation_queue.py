"""The queue of memory instructions: beats in, whole warps out, and the fault of the lowest lane that has one."""

import random
from collections import deque

import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import Size, Space
from caesura.hw.core.memory.operation_queue import OperationQueue
from support.hw.simulation import component
from support.hw.stream_bench import put, simulate, value

GEOMETRIES = {"8x8": preset("tiny"), "16x4": preset("tiny").replace(warp_size=16, lanes=4, unit_queue=3)}
BYTES = {Size.U8: 1, Size.S8: 1, Size.U16: 2, Size.S16: 2, Size.B32: 4, Size.B64: 8, Size.B128: 16}
BOUND, WORDS = Fault.LOCAL_BOUND, 2


class Operation:
    """An instruction, its beats, and what the queue has to show of it."""

    def __init__(self, g, rng, number):
        size = rng.choice(list(Size))
        self.fields = {"warp": rng.randrange(g.warps), "tb": rng.randrange(g.tb_slots),
                       "kernel": rng.randrange(g.kernel_slots), "base": rng.randrange(g.registers), "pc": number,
                       "d": rng.getrandbits(6), "writes_d": rng.getrandbits(1), "writes_u": rng.getrandbits(1),
                       "size": size, "store": rng.getrandbits(1), "atomic": rng.getrandbits(1),
                       "function": rng.getrandbits(4)}
        self.space = rng.choice([Space.LOCAL, Space.GLOBAL])
        full = (1 << g.warp_size) - 1
        self.mask = rng.choice([full, full, rng.getrandbits(g.warp_size), 0])
        odd, beyond = rng.choice([(0, 0), (0.2, 0), (0, 0.2), (0.1, 0.3), (0.1, 0.3)])
        count = BYTES[size]
        self.address = [count * rng.randrange(1 << 28) + (rng.randrange(count) if rng.random() < odd else 0)
                        for _ in range(g.warp_size)]
        self.beyond = sum(1 << lane for lane in range(g.warp_size) if rng.random() < beyond)
        self.data = [[rng.getrandbits(32) for _ in range(g.warp_size)] for _ in range(WORDS)]
        self.kind, self.fault_address = Fault.NONE, None
        for kind, lanes in ((BOUND, [lane for lane in range(g.warp_size) if self.beyond >> lane & 1]),
                            (Fault.MISALIGNED, [lane for lane in range(g.warp_size) if self.address[lane] % count])):
            lanes = [lane for lane in lanes if self.mask >> lane & 1]
            if lanes:
                self.kind, self.fault_address = kind, self.address[lanes[0]]

    def beats(self, g):
        for beat in range(g.beats):
            part = slice(beat * g.lanes, (beat + 1) * g.lanes)
            lanes = (1 << g.lanes) - 1
            yield self.beyond >> part.start & lanes, {
                **self.fields, "space": self.space, "beat": beat, "last": beat == g.beats - 1,
                "mask": self.mask >> part.start & lanes, "address": self.address[part],
                "data": [words[part] for words in self.data]}


@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("stall", [0.0, 0.5])
def test_instructions_come_out_whole_and_in_order(name, stall):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut = component(OperationQueue, g, BOUND, WORDS)
    operations = [Operation(g, rng, number) for number in range(20)]
    taken = deque()

    async def source(ctx):
        for operation in operations:
            for beyond, beat in operation.beats(g):
                ctx.set(dut.beyond, beyond)
                await put(ctx, dut.op, beat, rng, stall / 3)

    async def unit(ctx):
        """Start, advance and release in that order, each when it likes, often all in one cycle."""
        waiting, held = deque(operations), deque()
        started = False
        while waiting or held:
            head = value(ctx.get(dut.head))
            start = advance = release = False
            if head["valid"]:
                check(ctx, waiting[0], head)
                start = not started and rng.random() >= stall
                advance = (started or start) and rng.random() >= stall
            if held:
                check_data(ctx, *held[0])
            candidates = held or advance
            release = bool(candidates) and rng.random() >= stall
            if release and not held:
                check_data(ctx, waiting[0], head["op"]["slot"])
            for signal, what in ((dut.start, start), (dut.advance, advance), (dut.release, release)):
                ctx.set(signal, what)
            assert ctx.get(dut.room) == start
            await ctx.tick()
            started = (started or start) and not advance
            if advance:
                held.append((waiting.popleft(), head["op"]["slot"]))
            if release:
                taken.append(held.popleft())
            assert len(held) <= g.unit_queue + 2
        for signal in (dut.start, dut.advance, dut.release):
            ctx.set(signal, 0)
        assert not ctx.get(dut.head.valid)

    def check(ctx, operation, head):
        op = head["op"]
        assert {name: op[name] for name in operation.fields} == operation.fields
        assert op["local"] == (operation.space == Space.LOCAL) and op["kind"] == operation.kind
        assert operation.kind == Fault.NONE or op["fault_address"] == operation.fault_address
        assert ctx.get(dut.mask) == operation.mask and value(ctx.get(dut.address)) == operation.address

    def check_data(ctx, operation, slot):
        ctx.set(dut.data_slot, slot)
        if operation.fields["store"] or operation.fields["atomic"]:
            assert value(ctx.get(dut.data)) == operation.data

    simulate(dut, source, unit)
    assert len(taken) == len(operations)


def test_there_is_room_for_two_more_than_wait():
    g, rng = GEOMETRIES["16x4"], random.Random(1)
    dut, pushed = component(OperationQueue, g, BOUND, WORDS), []

    async def source(ctx):
        for number in range(20):
            for beyond, beat in Operation(g, rng, number).beats(g):
                ctx.set(dut.beyond, beyond)
                await put(ctx, dut.op, beat)
            pushed.append(number)

    async def bench(ctx):
        for released in range(4):
            await ctx.tick().repeat(12 * g.beats)
            assert len(pushed) == g.unit_queue + 2 + released and not ctx.get(dut.op.ready)
            for signal in (dut.start, dut.advance, dut.release):
                ctx.set(signal, 1)
            await ctx.tick()
            for signal in (dut.start, dut.advance, dut.release):
                ctx.set(signal, 0)

    simulate(dut, bench, watches=[source])

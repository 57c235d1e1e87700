"""The exchange unit: shuffles as the pseudo-code of PTX has them, matches, at every width; model and hardware."""

import numpy as np
import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import OPCODES, ExchangeOp
from caesura.hw.core.units.exchange import ExchangeUnit
from support.hw.simulation import Simulator, component
from support.ptx.lanes import match, shuffle
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/core", "hw/interfaces", "tests/support/ptx", "sim/events")

SHUFFLES = [op for op in ExchangeOp if op is not ExchangeOp.MATCH]
CODES = {opcode.function: opcode.code & 127 for opcode in OPCODES if isinstance(opcode.function, ExchangeOp)}
SHAPES = {
    "tiny": preset("tiny"), "tiny-1": preset("tiny").replace(exchange_lanes=1),
    "tiny-8": preset("tiny").replace(exchange_lanes=8), "16-of-4": preset("tiny").replace(warp_size=16, lanes=4),
    "ecp5": preset("ecp5"), "ecp5-1": preset("ecp5").replace(exchange_lanes=1),
    "ecp5-8": preset("ecp5").replace(exchange_lanes=8), "gtx480": preset("gtx480"),
    "gtx480-32": preset("gtx480").replace(exchange_lanes=32), "two beats": preset("gtx480").replace(lanes=16),
}
QUICK = "tiny", "tiny-1", "tiny-8", "16-of-4", "ecp5", "gtx480"
"""One or several beats, groups and groups of a beat, in every combination; the other shapes differ in their sizes."""
EVERY_SHAPE = quick(SHAPES, QUICK)


def reference(op, a, b, c, active):
    """Result and predicate of the lanes that are active, None of the others."""
    if op is ExchangeOp.MATCH:
        both = [(found, False) for found in match(a, active)]
    else:
        mode, *immediate = op.name.lower().split("_")[1:]
        if immediate:
            b, c = [x & 0xFF for x in b], [x >> 8 for x in b]
        both = shuffle(mode, a, b, c, active)
    return [x if on else None for x, on in zip(both, active, strict=True)]


def operands(rng, op, width):
    """Words that are often equal, offsets and clamps of every size, masks from none but one lane to all."""
    a = rng.integers(0, 1 << 32, width, dtype=np.uint32)
    pool = rng.integers(0, 1 << 32, int(rng.integers(1, width + 1)), dtype=np.uint32)
    a = np.where(rng.random(width) < 0.7, rng.choice(pool, width), a)
    uniform = rng.random() < 0.7
    draw = (lambda high: np.full(width, rng.integers(high))) if uniform else (lambda high: rng.integers(0, high, width))
    b = draw(int(rng.choice([2, 32, 256]))).astype(np.uint32)
    clamp = draw(32) if rng.random() < 0.5 else np.full(width, int(rng.choice([0, 31])))
    segment = draw(32) if rng.random() < 0.3 else np.full(width, int(rng.choice([0, 16, 24, 28, 30, 31])))
    c = (clamp | segment << 8 | draw(8) << 5 | draw(1 << 19) << 13).astype(np.uint32)
    if op.name.endswith("_I"):
        b, c = np.full(width, b[0] | (c[0] & np.uint32(0xFF_FFFF)) << np.uint32(8)), draw(1 << 32).astype(np.uint32)
    mask = np.ones(width, bool) if rng.random() < 0.4 else rng.random(width) < rng.random()
    mask[rng.integers(width)] = True
    return a, b, c, mask


@pytest.mark.parametrize("width", quick([8, 16, 32], [8, 32]))
@pytest.mark.parametrize("op", ExchangeOp, ids=lambda op: op.name)
def test_model_matches_the_pseudo_code(op, width):
    rng = np.random.default_rng(int(op) * 64 + width)
    differs = 0
    for _ in range(200):
        a, b, c, mask = operands(rng, op, width)
        expected = reference(op, a.tolist(), b.tolist(), c.tolist(), mask.tolist())
        value, predicate = ExchangeUnit.compute(op, a, b, c, mask)
        assert [(int(v), bool(p)) for v, p in zip(value, predicate, strict=True)] == [x or (0, False) for x in expected]
        differs += (value != a)[mask].any()
    assert differs > 20


def sweep(op, step):
    """Offset, clamp and segment mask of 5 bits each, in a full warp; every `step`-th combination."""
    a, on = np.arange(32, dtype=np.uint32), [True] * 32
    name = op.name.lower().split("_")[1]
    for number in range(0, 1 << 15, step):
        b, c = number & 31, number >> 5 & 31 | number >> 10 << 8
        value, predicate = ExchangeUnit.compute(op, a, np.full(32, b), np.full(32, c), on)
        expected = shuffle(name, range(32), [b] * 32, [c] * 32, on)
        assert list(zip(value.tolist(), predicate.tolist(), strict=True)) == expected


@pytest.mark.parametrize("op", SHUFFLES[:4], ids=lambda op: op.name)
def test_model_of_some_offsets_clamps_and_segments(op):
    sweep(op, 13)


@pytest.mark.full
@pytest.mark.parametrize("op", SHUFFLES[:4], ids=lambda op: op.name)
def test_model_of_every_offset_clamp_and_segment(op):
    sweep(op, 1)


def test_cuda_idioms():
    """What ``__shfl_*_sync`` compile to: c is 0x1f (up: 0) with the segment mask of the width above."""
    a, on, zero = np.arange(32, dtype=np.uint32), np.ones(32, bool), np.zeros(32, np.uint32)
    def compute(op, b, c):
        return ExchangeUnit.compute(op, a, np.full(32, b), zero + np.uint32(c), on)[0].tolist()
    assert compute(ExchangeOp.SHFL_UP, 1, 0) == [0, *range(31)]
    assert compute(ExchangeOp.SHFL_DOWN, 1, 31) == [*range(1, 32), 31]
    assert compute(ExchangeOp.SHFL_BFLY, 16, 31) == [*range(16, 32), *range(16)]
    assert compute(ExchangeOp.SHFL_IDX, 5, 31) == [5] * 32
    assert compute(ExchangeOp.SHFL_UP, 1, 24 << 8) == [max(k - 1, k & 24) for k in range(32)]
    assert compute(ExchangeOp.SHFL_DOWN, 3, 24 << 8 | 31) == [k + 3 if k % 8 < 5 else k for k in range(32)]
    assert compute(ExchangeOp.SHFL_IDX, 3, 24 << 8 | 31) == [(k & 24) + 3 for k in range(32)]


class Bench:
    """Sends instructions as the issue stage does, and gathers what is written."""

    def __init__(self, g, program, rng, accept=1.0, gap=0):
        self.g, self.program, self.rng, self.accept, self.gap = g, program, rng, accept, gap
        self.dut = component(ExchangeUnit, g)
        self.cycle, self.sent, self.rooms = 0, [], []
        self.writes, self.predicates = [], []

    def run(self):
        sim = Simulator(self.dut)
        sim.add_clock(1e-6)
        for process in (self._watch, self._send):
            sim.add_testbench(process)
        for port, found in ((self.dut.write, self.writes), (self.dut.predicate, self.predicates)):
            sim.add_testbench(self._receiver(port, found), background=True)
        sim.run()
        return self

    async def _send(self, ctx):
        g, op = self.g, self.dut.op
        for number, (what, d, pd, (a, b, c, mask)) in enumerate(self.program):
            while len(self.rooms) < number:
                await ctx.tick()
            for _ in range(self.gap and int(self.rng.integers(self.gap))):
                await ctx.tick()
            for beat in range(g.beats):
                at = slice(beat * g.lanes, (beat + 1) * g.lanes)
                words = {name: [int(x) for x in operand[at]] for name, operand in zip("abc", (a, b, c), strict=True)}
                ctx.set(op.payload, words | {
                    "function": CODES[what], "warp": number % g.warps, "base": 4 * (number % 5), "d": d,
                    "writes_d": 1, "data_registers": 1, "pd": pd or 0, "writes_pd": pd is not None, "beat": beat,
                    "last": beat == g.beats - 1, "mask": sum(int(x) << k for k, x in enumerate(mask[at]))})
                ctx.set(op.valid, 1)
                await ctx.tick().until(op.ready)
                ctx.set(op.valid, 0)
            self.sent.append(self.cycle)

    async def _watch(self, ctx):
        """Count cycles and rooms until everything has been written."""
        beats = self.g.beats
        tested = sum(pd is not None for _, _, pd, _ in self.program)
        for cycle in range(1200 * len(self.program)):
            self.cycle = cycle
            if len(self.writes) == beats * len(self.program) and len(self.predicates) == beats * tested:
                break
            _, _, room = await ctx.tick().sample(self.dut.room)
            if room:
                self.rooms.append(self.cycle + 1)  # as the others, the cycle after
        else:
            pytest.fail("the unit has not finished")
        for _ in range(50):
            assert not ctx.get(self.dut.write.valid) and not ctx.get(self.dut.predicate.valid)
            await ctx.tick()

    def _receiver(self, port, found):
        async def receive(ctx):
            ctx.set(port.ready, self.rng.random() < self.accept)
            async for _, _, valid, ready, bits in ctx.tick().sample(port.valid, port.ready, port.payload.as_value()):
                if valid and ready:
                    found.append((self.cycle, port.payload.shape().from_bits(bits)))
                ctx.set(port.ready, self.rng.random() < self.accept)
        return receive

    def check(self):
        """Compare every beat with the judge."""
        g, writes, predicates = self.g, iter(self.writes), iter(self.predicates)
        for number, (what, d, pd, (a, b, c, mask)) in enumerate(self.program):
            expected = reference(what, a.tolist(), b.tolist(), c.tolist(), mask.tolist())
            for beat in range(g.beats):
                at = slice(beat * g.lanes, (beat + 1) * g.lanes)
                lanes = sum(int(x) << k for k, x in enumerate(mask[at]))
                _, write = next(writes)
                last = beat == g.beats - 1
                assert (write.warp, write.base, write.register, write.beat, write.last, write.release, write.mask) == (
                    number % g.warps, 4 * (number % 5), d, beat, last, last, lanes)
                for k, result in enumerate(expected[at]):
                    assert result is None or int(write.data[k]) == result[0], (what, number, beat, k)
                if pd is not None:
                    _, tested = next(predicates)
                    assert (tested.warp, tested.predicate, tested.beat, tested.last, tested.mask, tested.value) == (
                        number % g.warps, pd, beat, last, lanes,
                        sum(int(bool(x and x[1])) << k for k, x in enumerate(expected[at])))




def program(rng, g, count, ops=tuple(ExchangeOp)):
    made = []
    for _ in range(count):
        op = ExchangeOp(rng.choice(ops))
        tests = op is not ExchangeOp.MATCH and not op.name.endswith("_I") and rng.random() < 0.7
        made.append((op, int(rng.integers(0, 60)), int(rng.integers(0, 7)) if tests else None,
                     operands(rng, op, g.warp_size)))
    return made


@pytest.mark.parametrize("accept", quick([1.0, 0.3], [0.3]), ids=["at once", "back-pressure"])
@pytest.mark.parametrize("name", EVERY_SHAPE)
def test_hardware_matches_the_pseudo_code(name, accept):
    g, rng = SHAPES[name], np.random.default_rng([list(SHAPES).index(name), int(10 * accept)])
    bench = Bench(g, program(rng, g, 50 if g.exchange_lanes > 1 else 25), rng, accept, gap=4 if accept < 1 else 0).run()
    bench.check()


@pytest.mark.parametrize("name", EVERY_SHAPE)
def test_latency_and_throughput(name):
    """First write, last write and the place given back, in cycles from the last beat taken."""
    g, rng = SHAPES[name], np.random.default_rng(7)
    groups, per_beat = g.warp_size // g.exchange_lanes, g.lanes // g.exchange_lanes
    for op in (ExchangeOp.SHFL_DOWN, ExchangeOp.MATCH):
        steps = groups + 1 if op is ExchangeOp.MATCH else 1
        bench = Bench(g, program(rng, g, 6, [op]), rng).run()
        bench.check()
        firsts, lasts = bench.writes[::g.beats], bench.writes[g.beats - 1::g.beats]
        for sent, room, (first, _), (last, _) in zip(bench.sent, bench.rooms, firsts, lasts, strict=True):
            assert (first - sent, last - sent, room - sent) == (
                per_beat * steps + 2, groups * steps + 2, groups * steps)

"""Uniform registers against a dict, the uniform unit against Python integers, with latency and back pressure."""

import random
from typing import Any

import pytest

from caesura.hw.arch.geometry import UNIFORMS, preset
from caesura.hw.arch.isa.opcodes import OPCODES, UNIFORM_SPECIALS, AluOp, Special, Unit
from caesura.hw.arch.isa.words import Instruction
from caesura.hw.core.front_end.uniform import UniformUnit
from caesura.hw.core.front_end.uniform_registers import UniformRegisters
from support.hw.scalars import pair_values, written_uniforms
from support.hw.simulation import Simulator
from support.selection import quick

TINY = preset("tiny")
ECP5 = preset("ecp5").replace(warps=3)
WORD = 1 << 32
make = Instruction.make


def signed(x):
    return x - (x >> 31 << 32)


JUDGE = {
    AluOp.MOV: lambda a, b, c: b, AluOp.IADD: lambda a, b, c: a + b, AluOp.ISUB: lambda a, b, c: a - b,
    AluOp.IRSUB: lambda a, b, c: b - a, AluOp.IMUL_LO: lambda a, b, c: a * b,
    AluOp.IMUL_HI_S: lambda a, b, c: signed(a) * signed(b) >> 32, AluOp.IMUL_HI_U: lambda a, b, c: a * b >> 32,
    AluOp.IMAD_LO: lambda a, b, c: a * b + c, AluOp.AND: lambda a, b, c: a & b, AluOp.OR: lambda a, b, c: a | b,
    AluOp.XOR: lambda a, b, c: a ^ b, AluOp.NOT: lambda a, b, c: ~b,
    AluOp.SHL: lambda a, b, c: a << b if b < 32 else 0, AluOp.SHR_U: lambda a, b, c: a >> b if b < 32 else 0,
    AluOp.SHR_S: lambda a, b, c: signed(a) >> min(b, 31),
    AluOp.IMIN_S: lambda a, b, c: min(a, b, key=signed), AluOp.IMIN_U: lambda a, b, c: min(a, b),
    AluOp.IMAX_S: lambda a, b, c: max(a, b, key=signed), AluOp.IMAX_U: lambda a, b, c: max(a, b),
}
TESTS = {
    AluOp.SETP_EQ: lambda a, b: a == b, AluOp.SETP_NE: lambda a, b: a != b,
    AluOp.SETP_LT_S: lambda a, b: signed(a) < signed(b), AluOp.SETP_LE_S: lambda a, b: signed(a) <= signed(b),
    AluOp.SETP_GT_S: lambda a, b: signed(a) > signed(b), AluOp.SETP_GE_S: lambda a, b: signed(a) >= signed(b),
    AluOp.SETP_LT_U: lambda a, b: a < b, AluOp.SETP_LE_U: lambda a, b: a <= b,
    AluOp.SETP_GT_U: lambda a, b: a > b, AluOp.SETP_GE_U: lambda a, b: a >= b,
}
HIGH = 0x8000_0007
"""Upper word of the clock."""
OPERATIONS = sorted({op.alu for op in OPCODES if op.unit is Unit.UNIFORM if op.alu is not None})
SPECIAL_WORDS = (0, 1, 31, 32, 33, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF)


def operand(rng):
    return rng.choice(SPECIAL_WORDS) if rng.random() < 0.4 else rng.getrandbits(32)


def simulate(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_every_operation_is_judged_and_the_model_agrees():
    assert {*JUDGE, *TESTS, AluOp.S2R} == set(OPERATIONS)
    rng = random.Random(1)
    for op in OPERATIONS:
        for _ in range(60):
            a, b, c = (operand(rng) for _ in "abc")
            value, test = UniformUnit.compute(op, a, b, c)
            if op in TESTS:
                assert test == TESTS[op](a, b), (op, a, b)
            else:
                assert value == JUDGE.get(op, lambda a, b, c: b)(a, b, c) % WORD, (op, a, b, c)


@pytest.mark.parametrize(("g", "seed"), [(TINY, 1), (ECP5, 2)])
def test_registers_follow_a_dict_under_random_writes_and_clears(g, seed):
    dut, rng = UniformRegisters(g), random.Random(seed)
    model = {warp: {} for warp in range(g.warps)}
    seen = {"forgotten": 0, "restore waits for none": 0, "both wait": 0, "constant waits": 0}

    async def bench(ctx):
        outstanding: set[int] = set()
        far: set[int] = set()
        held: dict[str, Any] = {"result": None, "constant": None}
        for _ in range(700):
            select = {x: rng.randrange(UNIFORMS) for x in "abc"} | {"warp": rng.randrange(g.warps)}
            saved, pair = rng.randrange(g.warps), rng.randrange(UNIFORMS // 2)
            ctx.set(dut.read.select, select)
            ctx.set(dut.save_warp, saved)
            ctx.set(dut.save_select, pair)
            assert [ctx.get(getattr(dut.read, x)) for x in "abc"] == [
                model[select["warp"]].get(select[x], 0) for x in "abc"]
            assert [*ctx.get(dut.save_values)] == pair_values(model[saved], pair)
            assert ctx.get(dut.written) == sum(1 << u for u in model[saved])
            assert ctx.get(dut.outstanding) == sum(1 << w for w in outstanding)
            assert ctx.get(dut.near) == sum(1 << w for w in outstanding - far)

            for name in held:
                busy = {write["warp"] for write in held.values() if write}
                if held[name] is None and outstanding - busy and rng.random() < 0.5:
                    held[name] = {"warp": rng.choice(sorted(outstanding - busy)), "register": rng.randrange(UNIFORMS),
                                  "keep": rng.random() < 0.8, "data": rng.getrandbits(32)}
                port = getattr(dut, name)
                ctx.set(port.valid, held[name] is not None)
                if held[name] is not None:
                    ctx.set(port.payload, held[name])
            idle = sorted(set(range(g.warps)) - outstanding)
            restoring, clearing = bool(idle) and rng.random() < 0.3, bool(idle) and rng.random() < 0.1
            restore = {"valid": rng.randint(1, 3) if restoring else 0, "warp": rng.choice(idle or [0]),
                       "pair": rng.randrange(UNIFORMS // 2), "values": [rng.getrandbits(32) for _ in range(2)]}
            clear = rng.choice([w for w in idle if not restoring or w != restore["warp"]] or [None])
            ctx.set(dut.restore, restore)
            ctx.set(dut.clear, {"valid": clearing and clear is not None, "warp": clear or 0})
            reserve = rng.choice(idle) if idle and rng.random() < 0.5 else None
            ctx.set(dut.reserve, 0 if reserve is None else 1 << reserve)
            remote = rng.random() < 0.5
            ctx.set(dut.remote, remote)
            busy = {write["warp"] for write in held.values() if write}
            forget = {w for w in outstanding - busy if rng.random() < 0.05}
            ctx.set(dut.forget, sum(1 << w for w in forget))

            trace = ctx.get(dut.trace)
            ready = {name: ctx.get(getattr(dut, name).ready) for name in held}
            first = next((name for name in ("result", "constant") if held[name]), None)
            assert [name for name in held if held[name] and ready[name]] == (
                [] if restoring or first is None else [first])
            seen["both wait"] += restoring and all(held.values())
            seen["constant waits"] += not restoring and all(held.values())
            seen["restore waits for none"] += restoring and first is not None
            if restoring:
                model[restore["warp"]] |= written_uniforms(ctx.get(dut.restore))
            if first and ready[first]:
                write, held[first] = held[first], None
                outstanding.discard(write["warp"])
                if write["keep"]:
                    model[write["warp"]][write["register"]] = write["data"]
                    assert (trace.warp, trace.register, trace.value) == (
                        write["warp"], write["register"], write["data"])
                assert trace.valid == write["keep"]
            else:
                assert not trace.valid
            if clearing and clear is not None:
                model[clear].clear()
            if reserve is not None:
                outstanding.add(reserve)
                (far.add if remote else far.discard)(reserve)
            outstanding -= forget
            seen["forgotten"] += len(forget)
            await ctx.tick()
        assert min(seen.values()) > 3

    simulate(dut, bench)


class UnitBench:
    """Feeds a `UniformUnit` random operations of warps that wait for their own, and judges what comes out."""

    def __init__(self, g, seed, stall):
        self.g, self.dut, self.rng, self.stall = g, UniformUnit(g), random.Random(seed), stall
        self.expected, self.latencies, self.now = [], [], 0
        self.beat, self.busy = 0, set()

    def operation(self):
        """Return a random operation and what it has to give: (warp, register or None, predicate or None, value)."""
        g, rng = self.g, self.rng
        op = rng.choice(OPERATIONS)
        a, b, c = (operand(rng) for _ in "abc")
        tb, kernel, block_warp = rng.randrange(g.tb_slots), rng.randrange(g.kernel_slots), rng.randrange(4)
        warp = rng.choice([w for w in range(g.warps) if w not in self.busy])
        fields = {"alu": op, "warp": warp, "tb": tb, "kernel": kernel, "block_warp": block_warp,
                  "d": rng.randrange(UNIFORMS), "pd": rng.randrange(7),
                  "writes_u": op not in TESTS, "writes_pd": op in TESTS and rng.random() < 0.9,
                  "mask": rng.getrandbits(g.warp_size) | 1}
        if op is AluOp.S2R:
            b = rng.choice([*Special, 7, 40, WORD - 1])
            value = self.special(b, tb, kernel, block_warp)
        else:
            value = JUDGE[op](a, b, c) if op in JUDGE else TESTS[op](a, b)
        fields |= {"a": a, "b": b, "c": c, "imm": b}
        return fields, None if value is None else value % WORD

    @staticmethod
    def special(number, tb, kernel, block_warp):
        """None for the lower word of the clock, which the bench reads when the operation executes."""
        if number not in UNIFORM_SPECIALS or number == Special.SMID:
            return 0
        if number == Special.NSMID:
            return 1
        if number == Special.CLOCK:
            return None
        if number == Special.CLOCK_HIGH:
            return HIGH
        if number == Special.WARPID:
            return block_warp
        name, _, axis = Special(number).name.rpartition("_")
        return {"NTID": 10 + kernel, "CTAID": 100 + tb, "NCTAID": 50 + kernel}[name] + "XYZ".index(axis)

    async def run(self, ctx, cycles):
        """Offer an operation in most cycles; every result is compared."""
        g, dut, rng = self.g, self.dut, self.rng
        for k in range(g.kernel_slots):
            ctx.set(dut.kernels[k], {f"block_{x}": 10 + k + n for n, x in enumerate("xyz")}
                    | {f"grid_{x}": 50 + k + n for n, x in enumerate("xyz")})
        for t in range(g.tb_slots):
            ctx.set(dut.tbs[t], {f"ctaid_{x}": 100 + t + n for n, x in enumerate("xyz")})
        offered = None
        for _ in range(cycles):
            if offered is None and len(self.busy) < g.warps and rng.random() < 0.9:
                offered = self.operation()
                ctx.set(dut.op.payload, offered[0])
            ctx.set(dut.op.valid, offered is not None)
            ctx.set(dut.cycle, HIGH << 32 | 1000 + self.now)
            taken = offered is not None and ctx.get(dut.op.ready)
            self.collect(ctx)
            if offered is not None and taken:
                fields, value = offered
                if fields["writes_u"] or fields["writes_pd"]:
                    self.busy.add(fields["warp"])
                    self.expected.append((self.now, fields, 1001 + self.now if value is None else value))
                offered = None
            await ctx.tick()
            self.now += 1

    def collect(self, ctx):
        """Drive the outputs' ready, and judge what they offer."""
        g, dut = self.g, self.dut
        for port in (dut.result, dut.predicate):
            ctx.set(port.ready, self.rng.random() >= self.stall)
        assert not (ctx.get(dut.result.valid) and ctx.get(dut.predicate.valid))
        for port in (dut.result, dut.predicate):
            if not ctx.get(port.valid):
                continue
            begun, fields, value = self.expected[0]
            out = ctx.get(port.payload)
            assert out.warp == fields["warp"]
            if port is dut.result:
                assert fields["writes_u"] and (out.register, out.keep) == (fields["d"], 1)
                assert out.data == value, fields
                last = True
            else:
                lanes = fields["mask"] >> self.beat * g.lanes & (1 << g.lanes) - 1
                last = self.beat == g.beats - 1
                assert fields["writes_pd"] and (out.predicate, out.beat, out.last) == (fields["pd"], self.beat, last)
                assert (out.mask, out.value) == (lanes, lanes if value else 0)
            if ctx.get(port.ready):
                if self.beat == 0:
                    self.latencies.append(self.now + 1 - begun)
                self.beat = 0 if last else self.beat + 1
                if last:
                    self.busy.discard(fields["warp"])
                    self.expected.pop(0)


@pytest.mark.parametrize("g, seed, stall", quick(
    [(TINY.replace(warps=12), 1, 0.0), (TINY, 2, 0.6), (ECP5, 3, 0.4)], [(TINY, 2, 0.6), (ECP5, 3, 0.4)]))
def test_results_of_random_operations(g, seed, stall):
    bench = UnitBench(g, seed, stall)

    async def test(ctx):
        await bench.run(ctx, 450)

    simulate(bench.dut, test)
    assert len(bench.latencies) > 70
    assert min(bench.latencies) == UniformUnit.LATENCY
    if g.beats == 1 and not stall:
        assert set(bench.latencies) == {UniformUnit.LATENCY} and len(bench.latencies) > 360

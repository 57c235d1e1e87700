"""The scoreboard against sets of pending registers, and register masks against the encoding."""

import random

import pytest
from amaranth.hdl import Module, Signal

from caesura.hw.arch.geometry import PREDICATES, preset
from caesura.hw.arch.isa.opcodes import OPCODES
from caesura.hw.arch.isa.words import encode
from caesura.hw.core.front_end.decode import Decoder
from caesura.hw.core.front_end.scoreboard import OutstandingOperations, Scoreboard, register_masks
from support.hw.simulation import Simulator
from support.programs.random_instruction import random_instruction
from support.selection import quick


def bits(numbers):
    return sum(1 << number for number in set(numbers))


@pytest.mark.parametrize("times", quick([1, 4], [1]))
def test_register_masks_are_what_the_encoding_says(times):
    g = preset("gtx480")
    m = Module()
    m.submodules.decoder = decoder = Decoder(True)
    masks = [Signal(64, name=name) for name in ("reads", "predicates", "writes", "predicates_written")]
    m.d.comb += [mask.eq(value) for mask, value in zip(masks, register_masks(g, decoder.decoded), strict=True)]
    rng = random.Random(5)

    async def testbench(ctx):
        for op in OPCODES:
            for _ in range(times):
                instruction = random_instruction(rng, op)
                ctx.set(decoder.word, encode(instruction))
                expected = (instruction.reads, instruction.predicate_reads, instruction.writes,
                            instruction.predicate_writes)
                assert [ctx.get(mask) for mask in masks] == [bits(numbers) for numbers in expected], op.name

    simulator = Simulator(m)
    simulator.add_testbench(testbench)
    simulator.run()


def test_hazards_follow_reservations_and_releases():
    g = preset("tiny")
    dut = Scoreboard(g)
    rng = random.Random(6)
    nothing = {"valid": 0, "warp": 0, "registers": 0, "predicates": 0}
    seen = {"remote alone": 0, "forgotten": 0}

    async def testbench(ctx):
        pending = [(set(), set()) for _ in range(g.warps)]
        needs = [(0, 0)] * g.warps
        remote = [set() for _ in range(g.warps)]
        for _ in range(600):
            hazard = [bool(bits(p[0]) & n[0] or bits(p[1]) & n[1]) for p, n in zip(pending, needs, strict=True)]
            assert ctx.get(dut.hazard) == sum(h << w for w, h in enumerate(hazard))
            assert ctx.get(dut.pending) == sum(bool(p[0] or p[1]) << w for w, p in enumerate(pending))
            near = [bool(p[0] - r or p[1]) for p, r in zip(pending, remote, strict=True)]
            assert ctx.get(dut.near) == sum(n << w for w, n in enumerate(near))
            seen["remote alone"] += sum(bool(p[0]) and not n for p, n in zip(pending, near, strict=True))
            fill, reserve = rng.randrange(g.warps), rng.randrange(g.warps)
            need = (rng.getrandbits(16) & rng.getrandbits(16), rng.getrandbits(PREDICATES))
            writes = [r for r in range(16) if rng.random() < 0.1 and r not in pending[reserve][0]]
            predicates = [p for p in range(PREDICATES) if rng.random() < 0.1 and p not in pending[reserve][1]]
            filling, reserving, far = rng.random() < 0.5, rng.random() < 0.5, rng.random() < 0.6
            forget = rng.getrandbits(g.warps) if rng.random() < 0.1 else 0
            ctx.set(dut.forget, forget)
            ctx.set(dut.fill, {"valid": 1, "warp": fill, "registers": need[0], "predicates": need[1]}
                    if filling else nothing)
            ctx.set(dut.reserve, {"valid": 1, "warp": reserve, "registers": bits(writes),
                                  "predicates": bits(predicates), "remote": far}
                    if reserving else nothing | {"remote": far})
            held = [(w, kind, number) for w, sets in enumerate(pending) for kind in (0, 1) for number in sets[kind]]
            for kind, port, field in ((0, dut.release_register, "register"), (1, dut.release_predicate, "predicate")):
                choices = [(w, number) for w, k, number in held if k == kind]
                ctx.set(port.valid, 0)
                if choices and rng.random() < 0.8:
                    warp, number = rng.choice(choices)
                    ctx.set(port, {"valid": 1, "warp": warp, field: number})
                    pending[warp][kind].discard(number)
            if filling:
                needs[fill] = need
            if reserving:
                pending[reserve][0].update(writes)
                pending[reserve][1].update(predicates)
                remote[reserve] = remote[reserve] | set(writes) if far else remote[reserve] - set(writes)
            for warp in range(g.warps):
                if forget >> warp & 1:
                    seen["forgotten"] += bool(pending[warp][0])
                    pending[warp] = (set(), set())
            await ctx.tick()
        assert min(seen.values()) > 20

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


def test_outstanding_operations_are_counted_by_warp_and_kind():
    g = preset("tiny")
    dut = OutstandingOperations(g)
    rng = random.Random(7)
    kinds = {"load": "loads", "store": "stores", "shared": "shared", "atomic": "atomics"}
    limits = {kind: 1 if kind == "atomic" else dut.LIMIT for kind in kinds}

    async def testbench(ctx):
        counts = {kind: [0] * g.warps for kind in kinds}
        full = set()
        for step in range(1200):
            more = 0.9 if step // 150 % 2 else 0.3
            forget = rng.getrandbits(g.warps) if rng.random() < 0.02 else 0
            ctx.set(dut.forget, forget)
            for kind, name in kinds.items():
                limit, mine = limits[kind], counts[kind]
                assert ctx.get(getattr(dut, name)) == sum(bool(n) << w for w, n in enumerate(mine))
                assert ctx.get(getattr(dut, f"{name}_full")) == sum((n == limit) << w for w, n in enumerate(mine))
                full |= {kind for n in mine if n == limit}
                up, down = rng.randrange(g.warps), rng.randrange(g.warps)
                rises = mine[up] < limit and rng.random() < more
                falls = mine[down] > 0 and rng.random() < 1.1 - more
                ctx.set(getattr(dut.issued, name), rises << up)
                ctx.set(getattr(dut, f"{kind}_done"), {"valid": falls, "warp": down})
                mine[up] += rises
                mine[down] -= falls
                counts[kind] = [0 if forget >> warp & 1 else n for warp, n in enumerate(mine)]
            await ctx.tick()
        assert full == set(kinds)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()

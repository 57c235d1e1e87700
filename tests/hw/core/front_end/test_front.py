"""The front end with a stand-in for the pipeline and the memory: random programs, calls, operations in flight."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.words import Instruction
from caesura.hw.core.front_end.scoreboard import OutstandingOperations
from support.core.kept_benches import WIDE, FrontEndBench
from support.programs.random_control_flow import random_program
from support.selection import quick

make = Instruction.make
TINY = preset("tiny")


@pytest.mark.parametrize("g, seed, size", quick(
    [(TINY, 1, 11), (TINY, 1, 14), (WIDE, 3, 14), (preset("ecp5"), 4, 14)], [(TINY, 1, 11)]))
def test_random_programs_run_as_the_reference_model(g, seed, size):
    programs = [random_program(g, 10 * seed + k, size=size) for k in range(2)]
    bench = FrontEndBench(g, programs, seed=seed)
    half = g.warps // 2

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, range(half), key=("a",), last_lanes=g.warp_size - 3)
        await bench.launch(ctx, 1, 1, range(half, g.warps), key=("b",))
        await bench.exited(ctx, range(g.warps))
        assert not bench.faults
        assert all(warp.live == 0 for warp in bench.warps.values())
        await bench.free(ctx, range(g.warps))
        assert ctx.get(bench.dut.occupancy.valid) == 0

    bench.run(test)
    assert len(bench.retired) > 10 * g.warps


def test_a_call_and_a_return_to_where_lanes_meet_pop_the_stack():
    program = [make("setp.ne", pd=0, a=1, b=1), make("bra", target=4, reconv=6, guard=0), make("umov.i", d=1, imm=6),
               make("bru", a=1), make("nop"), make("call", d=0, target=6), make("nop"), make("exit")]
    bench = FrontEndBench(TINY, [program])

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, (1,))
        await bench.exited(ctx, (1,), 300)
        assert not bench.faults and bench.warps[1].uniforms == {0: 6, 1: 6}
        bench.check_view(ctx, 1, live_vector=False)

    bench.run(test)
    assert [pc for *_, pc in bench.retired] == [0, 1, 5, 2, 3, 7]


def test_a_call_to_itself_goes_on_until_the_warp_is_killed():
    """The warp is not quiet before the return address is written."""
    bench = FrontEndBench(TINY, [[make("nop"), make("call", d=3, target=1)]])

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, (2,))
        await bench.wait(ctx, lambda: len(bench.retired) == 5, 200)
        assert bench.pending_uniforms[2] == (3, 2)
        await bench.pulse(ctx, "kill", 0b100)
        assert bench.pending_uniforms[2] and not bench.done(ctx, (2,), "exited")
        await bench.exited(ctx, (2,), 20)
        await bench.free(ctx, (2,))

    bench.run(test)
    assert len(bench.retired) == 5


def test_killed_warps_are_exited_when_their_loads_are_back():
    program = [make("ld.global.b32", d=1, a=2), make("bra", target=0, reconv=2)]
    bench = FrontEndBench(TINY, [program])

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, (0,))
        await bench.wait(ctx, lambda: bench.outstanding["load"][0] and bench.pending_registers[0], 200)
        await bench.pulse(ctx, "kill", 1)
        before = len(bench.retired)
        await bench.exited(ctx, (0,), 100)
        assert len(bench.retired) == before
        assert not bench.outstanding["load"][0] and not bench.pending_registers[0]
        await bench.free(ctx, (0,))

    bench.run(test)


def test_memory_operations_and_uniform_registers_of_a_warp_keep_their_order():
    """There is one warp, so only the order holds an instruction back; the bench checks the outstanding operations."""
    rng = random.Random(9)
    kinds = [
        make("ld.global.b32", d=1, a=2), make("st.local.b32", d=1, a=2), make("atom.global.add.b32", d=3, a=2, b=4),
        make("red.global.or.b32", a=2, b=4), make("atom.shared.exch.b32", d=5, a=2, b=4), make("membar"),
        make("uiadd.i", d=1, a=1, imm=3), make("uld.const.b32", d=1, a=1), make("iadd", d=6, a=7, b=1, b_uniform=1),
        make("dadd.rn", d=8, a=10, b=12), make("dsetp.lt", pd=1, a=10, b=12), make("mufu.rcp", d=14, b=15)]
    program = [rng.choice(kinds) for _ in range(100)] + [make("exit")]
    bench = FrontEndBench(TINY, [program], seed=4)

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, (0,))
        for _ in range(12):
            for _ in range(rng.randrange(5, 40)):
                await bench.cycle(ctx)
            ctx.set(bench.dut.stop.stop_now, 1)
            await bench.stopped(ctx, (0,), 100)
            assert not any(counts[0] for counts in bench.outstanding.values())
            assert not bench.pending_registers[0] and bench.pending_uniforms[0] is None
            ctx.set(bench.dut.stop.stop_now, 0)
        await bench.exited(ctx, (0,))

    bench.run(test)
    assert len(bench.retired) == len(program)


@pytest.mark.parametrize(("kind", "most", "instruction"), [
    ("load", OutstandingOperations.LIMIT, make("ld.global.b32", d=1, a=2)),
    ("store", OutstandingOperations.LIMIT, make("st.global.b32", d=1, a=2)),
    ("shared", OutstandingOperations.LIMIT, make("st.shared.b32", d=1, a=2)),
    ("atomic", 1, make("red.global.or.b32", a=2, b=4))])
def test_operations_that_are_not_complete_fill_a_counter_and_keep_a_warp(kind, most, instruction):
    """No operation completes: the warp issues as many as can be counted, and is not quiet even if it is killed."""
    bench = FrontEndBench(TINY, [[instruction] * 20 + [make("exit")]], smooth=True)
    take, held = bench._take, [kind]
    bench._take = lambda kind: None if kind in held else take(kind)

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, (0,))
        for _ in range(150):
            await bench.cycle(ctx)
        assert bench.outstanding[kind][0] == most and not bench.pending_registers[0]
        await bench.pulse(ctx, "kill", 1)
        for _ in range(20):
            await bench.cycle(ctx)
            assert not bench.done(ctx, (0,), "exited")
        held.clear()
        await bench.exited(ctx, (0,), 100)
        await bench.free(ctx, (0,))

    bench.run(test)


def test_a_new_warp_finds_no_uniform_register_of_the_one_before():
    first = [*(make("uiadd.i", d=u, a=u, imm=5 + u) for u in (1, 2, 3)), make("exit")]
    second = [make("uiadd.i", d=4, a=1, imm=9), make("uimad.lo", d=5, a=2, b=3, c=4), make("exit")]
    bench = FrontEndBench(TINY, [first, second])

    async def test(ctx):
        bench.set_up(ctx)
        for kernel, written in ((0, {1: 6, 2: 7, 3: 8}), (1, {4: 9, 5: 9})):
            await bench.launch(ctx, 0, kernel, (2,))
            await bench.exited(ctx, (2,), 200)
            assert bench.warps[2].uniforms == written
            bench.check_view(ctx, 2, live_vector=False)
            await bench.free(ctx, (2,))

    bench.run(test)

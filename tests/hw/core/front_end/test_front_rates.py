"""How fast the front end issues: instructions, preemption points, and uniform instructions with what they wait for."""

import itertools

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.words import Instruction
from caesura.hw.core.front_end.uniform import UniformUnit
from support.core.front_end import CODE_BASE
from support.core.kept_benches import POINT, WIDE, FrontEndBench
from support.selection import quick

make = Instruction.make
TINY = preset("tiny")


def throughput(g, body, warps, cycles):
    """Instructions retired a cycle by some warps running an endless loop of `body`."""
    program = [*body, make("bra", target=0, reconv=len(body) + 1)]
    bench = FrontEndBench(g, [program], smooth=True)
    rates = []

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, range(warps))
        for _ in range(60):
            await bench.cycle(ctx)
        before = len(bench.retired)
        for _ in range(cycles):
            await bench.cycle(ctx)
        rates.append((len(bench.retired) - before) / cycles)

    bench.run(test)
    return rates[0]


@pytest.mark.full
def test_enough_warps_keep_the_issue_slot_busy():
    body = [make("iadd", d=k, a=k + 1, b=k + 2) for k in range(6)]
    assert throughput(WIDE, body, WIDE.warps, 120) == 1.0


@pytest.mark.parametrize("warps", quick((4, 1), [4]))
def test_one_warp_issues_every_third_cycle(warps):
    """Alone on an SM for it, or for more."""
    body = [make("iadd", d=k, a=k + 7, b=k + 8) for k in range(6)]
    assert throughput(TINY.replace(warps=warps), body, 1, 120) == pytest.approx(1 / 3, abs=0.01)


def test_an_idle_preemption_point_costs_nothing():
    body = [make("iadd", d=k % 8, a=k % 4, b=8) for k in range(20)]  # point and branch are in one line
    assert throughput(WIDE, [*body, *POINT], WIDE.warps, 2 * 21 * WIDE.warps) == 1.0


@pytest.mark.parametrize("before", quick([13, 14], [13]))
def test_an_idle_preemption_point_at_the_end_of_a_cache_line_costs_its_fetches(before):
    body = [make("iadd", d=k % 8, a=k % 4, b=8) for k in range(22)]
    fetches = before - 12  # the next instruction is in another line, or even the point's second word
    turn = (23 + fetches) * WIDE.warps
    rate = throughput(WIDE, [*body[:before], *POINT, *body[before:]], WIDE.warps, turn)
    assert rate == pytest.approx(23 / (23 + fetches), abs=0.01)


def test_the_words_of_a_point_in_two_cache_lines_are_skipped_too():
    body = [make("iadd", d=k % 8, a=k % 4, b=8) for k in range(14)]  # word 14 is the last of its line
    bench = FrontEndBench(TINY, [[*body, *POINT, make("exit")]])

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, range(4))
        await bench.exited(ctx, range(4), 500)

    assert (CODE_BASE + 8 * 15) % 128 == 0
    bench.run(test)
    assert len(bench.retired) == 4 * 15


def issue_times(program, g=TINY, limit=200):
    """Cycles in which the instructions of one warp retire, with a pipeline that takes everything."""
    bench = FrontEndBench(g, [program], smooth=True)

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, (0,))
        await bench.exited(ctx, (0,), limit)

    bench.run(test)
    return [now for now, *_ in bench.retired]


def test_an_instruction_that_touches_uniform_registers_waits_for_the_latency():
    dependent = [make("uiadd.i", d=1, a=1, imm=5), make("iadd", d=1, a=2, b=1, b_uniform=1), make("exit")]
    times = issue_times(dependent)
    assert times[1] - times[0] == UniformUnit.LATENCY
    independent = [make("uiadd.i", d=1, a=1, imm=5), make("iadd", d=1, a=2, b=3), make("exit")]
    times = issue_times(independent)
    assert times[1] - times[0] == 3  # the rate of one warp
    comparison = [make("usetp.lt.u", pd=1, a=1, b=2), make("uiadd.i", d=1, a=1, imm=5), make("exit")]
    times = issue_times(comparison)
    assert times[1] - times[0] == 3  # reads only: nothing to wait for


def test_a_call_and_a_return_take_as_long_as_branches():
    """But for the return address, which the return waits for as other instructions for a uniform register."""
    body = [make("iadd", d=k, a=k + 4, b=k + 5) for k in range(2)]
    times = issue_times([make("call", d=9, target=2), make("exit"), *body, make("bru", a=9)])
    assert [after - before for before, after in itertools.pairwise(times)] == [3, 3, 3, 3]
    times = issue_times([make("call", d=9, target=2), make("exit"), make("bru", a=9)])
    assert [after - before for before, after in itertools.pairwise(times)] == [UniformUnit.LATENCY, 3]


def test_uniform_instructions_of_many_warps_issue_a_cycle():
    body = [make("uiadd.i", d=k % 4, a=k % 4, imm=k) for k in range(15)]
    assert throughput(WIDE, body, WIDE.warps, 100) == 1.0


def test_comparisons_wait_while_the_uniform_unit_is_full():
    """Four warps compare faster than the predicates are taken; every one of them is written, in order."""
    program = [make("uiadd.i", d=2, a=1, imm=1), *(
        make("usetp.lt.u", pd=k % 7, a=1 if k % 3 else 2, b=2) for k in range(16)), make("exit")]
    bench = FrontEndBench(TINY, [program], seed=2)
    seen = []

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, range(TINY.warps))
        for _ in range(60):
            seen.append(len(bench.uniform_predicates))
            await bench.cycle(ctx)
        await bench.exited(ctx, range(TINY.warps))
        await bench.free(ctx, range(TINY.warps))

    bench.run(test)
    assert max(seen) == UniformUnit.LATENCY and len(bench.retired) == TINY.warps * len(program)

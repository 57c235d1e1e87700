"""The front end with a fake pipeline and memory: random programs, preemption, barriers, faults."""

import random

import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import PC_NONE, preset
from caesura.hw.arch.isa.words import Instruction
from caesura.hw.core.front_end.scoreboard import OutstandingOperations
from support.core.control_flow import ReferenceWarp
from support.core.front_end import CODE_BASE
from support.core.kept_benches import POINT, WIDE, FrontEndBench
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


@pytest.mark.full
@pytest.mark.parametrize(("mechanism", "g", "seed"), [
    ("stop_now", TINY, 2), ("pending", TINY, 8), ("pending", WIDE, 8), ("stop_now", WIDE, 2)])
def test_preempted_again_and_again_with_the_slots_used_in_between(mechanism, g, seed):
    rng = random.Random(seed)
    other = [make("iadd", d=1, a=2, b=3), make("bar.pp.7", live=0), make("exit")]
    bench = FrontEndBench(g, [random_program(g, seed, size=30), other], seed=seed)
    count = min(4, g.warps - 1)
    depths, routines, tb = [], [], 0
    routine = min(ins.get("target") for ins in bench.programs[0] if ins.op.name == "call")

    async def test(ctx):
        nonlocal tb
        bench.set_up(ctx)
        slots = list(range(count))
        await bench.launch(ctx, 0, 0, slots, last_lanes=g.warp_size - 1)
        for _ in range(8):
            for _ in range(rng.randrange(1, 45)):
                await bench.cycle(ctx)
            ctx.set(getattr(bench.dut.stop, mechanism), 1 << tb)
            await bench.stopped(ctx, slots)
            before = len(bench.retired)
            for _ in range(12):
                await bench.cycle(ctx)
            assert len(bench.retired) == before
            assert bench.done(ctx, slots, "stopped", "exited")
            for slot in slots:
                bench.check_view(ctx, slot, live_vector=mechanism == "pending")
                depths.append(len(bench.warps[slot].stack))
                routines.append(bench.warps[slot].live and bench.warps[slot].pc >= routine)
            saved = [bench.warps[slot] for slot in slots]
            await bench.free(ctx, slots)
            if not any(warp.live for warp in saved):
                break
            await bench.launch(ctx, 1 - tb, 1, range(2), key=("other",))
            await bench.exited(ctx, range(2))
            await bench.free(ctx, range(2))
            ctx.set(getattr(bench.dut.stop, mechanism), 0)
            tb = 1 - tb
            slots = rng.sample(range(g.warps), len(slots))
            for index, (slot, warp) in enumerate(zip(slots, saved, strict=True)):
                await bench.place(ctx, tb, 0, slot, index, warp)
            await bench.start(ctx, tb)
        else:
            await bench.exited(ctx, slots)
        assert not bench.faults

    bench.run(test)
    assert max(depths) > 2 and len(depths) > 12 and any(routines)


@pytest.mark.parametrize("times", quick([1, 2], [1]))
def test_warps_continue_where_they_are_when_the_preempt_is_cancelled(times):
    """Preemptions of both mechanisms in turn, each with every length."""
    bench = FrontEndBench(TINY, [random_program(TINY, 21, size=12)], seed=3)
    rng = random.Random(3)
    slots = range(TINY.warps)
    lengths = [(mechanism, cycles) for mechanism in ("pending", "stop_now") for cycles in (1, 2, 5, 40)] * times
    rng.shuffle(lengths)

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 1, 0, slots)
        for mechanism, cycles in lengths:
            for _ in range(rng.randrange(30)):
                await bench.cycle(ctx)
            assert not bench.done(ctx, slots, "exited")
            ctx.set(getattr(bench.dut.stop, mechanism), 0b10)
            for _ in range(cycles):
                await bench.cycle(ctx)
            ctx.set(getattr(bench.dut.stop, mechanism), 0)
        await bench.exited(ctx, slots)
        assert not bench.faults

    bench.run(test)


@pytest.mark.full
def test_warps_stopped_between_points_are_told_from_those_at_a_point():
    add, add_again = make("iadd", d=1, a=1, b=1), make("iadd", d=1, a=1, b=1)
    programs = [[add, add_again, *POINT, make("bra", target=0, reconv=5)],
                [add, add_again, make("bar.pp.3", live=0b10), add, make("bra", target=0, reconv=5)]]
    bench = FrontEndBench(TINY, programs, seed=5)
    half = TINY.warps // 2
    rng, slots, kinds = random.Random(7), range(TINY.warps), []

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, slots[:half])
        await bench.launch(ctx, 1, 1, slots[half:])
        view = bench.dut.state.save.window.view
        for patience in [*range(14)] * 2:
            for _ in range(rng.randrange(40)):
                await bench.cycle(ctx)
            begin = len(bench.retired)
            ctx.set(bench.dut.stop.pending, 0b11)
            for _ in range(patience):
                await bench.cycle(ctx)
            ctx.set(bench.dut.stop.stop_now, 0b11)
            await bench.stopped(ctx, slots)
            for slot in slots:
                ctx.set(bench.dut.state.save.window.select, {"warp": slot, "entry": 0})
                last = [pc for _, who, pc in bench.retired[begin:] if who == slot][-1:]
                names, waiting = [programs[slot // half][pc].op.name for pc in last], ctx.get(view.waiting)
                at_point = waiting or names == ["pp.div"]
                assert ctx.get(view.between) == (not at_point)
                kinds.append("barrier" if waiting else "armed" if names == ["pp"] else bool(at_point))
            ctx.set(bench.dut.stop.pending, 0)
            ctx.set(bench.dut.stop.stop_now, 0)
            await bench.cycle(ctx)
        assert not bench.faults

    bench.run(test)
    assert {True, False, "barrier", "armed"} <= set(kinds)


def test_only_warps_of_the_tbs_that_are_to_stop_do():
    loop = [make("iadd", d=1, a=1, b=1), *POINT, make("bra", target=0, reconv=4)]
    bench = FrontEndBench(TINY, [loop, loop], seed=1)

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, (0, 1))
        await bench.launch(ctx, 1, 1, (2, 3))
        ctx.set(bench.dut.stop.pending, 0b10)
        await bench.stopped(ctx, (2, 3), 200)
        before = len(bench.retired)
        for _ in range(100):
            await bench.cycle(ctx)
        assert {slot for _, slot, _ in bench.retired[before:]} == {0, 1}
        assert ctx.get(bench.dut.stop.stopped) == 0b1100

    bench.run(test)


def test_the_second_live_vector_counts_when_the_stack_is_divergent():
    program = [*POINT, make("setp.ne", pd=0, a=1, b=1), make("bra", target=6, reconv=7, guard=0), *POINT,
               make("nop"), *POINT, make("exit")]
    bench = FrontEndBench(TINY, [program])

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, (0,))
        await bench.wait(ctx, lambda: any(pc == 3 for *_, pc in bench.retired))
        assert len(bench.warps[0].stack) == 3
        for vector in (0b111, 0b11):  # in the branch; after it
            ctx.set(bench.dut.stop.pending, 1)
            await bench.stopped(ctx, (0,))
            bench.check_view(ctx, 0, live_vector=True)
            assert ctx.get(bench.dut.state.save.window.view.live_vector) == vector
            ctx.set(bench.dut.stop.pending, 0)
            await bench.cycle(ctx)
            assert not bench.done(ctx, (0,), "stopped")

    bench.run(test)


def test_a_warp_whose_point_stands_where_lanes_meet_has_stopped_once_its_stack_is_popped():
    """The bench compares the stack in the first cycle in which the warp has stopped."""
    program = [make("setp.ne", pd=0, a=1, b=1), make("bra", target=4, reconv=6, guard=0), make("nop"),
               make("bra", target=6, reconv=6), *POINT, make("exit")]
    bench = FrontEndBench(TINY, [program], smooth=True)

    async def test(ctx):
        bench.set_up(ctx)
        ctx.set(bench.dut.stop.pending, 1)
        await bench.launch(ctx, 0, 0, (0,))
        await bench.stopped(ctx, (0,), 200)
        await bench.cycle(ctx)
        assert bench.retired[-1][2] == 5 and bench.warps[0].pc == 2 and len(bench.warps[0].stack) == 2

    bench.run(test)


def test_a_warp_that_is_to_stop_at_once_has_stopped_once_its_stack_is_popped():
    """Both sides of a branch within a branch exit: two entries are popped, the warp stops after the first."""
    program = [make("setp.ne", pd=0, a=1, b=1), make("setp.ne", pd=1, a=1, b=1),
               make("bra", target=6, reconv=10, guard=0), make("nop"), make("nop"), make("bra", target=10, reconv=10),
               make("bra", target=8, reconv=9, guard=1), make("exit"), make("exit"), make("nop"), make("exit")]
    bench = FrontEndBench(TINY, [program], smooth=True)

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, (0,), key=("nested",))
        await bench.wait(ctx, lambda: bench.retired and bench.retired[-1][2] == 7, 200)
        ctx.set(bench.dut.stop.stop_now, 1)
        await bench.stopped(ctx, (0,), 20)
        await bench.cycle(ctx)
        assert bench.retired[-2][2] == 8 and bench.warps[0].pc == 3 and len(bench.warps[0].stack) == 2

    bench.run(test)


def test_a_full_barrier_is_held_while_pending_and_released_after_a_restore():
    program = [make("bar.pp.3", live=0b1010), make("exit")]
    bench = FrontEndBench(TINY, [program])

    async def test(ctx):
        bench.set_up(ctx)
        ctx.set(bench.dut.stop.pending, 1)
        await bench.launch(ctx, 0, 0, (0, 1))
        await bench.stopped(ctx, (0, 1))
        for _ in range(30):
            await bench.cycle(ctx)
        for slot in (0, 1):
            bench.check_view(ctx, slot, live_vector=True)
        saved = [bench.warps[slot] for slot in (0, 1)]
        await bench.free(ctx, (0, 1))
        ctx.set(bench.dut.stop.pending, 0)
        for index, (slot, warp) in enumerate(zip((3, 0), saved, strict=True)):
            assert warp.waiting
            await bench.place(ctx, 1, 0, slot, index, warp)
        for _ in range(30):
            await bench.cycle(ctx)
        assert ctx.get(bench.dut.stop.stopped) == ctx.get(bench.dut.stop.exited) == 0  # not started: not released
        await bench.start(ctx, 1)
        await bench.exited(ctx, (0, 3), 100)

    bench.run(test)


def mixed_tb(bench):
    """Return a coroutine function that starts TB 0 with one warp of each kernel, in slots 1, 2, ..."""
    async def start(ctx):
        for index, program in enumerate(bench.programs):
            warp = ReferenceWarp(bench.g, program, ("mixed", index), (1 << bench.g.warp_size) - 1)
            await bench.place(ctx, 0, index, 1 + index, index, warp)
        await bench.start(ctx, 0)
    return start


def test_an_exit_completes_a_barrier():
    bench = FrontEndBench(TINY, [[make("bar.pp.2", live=0), make("exit")], [make("nop")] * 20 + [make("exit")]])

    async def test(ctx):
        bench.set_up(ctx)
        await mixed_tb(bench)(ctx)
        await bench.exited(ctx, (1, 2), 300)
        assert [slot for _, slot, pc in bench.retired] == [1, 2, 1]

    bench.run(test)


FAULTS = {
    "trap": ([make("nop"), make("trap")], Fault.TRAP, 1),
    "trap of no lane is none": ([make("trap", guard=7, guard_not=1), make("trap")], Fault.TRAP, 1),
    "fetch bound": ([make("nop"), make("nop")], Fault.FETCH_BOUND, 2),
    "branch out of the code": ([make("bra", target=77, reconv=PC_NONE)], Fault.FETCH_BOUND, 77),
    "call out of the code": ([make("call", d=0, target=77)], Fault.FETCH_BOUND, 77),
    "call of no address": ([make("call", d=0, target=PC_NONE)], Fault.FETCH_BOUND, PC_NONE),
    "return out of the code": ([make("umov.i", d=0, imm=77), make("bru", a=0)], Fault.FETCH_BOUND, 77),
    "return to no address": ([make("umov.i", d=0, imm=PC_NONE), make("bru", a=0)], Fault.FETCH_BOUND, 1),
    "return beyond all addresses": ([make("umov.i", d=0, imm=PC_NONE + 1), make("bru", a=0)], Fault.FETCH_BOUND, 1),
    "return to a negative address": ([make("umov.i", d=0, imm=-1), make("bru", a=0)], Fault.FETCH_BOUND, 1),
    "rejoin where nothing ends": ([make("nop"), make("rejoin")], Fault.FETCH_BOUND, 1),
    "return behind a call that is the last word": (
        [make("bra", target=2, reconv=PC_NONE), make("bru", a=0), make("call", d=0, target=1)], Fault.FETCH_BOUND, 3),
    "register bound": ([make("nop"), make("iadd", d=1, a=2, b=8)], Fault.REGISTER_BOUND, 1),
    "register bound of a group": ([make("ld.global.b128", d=8, a=1)], Fault.REGISTER_BOUND, 0),
    "register bound with no lane": ([make("mov", d=8, b=0, guard=7, guard_not=1)], Fault.REGISTER_BOUND, 0),
    "pp.div without pp": ([make("pp.div", live=0), make("trap")], Fault.TRAP, 1),
}


@pytest.mark.parametrize("name", quick(FAULTS, [*FAULTS][::2]))
def test_faults_are_reported_once_and_end_the_warp(name):
    program, kind, pc = FAULTS[name]
    bench = FrontEndBench(TINY, [program, [make("iadd", d=1, a=1, b=1), make("bra", target=0, reconv=2)]])

    async def test(ctx):
        bench.set_up(ctx, registers=8)
        await bench.launch(ctx, 1, 1, (0,))
        await bench.launch(ctx, 0, 0, (2,), registers=8)
        await bench.wait(ctx, lambda: bench.faults, 200)
        for _ in range(50):
            await bench.cycle(ctx)
        assert bench.faults == [(kind, 2, pc)]
        assert ctx.get(bench.dut.stop.exited) == 0
        await bench.pulse(ctx, "kill", 0b100)
        await bench.exited(ctx, (2,), 100)
        await bench.free(ctx, (2,))
        before = len(bench.retired)
        await bench.wait(ctx, lambda: len(bench.retired) > before + 5, 200)

    bench.run(test)


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
    """And the warp is not quiet before the return address is written."""
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


def test_illegal_opcode_and_bus_error():
    bench = FrontEndBench(TINY, [[make("nop")] * 20, [make("nop")] * 20])
    bench.memory.load(bench.code_base(0) + 8 * 4, [0x3FF << 54])
    bench.memory.failing.add(bench.code_base(1) // 128 * 128 + 128)

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, (0,))
        await bench.launch(ctx, 1, 1, (1,))
        await bench.wait(ctx, lambda: len(bench.faults) == 2, 300)
        assert sorted(bench.faults) == [(Fault.ILLEGAL_OPCODE, 0, 4), (Fault.BUS_ERROR, 1, 15)]

    assert CODE_BASE % 128 == 8
    bench.run(test)


def test_pp_without_its_second_word_faults_when_pending():
    bench = FrontEndBench(TINY, [[make("nop"), POINT[0], make("nop"), make("exit")]])

    async def test(ctx):
        bench.set_up(ctx)
        ctx.set(bench.dut.stop.pending, 1)
        await bench.launch(ctx, 0, 0, (3,))
        await bench.wait(ctx, lambda: bench.faults, 200)
        assert bench.faults == [(Fault.ILLEGAL_OPCODE, 3, 2)]

    bench.run(test)


def test_a_divergent_barrier_faults():
    program = [make("setp.ne", pd=0, a=1, b=1), make("bra", target=3, reconv=4, guard=0), make("nop"),
               make("bar.pp.1", live=0), make("exit")]
    bench = FrontEndBench(TINY, [program])

    async def test(ctx):
        bench.set_up(ctx)
        await bench.launch(ctx, 0, 0, (1,))
        await bench.wait(ctx, lambda: bench.faults, 200)
        assert bench.faults == [(Fault.BARRIER_DIVERGENT, 1, 3)]

    bench.run(test)


def test_stack_overflow_faults_and_leaves_the_stack():
    """With room for one of the two entries of a branch; with room for both it goes on."""
    program = [make("setp.ne", pd=0, a=1, b=1), make("bra", target=3, reconv=9, guard=0), make("nop")] + [
        make("exit")] * 8
    bench = FrontEndBench(TINY, [program])
    everybody = (1 << TINY.warp_size) - 1

    async def test(ctx):
        bench.set_up(ctx)
        for slot, room in enumerate((1, 2)):
            warp = ReferenceWarp(TINY, program, (slot,), everybody)
            below = TINY.stack_depth - room - 1
            warp.stack = [*([10, everybody, PC_NONE] for _ in range(below)), [0, everybody, PC_NONE]]
            await bench.place(ctx, slot, 0, slot, 0, warp)
            await bench.start(ctx, slot)
        await bench.exited(ctx, (1,), 200)
        assert bench.faults == [(Fault.STACK_OVERFLOW, 0, 1)]
        bench.check_view(ctx, 0, live_vector=False)
        assert len(bench.warps[0].stack) == TINY.stack_depth - 1

    bench.run(test)


def test_different_barriers_are_a_mismatch_reported_once():
    bench = FrontEndBench(TINY, [[make("bar.pp.0", live=0), make("exit")],
                                 [make("nop"), make("bar.pp.5", live=0), make("exit")]])

    async def test(ctx):
        bench.set_up(ctx)
        await mixed_tb(bench)(ctx)
        await bench.wait(ctx, lambda: bench.faults, 200)
        for _ in range(50):
            await bench.cycle(ctx)
        assert bench.faults == [(Fault.BARRIER_MISMATCH, 1, 0)]
        await bench.pulse(ctx, "kill", 0b110)
        await bench.exited(ctx, (1, 2), 50)

    bench.run(test)


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
    """One warp, so that nothing but the order keeps an instruction back; the bench looks at what is outstanding."""
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
    """Nothing of the kind completes: the warp issues as many as can be counted, and is not quiet even when killed."""
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

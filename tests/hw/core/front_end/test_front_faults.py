"""Faults of the front end: each is reported once and ends its warp."""

import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import PC_NONE, preset
from caesura.hw.arch.isa.words import Instruction
from support.core.control_flow import ReferenceWarp
from support.core.front_end import CODE_BASE
from support.core.kept_benches import POINT, FrontEndBench
from support.selection import quick

make = Instruction.make
TINY = preset("tiny")
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


def test_stack_overflow_faults_and_leaves_the_stack():
    """A warp with room for one of a branch's two entries faults; a warp with room for both goes on."""
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

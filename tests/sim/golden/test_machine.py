"""Residency, barriers, faults and commands of the golden model, through registers."""

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError, Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.isa.opcodes import PT, Special
from caesura.sim.golden.transport import GoldenTransport
from caesura.software.compiler import KernelImage
from support.programs.machine_code import word
from support.sim.launch import Bench

TINY = preset("tiny")


def image(*words, registers=8, shared=0):
    return KernelImage("k", (*words, word("exit")), registers, shared_bytes=shared)


def bench_of(g=TINY):
    return Bench(GoldenTransport(g, 1 << 16))


def run(*words, g=TINY, grid=(1,), block=(16,), **options):
    bench = bench_of(g)
    bench.load(0, image(*words, **options), grid, block)
    bench.start(0)
    bench.finish(0, 1000)
    return bench


SPIN = word("bra", target=0, reconv=1)


@pytest.mark.parametrize("registers, shared, block, resident", [
    (8, 0, (8,), 2),      # TB slots
    (8, 0, (24,), 1),     # warp slots: 3 + 3 > 4
    (16, 0, (16,), 2),    # 32 + 32 registers of 64
    (11, 0, (24,), 1),
    (8, 640, (8,), 1),    # 5 + 5 lines of 8
    (8, 512, (8,), 2),
])
def test_as_many_tbs_are_resident_as_fit(registers, shared, block, resident):
    bench = bench_of()
    bench.load(0, image(SPIN, registers=registers, shared=shared), (5,), block)
    bench.start(0)
    bench.transport.advance(50)
    assert bench.fields("status")["resident"] == resident
    assert bench.get("kernel[0].launched") == resident and bench.get("kernel[0].completed") == 0


def test_a_freed_hole_is_used_first_fit():
    g = TINY.replace(tb_slots=4, warps=8)
    bench = bench_of(g)
    short, long = image(word("nop"), registers=10), image(SPIN, registers=16)
    bench.load(0, short, (1,), (8,))
    bench.load(1, long, (1,), (8,))
    bench.load(2, image(SPIN, registers=12), (1,), (8,))
    for slot in (0, 1):
        bench.start(slot)
    bench.transport.advance(20)
    bench.start(2)
    bench.transport.advance(3)
    placed = {tb.kernel.index: tb.base for tb in bench.transport.machine.resident()}
    assert placed == {1: 12, 2: 0}


def test_grid_is_walked_x_fastest():
    bench = bench_of()
    code = [word("s2r", d=1, imm=s) for s in (Special.CTAID_X, Special.CTAID_Y, Special.CTAID_Z)]
    out = bench.allocate(1024)
    # out[x + 2 * (y + 3 * z)] = 1 + launch order is checked through ctaid and launch id alone
    bench.load(0, image(*code), (2, 3, 2), (8,), params=(out,))
    bench.start(0)
    seen = []
    while bench.state(0) is KernelState.RUNNING:
        bench.transport.advance(1)
        seen += [(tb.launch_id, tb.ctaid) for tb in bench.transport.machine.resident()]
    assert sorted(set(seen)) == [(x + 2 * (y + 3 * z), (x, y, z)) for z in range(2) for y in range(3)
                                 for x in range(2)]


@pytest.mark.parametrize("words, kind, pc", [
    ([0x3FF << 54], Fault.ILLEGAL_OPCODE, 0),
    ([word("ld.global.b64", d=2, a=0) | 1 << 44], Fault.ILLEGAL_OPCODE, 0),
    ([word("nop"), word("mov.i", d=8, imm=0)], Fault.REGISTER_BOUND, 1),
    ([word("st.global.b128", a=0, d=8)], Fault.REGISTER_BOUND, 0),
    ([word("bra", target=99, reconv=1)], Fault.FETCH_BOUND, 99),
    ([word("nop"), word("trap")], Fault.TRAP, 1),
    ([word("ldp", d=0, imm=4 * 64)], Fault.PARAM_BOUND, 0),
    ([word("ldp", d=0, imm=2)], Fault.MISALIGNED, 0),
    ([word("s2r", d=0, imm=Special.LANEID), word("setp.lt.u.i", pd=0, a=0, imm=3),
      word("bra", target=4, reconv=5, guard=0), word("nop"), word("bar.pp.0"), word("nop")],
     Fault.BARRIER_DIVERGENT, 4),
    ([word("s2r", d=0, imm=Special.WARPID), word("setp.eq.i", pd=0, a=0, imm=0),
      word("bra", target=5, reconv=6, guard=0), word("bar.pp.1"), word("exit"), word("bar.pp.2")],
     Fault.BARRIER_MISMATCH, None),
])
def test_fault_ends_the_tb_and_the_machine_goes_on(words, kind, pc):
    bench = run(*words, grid=(3,))
    assert bench.get("kernel[0].completed") == 3 and bench.get("fault_count") == 3
    assert bench.fields("status")["resident"] == 0
    report = bench.fault()
    assert report.kind is kind and report.tb == 0
    assert pc is None or report.pc == pc
    assert bench.fault() is None


def test_guarded_off_trap_and_loads_do_nothing():
    bench = run(word("trap", guard=PT, guard_not=1), word("ldp", d=0, imm=3, guard=PT, guard_not=1))
    assert bench.fault() is None


def test_barrier_waits_for_every_warp_and_exited_warps_count():
    code = [word("s2r", d=0, imm=Special.WARPID), word("setp.eq.i", pd=0, a=0, imm=2),
            word("setp.eq.i", pd=1, a=0, imm=1), word("bra", target=8, reconv=11, guard=0),
            word("bar.pp.7", live=1), word("exit", guard=1), word("bar.pp.3", live=1), word("exit"),
            word("mov.i", d=1, imm=10), word("isub.i", d=1, a=1, imm=1), word("setp.ne.i", pd=2, a=1, imm=0),
            word("bra", target=9, reconv=12, guard=2)]  # warp 2 counts to ten and exits
    bench = bench_of()
    bench.load(0, image(*code), (1,), (32,))
    bench.start(0)
    bench.transport.advance(1)
    (tb,) = bench.transport.machine.resident()
    held = released = 0
    while bench.state(0) is KernelState.RUNNING:
        bench.transport.advance(1)
        others = [tb.warps[k] for k in (0, 1, 3)]
        if tb.warps[2].live:
            assert all(w.stack[-1].pc <= 5 for w in others)
            held += all(w.waiting and w.barrier == 7 for w in others)
        else:
            released += any(w.live for w in others)
    assert held > 5 and 3 <= released <= 8
    assert bench.fault() is None


@pytest.mark.parametrize("options, block", [
    ({"registers": 17}, (8,)), ({"shared": 1028}, (8,)), ({}, (40,)), ({"registers": 16}, (40,)),
])
def test_start_refuses_what_can_never_fit(options, block):
    bench = bench_of()
    bench.load(0, image(**options), (1,), block)
    bench.command(Command.START, 0)
    assert bench.refusal() is CommandError.TOO_LARGE
    assert bench.fields("event")["refused"] and bench.state(0) is KernelState.IDLE


def test_commands_are_refused_in_the_wrong_state():
    bench = bench_of()
    bench.load(0, image(SPIN), (1,), (8,))
    for op, slot, mechanism, error in (
            (Command.PREEMPT, 0, 0, CommandError.NOT_RUNNING), (Command.RESUME, 0, 0, CommandError.NOT_RUNNING),
            (9, 0, 0, CommandError.UNKNOWN), (Command.PREEMPT, 0, 7, CommandError.UNKNOWN),
            (Command.START, 5, 0, CommandError.UNKNOWN)):
        bench.set("event", (1 << 32) - 1)
        bench.set("command", op=op, kernel=slot, mechanism=mechanism)
        assert bench.refusal() is error and bench.fields("event")["refused"]
    bench.start(0)
    bench.command(Command.START, 0)
    assert bench.refusal() is CommandError.BUSY
    bench.transport.advance(5)
    bench.command(Command.PREEMPT, 0, Mechanism.LIVE)  # the kernel has no preemption point: never done
    assert bench.refusal() is CommandError.NONE
    bench.transport.advance(5)
    assert bench.fields("status")["busy"]
    bench.command(Command.RESUME, 0)
    assert bench.refusal() is CommandError.BUSY


def test_events_are_cleared_by_writing_ones_and_wait_ends_at_an_event():
    bench = bench_of()
    bench.load(0, image(*[word("nop")] * 10), (1,), (8,))
    bench.start(0)
    assert bench.transport.wait(1000) < 20
    assert bench.fields("event")["finished"] == 1
    assert bench.transport.wait(1000) == 0
    bench.set("event", finished=1)
    assert bench.get("event") == 0
    assert bench.transport.wait(77) == 77 and bench.transport.advance(5) == 5


def test_inspection_shows_where_a_warp_stands():
    bench = bench_of()
    bench.load(3, image(word("s2r", d=0, imm=Special.LANEID), word("setp.lt.u.i", pd=0, a=0, imm=3),
                        word("bra", target=4, reconv=5, guard=0), word("bra", target=3, reconv=5), SPIN), (2,), (12,))
    bench.start(3)
    bench.transport.advance(20)
    bench.set("inspect", warp=3, entry=1)
    state = bench.fields("inspect_state")
    assert (state["valid"], state["kernel"], state["warp"], state["depth"]) == (1, 3, 1, 3)
    assert bench.get("inspect_tb") == 1 and bench.get("inspect_live") == 0x0F
    assert (bench.get("inspect_pc"), bench.get("inspect_mask")) == (3, 0x08)
    assert bench.get("id") == 0x43414553 and bench.get("geometry_hash") == TINY.hash


def test_snapshots_fork_the_machine():
    bench = bench_of()
    bench.load(0, image(word("iadd.i", d=1, a=1, imm=1), word("bra", target=0, reconv=1)), (1,), (8,))
    bench.start(0)
    bench.transport.advance(11)
    fork = bench.transport.snapshot()
    values = []
    for steps in (4, 4, 10):
        bench.transport.restore(fork)
        bench.transport.advance(steps)
        values.append(int(bench.transport.machine.resident()[0].warps[0].registers[1][0]))
    assert values == [8, 8, 11]

"""Every kind of fault: the golden model and the RTL leave the same record, end the TB, and go on with the rest."""

import numpy as np
import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError, Fault
from caesura.hw.arch.geometry import PC_NONE, preset
from caesura.hw.arch.image.context import Mechanism, area_bound, ccb_bytes
from caesura.hw.arch.isa.liveness import liveness_vector
from caesura.hw.arch.isa.opcodes import Special
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.memory import ErrorRange
from caesura.sim.rtl.transport import RtlTransport
from caesura.software.compiler import KernelImage
from support.programs.machine_code import word
from support.selection import quick
from support.sim.launch import Bench

TINY = preset("tiny")
LIMIT = 50_000


TID, CTAID = word("s2r", d=0, imm=Special.TID_X), word("s2r", d=1, imm=Special.CTAID_X)
EXIT = word("exit")
ONLY_TB_1 = (CTAID, word("setp.ne.i", pd=0, a=1, imm=1), word("exit", guard=0))
"""Faults happen in TB 1 alone, so that the others show whether the machine goes on."""
OUT = (word("ldp", d=2, imm=0), word("shl.i", d=3, a=1, imm=2), word("iadd", d=2, a=2, b=3),
       word("mov.i", d=3, imm=77), word("st.global.b32", a=2, d=3))
HALF = word("setp.lt.u.i", pd=1, a=0, imm=4)


def program(*middle):
    return (TID, CTAID, *OUT, *ONLY_TB_1, *middle, EXIT)


START = len(program()) - 1
DEEP = [instruction for level in range(TINY.stack_depth) for instruction in (
    word("setp.lt.u.i", pd=1, a=0, imm=7 - level),
    word("bra", guard=1, target=START + 2 * level + 2, reconv=500 + level))]
PROGRAMS = {
    Fault.ILLEGAL_OPCODE: (program(0x3FF << 54), START, None),
    Fault.REGISTER_BOUND: (program(word("mov.i", d=5, imm=1)), START, None),
    Fault.FETCH_BOUND: (program(word("bra", target=1000, reconv=PC_NONE)), 1000, None),
    Fault.SHARED_BOUND: (program(word("ld.shared.b32", d=2, no_base=1, imm=64)), START, 64),
    Fault.GLOBAL_WINDOW: (program(word("ld.global.b32", d=2, no_base=1, imm=0xFFFF_FF00)), START, 0xFFFF_FF00),
    Fault.MISALIGNED: (program(word("ld.shared.b32", d=2, no_base=1, imm=2)), START, 2),
    Fault.STACK_OVERFLOW: (program(*DEEP), None, None),
    Fault.BARRIER_DIVERGENT: (program(HALF, word("bra", guard=1, target=START + 3, reconv=START + 3),
                                      word("bar.pp.0", live=0)), START + 2, None),
    Fault.BARRIER_MISMATCH: (program(HALF, word("setp.lt.u.i", pd=1, a=0, imm=8),
                                     word("bra", guard=1, target=START + 5, reconv=START + 6),
                                     word("bar.pp.3", live=0), word("bra", target=START + 6, reconv=START + 6),
                                     word("bar.pp.4", live=0)), None, None),
    Fault.TRAP: (program(word("trap")), START, None),
    Fault.PARAM_BOUND: (program(word("ldp", d=2, imm=4)), START, 4),
}
BOUNDS = {
    "misaligned parameter": word("ldp", d=2, imm=6), "parameter below": word("ldp", d=2, imm=-4),
    "uniform parameter": word("uldp", d=2, imm=128), "parameter far above": word("ldp", d=2, imm=1 << 16),
    "local": word("ld.local.b32", d=2, no_base=1, imm=64),
    "misaligned uniform parameter": word("uldp", d=2, imm=7), "constant": word("ld.const.b32", d=2, no_base=1, imm=64),
}
"""More accesses that are out of bounds."""


def launch(transport, code, blocks=4, warps=2):
    bench = Bench(transport)
    output = bench.store(bytes(4 * blocks))
    image = KernelImage("faulty", code, 5, 7, 64, TINY.stack_depth)
    bench.load(0, image, (blocks,), (warps * TINY.warp_size,), params=(output,))
    bench.start(0)
    bench.finish(0, LIMIT)
    return bench, bench.fault(), transport.read_memory(output, 4 * blocks)


@pytest.mark.parametrize("kind", PROGRAMS, ids=lambda k: k.name)
@pytest.mark.parametrize("back_end", [GoldenTransport, RtlTransport], ids=["golden", "rtl"])
def test_fault_is_recorded_and_ends_its_tb_alone(kind, back_end):
    code, pc, address = PROGRAMS[kind]
    bench, report, output = launch(back_end(TINY, memory_bytes=1 << 16), code)
    assert report is not None and report.kind is kind
    assert (report.kernel, report.tb) == (0, 1)
    assert pc is None or report.pc == pc
    assert address is None or report.address == address
    assert output == b"\x4d\0\0\0" * 4
    assert bench.get("fault_count") == 1 and bench.get("kernel[0].completed") == 4
    healthy = KernelImage("healthy", program(), 5, 7, 64, 1)
    bench.load(1, healthy, (4,), (16,), params=(bench.store(bytes(16)),))
    bench.start(1)
    bench.finish(1, LIMIT)
    assert bench.fault() is None and bench.state(1) is KernelState.FINISHED


@pytest.mark.parametrize(("address", "pc"), [
    (1000, 1000), (PC_NONE, START + 1), (PC_NONE + 1 + START + 2, START + 1), ((1 << 31) + START + 2, START + 1)])
@pytest.mark.parametrize("back_end", [GoldenTransport, RtlTransport], ids=["golden", "rtl"])
def test_a_wild_return_address_ends_its_tb_alone(back_end, address, pc):
    """Whatever its low bits; where the fetch fails, or at the return if no PC can hold the address."""
    code = program(word("umov.i", d=9, imm=address), word("bru", a=9))
    _, report, output = launch(back_end(TINY, memory_bytes=1 << 16), code)
    assert (report.kind, report.tb, report.pc, report.address) == (Fault.FETCH_BOUND, 1, pc, 0)
    assert output == b"\x4d\0\0\0" * 4


@pytest.mark.parametrize("kind", [kind.name for kind in PROGRAMS if kind is not Fault.BARRIER_MISMATCH] + [*BOUNDS])
def test_record_is_that_of_the_other_machine(kind):
    """Which warp is the last to reach its barrier depends on their pace, so that is left out."""
    code = program(BOUNDS[kind]) if kind in BOUNDS else PROGRAMS[Fault[kind]][0]
    golden, rtl = (launch(make(TINY, memory_bytes=1 << 16), code)[1] for make in (GoldenTransport, RtlTransport))
    assert golden is not None and golden == rtl


@pytest.mark.parametrize("reads", [True, False])
def test_memory_error_of_a_kernel_is_a_fault_of_its_tb(reads):
    transport = RtlTransport(TINY, memory_bytes=1 << 16)
    transport.add_error_range(ErrorRange(0x8000, 0x8080, reads, not reads))
    access = "ld.global.b32" if reads else "st.global.b32"
    bench, report, _ = launch(transport, program(word(access, d=2, no_base=1, imm=0x8004)))
    assert report.kind is Fault.BUS_ERROR and report.tb == 1 and report.pc == START
    assert bench.state(0) is KernelState.FINISHED


def spinning(bench, missing=0, slot=0):
    """Start a kernel that never ends, with a save area of `missing` bytes less than it needs."""
    loop = (word("mov.i", d=0, imm=1), word("pp", live=1), word("pp.div", live=1),
            word("bra", target=1, reconv=4), EXIT)
    bench.load(slot, KernelImage("endless", loop, 4), (1,), (8,), area_bytes=area_bound(TINY, 1, 4, 0) - missing)
    bench.start(slot)
    bench.transport.advance(200)


def test_save_area_that_answers_with_errors_leaves_the_kernel_running():
    transport = RtlTransport(TINY, memory_bytes=1 << 16)
    bench = Bench(transport)
    spinning(bench)
    base = bench.get("kernel[0].ccb_base")
    transport.add_error_range(ErrorRange(base, base + 0x400))
    bench.command(Command.PREEMPT, 0, 1)
    bench.transport.advance(2000)
    assert bench.error(0) is CommandError.BUS_ERROR
    assert bench.state(0) is KernelState.RUNNING
    before = bench.get("retired")
    bench.transport.advance(500)
    assert bench.get("retired") > before
    transport.clear_error_ranges()
    bench.set("event", 0xFFFF)
    bench.command(Command.PREEMPT, 0, 1)
    bench.transport.advance(2000)
    assert bench.state(0) is KernelState.PREEMPTED


@pytest.mark.parametrize("back_end", [GoldenTransport, RtlTransport], ids=["golden", "rtl"])
def test_save_area_too_small_is_refused_before_the_first_byte(back_end):
    transport = back_end(TINY, memory_bytes=1 << 16)
    bench = Bench(transport)
    spinning(bench, missing=128)
    base = bench.get("kernel[0].ccb_base")
    before = transport.read_memory(base, 1024)
    bench.command(Command.PREEMPT, 0, 1)
    bench.transport.advance(2000)
    assert bench.error(0) is CommandError.AREA_TOO_SMALL
    assert bench.state(0) is KernelState.RUNNING
    assert transport.read_memory(base, 1024) == before


@pytest.mark.parametrize("back_end", [GoldenTransport, RtlTransport], ids=["golden", "rtl"])
def test_counters_are_of_the_last_preempt_though_it_was_refused(back_end):
    bench = Bench(back_end(TINY, memory_bytes=1 << 16))
    spinning(bench)
    spinning(bench, missing=128, slot=1)
    names = "save_tbs", "save_warps", "save_registers", "save_data_bytes", "save_metadata_bytes"
    for op, state in ((Command.PREEMPT, KernelState.PREEMPTED), (Command.RESUME, KernelState.RUNNING)):
        bench.command(op, 0, 1)
        bench.transport.advance(2000)
        assert bench.state(0) is state and all(map(bench.get, names))
    bench.command(Command.PREEMPT, 1, 1)
    bench.transport.advance(2000)
    assert bench.error(1) is CommandError.AREA_TOO_SMALL and not any(map(bench.get, names))


@pytest.mark.parametrize("word_index", [0, 1])
@pytest.mark.parametrize("back_end", [GoldenTransport, RtlTransport], ids=["golden", "rtl"])
def test_context_of_another_version_or_geometry_is_not_restored(back_end, word_index):
    transport = back_end(TINY, memory_bytes=1 << 16)
    bench = Bench(transport)
    spinning(bench)
    bench.command(Command.PREEMPT, 0, 1)
    bench.transport.advance(2000)
    assert bench.state(0) is KernelState.PREEMPTED
    base = bench.get("kernel[0].ccb_base")
    head = bytearray(transport.read_memory(base, 8))
    head[4 * word_index + 1] ^= 1
    transport.write_memory(base, bytes(head))
    bench.command(Command.RESUME, 0)
    bench.transport.advance(2000)
    assert bench.error(0) is CommandError.BAD_IMAGE
    assert bench.state(0) is KernelState.PREEMPTED and bench.fields("status")["resident"] == 0
    head[4 * word_index + 1] ^= 1
    transport.write_memory(base, bytes(head))
    bench.command(Command.RESUME, 0)
    bench.transport.advance(2000)
    assert bench.state(0) is KernelState.RUNNING


STEPS, LAST = 24, 12
STRIDE = 16 * 4
LIVE = liveness_vector(range(5), (1, 2), (), allocated=5)
SERIES = (
    # in each step a thread stores a number and makes the next one; in TB 1 warp 0 traps before its store of step 12
    TID, CTAID, word("setp.eq.i", pd=2, a=1, imm=1), word("setp.lt.u.i", pd=2, a=0, imm=8, guard=2),
    word("ldp", d=2, imm=0), word("imul.lo.i", d=3, a=1, imm=STEPS * STRIDE), word("iadd", d=2, a=2, b=3),
    word("shl.i", d=3, a=0, imm=2), word("iadd", d=2, a=2, b=3), word("iadd.i", d=4, a=2, imm=1),
    word("mov.i", d=3, imm=0),
    word("pp", live=LIVE), word("pp.div", live=LIVE),
    word("setp.eq.i", pd=1, a=3, imm=LAST, guard=2), word("trap", guard=1),
    word("st.global.b32", a=2, d=4), word("imul.lo.i", d=4, a=4, imm=0x1E37_79B1),
    word("iadd.i", d=2, a=2, imm=STRIDE), word("iadd.i", d=3, a=3, imm=1),
    word("setp.ne.i", pd=0, a=3, imm=STEPS), word("bra", guard=0, target=11, reconv=21), EXIT)
SERIES_TRAP = SERIES.index(word("trap", guard=1))


def series(back_end, at=0, mechanism=None, code=SERIES):
    """Run the kernel, preempted after `at` cycles.

    Return its array by TB and step, all of memory without it, the fault, and whether anything was saved. What may
    differ is left out of memory: the contexts, and the word of the trap.
    """
    transport = back_end(TINY, memory_bytes=1 << 16)
    transport.write_memory(0, np.random.default_rng(3).bytes(1 << 16))
    bench = Bench(transport)
    size = 4 * STEPS * STRIDE
    output = bench.store(bytes(size))
    loaded = bench.load(0, KernelImage("series", code, 5, 7, 0, 2), (4,), (16,), (output,), [(output, output + size)])
    bench.start(0)
    transport.advance(at)
    saved = False
    if mechanism is not None and bench.state(0) is KernelState.RUNNING:
        bench.preempt(0, mechanism, scramble=True)
        saved = bench.state(0) is KernelState.PREEMPTED
        if saved:
            bench.resume(0, scramble=True)
    bench.finish(0, LIMIT)
    memory = np.frombuffer(transport.read_memory(0, 1 << 16), np.uint8).copy()
    array = memory[output:output + size].view("<u4").reshape(4, STEPS, 16).copy()
    word_of_trap = loaded.code_base + 8 * SERIES_TRAP
    for start, length in ((output, size), (loaded.ccb_base, ccb_bytes(TINY, loaded.area_bytes)), (word_of_trap, 8)):
        memory[start:start + length] = 0
    return array, memory, bench.fault(), saved


@pytest.mark.parametrize("back_end", [GoldenTransport, RtlTransport], ids=["golden", "rtl"])
@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_CP]), ids=lambda m: m.label)
def test_the_tb_of_a_fault_has_written_what_comes_before_the_fault_and_nothing_else(mechanism, back_end):
    """Preempted all over the run. What each warp would have written, were there no fault, is the golden model's."""
    whole, rest, none, _ = series(GoldenTransport, code=(*SERIES[:SERIES_TRAP], word("nop"), *SERIES[SERIES_TRAP + 1:]))
    assert none is None and whole.all() and np.unique(whole).size > 0.9 * whole.size
    stopped, times = set(), 0
    for at in range(20, 700, 97) if back_end is RtlTransport else range(20, 1000, 119):
        array, memory, fault, saved = series(back_end, at, mechanism)
        assert fault is not None and (fault.kind, fault.tb, fault.warp, fault.pc) == (Fault.TRAP, 1, 0, SERIES_TRAP)
        assert (memory == rest).all() and (array[[0, 2, 3]] == whole[[0, 2, 3]]).all(), at
        first, second = array[1, :, :8], array[1, :, 8:]
        assert (first[:LAST] == whole[1, :LAST, :8]).all() and not first[LAST:].any(), at
        steps = int(second.any(axis=1).sum())
        assert (second[:steps] == whole[1, :steps, 8:]).all() and not second[steps:].any(), at
        stopped.add(steps)
        times += saved
    assert max(stopped) < STEPS and times > 3

"""Preempt and resume in the golden model: at every step, both mechanisms, and what the images look like."""

import numpy as np
import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import (
    CCB_ENTRY,
    STACK_ENTRY,
    WARP_HEADER,
    Capability,
    Mechanism,
    Reconvergence,
    State,
)
from caesura.hw.arch.image.encodings import Encoding, codes_of, row_words
from caesura.hw.arch.isa.liveness import ALL_LIVE, LIVE_BITS, LIVE_REST, liveness_vector
from caesura.hw.arch.isa.opcodes import Special
from caesura.sim.golden.context_image import read_entry, restore, save
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.workloads.random_native import random_program
from caesura.software.compiler import KernelImage
from support.programs.machine_code import word
from support.selection import quick
from support.sim.launch import Bench

TINY = preset("tiny")
STEPPED = [(seed, stride, mechanism) for k, (seed, stride) in enumerate([(22, 14), (16, 31)])
           for mechanism in (*list(Mechanism)[k:], *list(Mechanism)[:k])]
"""Kernels with barriers and with deep divergence, every so many steps."""


def hostile(g, registers):
    """Return a kernel that fills every register and all shared memory of one TB with its own bits."""
    code = [word("mov.i", d=r, imm=0xDEAD_0000 + r) for r in range(1, registers)]
    code += [word("s2r", d=0, imm=Special.LANEID), word("shl.i", d=0, a=0, imm=4)]
    code += [word("st.shared.b128", a=0, imm=k, d=4) for k in range(0, g.shared_bytes, 16 * g.warp_size)]
    return KernelImage("hostile", (*code, word("exit")), registers, shared_bytes=g.shared_bytes)


class Prepared:
    """A random program on a fresh golden model, its input and output in memory."""

    def __init__(self, g, seed, engine="auto", **options):
        self.program = random_program(g, seed, **options)
        self.transport = GoldenTransport(g, 1 << 17, seed=seed, engine=engine)
        self.bench = Bench(self.transport)
        self.output = self.bench.allocate(self.program.output_bytes)
        inputs = self.bench.store(self.program.inputs)
        self.loaded = self.bench.load(0, self.program.image, self.program.grid, self.program.block,
                                      (self.output, inputs))
        self.bench.load(1, hostile(g, 16), (1,), (g.warp_size * 4,))

    def result(self):
        return self.transport.read_memory(self.output, self.program.output_bytes)


@pytest.mark.parametrize("seed, stride, mechanism", quick(STEPPED, STEPPED[4:6]))
def test_preempted_at_every_step_the_result_is_the_same(mechanism, seed, stride):
    run = Prepared(TINY, seed, statements=4, warps=2, tbs=2, registers=12)
    run.bench.start(0)
    saved = steps = 0
    snapshots = []
    while run.bench.state(0) is KernelState.RUNNING:
        snapshots.append(run.transport.snapshot())
        run.transport.advance(1)
    expected = run.result()
    for snapshot in snapshots[::stride]:
        run.transport.restore(snapshot)
        steps += 1
        run.bench.preempt(0, mechanism, scramble=True)
        if run.bench.state(0) is KernelState.PREEMPTED:
            saved += run.bench.get("save_tbs") > 0
            assert run.bench.fields("status")["resident"] == 0
            run.bench.start(1)
            run.bench.finish(1, 10_000)
            run.bench.resume(0, scramble=True)
        run.bench.finish(0, 100_000)
        assert run.bench.fault() is None
        assert run.result() == expected
    assert saved > steps // 3 and steps > 28


@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_CP]), ids=lambda m: m.name)
def test_periodic_preemption_ends(mechanism):
    run = Prepared(TINY, 7, statements=6)
    run.bench.start(0)
    run.bench.finish(0)
    expected = run.result()
    run = Prepared(TINY, 7, statements=6)
    run.bench.start(0)
    rounds = 0
    while run.bench.state(0) is not KernelState.FINISHED:
        run.transport.advance(9)
        if run.bench.state(0) is not KernelState.RUNNING:
            break
        run.bench.preempt(0, mechanism, scramble=True)
        if run.bench.state(0) is KernelState.PREEMPTED:
            run.bench.resume(0, scramble=True)
        rounds += 1
        assert rounds < 2000
    assert rounds > 10 and run.result() == expected


def divergent(bench, live=0b0110, live_divergent=0b0010 | 1 << LIVE_BITS - 1 - 2):
    """Load a kernel that parks divergent at pc 6 (of 8): r0..r2, p2 and line 1 of shared memory written, r3 not; p2 is
    live."""
    code = [word("s2r", d=0, imm=Special.LANEID), word("setp.lt.u.i", pd=2, a=0, imm=3),
            word("iadd.i", d=1, a=0, imm=0x100), word("st.shared.b32", no_base=1, imm=128, d=1),
            word("bra", target=6, reconv=9, guard=2), word("mov.i", d=2, imm=9),
            word("pp", live=live), word("pp.div", live=live_divergent), word("nop"), word("exit")]
    image = KernelImage("k", tuple(code), 4, shared_bytes=300)
    loaded = bench.load(0, image, (1,), (12,))
    bench.start(0)
    bench.transport.advance(6)
    return loaded


def read_image(bench, loaded):
    """Return the entry fields and the stream of the first CCB entry."""
    transport = bench.transport
    words = np.frombuffer(transport.read_memory(loaded.ccb_base, 64), "<u4")
    entry = context.from_words(CCB_ENTRY, words)
    return entry, np.frombuffer(transport.read_memory(entry["register_image"], entry["length"]), "<u4").tolist()


def encodings(entry, stream):
    """Return the encodings of the saved registers of each record."""
    records, row = entry["live_warps"].bit_count(), row_words(entry["registers"])
    rows = np.array(stream[len(stream) - row * records:]).reshape(records, row)
    return [{r: Encoding(code) for r, code in enumerate(codes_of(words)) if code} for words in rows]


def test_image_of_a_divergent_warp_saves_what_pp_div_names():
    bench = Bench(GoldenTransport(TINY, 1 << 16))
    loaded = divergent(bench)
    bench.preempt(0, Mechanism.LIVE)
    entry, stream = read_image(bench, loaded)
    area = context.area_address(TINY, loaded.ccb_base, loaded.area_bytes, 0)
    assert entry["state"] == State.COMPLETE and entry["geometry_hash"] == TINY.hash
    assert (entry["live_warps"], entry["registers"], entry["warps"], entry["launch_id"]) == (3, 4, 2, 0)
    assert entry["register_image"] == area
    header = context.from_words(WARP_HEADER, stream[:1])
    assert (header["warp"], header["depth"], header["predicates"], header["waiting"]) == (0, 3, 1 << 2, 0)
    assert (header["launched"], header["exited"], header["uniforms"]) == (7, 0, 0)
    assert encodings(entry, stream) == [{1: Encoding.RANDOM}] * 2
    assert stream[1] == 0b111  # predicate 2
    stack = [context.to_words(STACK_ENTRY, pc=pc, whole=whole, reconv=reconv) for pc, whole, reconv in (
        (9, 1, Reconvergence.NONE), (5, 0, Reconvergence.BELOW), (8, 0, Reconvergence.SAME))]
    assert stream[2:7] == [*stack[0], *stack[1], 0xF8, *stack[2], 0x07]
    at = 7
    assert stream[at:at + 8] == [0x100 + lane for lane in range(8)]
    assert stream[at + 8] & 0x1F == 1  # the second warp's record
    line = entry["length"] // 4 - 2 - 32 - 1  # the table and one line end the stream
    assert stream[line] == 0b010
    assert stream[line + 1] == 0x103  # lane 3, the last thread, wrote last
    assert len(stream) == line + 1 + 32 + 2
    assert entry["data_bytes"] == 2 * 32 + 128 and bench.get("save_lines") == 1 and entry["length"] == 4 * len(stream)
    assert bench.get("save_metadata_bytes") == entry["length"] - entry["data_bytes"] + 64
    assert bench.get("save_data_bytes") == entry["data_bytes"] and bench.get("save_registers") == 2


SCALARS = [word("setp.eq.i", pd=4, a=0, imm=0), word("umov.i", d=31, imm=0x1234_5678),
           word("us2r", d=2, imm=Special.WARPID), word("uiadd.i", d=9, a=2, imm=5), word("umov.i", d=2, imm=0),
           word("umov.i", d=7, imm=9, guard=4, guard_not=1)]
"""Writes P4, U2, U9 and U31."""


def at_a_point(live, after=(), **options):
    """A bench whose kernel 0 has written `SCALARS` and stands at a point with a vector, in a loop, preempted."""
    bench, point = Bench(GoldenTransport(TINY, 1 << 16)), len(SCALARS)
    code = [*SCALARS, word("pp", live=live), word("pp.div", live=live), *after,
            word("bra", target=point, reconv=point + 3 + len(after))]
    loaded = bench.load(0, KernelImage("k", (*code, word("exit")), 4), (1,), (16,))
    bench.start(0)
    bench.transport.advance(12)
    bench.preempt(0, **options)
    return bench, read_image(bench, loaded)[1]


@pytest.mark.parametrize("mechanism", list(Mechanism), ids=lambda m: m.name)
def test_written_uniform_registers_follow_the_predicates_and_come_back(mechanism):
    bench, stream = at_a_point(ALL_LIVE, [word("uiadd", d=3, a=31, b=9)], mechanism=mechanism)
    header = context.from_words(WARP_HEADER, stream[:1])
    assert header["uniforms"] and header["predicates"] == 1 << 4
    assert stream[1:6] == [1 << 31 | 1 << 9 | 1 << 2, 0xFF, 0, 5, 0x1234_5678]
    bench.resume(0, scramble=True)
    bench.transport.advance(6)
    for warp in bench.transport.machine.resident()[0].warps:
        assert {u: int(v) for u, v in enumerate(warp.uniforms) if v} == {
            31: 0x1234_5678, 9: 5 + warp.index, 3: 0x1234_567D + warp.index}


@pytest.mark.parametrize("scramble", [False, True])
def test_predicates_and_uniform_registers_that_are_not_live_are_not_saved(scramble):
    """With `scramble` they are, and wrong."""
    bench, stream = at_a_point(liveness_vector((), (), (9,), 4), mechanism=Mechanism.LIVE, scramble=scramble)
    header = context.from_words(WARP_HEADER, stream[:1])
    assert header["predicates"] == (1 << 4) * scramble and header["uniforms"]
    if scramble:
        assert stream[1:6] == [1 << 31 | 1 << 9 | 1 << 2, 0, 0xFFFF_FFFF, 5, 0x1234_5678 ^ 0xFFFF_FFFF]
    else:
        assert stream[1:3] == [1 << 9, 5]
    bench.resume(0)
    for warp in bench.transport.machine.resident()[0].warps:
        assert warp.uniforms[9] == 5 + warp.index and (warp.uniforms[31] == 0) != scramble
    bench.preempt(0, Mechanism.LIVE)
    bench.resume(0)
    for warp in bench.transport.machine.resident()[0].warps:
        assert warp.uniforms[9] == 5 + warp.index, "lost by a second preempt"


@pytest.mark.parametrize("mechanism", list(Mechanism), ids=lambda m: m.name)
def test_what_comes_back_is_saved_again_whole_before_it_runs(mechanism):
    """A warp that is restored at a point has its vector no more: all that came back is live."""
    bench, stream = at_a_point(liveness_vector((), (4,), (9,), 4), mechanism=mechanism)
    kernel = bench.transport.machine.kernels[0]
    words = np.frombuffer(bench.transport.read_memory(kernel.descriptor.ccb_base, 64), "<u4")
    again = save(restore(kernel, 0, read_entry(TINY, words), np.array(stream, np.uint32)), mechanism)
    assert again.stream.tolist() == stream


def test_a_region_of_local_memory_stays_its_tbs_own_while_it_is_away():
    bench = Bench(GoldenTransport(TINY.replace(warps=8), 1 << 16))
    spin = [word("st.local.b32", no_base=1, imm=4, d=0), word("pp", live=0), word("pp.div", live=0),
            word("bra", target=1, reconv=4)]
    image = KernelImage("k", (*spin, word("exit")), 4, local_bytes=12)
    loaded = bench.load(0, image, (4,), (12,))
    region = 2 * 8 * 12 + 127 & -128
    assert loaded.local_end - loaded.local_base == 2 * region

    def regions():
        return {tb.launch_id: tb.local_base for tb in bench.transport.machine.resident()}

    bench.start(0)
    bench.transport.advance(4)
    held = {0: loaded.local_base, 1: loaded.local_base + region}
    assert regions() == held
    bench.preempt(0, Mechanism.LIVE)
    raw = [bench.transport.read_memory(loaded.ccb_base + at, 64) for at in (0, context.ENTRY_BYTES)]
    entries = [context.from_words(CCB_ENTRY, np.frombuffer(words, "<u4")) for words in raw]
    assert {e["launch_id"]: e["local_base"] for e in entries} == held
    bench.resume(0)
    assert regions() == held
    machine = bench.transport.machine
    for lowest, after in ((0, 2), (1, 3)):  # a TB ends, and the next one takes the region it leaves
        tb, = (tb for tb in machine.resident() if tb.launch_id == lowest)
        for warp in tb.warps:
            warp.stack[-1].pc = 4
        bench.transport.advance(12)
        held[after] = held.pop(lowest)
        assert regions() == held


def test_occupied_image_saves_everything_allocated():
    bench = Bench(GoldenTransport(TINY, 1 << 16))
    loaded = divergent(bench)
    bench.preempt(0, Mechanism.OCCUPIED)
    entry, _ = read_image(bench, loaded)
    assert entry["data_bytes"] == 2 * 4 * 32 + 3 * 128
    assert entry["length"] <= loaded.area_bytes


def test_demoted_after_resume_and_never_resumable_again():
    bench = Bench(GoldenTransport(TINY, 1 << 16))
    loaded = divergent(bench)
    bench.preempt(0, Mechanism.LIVE)
    bench.resume(0)
    assert read_image(bench, loaded)[0]["state"] == State.DEMOTED
    assert bench.state(0) is KernelState.RUNNING
    bench.command(Command.RESUME, 0)
    assert bench.refusal() is CommandError.NOT_RUNNING


def test_scramble_fills_the_registers_that_were_not_saved():
    bench = Bench(GoldenTransport(TINY, 1 << 16))
    divergent(bench)
    bench.preempt(0, Mechanism.LIVE)
    bench.resume(0, scramble=True)
    warp = bench.transport.machine.resident()[0].warps[0]
    assert warp.registers[1].tolist() == [0x100 + lane for lane in range(8)]
    assert all(len(set(warp.registers[r].tolist())) == 8 for r in (0, 2, 3))


@pytest.mark.parametrize("mechanism", list(Mechanism), ids=lambda m: m.name)
def test_lanes_that_have_exited_do_not_count_and_come_back_inverted_with_scramble(mechanism):
    bench = Bench(GoldenTransport(TINY, 1 << 16))
    code = [word("s2r", d=0, imm=Special.LANEID), word("mov.i", d=1, imm=7), word("setp.lt.u.i", pd=1, a=0, imm=3),
            word("iadd", d=1, a=1, b=0, guard=1), word("exit", guard=1),
            word("pp", live=0b11), word("pp.div", live=0b11), word("nop")]
    loaded = bench.load(0, KernelImage("k", (*code, word("exit")), 2), (1,), (8,))
    bench.start(0)
    bench.transport.advance(5)
    bench.preempt(0, mechanism, scramble=True)
    packed = mechanism.has(Capability.COMPRESSES)
    assert encodings(*read_image(bench, loaded)) == [
        {0: Encoding.LOW_4, 1: Encoding.UNIFORM_8} if packed else {0: Encoding.RANDOM, 1: Encoding.RANDOM}]
    bench.resume(0, scramble=True)
    warp = bench.transport.machine.resident()[0].warps[0]
    assert warp.live == 0xF8
    lost = ([15, 14, 13], [7, 7, 7]) if packed else ([~0, ~1, ~2], [~7, ~8, ~9])
    assert warp.registers[0].tolist() == [value % (1 << 32) for value in (*lost[0], 3, 4, 5, 6, 7)]
    assert warp.registers[1].tolist() == [value % (1 << 32) for value in (*lost[1], 7, 7, 7, 7, 7)]


def test_vector_bit_53_saves_the_rest():
    g = preset("gtx480")
    bench = Bench(GoldenTransport(g, 1 << 19))
    code = [word("mov.i", d=r, imm=r) for r in range(50, 64)]
    code += [word("pp", live=1 << LIVE_REST | 1 << 50), word("pp.div", live=0)]
    loaded = bench.load(0, KernelImage("k", (*code, word("exit")), 64), (1,), (32,))
    bench.start(0)
    bench.transport.advance(1)
    bench.preempt(0, Mechanism.LIVE)
    assert [list(saved) for saved in encodings(*read_image(bench, loaded))] == [[50, *range(53, 64)]]


def test_a_small_area_is_refused_before_anything_is_written():
    bench = Bench(GoldenTransport(TINY, 1 << 16))
    loaded = divergent(bench)
    bench.set("kernel[0].area_bytes", loaded.area_bytes)
    bench.transport.machine.kernels[0].load(
        bench.transport.machine.kernels[0].descriptor.__class__(
            **vars(bench.transport.machine.kernels[0].descriptor) | {"area_bytes": loaded.area_bytes - 128}))
    before = bench.transport.read_memory(0, bench.transport.memory_bytes)
    bench.command(Command.PREEMPT, 0, Mechanism.OCCUPIED)
    assert bench.error(0) is CommandError.AREA_TOO_SMALL
    assert bench.state(0) is KernelState.RUNNING
    assert bench.transport.read_memory(0, bench.transport.memory_bytes) == before


@pytest.mark.parametrize("offset", [1, 4], ids=["version", "geometry"])
def test_an_image_of_another_kind_is_refused_and_nothing_restored(offset):
    bench = Bench(GoldenTransport(TINY, 1 << 16))
    loaded = divergent(bench)
    bench.preempt(0, Mechanism.LIVE)
    good = bench.transport.read_memory(loaded.ccb_base, 128)
    bad = bytearray(good)
    bad[offset] ^= 0x40
    bench.transport.write_memory(loaded.ccb_base, bytes(bad))
    with pytest.raises(RuntimeError, match="BAD_IMAGE"):
        bench.resume(0)
    assert bench.state(0) is KernelState.PREEMPTED and bench.fields("status")["resident"] == 0
    bench.transport.write_memory(loaded.ccb_base, good)
    bench.resume(0)
    bench.finish(0, 100)


def test_a_kernel_that_ends_during_the_drain_has_nothing_to_save():
    bench = Bench(GoldenTransport(TINY, 1 << 16))
    bench.load(0, KernelImage("k", (word("nop"), word("nop"), word("exit")), 4), (1,), (8,))
    bench.start(0)
    bench.transport.advance(2)
    bench.preempt(0, Mechanism.LIVE)
    assert bench.state(0) is KernelState.FINISHED and bench.get("save_tbs") == 0
    assert bench.fields("event")["finished"] == 1


def test_a_full_barrier_is_held_while_a_preempt_is_pending_and_released_after_the_restore():
    bench = Bench(GoldenTransport(TINY, 1 << 16))
    code = [word("nop"), word("bar.pp.5", live=0), word("nop"), word("exit")]
    loaded = bench.load(0, KernelImage("k", tuple(code), 4), (1,), (16,))
    bench.start(0)
    bench.transport.advance(3)
    bench.preempt(0, Mechanism.LIVE)
    _, stream = read_image(bench, loaded)
    header = context.from_words(WARP_HEADER, stream[:1])
    assert (header["waiting"], header["barrier"]) == (1, 5)
    bench.resume(0)
    bench.finish(0, 20)


def test_live_registers_never_written_still_read_zero_after_a_scrambled_restore():
    bench = Bench(GoldenTransport(TINY, 1 << 16))
    divergent(bench, live_divergent=0b1010)
    bench.preempt(0, Mechanism.LIVE, scramble=True)
    assert bench.get("save_registers") == 4
    bench.resume(0, scramble=True)
    warp = bench.transport.machine.resident()[0].warps[0]
    assert not warp.registers[3].any() and warp.registers[1].any() and warp.registers[0].max() > 7


@pytest.mark.parametrize("patience", [0, 1, 2, 63, 64, 65, 300])
def test_every_engine_stops_warps_after_the_same_cycle(patience):
    found = []
    for engine in ("numpy", "compiled"):
        run = Prepared(TINY, 22, engine, statements=24, warps=2, tbs=2, registers=12)
        run.bench.start(0)
        run.transport.advance(100)
        run.bench.set("patience", patience)
        run.bench.command(Command.PREEMPT, 0, Mechanism.LIVE)
        run.transport.wait(10_000)
        assert run.bench.state(0) is KernelState.PREEMPTED
        drained = run.bench.get("drain_cycles")
        assert drained <= patience + 1
        found.append((drained, run.bench.get("save_registers"), run.transport.read_memory(0, 1 << 17)))
    assert found[0] == found[1]


@pytest.mark.full
@pytest.mark.parametrize("spared", [0b01, 0b10])
def test_a_spared_thread_block_passes_points_and_barriers(spared):
    """It runs to its end while the other is saved, and away."""
    run = Prepared(TINY, 22, statements=24, warps=2, tbs=2, registers=12)
    run.bench.start(0)
    before = run.transport.snapshot()
    run.bench.finish(0, 100_000)
    expected = run.result()
    record = context.record_address(TINY, run.loaded.ccb_base)
    for at in range(30, 500, 11):
        run.transport.restore(before)
        run.transport.advance(at)
        run.bench.set("spared", spared)
        run.bench.command(Command.PREEMPT, 0, Mechanism.LIVE, scramble=True)
        run.transport.wait(10_000)
        assert run.bench.state(0) is KernelState.PREEMPTED and run.bench.get("save_tbs") == 1
        assert not any(run.transport.read_memory(record, 128)), "it says what is no longer so"
        run.transport.advance(10_000)
        assert run.bench.fields("status")["resident"] == 0, "the spared one has not ended"
        run.bench.set("spared", 0)
        run.bench.resume(0, scramble=True)
        run.bench.finish(0, 100_000)
        assert run.result() == expected

"""Thread blocks that leave the SM while they wait, and come back: who, when, and what becomes of memory."""

import functools

import numpy as np
import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError, Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.isa.liveness import LIVE_BITS
from caesura.hw.arch.isa.opcodes import BY_NAME
from caesura.sim.golden.transport import GoldenTransport
from caesura.software.compiler import assemble
from support.programs.yields import images
from support.sim.launch import Bench, argument_words

TINY = preset("tiny").replace(watches=2)
WIDE = TINY.replace(tb_slots=4)
"""As many warps as `TINY`, so that two TBs of two warps fill it as well, and more entries."""
BLOCK = (16,)
kernels = functools.cache(images)


class Waiting:
    """Consumers, each of which waits for a flag, and a producer that sets them all, on a fresh machine."""

    def __init__(self, g=TINY, consumers=2, stride=128, delay=50, area=None, transport=None):
        self.transport = transport or GoldenTransport(g, 1 << 17)
        self.bench, self.consumers, self.stride = Bench(self.transport), consumers, stride
        self.flags = self.bench.allocate(stride * consumers)
        self.out = self.bench.allocate(4 * BLOCK[0] * consumers)
        self.load(0, "consumer", (consumers,), BLOCK, self.flags, self.out, stride, area_bytes=area)
        self.load(1, "producer", (consumers,), (8,), self.flags, stride, delay)

    def load(self, slot, name, grid, block, *arguments, **options):
        image = kernels()[name]
        return self.bench.load(slot, image, grid, block, argument_words(image, *arguments), **options)

    def set_flag(self, number, value):
        self.transport.write_memory(self.flags + number * self.stride, value.to_bytes(4, "little"))

    def notify(self, begin, end):
        self.bench.set("notify_begin", begin)
        self.bench.set("notify_end", end)

    def kill(self, slot):
        self.bench.command(Command.KILL, slot)
        self.bench.set("event", killed=1)

    @property
    def yields(self):
        return self.bench.get("kernel[0].yields")

    @property
    def away(self):
        return self.bench.get("kernel[0].away")

    def until(self, condition, limit=5000):
        """Let time pass until a condition holds."""
        for _ in range(limit):
            if condition():
                return
            self.transport.advance(1)
        raise TimeoutError(f"not after {limit} cycles")

    def leave(self, *others):
        """Have all consumers on the SM leave, for a producer that runs long, and others."""
        self.bench.start(0)
        self.transport.advance(20)
        for slot in (1, *others):
            self.bench.start(slot)
        self.until(lambda: self.away.bit_count() == 2)
        self.transport.advance(2)

    def check(self):
        expected = 1000 + np.arange(self.consumers)[:, None] + np.arange(BLOCK[0])
        got = np.frombuffer(self.transport.read_memory(self.out, 4 * expected.size), np.uint32)
        assert (got == expected.ravel()).all(), got
        assert not self.bench.fault() and self.away == 0


@pytest.mark.parametrize("consumers", [2, 5])
@pytest.mark.parametrize("watches", [1, 2, 8])
@pytest.mark.parametrize("stride", [4, 128])
def test_consumers_that_fill_the_sm_let_the_producer_in(consumers, stride, watches):
    run = Waiting(TINY.replace(watches=watches), consumers, stride)
    run.bench.start(0)
    run.transport.advance(400)
    assert run.yields == 0, "there is no entry for another of their own, and no other kernel"
    run.bench.start(1)
    run.bench.finish(1, 20_000)
    run.bench.finish(0, 20_000)
    assert run.yields >= 1
    run.check()


def test_in_between_they_are_away_and_the_kernel_runs():
    run = Waiting(delay=300)
    run.leave()
    assert run.bench.state(0) is run.bench.state(1) is KernelState.RUNNING
    assert run.away == 3 and run.yields == 2
    before = run.transport.cycle
    run.transport.advance(300)
    assert run.away == 3 and run.yields == 2, "nobody has written what they wait for"
    assert run.bench.fields("status")["resident"] == 2 and run.transport.cycle == before + 300
    assert run.bench.fields("event")["preempted"] == run.bench.fields("event")["resumed"] == 0
    run.bench.finish(0, 20_000)
    run.check()


def test_a_chain_of_one_kernel_each_tb_waiting_for_a_later_one():
    run = Waiting(WIDE)
    out, flags = run.bench.allocate(4 * 16 * 4), run.bench.allocate(64)
    run.load(2, "chain", (4,), BLOCK, flags, out, 3)
    run.bench.start(2)
    run.bench.finish(2, 20_000)
    got = np.frombuffer(run.transport.read_memory(out, 256), np.uint32).reshape(4, 16)
    index = np.arange(4)[:, None]
    assert (got == 17 * index + np.arange(16) + 4 - index).all()
    assert run.bench.get("kernel[2].yields") >= 2


def test_nobody_leaves_who_finds_what_it_waits_for():
    run = Waiting()
    for number in range(2):
        run.set_flag(number, 1000 + number)
    run.bench.start(0)
    run.bench.start(1)
    run.bench.finish(0, 20_000)
    assert run.yields == 0
    run.check()


def test_a_value_that_comes_between_the_look_and_the_watch_is_seen():
    run = Waiting(consumers=2, delay=5000)
    code = [word >> LIVE_BITS for word in kernels()["consumer"].code]
    watch = code.index(BY_NAME["ld.watch.b32"].code)
    run.bench.start(0)
    run.bench.start(1)
    warp = run.transport.machine.slots
    run.until(lambda: all(w is not None and w.stack and w.stack[-1].pc == watch for w in warp))
    for number in range(2):
        run.set_flag(number, 1000 + number)
    run.bench.finish(0, 2000)
    assert run.yields == 0
    run.check()


def test_the_host_says_what_it_has_written():
    run = Waiting(delay=60_000)
    run.leave()
    run.kill(1)
    for number in range(2):
        run.set_flag(number, 1000 + number)
    run.transport.advance(100)
    run.notify(run.flags - 128, run.flags)
    run.notify(run.flags + 256, run.flags + 384)
    run.notify(run.flags, run.flags)
    run.transport.advance(100)
    assert run.away == 3, "no word of these bytes"
    run.notify(run.flags + 127, run.flags + 129)
    run.bench.finish(0, 2000)
    run.check()


def test_who_is_called_comes_back_before_fresh_ones_are_launched():
    run = Waiting(stride=4)
    run.load(0, "consumer", (1,), (32,), run.flags, run.out, 4)  # needs all of the SM
    run.load(1, "producer", (12,), (8,), run.flags, 4, 100)
    run.bench.start(0)
    run.transport.advance(20)
    run.bench.start(1)
    run.until(lambda: run.bench.get("kernel[0].completed") == 1, 10_000)
    assert run.bench.get("kernel[1].launched") <= 4
    run.bench.finish(1, 20_000)


def test_a_store_calls_at_once_who_has_room():
    run = Waiting(consumers=1)
    (spin,) = assemble(f"""
.kernel spin
.registers 4
.predicates 1
.stack 2
    mov.i R0, {run.flags}
    mov.i R1, 1000
    mov.i R2, 0
L:
    iadd.i R2, R2, 1
    setp.lt.u.i P0, R2, 2000
    @P0 bra L, D
D:
    st.global.b32 [R0], R1
E:
    bra E, none
""")
    run.bench.load(2, spin, (1,), (8,))
    run.load(1, "producer", (1,), (8,), run.bench.allocate(128), 128, 1)
    for slot in (0, 2, 1):
        run.bench.start(slot)
        run.transport.advance(5)
    run.bench.finish(1, 500)
    assert run.away == 1 and run.bench.fields("status")["resident"] == 1
    run.until(lambda: run.bench.state(0) is KernelState.FINISHED, 10_000)
    run.check()


def test_who_is_called_for_nothing_leaves_again():
    run = Waiting(WIDE, delay=600)
    run.load(2, "producer", (1,), (32,), run.bench.allocate(128), 128, 1)  # needs all of the SM
    run.leave(2)
    for before in (2, 3, 4):
        assert run.yields == before and run.away == 3
        run.notify(run.flags, run.flags + 4)
        run.until(lambda: run.yields > before)  # noqa: B023
    for slot in range(3):
        run.bench.finish(slot, 50_000)
    run.check()


@pytest.mark.parametrize("alone", [True, False])
def test_who_waits_for_nothing_gives_its_place_away_if_others_want_it(alone):
    run = Waiting(TINY.replace(tb_slots=1))
    counters = [run.bench.allocate(4) for _ in range(2)]
    for slot, counter in enumerate(counters[:1] if alone else counters):
        run.load(slot, "polite", (1,), BLOCK, counter, 0, 6)
        run.bench.start(slot)
    for slot in range(1 if alone else 2):
        run.bench.finish(slot, 20_000)
        assert run.transport.read_memory(counters[slot], 4)[0] == 6
    yields = [run.bench.get(f"kernel[{slot}].yields") for slot in range(2)]
    assert yields == [0, 0] if alone else min(yields) >= 8, yields


# What a preemption does to those that are away


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("mechanism", [Mechanism.OCCUPIED, Mechanism.LIVE_CP])
def test_preempted_they_are_saved_tbs_like_others(mechanism, written):
    run = Waiting(consumers=3, delay=60_000)
    run.leave()
    run.kill(1)
    run.bench.preempt(0, mechanism)
    assert run.bench.state(0) is KernelState.PREEMPTED
    if written:
        for number in range(3):
            run.set_flag(number, 1000 + number)
        run.notify(run.flags, run.flags + 384)
        run.transport.advance(50)
        assert run.bench.fields("status")["resident"] == 0, "a kernel that is preempted stays so"
    run.bench.resume(0)
    for number in range(3):
        run.set_flag(number, 1000 + number)
    run.notify(run.flags, run.flags + 384)
    run.bench.finish(0, 5000)
    run.check()


def test_a_resume_of_more_than_there_is_room_for_ends_though_they_wait_for_each_other():
    run = Waiting(WIDE)
    out, flags = run.bench.allocate(4 * 16 * 4), run.bench.allocate(64)
    run.load(2, "chain", (4,), BLOCK, flags, out, 3)
    run.bench.start(2)
    run.until(lambda: run.bench.get("kernel[2].yields") == 2)
    run.transport.advance(5)
    run.bench.preempt(2, Mechanism.OCCUPIED)
    assert run.bench.get("kernel[2].away").bit_count() == 2 and run.bench.get("save_tbs") == 2
    run.bench.resume(2, limit=5000)
    run.bench.finish(2, 20_000)
    assert np.frombuffer(run.transport.read_memory(flags, 16), np.uint32).tolist() == [4, 3, 2, 1]


def test_killed_none_is_away_and_the_slot_begins_anew():
    run = Waiting(delay=60_000)
    run.leave()
    run.kill(0)
    assert run.bench.state(0) is KernelState.IDLE and run.away == 0
    run.notify(run.flags, run.flags + 256)
    run.transport.advance(100)
    assert run.bench.fields("status")["resident"] == 2, "the producer's"
    run.kill(1)
    for number in range(2):
        run.set_flag(number, 1000 + number)
    run.bench.start(0)
    assert run.yields == 0
    run.bench.finish(0, 5000)
    run.check()


def test_an_aborted_preempt_leaves_those_away_that_are():
    run = Waiting(consumers=2, delay=60_000)
    run.leave()
    run.bench.set("grace", 1000)
    run.bench.command(Command.PREEMPT, 1, Mechanism.LIVE)
    run.bench.command(Command.ABORT, 1)
    assert run.bench.state(1) is KernelState.RUNNING
    run.notify(run.flags, run.flags + 4)
    run.transport.advance(30)
    assert run.away == 3, "it has come back to no room, or left again"
    run.bench.set("grace", 0)
    run.bench.preempt(1, Mechanism.LIVE)
    for number in range(2):
        run.set_flag(number, 1000 + number)
    run.notify(run.flags, run.flags + 256)
    run.bench.finish(0, 5000)
    run.check()


def test_a_kernel_all_of_whose_tbs_are_away_is_adopted_elsewhere():
    run = Waiting(delay=60_000)
    run.leave()
    run.bench.preempt(0, Mechanism.LIVE)
    assert run.bench.get("save_tbs") == 0 and run.bench.state(0) is KernelState.PREEMPTED
    other = Waiting(TINY, delay=60_000)
    other.transport.write_memory(0, run.transport.read_memory(0, 1 << 17))
    assert other.bench.adopt(0) is CommandError.NONE
    other.bench.resume(0)
    for number in range(2):
        other.set_flag(number, 1000 + number)
    other.bench.finish(0, 5000)
    assert other.yields == 0
    other.check()


def test_a_checkpoint_leaves_a_kernel_running_whose_tbs_are_away():
    run = Waiting(consumers=3, delay=60_000)
    run.leave()
    run.notify(run.flags, run.flags + 4)  # one comes back when there is room
    run.kill(1)
    run.transport.advance(5)
    run.bench.checkpoint(0, Mechanism.LIVE)
    assert run.bench.get("save_tbs") == 1 and run.bench.state(0) is KernelState.RUNNING and run.away == 2
    for number in range(3):
        run.set_flag(number, 1000 + number)
    run.notify(run.flags, run.flags + 384)
    run.bench.finish(0, 5000)
    run.check()


# Memory that refuses, and what is damaged


@pytest.mark.parametrize("refusal", ["area", "memory"])
def test_who_cannot_be_saved_stays(refusal):
    run = Waiting(area=256 if refusal == "area" else None)
    if refusal == "memory":
        run.bench.set("kernel[0].ccb_base", (1 << 17) - 128)
    run.bench.start(0)
    run.bench.start(1)
    run.transport.advance(1000)
    assert run.yields == run.away == 0 and run.bench.get("kernel[1].launched") == 0
    for number in range(2):
        run.set_flag(number, 1000 + number)
    run.bench.finish(0, 5000)
    run.bench.finish(1, 5000)
    run.check()


def test_an_image_that_was_damaged_stops_the_kernel():
    run = Waiting(delay=60_000)
    run.leave()
    ccb = run.bench.get("kernel[0].ccb_base")
    run.transport.write_memory(ccb + 4, b"\xff\xff\xff\xff")
    run.notify(run.flags, run.flags + 4)
    run.kill(1)
    run.transport.advance(50)
    assert run.bench.state(0) is KernelState.PREEMPTED and run.bench.error(0) is CommandError.BAD_IMAGE
    run.kill(0)
    assert run.bench.state(0) is KernelState.IDLE


# Instructions


def written(code, g=TINY, wanted=True, cycles=600):
    """Run code in a TB, another kernel wanting its place if so; return the machine and how often it has left."""
    bench = Bench(GoldenTransport(g, 1 << 16))
    (image,) = assemble(f".kernel k\n.registers 4\n.predicates 1\n.stack 2\n{code}\n    exit\n")
    bench.load(0, image, (1,), (32,))
    bench.load(1, image, (1,), (32,))
    bench.start(0)
    if wanted:
        bench.start(1)
    bench.transport.advance(cycles)
    return bench, bench.get("kernel[0].yields")


PLACE = "    mov.i R0, 32768\n    mov.i R1, 1\n"


@pytest.mark.parametrize("code, left", [
    ("ld.watch.b32 R2, [R0]\n bar.yield {R0-R3}", 1),
    ("bar.yield {R0-R3}", 1),
    ("ld.watch.b32 R2, [R0]\n ld.watch.b32 R2, [R0+124]\n bar.yield {}", 1),
    ("ld.watch.b32 R2, [R0]\n ld.watch.b32 R2, [R0+128]\n bar.yield {}", 0),
    ("ld.watch.b32 R2, [R0]\n unwatch\n bar.yield {}", 0),
    ("unwatch\n bar.yield {}", 0),
    ("unwatch\n ld.watch.b32 R2, [R0]\n bar.yield {}", 0),
    ("unwatch\n bar.yield {}\n bar.yield {}", 1),
    ("@!PT unwatch\n bar.yield {}", 1),
    ("@!PT ld.watch.b32 R2, [R0]\n ld.watch.b32 R2, [R0+128]\n bar.yield {}", 1),
    ("ld.watch.b32 R2, [R0]\n st.global.b32 [R0+64], R1\n bar.yield {}", 0),
    ("ld.watch.b32 R2, [R0]\n st.global.b8 [R0+127], R1\n bar.yield {}", 0),
    ("ld.watch.b32 R2, [R0]\n st.global.b32 [R0+128], R1\n bar.yield {}", 1),
    ("ld.watch.b32 R2, [R0]\n red.global.add.b32 [R0+8], R1\n bar.yield {}", 0),
    ("ld.watch.b32 R2, [R0]\n red.global.and.b32 [R0+8], R1\n bar.yield {}", 1),
    ("ld.watch.b32 R2, [R0]\n bar.pp.0 {R0}\n bar.pp.0 {R0}", 0),
])
def test_who_leaves(code, left):
    bench, yields = written(PLACE + code)
    assert yields == left and not bench.fault()
    bench.set("notify_end", 1 << 16)
    bench.finish(0, 1000)
    bench.set("notify_end", 1 << 16)
    bench.finish(1, 1000)
    assert written(PLACE + code, wanted=False)[1] == 0


def test_warps_that_wait_otherwise_keep_the_thread_block():
    code = ("    s2r R3, warpid\n    setp.eq.i P0, R3, 0\n    @P0 bra A, B\n    bar.yield {R0-R3}\n    bra B, B\n"
            "A:\n    bar.pp.0 {R0-R3}\nB:\n    nop")
    bench, yields = written(PLACE + code)
    assert yields == 0 and not bench.fault() and bench.state(0) is KernelState.FINISHED


def test_the_last_warp_that_ends_lets_the_others_leave():
    code = ("    s2r R3, warpid\n    setp.ne.i P0, R3, 3\n    @P0 bra Y, Y\n    mov.i R2, 0\nL:\n    iadd.i R2, R2, 1\n"
            "    setp.lt.u.i P0, R2, 20\n    @P0 bra L, X\nX:\n    exit\nY:\n    bar.yield {R0-R3}")
    bench, yields = written(PLACE + code)
    assert yields == 1 and not bench.fault() and bench.state(0) is KernelState.FINISHED


@pytest.mark.parametrize("code", ["ld.watch.b32 R2, [R0]", "unwatch", "bar.yield {}"])
def test_a_machine_without_watches_does_not_know_them(code):
    bench, _ = written(PLACE + code, preset("tiny"))
    fault = bench.fault()
    assert fault is not None and fault.kind is Fault.ILLEGAL_OPCODE and fault.pc == 2


@pytest.mark.parametrize("place, kind", [("2", Fault.MISALIGNED), ("1048576", Fault.GLOBAL_WINDOW)])
def test_a_load_that_faults_watches_nothing(place, kind):
    bench, _ = written(f"    mov.i R0, {place}\n    ld.watch.b32 R2, [R0]\n    bar.yield {{}}")
    fault = bench.fault()
    assert fault is not None and fault.kind is kind and bench.transport.machine.watches.words[0] == 0

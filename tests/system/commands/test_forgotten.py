"""A kernel is killed at any cycle, whatever memory owes it: its TBs leave in a bounded time, the next kernel takes
their slots at once and computes the right bits while late answers come in, and nothing else is written."""

import random

import numpy as np
import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.geometry import preset
from caesura.sim.rtl.transport import RtlTransport
from support.hw.late_answers import Held, LateAnswersSm, control
from support.programs.stir import WORDS, StirArrays, image
from support.sim.launch import Bench

pytestmark = pytest.mark.full  # simulators of their own
GEOMETRIES = ["tiny", "ecp5"]
BLOCK_WARPS = 2
ENDLESS = 1 << 30
ROUNDS = 4
LIMIT = 40_000
HELD = {"nothing": ((), ()), "loads": ((Held.LOADS,), ()), "constants": ((Held.CONSTANTS,), ()),
        "atomics": ((Held.ATOMIC_READS,), ()), "atomic writes": ((), (Held.ATOMIC_WRITES,)),
        "stores": ((), (Held.STORES,)), "everything": (Held.READS, Held.WRITES)}
"""Ids whose answers memory owes: of reads, of writes."""


def bound(g) -> int:
    """Return the most cycles from a kill until the kernel's TBs have left (docs/sm.md, Kills)."""
    return (g.unit_queue + 2) * 14 * g.warp_size + 100


class Scene:
    """Kernels in all kernel slots, none started: endless ones, and in the last slot one that ends."""

    def __init__(self, name):
        self.g = g = preset(name)
        self.transport = RtlTransport(g, memory_bytes=1 << 18, design=LateAnswersSm)
        self.bench = bench = Bench(self.transport)
        rng, block = np.random.default_rng(1), BLOCK_WARPS * g.warp_size
        kernel, blocks = image(min(16, g.regs_per_thread)), min(g.tb_slots, g.warps // BLOCK_WARPS)
        self.last = g.kernel_slots - 1
        self.arrays, self.local = [], []
        for slot in range(g.kernel_slots):
            arrays = StirArrays(bench, kernel, block * blocks, rng.integers(0, 1 << 32, WORDS, np.uint32),
                                ROUNDS if slot == self.last else ENDLESS)
            loaded = bench.load(slot, kernel, (blocks,), (block,), arrays.arguments)
            self.arrays.append(arrays)
            self.local.append((loaded.local_base, loaded.local_end))
        self.blocks = blocks
        self.beginning = self.transport.snapshot()
        self.held = (), ()

    def begin(self):
        self.transport.restore(self.beginning)
        self.held = (), ()
        self.before = self.transport.read_memory(0, self.transport.memory_bytes)

    def hold(self, what):
        self.held = HELD[what]
        control(self.transport, *self.held)

    def kill(self, slot, stall=False, limit=None):
        """Kill a kernel; return the cycles until its TBs have left, `limit` if they have not."""
        limit = bound(self.g) + 1 if limit is None else limit
        control(self.transport, *self.held, stall=stall)
        self.bench.command(Command.KILL, slot)
        cycles = 0
        while self.resident():
            if cycles == limit:
                return limit
            cycles += self.transport.advance(1)
        return cycles

    def resident(self):
        """Return how many TBs are on the SM."""
        return self.bench.peek("status")["resident"]

    def lingers(self):
        """Return whether memory owes answers to a kernel that is killed."""
        return any(self.bench.peek(f"kernel[{slot}].state")["state"] == KernelState.KILLING
                   for slot in range(self.g.kernel_slots))

    def settle(self, limit=LIMIT):
        """Wait until nothing of what was forgotten is left."""
        for _ in range(limit // 10):
            if not self.lingers():
                return
            self.transport.advance(10)
        raise AssertionError("something lingers")

    def check_memory(self, slots):
        """Nothing was written but what the kernels in `slots` may write."""
        after = bytearray(self.transport.read_memory(0, self.transport.memory_bytes))
        for slot in slots:
            arrays = self.arrays[slot]
            for start, end in ((arrays.output, arrays.end), self.local[slot]):
                after[start:end] = self.before[start:end]
        assert after == self.before
        assert self.bench.fault() is None


@pytest.fixture(scope="module", params=GEOMETRIES)
def scene(request):
    return Scene(request.param)


def cases(seed, count):
    """Yield what is held, from how many cycles before the kill, which comes in which cycle, and for how long after."""
    rng = random.Random(seed)
    for number in range(count):
        what = list(HELD)[number % len(HELD)]
        yield what, rng.choice((0, 1, 7, 40, 300)), rng.randrange(30, 2500), rng.choice((0, 50, 400, 3000)), rng.random(
            ) < 0.25


def test_the_kernels_run_to_their_end_if_nobody_kills_them(scene):
    scene.begin()
    scene.bench.start(scene.last)
    scene.bench.finish(scene.last, LIMIT)
    scene.arrays[scene.last].check()
    scene.check_memory([scene.last])
    assert not scene.lingers()


@pytest.mark.parametrize("seed", range(1, 12))
def test_the_next_kernel_computes_the_right_bits_while_late_answers_come_in(scene, seed):
    """Loads, stores, atomics of both kinds, constants, local memory and barriers are outstanding at a random cycle."""
    transport, late, longest = scene.transport, 0, 0
    for what, early, at, after, stall in cases(seed, 42):
        scene.begin()
        scene.bench.start(0)
        transport.advance(at)
        scene.hold(what)
        transport.advance(early)
        cycles = scene.kill(0, stall)
        assert cycles <= bound(scene.g), (what, early, at, stall)
        longest = max(longest, cycles)
        late += scene.lingers()
        control(transport, *scene.held)
        scene.bench.start(scene.last)
        transport.advance(after)
        control(transport)
        scene.settle()
        victim = scene.arrays[0].read()
        scene.bench.finish(scene.last, LIMIT)
        scene.arrays[scene.last].check()
        assert scene.arrays[0].read() == victim, "a forgotten store came after the end of all"
        scene.check_memory([0, scene.last])
    assert late > 20
    print("longest", longest, "late", late)


def test_tbs_leave_though_memory_never_answers(scene):
    scene.begin()
    scene.bench.start(0)
    scene.transport.advance(700)
    scene.hold("everything")
    scene.transport.advance(500)
    assert scene.kill(0) <= bound(scene.g)
    for _ in range(50):
        scene.transport.advance(100)
        assert scene.lingers() and not scene.resident()


def test_a_kill_waits_rather_than_take_an_old_answer_for_a_new_one(scene):
    """The slots have four generations: three kernels leave while memory answers nobody, the fourth waits for it."""
    scene.begin()
    scene.hold("everything")
    for slot in range(3):
        scene.bench.start(slot)
        scene.transport.advance(1000)
        assert scene.kill(slot) <= bound(scene.g)
    scene.bench.start(scene.last)
    scene.transport.advance(1000)
    assert scene.kill(scene.last, limit=5000) == 5000
    assert scene.lingers()
    control(scene.transport)
    scene.settle()
    scene.transport.advance(bound(scene.g))
    assert not scene.resident()
    scene.check_memory(range(scene.g.kernel_slots))

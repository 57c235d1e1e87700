"""Thread blocks that wait for each other across two kernels, preempted and woken at random."""

import functools
import random
from typing import Any

import numpy as np

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.memory import ErrorRange
from caesura.sim.rtl.transport import RtlTransport
from support.sim.launch import Bench, argument_words

from ..programs.yields import expected, images, order

__all__ = ["Campaign", "OutageCampaign", "geometry"]

TINY = preset("tiny")
kernels = functools.cache(images)


def geometry(rng):
    """Return a machine with too little room for all."""
    warps = rng.choice([4, 6, 8])
    return TINY.replace(tb_slots=rng.randint(2, 6), warps=warps, registers=rng.choice([64, 128]),
                        watches=rng.randint(1, 4))


class Campaign:
    """Two kernels of TBs of which most wait for another one; those of the first also for TBs of the second."""

    def __init__(self, seed, spare=False, machine: Any = GoldenTransport, g=None):
        self.rng = rng = random.Random(seed)
        self.g, entries = g or geometry(rng), 0
        if spare:  # more of them may be away than there are TB slots
            self.g = self.g if g else self.g.replace(entries=12)
            entries = rng.randint(self.g.tb_slots, self.g.context_entries)
        self.transport: Any = machine(self.g, 1 << 18)
        self.bench = bench = Bench(self.transport)
        most = entries or self.g.tb_slots
        self.sizes = [rng.randint(1, most), rng.randint(1, most)]
        self.threads, self.stride = rng.choice([5, 8, 16, 19]), rng.choice([4, 128])
        self.after = order(rng, *self.sizes)
        total = sum(self.sizes)
        self.done, self.out = bench.allocate(total * self.stride), bench.allocate(4 * total * self.threads)
        self.contexts = []  # where each kernel's lie in memory
        for slot, (first, count) in enumerate(((0, self.sizes[0]), (self.sizes[0], self.sizes[1]))):
            names = bench.store(np.array(self.after[first:first + count], np.int32).tobytes())
            loaded = bench.load(slot, kernels()["graph"], (count,), (self.threads,), argument_words(
                kernels()["graph"], names, self.done + first * self.stride,
                self.out + 4 * first * self.threads, self.stride, rng.randint(1, 200)), entries=entries)
            self.contexts.append((loaded.ccb_base, loaded.ccb_base + context.ccb_bytes(
                self.g, loaded.area_bytes, entries)))

    def run(self):
        """Run both, with what comes to mind meanwhile; a deadlock ends by a limit."""
        rng, bench = self.rng, self.bench
        slots = [0, 1] if rng.random() < 0.7 else [1, 0]
        for slot in slots:
            bench.start(slot)
            self.transport.advance(rng.randint(1, 300))
        for _ in range(rng.randint(1, 8)):
            self.disturb(rng.choice(slots))
            self.transport.advance(rng.randint(1, 400))
        for slot in slots:
            if bench.state(slot) is KernelState.PREEMPTED:
                bench.resume(slot, limit=50_000)
        for slot in slots:
            bench.finish(slot, 100_000)

    def disturb(self, slot):
        """Preempt a kernel, resume it, save bases of it, or wake who watches some memory."""
        rng, bench, state = self.rng, self.bench, self.bench.state(slot)
        if state is KernelState.PREEMPTED:
            bench.resume(slot, limit=50_000)
        elif state is KernelState.RUNNING and rng.random() < 0.8:
            mechanism, way = rng.choice(list(Mechanism)), rng.choice(["", "", "incremental", "in_place", "checkpoint"])
            if way == "checkpoint":
                bench.checkpoint(slot, mechanism)
            else:
                bench.preempt(slot, mechanism, incremental=way == "incremental", in_place=way == "in_place")
        else:
            begin = self.done + rng.randrange(sum(self.sizes) * self.stride)
            bench.set("notify_begin", begin)
            bench.set("notify_end", begin + rng.randint(1, 300))

    def check(self):
        flags, out = expected(self.after, self.sizes[0], self.threads)
        got = np.frombuffer(self.transport.read_memory(self.done, len(flags) * self.stride), np.uint32)
        assert got[::self.stride // 4].tolist() == flags
        got = np.frombuffer(self.transport.read_memory(self.out, 4 * out.size), np.uint32)
        assert (got == out.ravel()).all()
        assert not self.bench.fault() and [self.bench.get(f"kernel[{k}].away") for k in (0, 1)] == [0, 0]
        return sum(self.bench.get(f"kernel[{k}].yields") for k in (0, 1))


class OutageCampaign(Campaign):
    """The same on the RTL, where memory also refuses the contexts of a kernel or of both for a while: reads, writes, or
    what stands in some part of them. No command is given meanwhile."""

    OUTAGES = (1, 10, 100, 300, 1000, 5000)
    """Cycles; in the last a wake-up is given up."""
    RETRY = 1000
    """Cycles in which a kernel tries a wake-up again that memory refused: its pause and a pass of either kernel."""

    def __init__(self, seed, g):
        super().__init__(seed, True, RtlTransport, g)
        self.given_up = 0
        self.refused = set()  # kernels of which memory has refused writes, so that a TB may be parked

    def disturb(self, slot):
        rng = self.rng
        if rng.random() < 0.4:
            return self.command(slot)
        for start, end in rng.choice((self.contexts, self.contexts[:1], self.contexts[1:])):
            reads, writes = rng.choice(((True, False), (False, True), (True, True)))
            first = rng.choice((start, start, rng.randrange(start, end, 128)))
            self.transport.add_error_range(ErrorRange(first, end, reads, writes))
            if writes:
                self.refused.add(self.contexts.index((start, end)))
        if rng.random() < 0.7:  # some TBs are called
            self.bench.set("notify_begin", self.done)
            self.bench.set("notify_end", self.done + sum(self.sizes) * self.stride)
        self.transport.advance(rng.choice(self.OUTAGES))
        self.transport.clear_error_ranges()
        for slot in (0, 1):
            if self.bench.state(slot) is KernelState.PREEMPTED:
                self.given_up += 1
                self.bench.resume(slot, limit=50_000)

    def command(self, slot):
        """Give a command. A preempt saves the others of a TB that is parked since its heads were refused, and says so;
        a resume brings all back. If it had none to save, since all are away, the kernel runs on."""
        try:
            super().disturb(slot)
        except RuntimeError as error:
            if "BUS_ERROR" not in str(error) or slot not in self.refused:
                raise
            self.refused.remove(slot)
            state = self.bench.state(slot)
            if state is KernelState.PREEMPTED:
                self.bench.resume(slot, limit=50_000)
            elif state is KernelState.RUNNING and self.bench.get(f"kernel[{slot}].away"):
                self.preempt_again(slot)
            else:
                raise

    def preempt_again(self, slot):
        """Preempt a kernel without error once it has brought its parked TB back by itself."""
        self.transport.advance(self.RETRY)
        if self.bench.state(slot) is KernelState.RUNNING:
            self.bench.preempt(slot, Mechanism.LIVE)
        if self.bench.state(slot) is KernelState.PREEMPTED:
            self.bench.resume(slot, limit=50_000)

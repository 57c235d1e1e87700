"""Kernels that use everything, in queues that share the kernel slots of a device; and one that counts."""

import numpy as np

from caesura import open_device
from caesura.hw.arch.geometry import preset
from caesura.software.driver import CycleLimit
from support.programs.stir import WORDS, image, stirred

from ..programs.shared_counters import HEAD
from ..programs.stirring import BLOCK, BLOCKS

__all__ = ["ADD", "DEVICE", "HOW", "LIMIT", "Scene", "Stirred"]

DEVICE = preset("tiny").replace(sms=2, queues=3, watches=3, entries=6)
"""The device of tests that need two SMs, with queues or not, with kernels that yield or not: one simulator serves them
all."""
MEMORY = 1 << 22
LIMIT = 200_000
ADD = HEAD + """
.visible .entry add(.param .u64 counter, .param .u32 rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %a<2>;
    ld.param.u64 %a0, [counter];
    ld.param.u32 %r0, [rounds];
    mov.u32 %r1, 0;
LOOP:
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p0, %r1, %r0;
    @%p0 bra LOOP;
    red.global.add.u32 [%a0], 1;
    ret;
}
"""
"""Each thread counts to `rounds`, and adds 1 to a word."""
HOW = [{"mechanism": "occupied"}, {"mechanism": "live"}, {"mechanism": "live+cp"}, {"mechanism": "live+tb"},
       {"grace": 150}, {"in_place": True}, {"scramble": True}, {"incremental": True}]


class Stirred:
    """The kernel that uses everything, as a packet of a queue."""

    def __init__(self, work, queue, rounds, seed, **options):
        device, self.rounds = work.device, rounds
        self.words = np.random.default_rng(seed).integers(0, 1 << 32, WORDS, np.uint32)
        zeros = [device.zeros(BLOCK * BLOCKS, np.uint32) for _ in range(2)]
        self.arrays = zeros[0], device.array(self.words), zeros[1], device.zeros(1, np.uint32)
        self.packet = queue.launch(work.kernel, BLOCKS, BLOCK, [*self.arrays, rounds], **options)

    def check(self):
        assert self.packet.done
        values, counters = stirred(self.words, BLOCK * BLOCKS, self.rounds)
        assert np.array_equal(self.arrays[0], values) and np.array_equal(self.arrays[2], counters)


class Scene:
    """Queues with priorities 0, 1, 2 that share `slots` kernel slots of a device of `sms` SMs, each with up to
    `capacity` kernels in flight."""

    def __init__(self, backend, slots=2, capacity=1, sms=2, mechanism="live+cp", **how):
        self.device = open_device(backend, DEVICE.replace(sms=sms), memory_bytes=MEMORY)
        self.device.preempt_by(mechanism, **how)
        self.kernel = self.device.load([image(16)])["stir"]
        self.queues = [self.device.queue([self.kernel], BLOCK, priority=k, capacity=capacity) for k in range(3)]
        self.device.write("queue_slots", 0b1111 >> 4 - slots << 4 - slots)
        self.work = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.device.close()

    def put(self, priority, rounds=2, **options):
        if self.device.transport.name == "golden":  # whose cycle is an instruction
            rounds *= 8
        made = Stirred(self, self.queues[priority], rounds, len(self.work), **options)
        self.work.append(made)
        return made

    def away(self, priority):
        """The kernel of a queue is preempted and has no slot."""
        return any(flight.away for flight in self.queues[priority].in_flight())

    def slot(self, priority):
        return self.queues[priority].in_flight()[0].slot

    def until(self, done, cycles=LIMIT):
        for _ in range(cycles // 50):
            if done():
                return
            self.device.advance(50)
        raise CycleLimit("it did not come to that")

    def finish(self):
        for queue in self.queues:
            queue.wait(max_cycles=LIMIT)
        for each in self.work:
            each.check()

"""Memory as it is after each write of a head of a launch's contexts, and machines that take the launch over from it."""

from __future__ import annotations

import functools
import random
from typing import Any

import numpy as np

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image import context
from caesura.sim import open_transport
from caesura.software.driver import CommandRefused, Device
from support.programs.stir import image, stirred
from support.programs.stirring import BLOCK, BLOCKS, Stirring

__all__ = ["LostPower"]

MEMORY = 1 << 18
LIMIT = 60_000
ENTRY_BYTES = 128
stir = functools.cache(image)


class LostPower:
    """A launch of the kernel that uses everything, preempted, brought back and preempted again. Whenever a head in
    memory has changed, another machine tries to go on.

    Parameters
    ----------
    backend : str
    g : Geometry
    seed : int

    Attributes
    ----------
    taken, refused : int
        Copies of memory with which another machine has ended the launch, and that were refused.
    """

    def __init__(self, backend: str, g, seed: int):
        self.rng, self.g = random.Random(seed), g
        self.device = open_device(backend, g, memory_bytes=MEMORY)
        self.machine: Any = self.device.transport
        self.work = Stirring(self.device, 12 if backend == "rtl" else 30, seed + 1)
        self.launch = self.work.launch
        self.most = 500 if backend == "rtl" else 100
        self.seen, self.taken, self.refused = self.heads(), 0, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.device.close()

    def heads(self):
        """All entries and records of the launch."""
        size = ENTRY_BYTES * (context.places(self.g) + 1)
        return [self.machine.read_memory(self.launch.ccb_of(sm), size) for sm in range(self.g.sms)]

    def run(self):
        """Give one command after the other; power is lost whenever a head has changed meanwhile."""
        self.device.advance(self.rng.randrange(self.most))
        for way in self.ways():
            getattr(self, way)()
            if self.launch.ended:
                break
        if self.launch.state is KernelState.PREEMPTED:
            self.device.resume(self.launch)
        self.work.finishes()

    def ways(self):
        again = self.rng.choice((["preempt"], ["in_part", "preempt"], ["aborted", "preempt"],
                                 ["checkpoint", "increment"]))
        return ["preempt", "resume", *again, "resume", "preempt"]

    def mechanism(self):
        return self.rng.choice(("occupied", "live", "live+cp", "live+tb"))

    def preempt(self, **options):
        self.device.begin_preempt(self.launch, self.mechanism(), **options)
        copies = self.copies(KernelState.PREEMPTING)
        self.device.finish_preempt(self.launch)
        whole = self.launch.state is KernelState.PREEMPTED and not options.get("tbs")
        for copy in copies[:-1]:
            self.power_lost(copy)
        if whole:
            assert self.power_lost(self.memory()), "all of it is in memory"

    def in_part(self):
        self.preempt(tbs=self.device.resident_tbs(self.launch)[:1])

    def increment(self):
        self.preempt(incremental=True)

    def checkpoint(self):
        self.device.begin_checkpoint(self.launch, self.mechanism())
        for copy in self.copies(KernelState.PREEMPTING):
            self.power_lost(copy)
        self.device.advance(self.rng.randrange(self.most))

    def aborted(self):
        """Thread blocks that are saved come back, the rest runs on. A preempt that has ended by then is resumed."""
        self.device.begin_preempt(self.launch, self.mechanism())
        copies = self.copies(KernelState.PREEMPTING, self.rng.randrange(300))
        ended = self.launch.peek_state() is not KernelState.PREEMPTING
        (self.device.finish_preempt if ended else self.device.abort)(self.launch)
        for copy in copies:
            self.power_lost(copy)
        if self.launch.state is KernelState.PREEMPTED:
            self.resume()
        self.seen = self.heads()
        self.device.advance(self.rng.randrange(self.most))

    def resume(self):
        self.device.begin_resume(self.launch, gang=self.rng.random() < 0.5)
        for copy in self.copies(KernelState.RESUMING):
            self.power_lost(copy)
        self.device.finish_resume(self.launch)
        self.device.advance(self.rng.randrange(self.most))

    def memory(self):
        return self.machine.read_memory(0, MEMORY)

    def copies(self, state, most=LIMIT):
        """Let cycles pass while the launch is in a state; return memory as each change of a head has left it."""
        found = []
        for _ in range(most):
            self.machine.advance(1)
            if (now := self.heads()) != self.seen:
                self.seen = now
                found.append(self.memory())
            if self.launch.peek_state() is not state:
                return found
        assert most < LIMIT, f"{state.name} for ever"
        return found

    def power_lost(self, memory):
        """Another machine has this memory, and nothing else: it ends the launch with the right bits, or says what is
        missing. Return whether it has ended it."""
        machine: Any = golden(self.g)
        machine.restore(beginning(self.g))
        machine.write_memory(0, memory)
        device = Device(machine)
        try:
            launch = device.adopt(self.launch.handle, stir(16))
        except CommandRefused as refused:
            assert refused.error is CommandError.BAD_IMAGE
            assert "memory does not hold it as a preempt has left it" in str(refused)
            assert not device.launches and machine.read_memory(0, MEMORY) == memory
            self.refused += 1
            return False
        outputs = [device.array_at(self.work.arrays[k].memory.address, BLOCK * BLOCKS, np.uint32) for k in (0, 2)]
        device.resume(launch)
        device.wait(launch, LIMIT)
        right = stirred(self.work.words, BLOCK * BLOCKS, self.work.rounds)
        assert all(np.array_equal(*pair) for pair in zip(outputs, right, strict=True))
        self.taken += 1
        return True


@functools.cache
def golden(g):
    """The machine that takes over."""
    return open_transport("golden", g, MEMORY)


@functools.cache
def beginning(g):
    """Return the state of the machine when power has just come back."""
    machine: Any = golden(g)
    return machine.snapshot()

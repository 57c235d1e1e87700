"""Kernels that are taken over from memory one after the other, in one kernel slot: what the one before has left in the
machine does not matter."""

import numpy as np
import pytest

from caesura import open_device, preset
from support.programs.stir import WORDS, image, stirred
from support.selection import quick

MEMORY, BLOCK, ROUNDS = 1 << 20, 16, 30
IMAGE = image(16)


class Work:
    """A launch that is preempted: whole, or as an increment to an image that it was brought back from."""

    def __init__(self, device, blocks, incremental, seed):
        self.words = np.random.default_rng(seed).integers(0, 1 << 32, WORDS, np.uint32)
        self.threads = BLOCK * blocks
        zeros = [device.zeros(self.threads, np.uint32) for _ in range(2)]
        self.arrays = zeros[0], device.array(self.words), zeros[1], device.zeros(1, np.uint32)
        launch = device.load([IMAGE])["stir"](blocks, BLOCK, [*self.arrays, ROUNDS])
        device.advance(400)
        device.preempt(launch, "live")
        if incremental:
            device.resume(launch)
            device.advance(50)
            device.preempt(launch, "live", incremental=True)
        self.handle = launch.handle
        self.saved = [tb.base is not None for tb in device.context(launch)]

    def ends(self, device):
        launch = device.adopt(self.handle, IMAGE)
        outputs = [device.array_at(self.arrays[k].memory.address, self.threads, np.uint32) for k in (0, 2)]
        device.resume(launch)
        device.wait(launch)
        for array, right in zip(outputs, stirred(self.words, self.threads, ROUNDS), strict=True):
            assert np.array_equal(array, right)


@pytest.mark.parametrize("backend", quick(["golden", "rtl"], ["rtl"]))
def test_a_kernel_is_taken_over_after_one_with_increments_and_one_without(backend):
    """The second has fewer thread blocks than the first and the third, whose record is read while it is forgotten which
    of them had increments."""
    g = preset("tiny")
    with open_device(backend, g, memory_bytes=MEMORY) as device:
        works = [Work(device, blocks, incremental, seed)
                 for seed, (blocks, incremental) in enumerate([(5, True), (1, False), (5, False)])]
        assert [work.saved for work in works] == [[True, True], [False], [False, False]]
        memory = device.transport.read_memory(0, MEMORY)
    with open_device(backend, g, memory_bytes=MEMORY) as other:
        other.transport.write_memory(0, memory)
        for work in works[:2]:
            launch = other.adopt(work.handle, IMAGE)
            assert launch.slot == 0
            other.kill(launch)
        works[2].ends(other)

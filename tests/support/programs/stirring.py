"""Launches through the Python API of the kernel that uses everything."""

import numpy as np

from caesura.hw.arch.geometry import preset
from support.programs.stir import WORDS, image, stirred

__all__ = ["BLOCK", "BLOCKS", "Stirring"]

TINY = preset("tiny")
BLOCK = 2 * TINY.warp_size
BLOCKS = 2 * min(TINY.tb_slots, TINY.warps // 2) + 1
"""Thread blocks: more than twice as many as preset `tiny` holds at a time."""


class Stirring:
    """A launch of the kernel that uses everything; it fills the SM."""

    def __init__(self, device, rounds, seed=1, entries=0):
        self.device, self.rounds = device, rounds
        self.words = np.random.default_rng(seed).integers(0, 1 << 32, WORDS, np.uint32)
        zeros = [device.zeros(BLOCK * BLOCKS, np.uint32) for _ in range(2)]
        self.arrays = zeros[0], device.array(self.words), zeros[1], device.zeros(1, np.uint32)
        self.launch = device.load([image(16)])["stir"](BLOCKS, BLOCK, [*self.arrays, rounds], entries=entries)

    def finishes(self):
        self.device.wait(self.launch)
        values, counters = stirred(self.words, BLOCK * BLOCKS, self.rounds)
        assert np.array_equal(self.arrays[0], values) and np.array_equal(self.arrays[2], counters)

"""Kernels of any size side by side on one machine: who stays, who has to leave."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from caesura.hw.arch import context
from caesura.hw.arch.context import CCB_ENTRY
from caesura.hw.arch.geometry import Geometry
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.testing.launch import Bench, argument_words

from .adoption import steps

__all__ = ["Guest", "entry_of", "write_entry_of"]


class Guest:
    """A kernel whose threads store what they compute in steps, through registers, shared and local memory, and count
    the steps in memory: done twice, or not at all, they show.

    Parameters
    ----------
    bench : Bench
    slot : int
    blocks, warps : int
        TBs, and warps of a TB.
    registers : int
        Of a thread, 6 at least.
    lines : int
        Of shared memory of a TB, 2 at least.
    rounds : int
    """

    def __init__(self, bench: Bench, slot: int, blocks: int = 1, warps: int = 1, registers: int = 8, lines: int = 2,
                 rounds: int = 12):
        self.bench, self.slot = bench, slot
        self.shape = blocks, warps, registers, lines, rounds
        threads = warps * bench.geometry.warp_size - 2
        self.size = 4 * threads * blocks
        self.output, self.counters = bench.store(bytes(self.size)), bench.store(bytes(self.size))
        image = dataclasses.replace(steps(), registers=registers)
        self.loaded = bench.load(slot, image, (blocks,), (threads,),
                                 argument_words(image, self.output, self.counters, rounds), shared_bytes=128 * lines)

    def check(self) -> None:
        """It has computed what it computes alone."""
        read = self.bench.transport.read_memory
        got = read(self.output, self.size) + read(self.counters, self.size)
        assert got == _alone(self.bench.geometry, self.shape), f"kernel {self.slot}"

    def entry(self, index: int = 0, side: int = 0) -> dict[str, int]:
        """Return the fields of a TB's entry on a side."""
        return entry_of(self.bench, self.loaded, index, side)


@functools.cache
def _alone(g: Geometry, shape: tuple[int, ...]) -> bytes:
    bench = Bench(GoldenTransport(g, 1 << 16))
    guest = Guest(bench, 0, *shape)
    bench.start(0)
    bench.finish(0)
    read = bench.transport.read_memory
    return read(guest.output, guest.size) + read(guest.counters, guest.size)


def _address(bench, loaded, index: int, side: int) -> int:
    return context.entry_address(loaded.ccb_base, index + side * bench.geometry.tb_slots)


def entry_of(bench: Bench, loaded, index: int = 0, side: int = 0) -> dict[str, int]:
    """Return the fields of a TB's entry on a side."""
    words = np.frombuffer(bench.transport.read_memory(_address(bench, loaded, index, side), 64), "<u4")
    return context.from_words(CCB_ENTRY, words)


def write_entry_of(bench: Bench, loaded, index: int, side: int, **lies: int) -> None:
    """Change fields of an entry; its checksum is right again, unless that is one of them."""
    words = context.to_words(CCB_ENTRY, **entry_of(bench, loaded, index, side) | lies)
    if "crc" not in lies:
        words[1] = context.entry_crc(words)
    bench.transport.write_memory(_address(bench, loaded, index, side), np.array(words, "<u4").tobytes())

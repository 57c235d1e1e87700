"""Kernels of any size side by side on one machine: some stay, others have to leave."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import CCB_ENTRY, CCB_RECORD, Mechanism
from caesura.hw.arch.image.image_reader import ImageReader
from caesura.sim.golden.transport import GoldenTransport
from support.sim.launch import Bench, argument_words

from ..sim.adoption import steps

__all__ = ["ROOMY", "MEMORY", "Guest", "entry_of", "write_entry_of", "bench_of", "running", "machine", "stays",
           "evicted", "record_state", "image", "finishes", "away", "refuses"]

ROOMY = preset("tiny").replace(name="roomy", in_place=True, warps=16, tb_slots=4)
"""16 rows of registers, 8 lines: a warp of a `Guest` with 8 registers takes two rows."""
MEMORY = 1 << 17


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
        Registers of a thread, 6 at least.
    lines : int
        Lines of shared memory of a TB, 2 at least.
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
        """Check that it computed the same as alone."""
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
    return context.entry_address(loaded.ccb_base, context.place_of(bench.geometry, index, side))


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


def bench_of(g=ROOMY):
    """Return a fresh golden model."""
    return Bench(GoldenTransport(g, MEMORY))


def running(cycles=120, g=ROOMY, **shape):
    """Return a machine with a guest in slot 0 that runs."""
    bench = bench_of(g)
    guest = Guest(bench, 0, **shape)
    bench.start(0)
    bench.transport.advance(cycles)
    return bench, guest


def machine(bench):
    """Return the golden model behind a bench."""
    return bench.transport.machine


def stays(bench, slot=0):
    """Return the entries of a kernel whose registers, and whose lines stay."""
    return tuple([k for k in range(32) if bench.get(f"kernel[{slot}].{name}_stay") >> k & 1]
                 for name in ("registers", "lines"))


def evicted(bench):
    """Return how many TBs were evicted, and bytes of them."""
    return bench.get("evicted_tbs"), bench.get("evicted_bytes")


def record_state(bench, guest):
    """Return the state of the record of a kernel."""
    address = context.record_address(bench.geometry, guest.loaded.ccb_base)
    return context.from_words(CCB_RECORD, np.frombuffer(bench.transport.read_memory(address, 64), "<u4"))["state"]


def image(bench, guest, entry):
    """Return records with their registers, shared lines and the encoding table of an image in memory."""
    stream = np.frombuffer(bench.transport.read_memory(entry["register_image"], entry["length"]), "<u4")
    reader = ImageReader(stream, bench.geometry, entry["live_warps"].bit_count(), entry["registers"])
    records = []
    for codes in reader.codes:
        record = reader.record()
        records.append((record, reader.registers(record, codes)))
    lines = reader.shared_lines(guest.shape[3])
    reader.finish()
    return records, lines, reader.codes


def finishes(bench, *guests):
    """Guests come to their end, and leave nothing on the SM."""
    for guest in guests:
        bench.finish(guest.slot)
        guest.check()
    assert bench.fault() is None and not machine(bench).stays() and not bench.fields("status")["resident"]


def away(evict):
    """Return a machine with a guest that was preempted in place, and then evicted or not."""
    bench, guest = running(rounds=30)
    bench.preempt(0, Mechanism.LIVE_CP, in_place=True)
    if evict:
        bench.preempt(0, Mechanism.LIVE_CP)
    return bench, guest


def refuses(bench):
    """A resume finds an image that it does not believe; nothing happens."""
    bench.command(Command.RESUME, 0)
    bench.transport.advance(3)
    assert bench.error(0) is CommandError.BAD_IMAGE and bench.state(0) is KernelState.PREEMPTED
    assert bench.fields("status")["resident"] == 0
    bench.set("event", resumed=1)

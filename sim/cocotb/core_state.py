"""The state of a core and its thread blocks (TBs), with random contents, for an agent of the preemption port."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from caesura.hw.arch.geometry import PC_BITS, PC_NONE, PREDICATES, SEGMENT_BYTES, UNIFORMS, Geometry
from caesura.hw.arch.image.context import area_bound
from caesura.hw.arch.isa.liveness import LIVE_BITS

__all__ = ["Block", "CoreState", "Kernel", "Warp"]

WORD = 0xFFFF_FFFF


@dataclass
class Kernel:
    """The engine's data of a kernel.

    Attributes
    ----------
    registers, warps : int
        Vector registers per thread, and warps per TB.
    shared_bytes : int
        Shared memory per TB.
    area_bytes : int
        Bytes of each save area.
    ccb_base : int
        Address of its context control block (CCB).
    """

    registers: int
    warps: int
    shared_bytes: int
    area_bytes: int
    ccb_base: int

    @property
    def lines(self) -> int:
        """Lines of shared memory per TB."""
        return -(-self.shared_bytes // SEGMENT_BYTES)

    @classmethod
    def of(cls, g: Geometry, registers: int, warps: int, shared_bytes: int, ccb_base: int = 0x4000) -> Kernel:
        """Return a kernel with save areas of the least size."""
        return cls(registers, warps, shared_bytes, area_bound(g, warps, registers, shared_bytes), ccb_base)


@dataclass
class Warp:
    """A warp slot.

    Attributes
    ----------
    tb, block_warp, base : int
        TB slot, number in the TB, first physical register.
    launched, live : int
        Bit masks of lanes.
    barrier : int or None
        Barrier at which it waits.
    stack : list of tuple of int
        Entries from the bottom up: next PC, active mask, reconvergence PC.
    live_vector : int
        Live vector of the point at which it stands or will stop.
    predicates, uniforms : dict of int to int
        Values of the written ones.
    valid, dirty : int
        Bit masks of vector registers written since the launch, and since their last save.
    reaches : int
        Cycles from the request to stop until it reaches its point.
    between : bool
        It was stopped elsewhere than at a point.
    stopped : bool
    """

    tb: int
    block_warp: int
    base: int
    launched: int
    live: int
    barrier: int | None = None
    stack: list[tuple[int, int, int]] = field(default_factory=list)
    live_vector: int = 0
    predicates: dict[int, int] = field(default_factory=dict)
    uniforms: dict[int, int] = field(default_factory=dict)
    valid: int = 0
    dirty: int = 0
    reaches: int = 0
    between: bool = False
    stopped: bool = False


@dataclass
class Block:
    """A TB slot.

    Attributes
    ----------
    kernel, launch_id, entry : int
        Kernel slot, number of the TB in its grid, entry of the CCB.
    place : tuple of int
        x, y and z in the grid.
    base, first_line : int
        First physical register, first line of shared memory.
    slots : list of int
        Warp slot of each warp.
    started : bool
    """

    kernel: int
    launch_id: int
    entry: int
    place: tuple[int, int, int]
    base: int
    first_line: int
    slots: list[int]
    started: bool = True


class CoreState:
    """The whole state of the core: warps, their registers in one file, shared memory.

    Parameters
    ----------
    g : Geometry
    rng : random.Random

    Attributes
    ----------
    kernels, blocks, warps : dict
        Kernels, TBs and warps by slot.
    file : list of list of int
        Lanes of each physical register.
    shared : list of int
        Words of shared memory.
    lines_valid, lines_dirty : int
        Bit masks with one bit per line of shared memory.
    """

    def __init__(self, g: Geometry, rng: random.Random):
        self.g, self.rng = g, rng
        self.kernels: dict[int, Kernel] = {}
        self.blocks: dict[int, Block] = {}
        self.warps: dict[int, Warp] = {}
        self.file = [[0] * g.warp_size for _ in range(g.registers)]
        self.shared = [0] * (g.shared_bytes // 4)
        self.lines_valid = self.lines_dirty = 0

    def lanes(self) -> list[int]:
        """Return the lanes of a register: equal, strided, with common upper bits, or random."""
        rng, size = self.rng, self.g.warp_size
        base, kind = rng.getrandbits(32), rng.randrange(5)
        if kind < 2:
            step = kind * rng.choice((1, 4, rng.getrandbits(32)))
            return [base + step * lane & WORD for lane in range(size)]
        return [base ^ rng.getrandbits((32, 8, 16)[kind - 2]) for _ in range(size)]

    def lanes_after(self, before: list[int], move: int) -> list[int]:
        """Return likely lanes of the same register in the next warp.

        They are equal, continue a stride over the following threads, or differ by a constant.
        """
        step = self.rng.choice((0, self.g.warp_size * (before[1] - before[0]), move))
        return [lane + step & WORD for lane in before]

    def stack(self, live: int) -> list[tuple[int, int, int]]:
        """Return a SIMT stack; its masks have live lanes only."""
        rng, below, entries = self.rng, (PC_NONE, PC_NONE), []
        for _ in range(rng.randint(1, min(4, self.g.stack_depth))):
            pc, reconv = rng.getrandbits(PC_BITS - 1), rng.choice((PC_NONE, *below, rng.getrandbits(PC_BITS - 1)))
            entries.append((pc, rng.choice((live, rng.getrandbits(self.g.warp_size) & live)), reconv))
            below = pc, reconv
        return entries

    def add_block(self, tb: int, block: Block, drain: int) -> None:
        """Put a TB with random state into slot `tb`; each of its warps reaches a point within `drain` cycles.

        Some state of a warp follows from the warp before.
        """
        rng, kernel, size = self.rng, self.kernels[block.kernel], self.g.warp_size
        self.blocks[tb] = block
        moves, before = [rng.getrandbits(32) for _ in range(kernel.registers)], None
        for number, slot in enumerate(block.slots):
            launched = (1 << rng.choice((size, rng.randint(1, size)))) - 1
            live = launched & rng.choice((launched, rng.getrandbits(size) | 1))
            self.warps[slot] = Warp(
                tb, number, block.base + number * kernel.registers, launched, live,
                barrier=rng.choice((None, rng.randrange(16))), stack=self.stack(live),
                live_vector=rng.getrandbits(LIVE_BITS), reaches=rng.randint(0, drain),
                predicates={p: rng.getrandbits(size) for p in range(PREDICATES) if rng.random() < 0.4},
                uniforms=self._uniforms(before.uniforms if before else {}))
            for register in range(kernel.registers):
                if rng.random() < 0.7:
                    self.write(self.warps[slot], register)
                    if before and before.valid >> register & 1 and rng.random() < 0.6:
                        self.file[self.warps[slot].base + register] = self.lanes_after(
                            self.file[before.base + register], moves[register])
            before = self.warps[slot]
        for line in range(block.first_line, block.first_line + kernel.lines):
            if rng.random() < 0.6:
                self.write_line(line)

    def _uniforms(self, before: dict[int, int]) -> dict[int, int]:
        """Return the uniform registers of a warp after a warp with those of `before`.

        They are written by other code, or by the same code with some different values.
        """
        rng = self.rng
        own = {u: rng.getrandbits(32) for u in range(UNIFORMS) if rng.random() < 0.2}
        if rng.random() < 0.4:
            return own
        same = {u: value for u, value in before.items() if u not in own or rng.random() < 0.8}
        return dict(sorted((own | same).items()))

    def fill(self, drain: int = 0, large: bool = False, alone: bool = False) -> list[tuple[int, int, int, list[int]]]:
        """Fill the core with TBs of a new kernel 0, each with two warps or more.

        Parameters
        ----------
        drain : int
            Most cycles until each of their warps reaches a point.
        large : bool
            Use one TB of two warps with the most registers per thread and all of shared memory. Its context may lie
            anywhere in memory.
        alone : bool
            Use one TB with all warps.

        Returns
        -------
        list of tuple
            Place of each TB: TB slot, first physical register, first line of shared memory, warp slots.
        """
        g, rng = self.g, self.rng
        count = 1 if large or alone else min(g.tb_slots, g.warps // 2)
        warps, lines = 2 if large else g.warps // count, g.shared_lines // count
        most = min(g.regs_per_thread, (g.registers // count - 3) // warps)
        registers = most if large else rng.randint(3, min(12, most))
        base = 0x4000 + (rng.getrandbits(13) << 18 if large else 0)
        self.kernels[0] = Kernel.of(g, registers, warps, lines * SEGMENT_BYTES - 4 if lines else 0, base)
        size = -(-registers * warps // 4) * 4
        slots, entries = rng.sample(range(g.warps), g.warps), rng.sample(range(g.tb_slots), g.tb_slots)
        places = [(tb, tb * size, tb * lines, slots[tb * warps:(tb + 1) * warps]) for tb in range(count)]
        for number, (tb, base, line, own) in enumerate(places):
            self.add_block(tb, Block(0, rng.getrandbits(32) if large else 100 + number, entries[tb],
                                     (rng.getrandbits(32 if large else 20), number, 3), base, line, list(own)), drain)
        return places

    def write(self, warp: Warp, register: int) -> None:
        """Let a warp write all lanes of a register."""
        self.file[warp.base + register] = self.lanes()
        warp.valid |= 1 << register
        warp.dirty |= 1 << register

    def write_line(self, line: int) -> None:
        """Write a line of shared memory."""
        words = SEGMENT_BYTES // 4
        self.shared[words * line:words * (line + 1)] = [self.rng.getrandbits(32) for _ in range(words)]
        self.lines_valid |= 1 << line
        self.lines_dirty |= 1 << line

    def wreck(self) -> None:
        """Overwrite registers and shared memory, as another kernel may do meanwhile."""
        self.file = [[self.rng.getrandbits(32) for _ in range(self.g.warp_size)] for _ in self.file]
        self.shared = [self.rng.getrandbits(32) for _ in self.shared]
        self.lines_valid = self.lines_dirty = 0

    def remove(self, tb: int) -> Block:
        """Free a TB slot, its warps and its shared memory; return the TB."""
        block = self.blocks.pop(tb)
        for slot in block.slots:
            self.warps.pop(slot, None)
        return block

"""The state of an SM around a `PreemptEngine`: kernels, TBs and warps with random contents."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from caesura.hw.arch.geometry import PREDICATES, UNIFORMS, Geometry
from caesura.hw.arch.image import context
from caesura.hw.arch.image.patterns import pattern_group

from ..register_samples import registers, shared_upper_bits
from ..stacks import random_stack
from .memory import SEGMENT

CCB_BASE = 0x4000
SETTLING = 3
"""Cycles until the outstanding operations of a warp that is stopped at once are complete."""
Snapshot = dict[str, Any]
"""State of a TB, as `Sm.snapshot` returns it."""


@dataclass
class Warp:
    """A warp slot.

    `stops` and `exits` count cycles since its TB was to stop. `stood` says that it has stopped, and still does. `kept`
    are registers that come from its base, and may be written once more. `between` says that it was stopped elsewhere
    than at a preemption point, so the live vector says nothing.
    """

    tb: int
    block_warp: int
    base: int
    launched: int
    live: int
    waiting: int = 0
    barrier: int = 0
    stack: list = field(default_factory=list)
    live_vector: int = 0
    predicates: dict = field(default_factory=dict)
    uniforms: dict = field(default_factory=dict)
    valid: int = 0
    dirty: int = 0
    stops: int = 0
    exits: int | None = None
    killed: bool = False
    stood: bool = False
    between: bool = False
    kept: int = 0


@dataclass
class Tb:
    """A TB slot; `entry` is its CCB entry."""

    kernel: int
    launch_id: int
    ctaid: tuple
    base: int
    first_line: int
    lines: int
    slots: list
    entry: int
    started: bool = True


@dataclass
class Kernel:
    registers: int
    warps: int
    shared_bytes: int
    area_bytes: int
    block_x: int
    ccb_base: int = CCB_BASE


class _Kin:
    """Similarities of the warps of a TB. Most TBs have some, as those of a kernel do."""

    def __init__(self, rng: np.random.Generator, registers: int):
        self.rng, self.related = rng, rng.random() < 0.7
        self.moves = [rng.choice(("same", "stride", "any")) for _ in range(registers)]
        self.others = rng.integers(0, 1 << 32, registers)
        self.usual = rng.integers(0, 1 << 32, UNIFORMS).tolist()

    def _often(self, share: float) -> bool:
        return self.related and self.rng.random() < share

    def whole(self) -> bool:
        """Return whether all lanes of a warp are live."""
        return self._often(0.7)

    def share(self, warp: Warp, before: Warp | None, last: Warp | None) -> None:
        """Give a warp scalars and live vectors of the one `before` in its TB, the first warp those of the `last` TB."""
        warp.uniforms |= {u: self.usual[u] for u in warp.uniforms if self._often(0.7)}
        if before is None and last is not None and self._often(0.5):
            warp.live_vector, warp.uniforms = last.live_vector, dict(last.uniforms)
        if before is not None and self.related:
            warp.valid |= before.valid
            warp.dirty = warp.valid
        if before is not None and self._often(0.7):
            warp.live_vector = before.live_vector
            warp.uniforms = dict(sorted((warp.uniforms | {
                u: value for u, value in before.uniforms.items()
                if u not in warp.uniforms or self._often(0.8)}).items()))
            if self._often(0.3):  # one is missing, so that none is repeated
                warp.uniforms.pop(self.rng.choice([0, *before.uniforms]), None)

    def move(self, file: np.ndarray, before: np.ndarray) -> None:
        """Make most registers of a warp what those of the one before were, or what follows from them."""
        for r, lanes in enumerate(before):
            if self._often(0.8):
                stride = (lanes[1] - lanes[0]) * len(lanes)
                file[r] = (lanes + {"same": 0, "stride": stride, "any": self.others[r]}[self.moves[r]]) % (1 << 32)


class Sm:
    """The state of an SM: kernels, TBs, warps, registers and shared memory. A test gives it random contents.

    TBs whose stop is pending stop one warp after the other, by the cycle `now`.
    """

    def __init__(self, g: Geometry, seed: int | str = 0):
        self.g, self.rng = g, random.Random(seed)
        self.kernels, self.tbs, self.warps = {}, {}, {}
        self.file = [[0] * g.warp_size for _ in range(g.registers)]
        self.shared = [0] * (g.shared_bytes // 4)
        self.lines_valid = self.lines_dirty = 0
        self.now = 0
        self.since, self.halted = {}, {}  # of TBs that stop: since which cycle, and at which age at once
        self.entry = self.rng.sample(range(g.context_entries), g.tb_slots)  # of the TB first put into each slot
        self.added: Warp | None = None  # the warp put in last
        self.uniforms = self.rng.choice((0, 0.1, 0.5, 1))  # share of the uniform registers that a warp has written

    def bits(self, width: int) -> int:
        return self.rng.getrandbits(width)

    def add_kernel(self, slot: int, registers: int, warps: int, shared_bytes: int, spare: int = 0, block_x: int = 32):
        bound = context.area_bound(self.g, warps, registers, shared_bytes)
        self.kernels[slot] = Kernel(registers, warps, shared_bytes, bound + spare, block_x)

    def add_tb(self, tb: int, kernel: int, launch_id: int, base: int, first_line: int, slots: Sequence[int],
               drain: int = 0):
        """Put a TB with random state into slot `tb`; its warps stop within `drain` cycles.

        In most TBs a warp has much in common with the one before, as those of a kernel do.
        """
        g, k = self.g, self.kernels[kernel]
        samples, pag = np.random.default_rng(self.bits(32)), pattern_group(k.block_x, g.warp_size)
        lines = -(-k.shared_bytes // SEGMENT)
        self.tbs[tb] = Tb(kernel, launch_id, (self.bits(20), self.bits(16), self.bits(16)), base, first_line, lines,
                          list(slots), self.entry[tb])
        kin = _Kin(samples.spawn(1)[0], k.registers)
        before = None
        for block_warp, slot in enumerate(slots):
            launched = (1 << self.rng.choice((g.warp_size, self.rng.randint(1, g.warp_size)))) - 1
            live = launched & (self.bits(g.warp_size) | 1)
            if kin.whole():
                launched = live = (1 << g.warp_size) - 1
            warp = Warp(tb, block_warp, base + block_warp * k.registers, launched, live)
            warp.waiting = self.bits(1)
            warp.barrier = self.bits(4) * warp.waiting
            warp.stack = random_stack(self.rng, self.rng.randint(1, min(g.stack_depth, 5)), live)
            warp.live_vector = self.bits(54)
            warp.predicates = {p: self.bits(g.warp_size) for p in range(PREDICATES) if self.rng.random() < 0.4}
            warp.uniforms = {u: self.bits(32) for u in range(UNIFORMS) if self.rng.random() < self.uniforms}
            warp.valid = self.bits(k.registers)
            warp.dirty = warp.valid
            warp.stops = self.rng.randint(0, drain)
            self.warps[slot] = warp
            file = registers(samples, k.registers, g.warp_size, pag)
            near = samples.random(k.registers) < 0.3
            file[near] = shared_upper_bits(samples, int(near.sum()), g.warp_size)
            kin.share(warp, before, self.added)
            if before is not None:
                kin.move(file, np.array(self.file[before.base:before.base + k.registers], np.int64))
            before = self.added = warp
            self.file[warp.base:warp.base + k.registers] = file.tolist()
        for line in range(first_line, first_line + lines):
            self.lines_valid = self.lines_valid & ~(1 << line) | self.bits(1) << line
            for word in range(32):
                self.shared[line * 32 + word] = self.bits(32)
        self.lines_dirty |= self.lines_valid

    def write(self, warp: Warp, register: int):
        """Have a warp write a register, all its lanes."""
        self.file[warp.base + register] = [self.bits(32) for _ in range(self.g.warp_size)]
        warp.valid |= 1 << register
        warp.dirty |= 1 << register

    def write_line(self, line: int):
        """Have a line of shared memory written."""
        self.shared[32 * line:32 * line + 32] = [self.bits(32) for _ in range(32)]
        self.lines_valid |= 1 << line
        self.lines_dirty |= 1 << line

    def snapshot(self, tb: int) -> Snapshot:
        """Return the state that has to come back: per warp of the TB, and of shared memory (invalid reads as zero)."""
        row = self.tbs[tb]
        registers = self.kernels[row.kernel].registers
        warps = []
        for slot in row.slots:
            warp = self.warps[slot]
            if self.exited(warp):
                warps.append(None)
                continue
            warps.append({
                "launched": warp.launched, "live": warp.live, "waiting": warp.waiting, "barrier": warp.barrier,
                "stack": [(pc, mask, reconv) for pc, mask, reconv in warp.stack],
                "predicates": dict(warp.predicates), "uniforms": dict(warp.uniforms),
                "live_vector": warp.live_vector, "between": warp.between, "valid": warp.valid, "dirty": warp.dirty,
                "registers": {r: list(self.file[warp.base + r]) for r in range(registers) if warp.valid >> r & 1}})
        lines = {k: self.shared[32 * (row.first_line + k):32 * (row.first_line + k + 1)] for k in range(row.lines)
                 if self.lines_valid >> row.first_line + k & 1}
        dirty = {k for k in range(row.lines) if self.lines_dirty >> row.first_line + k & 1}
        return {"entry": row.entry, "launch_id": row.launch_id, "ctaid": row.ctaid, "warps": warps, "lines": lines,
                "lines_dirty": dirty}

    def wreck(self):
        """Overwrite everything a hostile kernel could."""
        self.file = [[self.bits(32) for _ in range(self.g.warp_size)] for _ in range(self.g.registers)]
        self.shared = [self.bits(32) for _ in self.shared]
        self.lines_valid = self.lines_dirty = 0

    def age(self, tb: int) -> int:
        """Return the cycles since a TB is to stop, -1 if it is not."""
        return self.now - self.since[tb] if tb in self.since else -1

    def exited(self, warp: Warp) -> bool:
        age = self.age(warp.tb)
        return warp.killed or warp.live == 0 or (warp.exits is not None and age >= warp.exits)

    def stopped(self, warp: Warp) -> bool:
        row = self.tbs[warp.tb]
        if not row.started or self.exited(warp) or warp.tb not in self.since:
            return False
        return warp.stood or self.age(warp.tb) >= min(warp.stops, self.halted.get(warp.tb, warp.stops) + SETTLING)

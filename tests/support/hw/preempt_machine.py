"""A stand-in for the SM, its dispatcher and its memory around a `PreemptEngine`, stepped cycle by cycle."""

import random
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Value
from amaranth.lib.data import Layout

from caesura.hw.arch.geometry import PREDICATES, UNIFORMS, Geometry, preset
from caesura.hw.arch.image import context
from caesura.hw.arch.image.patterns import pattern_group
from caesura.hw.arch.registers import UNLIMITED_PATIENCE
from caesura.hw.preempt.engine import PreemptEngine

from .options import nested
from .register_samples import registers, shared_upper_bits
from .scalars import pair_values, written_uniforms
from .simulation import Context, Simulator, component
from .stacks import random_stack

CCB_BASE = 0x4000
SEGMENT = 128
SETTLING = 3
"""Cycles that what a warp has outstanding takes when it is stopped at once."""

Place = tuple[int, int, int, Sequence[int]]
"""Where a TB lies: its slot, its first register, its first line of shared memory, its warp slots."""
Snapshot = dict[str, Any]
"""What `Machine.snapshot` takes."""

TINY = preset("tiny")
WIDE = preset("gtx480").replace(warps=6, tb_slots=3, registers=128, shared_bytes=1536, memory_latency=20, stack_depth=6)
SMALL = TINY.replace(warps=6, tb_slots=3)
GEOMETRIES = {
    "tiny": TINY,
    "bus4": TINY.replace(bus_bytes=4, bytes_per_cycle=4.0),
    "bus16": TINY.replace(bus_bytes=16, lanes=4),
    "without": TINY.replace(tb_compressor=False, checkpoints=False, in_place=False),
    "spare": TINY.replace(entries=6),
    "wide": WIDE,
    "beats": WIDE.replace(lanes=8, bus_bytes=8, bytes_per_cycle=8.0),
    "bus128": WIDE.replace(bus_bytes=128, bytes_per_cycle=128.0),
}


@dataclass
class Warp:
    """A warp slot; `stops` and `exits` are cycles after its TB was to stop; `stood`: it has stopped, and still does;
    `kept`: registers that are there from its base, and may be written once more.

    `between`: it was stopped elsewhere than at a preemption point, so the live vector says nothing.
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


class Memory:
    """Reads and writes with a latency each; bursts are checked against the port's rules.

    Accesses of segments in `bad_reads` and `bad_writes` fail, and those that arrive while `fail` says so. A write that
    fails has its effect, none, or half of it.
    """

    def __init__(self, g: Geometry, read_latency: int, write_latency: int, rng: random.Random):
        self.g, self.read_latency, self.write_latency, self.rng = g, read_latency, write_latency, rng
        self.bytes = bytearray(0x40000)
        self.reads, self.requests, self.acks = deque(), deque(), deque()
        self.count, self.read_bytes, self.written = 0, 0, 0
        self.bad_writes, self.bad_reads = set(), set()
        self.log = []
        self.fail()

    def word(self, address: int) -> int:
        return int.from_bytes(self.bytes[address:address + 4], "little")

    def poke(self, address: int, words: Iterable[int]):
        for k, word in enumerate(words):
            self.bytes[address + 4 * k:address + 4 * k + 4] = word.to_bytes(4, "little")

    def _rules(self, address: int, extra: int):
        size = (extra + 1) * self.g.bus_bytes
        assert address % self.g.bus_bytes == 0
        assert address // SEGMENT == (address + size - 1) // SEGMENT, f"burst {address:#x}+{size} crosses a segment"

    def read(self, now: int, address: int, extra: int):
        self._rules(address, extra)
        ready = now + self.read_latency
        bad = self.fails("read", now, address)
        for k in range(extra + 1):
            self.reads.append((ready + k, address + k * self.g.bus_bytes, k == extra, bad))
            self.read_bytes += self.g.bus_bytes

    def fail(self, kinds: Collection[str] = (), begin: int = 0, cycles: int = 0):
        """Let all accesses of some kinds (``read``, ``write``) fail for some cycles, no others."""
        self.outage = kinds, range(begin, begin + cycles)

    def fails(self, what: str, now: int, address: int) -> bool:
        """Whether an access that arrives now is answered with an error."""
        kinds, cycles = self.outage
        return address // SEGMENT in (self.bad_reads if what == "read" else self.bad_writes) or (
            what in kinds and now in cycles)

    def write_request(self, now: int, address: int, extra: int):
        self._rules(address, extra)
        bad = self.fails("write", now, address)
        self.requests.append([address, extra, bad, self.rng.choice(("old", "new", "half")) if bad else "new"])

    def write_beat(self, now: int, beat: Any):
        assert self.requests, "a beat before its request"
        pending = self.requests[0]
        (address, extra, bad, effect), n = pending, self.g.bus_bytes
        payload = beat.data.to_bytes(n, "little")
        for k in range(n):
            if beat.strobe >> k & 1:
                if effect == "new" or effect == "half" and self.rng.random() < 0.5:
                    self.bytes[address + k] = payload[k]
                self.written += 1
        self.log.append((now, "write", address, beat.data, beat.strobe, beat.last))
        assert beat.last == (extra == 0)
        if beat.last:
            self.acks.append((now + self.write_latency, address, bad))
            self.requests.popleft()
        else:
            pending[0], pending[1] = address + n, extra - 1


class _Kin:
    """What the warps of a TB have in common, if they have: most do, as those of a kernel."""

    def __init__(self, rng: np.random.Generator, registers: int):
        self.rng, self.related = rng, rng.random() < 0.7
        self.moves = [rng.choice(("same", "stride", "any")) for _ in range(registers)]
        self.others = rng.integers(0, 1 << 32, registers)
        self.usual = rng.integers(0, 1 << 32, UNIFORMS).tolist()

    def _often(self, share: float) -> bool:
        return self.related and self.rng.random() < share

    def whole(self) -> bool:
        """All lanes of a warp are live."""
        return self._often(0.7)

    def share(self, warp: Warp, before: Warp | None, last: Warp | None) -> None:
        """Give a warp scalars, and what is live, of the one `before` in its TB; the first those of the `last` TB."""
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


class Machine:
    """Everything around the engine. Call `run` with a coroutine that issues commands through `command`."""

    def __init__(self, g: Geometry, seed: int | str = 0, stall: float = 0.0, latency: int | None = None,
                 write_latency: int | None = None):
        self.g, self.rng, self.stall = g, random.Random(seed), stall
        self.dut = component(PreemptEngine, g)
        core, launch = self.dut.core, self.dut.launch
        self.streams = {"save_read": core.registers.read, "restore_write": core.registers.restore_write,
                        "restore_predicate": core.registers.restore_predicate,
                        "warp_init": launch.warp_init, "stack_push": launch.stack_push, "row": core.shared.row}
        latency = latency or g.memory_latency
        self.memory = Memory(g, latency, write_latency or latency, random.Random(seed))
        self.kernels, self.tbs, self.warps = {}, {}, {}
        self.file = [[0] * g.warp_size for _ in range(g.registers)]
        self.shared = [0] * (g.shared_bytes // 4)
        self.lines_valid = self.lines_dirty = 0
        self.now, self.log = 0, self.memory.log
        self.since, self.halted = {}, {}  # of TBs that stop: since which cycle, and at which age at once
        self.pending = self.stop_now = self.claim = 0
        self.entry = self.rng.sample(range(g.context_entries), g.tb_slots)  # of the TB first put into each slot
        self.admissions, self.read_data, self.row_data = deque(), None, None
        self.admission_cycles: Callable[[int], int] = lambda kernel: self.rng.randint(1, 6)  # until the answer
        self.dead_written, self.started = {}, []
        self.place: Callable[[int], Place] = lambda kernel: pytest.fail("nothing was to be admitted")
        self.added: Warp | None = None  # the warp put in last
        self.full_until = {}  # launch id of a restored TB: cycle before which there is no room for it
        self.last, self.changes = {}, []
        self.uniforms = self.rng.choice((0, 0.1, 0.5, 1))  # share of the uniform registers that a warp has written

    # --- building state ---

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
        """What has to come back: per warp of the TB and for shared memory (invalid reads as zero)."""
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

    # --- the SM, a cycle at a time ---

    def age(self, tb: int) -> int:
        """Cycles since a TB is to stop, -1 if it is not."""
        return self.now - self.since[tb] if tb in self.since else -1

    def exited(self, warp: Warp) -> bool:
        age = self.age(warp.tb)
        return warp.killed or warp.live == 0 or (warp.exits is not None and age >= warp.exits)

    def stopped(self, warp: Warp) -> bool:
        row = self.tbs[warp.tb]
        if not row.started or self.exited(warp) or warp.tb not in self.since:
            return False
        return warp.stood or self.age(warp.tb) >= min(warp.stops, self.halted.get(warp.tb, warp.stops) + SETTLING)

    def ready(self) -> bool:
        return self.rng.random() >= self.stall

    def put(self, port: Any, value: Any):
        """Note an input that changes, for `flush`."""
        if self.last.get(id(port)) != value:
            self.last[id(port)] = value
            self.changes.append((port, value))

    def flush(self, ctx: Context):
        """Set the inputs that change, all at once: every call of `set` evaluates the whole block."""
        if self.changes:
            parts, bits, width = [], 0, 0
            for port, value in self.changes:
                signal, shape = Value.cast(port), port.shape()
                number = shape.const(value).as_bits() if isinstance(shape, Layout) else value
                parts.append(signal)
                bits |= (number & (1 << len(signal)) - 1) << width
                width += len(signal)
            ctx.set(Cat(parts), bits)
            self.changes.clear()

    def drive(self, ctx: Context, again: bool = False):
        """Set all inputs of this cycle, perhaps `again`; they follow from registered outputs."""
        dut, g = self.dut, self.g
        self.pending, self.stop_now = ctx.get(dut.core.stop.pending), ctx.get(dut.core.stop.stop_now)
        assert not self.stop_now & ~self.pending
        for t in range(g.tb_slots):
            if self.pending >> t & 1:
                self.since.setdefault(t, self.now)
            else:
                self.since.pop(t, None)
            if self.stop_now >> t & 1:
                self.halted.setdefault(t, self.age(t))
            else:
                self.halted.pop(t, None)
        for warp in self.warps.values():
            warp.stood = self.stopped(warp)
            warp.between = warp.stood and not warp.waiting and warp.stops > self.halted.get(warp.tb, warp.stops)
        self.put(dut.core.stop.stopped, sum(1 << s for s, w in self.warps.items() if self.stopped(w)))
        self.put(dut.core.stop.exited, sum(1 << s for s, w in self.warps.items() if self.exited(w)))
        self.put(dut.core.shared.valid, self.lines_valid)
        self.put(dut.core.shared.dirty, self.lines_dirty)
        self.put(dut.resident, [self.row(t) for t in range(g.tb_slots)])
        self.claim = ctx.get(dut.claim)
        self.views(ctx)
        for stream in self.streams.values():
            self.put(stream.ready, self.ready())
        for port in (dut.read_port, dut.write_port):
            self.put(port.request.ready, self.ready())
        self.put(dut.write_port.beat.ready, self.ready() and bool(self.memory.requests))
        for port, words in ((dut.core.registers.read_data, self.read_data), (dut.core.shared.row_data, self.row_data)):
            self.put(port, {"valid": 0} if words is None else {"valid": 1, "data": words})
        self.drive_memory()
        if not again:
            self.drive_dispatcher(ctx)
        self.flush(ctx)

    def row(self, t: int) -> dict[str, Any]:
        if t not in self.tbs:
            return {}
        tb = self.tbs[t]
        return {"valid": 1, "started": tb.started, "kernel": tb.kernel, "launch_id": tb.launch_id,
                "ctaid_x": tb.ctaid[0], "ctaid_y": tb.ctaid[1], "ctaid_z": tb.ctaid[2], "base": tb.base,
                "first_line": tb.first_line, "lines": tb.lines, "entry": tb.entry,
                "warps": sum(1 << s for s in tb.slots)}

    def views(self, ctx: Context):
        save, flags = self.dut.core.warps.save, self.dut.core.registers.flags
        select = ctx.get(save.window.select)
        warp = self.warps.get(select.warp)
        if warp:
            kernel = self.tbs[warp.tb].kernel
            pc, mask, reconv = warp.stack[select.entry] if select.entry < len(warp.stack) else (0, 0, 0)
            self.put(save.window.view, {
                "valid": 1, "tb": warp.tb, "kernel": kernel, "block_warp": warp.block_warp, "base": warp.base,
                "registers": self.kernels[kernel].registers, "launched": warp.launched, "live": warp.live,
                "waiting": warp.waiting, "barrier": warp.barrier, "parked": 1, "between": warp.between,
                "live_vector": warp.live_vector,
                "depth": len(warp.stack), "pc": pc, "mask": mask, "reconv": reconv})
            self.put(save.uniforms_written, sum(1 << u for u in warp.uniforms))
            self.put(save.uniform_values, pair_values(warp.uniforms, ctx.get(save.uniform_select)))
        warp = self.warps.get(ctx.get(flags.warp))
        if warp:
            self.put(flags.valid, warp.valid)
            self.put(flags.dirty, warp.dirty)
            self.put(flags.predicates_written, sum(1 << p for p in warp.predicates))
            self.put(flags.predicate_value, warp.predicates.get(ctx.get(flags.predicate_select), 0))

    def drive_memory(self):
        dut, memory, n = self.dut, self.memory, self.g.bus_bytes
        beat, ack = dut.read_port.beat, dut.write_port.ack
        ready = memory.reads and memory.reads[0][0] <= self.now and self.ready()
        self.put(beat.valid, bool(ready))
        if ready:
            _, address, last, bad = memory.reads[0]
            self.put(beat.payload, {"data": int.from_bytes(memory.bytes[address:address + n], "little"),
                                    "last": last, "error": bad})
        ready = memory.acks and memory.acks[0][0] <= self.now and self.ready()
        self.put(ack.valid, bool(ready))
        if ready:
            self.put(ack.payload, {"error": memory.acks[0][2]})

    def drive_dispatcher(self, ctx: Context):
        """Answer admissions after a while, in a place of `self.place(kernel)`."""
        dut = self.dut
        self.put(dut.admit.ready, self.ready() and not self.admissions)
        answer = {"valid": 0}
        asked = self.admissions.popleft()[1] if self.admissions and self.admissions[0][0] <= self.now else None
        if asked is not None and self.now < self.full_until.get(asked.launch_id, 0):
            answer = {"valid": 1, "full": 1}
        elif asked is not None:
            tb, base, first_line, slots = self.place(asked.kernel)
            k = self.kernels[asked.kernel]
            self.tbs[tb] = Tb(asked.kernel, asked.launch_id, (asked.ctaid_x, asked.ctaid_y, asked.ctaid_z), base,
                              first_line, -(-k.shared_bytes // SEGMENT), list(slots), asked.entry, started=False)
            mine = (1 << self.tbs[tb].lines) - 1 << first_line
            self.lines_valid, self.lines_dirty = self.lines_valid & ~mine, self.lines_dirty & ~mine
            every = list(slots) + [0] * (self.g.max_block_warps - len(slots))
            answer = {"valid": 1, "tb": tb, "base": base, "first_line": first_line, "slots": every}
        self.put(dut.admitted, answer)

    def observe(self, ctx: Context):
        """Carry out the transfers of this cycle."""
        dut, g = self.dut, self.g
        taken = {name: ctx.get(port.payload) for name, port in (self.streams | {"admit": dut.admit}).items()
                 if ctx.get(port.valid) and ctx.get(port.ready)}
        self.read_data = self.row_data = None
        if "save_read" in taken:
            r = taken["save_read"]
            assert self.stopped(self.warps[r.warp]) or self.warps[r.warp].killed
            assert r.base == self.warps[r.warp].base
            self.read_data = self.file[r.base + r.register][r.beat * g.lanes:(r.beat + 1) * g.lanes]
        if "row" in taken:
            r = taken["row"]
            place = r.row * g.lanes
            if r.write:
                self.shared[place:place + g.lanes] = list(r.data)
                self.lines_valid |= 1 << place // 32
                self.lines_dirty |= 1 << place // 32
            else:
                self.row_data = self.shared[place:place + g.lanes]
        if "warp_init" in taken:
            self.init_warp(taken["warp_init"])
        if "stack_push" in taken:
            p = taken["stack_push"]
            self.warps[p.warp].stack.append((p.pc, p.mask, p.reconv))
        if "restore_write" in taken:
            self.write_register(taken["restore_write"])
        if "restore_predicate" in taken:
            predicate = taken["restore_predicate"]
            self.warps[predicate.warp].predicates[predicate.predicate] = predicate.value
        if ctx.get(dut.core.warps.restore_uniform.valid):
            uniform = ctx.get(dut.core.warps.restore_uniform)
            written = written_uniforms(uniform)
            assert not written.keys() & self.warps[uniform.warp].uniforms.keys()
            self.warps[uniform.warp].uniforms |= written
        if "admit" in taken:
            asked = taken["admit"]
            self.admissions.append((self.now + self.admission_cycles(asked.kernel), asked))
        self.clean(ctx)
        self.observe_memory(ctx)
        if ctx.get(dut.release.valid):
            release = ctx.get(dut.release)
            row = self.tbs.pop(release.tb)
            self.log.append((self.now, "release", release.tb, row.entry))
            for slot in row.slots:
                self.warps.pop(slot, None)
        if ctx.get(dut.launch.start.valid):
            start = ctx.get(dut.launch.start)
            assert not self.tbs[start.tb].started
            self.tbs[start.tb].started = True
            self.started.append(start.tb)
            self.log.append((self.now, "start", start.tb, self.tbs[start.tb].entry))

    def clean(self, ctx: Context):
        """Carry out what is to become clean: of TBs that do not run."""
        warps, lines = ctx.get(self.dut.core.registers.clean), ctx.get(self.dut.core.shared.clean)
        for slot, warp in self.warps.items():
            if warps >> slot & 1:
                assert not self.tbs[warp.tb].started or self.stopped(warp) or self.exited(warp)
                warp.dirty = 0
        if lines.valid:
            self.lines_dirty &= ~((1 << lines.count) - 1 << lines.first)

    def init_warp(self, w: Any):
        row, old = self.tbs[w.tb], self.warps.get(w.warp)
        assert row.slots[w.block_warp] == w.warp and not row.started and w.kept == (old is not None)
        assert w.kernel == row.kernel and w.registers == self.kernels[row.kernel].registers
        assert w.base == row.base + w.block_warp * w.registers
        self.warps[w.warp] = Warp(w.tb, w.block_warp, w.base, w.launched, w.live, w.waiting, w.barrier,
                                  live_vector=w.live_vector, stops=10**9)
        if old is not None:
            assert (old.tb, old.block_warp, old.base) == (w.tb, w.block_warp, w.base)
            assert not old.stack and not old.predicates and not old.uniforms
            new = self.warps[w.warp]
            new.valid, new.dirty, new.kept = old.valid, old.dirty, old.valid

    def write_register(self, w: Any):
        warp = self.warps[w.warp]
        assert w.base == warp.base and w.mask == (1 << self.g.lanes) - 1 and not w.release
        assert w.register < self.kernels[self.tbs[warp.tb].kernel].registers
        beats = self.dead_written.setdefault((w.warp, w.register), [])
        beats.append(w.beat)
        assert beats == list(range(len(beats))) and w.last == (len(beats) == self.g.beats)
        if w.last:
            del self.dead_written[w.warp, w.register]
            assert not (warp.valid & ~warp.kept) >> w.register & 1, "written twice"
            warp.valid |= 1 << w.register
            warp.dirty |= 1 << w.register
            warp.kept &= ~(1 << w.register)
        self.file[w.base + w.register][w.beat * self.g.lanes:(w.beat + 1) * self.g.lanes] = list(w.data)

    def observe_memory(self, ctx: Context):
        dut, memory = self.dut, self.memory
        for port, act in ((dut.read_port.request, lambda p: memory.read(self.now, p.address, p.extra_beats)),
                          (dut.write_port.beat, lambda p: memory.write_beat(self.now, p)),
                          (dut.write_port.request, lambda p: memory.write_request(self.now, p.address, p.extra_beats))):
            if ctx.get(port.valid) and ctx.get(port.ready):
                act(ctx.get(port.payload))
        beat, ack = dut.read_port.beat, dut.write_port.ack
        if ctx.get(beat.valid) and ctx.get(beat.ready):
            memory.reads.popleft()
        if ctx.get(ack.valid) and ctx.get(ack.ready):
            _, address, bad = memory.acks.popleft()
            self.log.append((self.now, "ack", address, bad))

    # --- running ---

    async def cycle(self, ctx: Context):
        self.observe(ctx)
        await ctx.tick()
        self.now += 1
        self.drive(ctx)

    async def command(self, ctx: Context, limit: int = 20000, during: Callable[[int], None] | None = None,
                      **fields: Any) -> tuple[Any, dict[str, int], int]:
        """Run a command to its end, a resume with as many passes as it needs; returns (error, counters, cycles).
        `during(cycle)` is called every cycle, and may change the inputs."""
        begin = self.now
        result = await self.attempt(ctx, begin + limit, during, **fields)
        while result.left and not result.error and not ctx.get(self.dut.withdraw):
            while self.now < max(self.full_until.values(), default=0):
                await self.cycle(ctx)
            result = await self.attempt(ctx, begin + limit, during, **fields, again=1)
        took = self.now - begin
        await self.cycle(ctx)
        counters = ctx.get(self.dut.counters)
        return result.error, {name: counters[name] for name, _ in counters.shape()}, took

    def free_ended(self, claim: int):
        """TBs that nobody claims leave when all their warps have exited, as the dispatcher sees to."""
        for t, row in [*self.tbs.items()]:
            if row.started and not claim >> t & 1 and all(self.exited(self.warps[slot]) for slot in row.slots):
                del self.tbs[t]
                for slot in row.slots:
                    del self.warps[slot]

    async def attempt(self, ctx: Context, limit: int, during: Callable[[int], None] | None = None,
                      **fields: Any) -> Any:
        """Run what the engine takes as one command, which ends before cycle `limit`; returns the result."""
        dut, begin = self.dut, self.now
        ctx.set(dut.command.payload, nested(dut.command.payload.shape(), {"patience": UNLIMITED_PATIENCE} | fields))
        ctx.set(dut.command.valid, 1)
        while not ctx.get(dut.command.ready):
            await self.cycle(ctx)
        await self.cycle(ctx)
        ctx.set(dut.command.valid, 0)
        while not ctx.get(dut.result.valid):
            if during:
                during(self.now - begin)
                self.drive(ctx, again=True)
            await self.cycle(ctx)
            self.free_ended(ctx.get(dut.claim))
            assert self.now < limit, "the command does not end"
        result = ctx.get(dut.result)
        await self.cycle(ctx)
        assert ctx.get(dut.core.stop.pending) == ctx.get(dut.core.stop.stop_now) == ctx.get(dut.claim) == 0
        return result

    def run(self, scenario: Callable[[Context], Awaitable[None]]):
        """Simulate `scenario(ctx)`; every command in it is bounded."""
        async def bench(ctx: Context):
            for k, kernel in self.kernels.items():
                for name in ("registers", "warps", "shared_bytes", "area_bytes", "ccb_base", "block_x"):
                    ctx.set(self.dut.kernels[k][name], getattr(kernel, name))
                ctx.set(self.dut.kernels[k].local_base, 0x1000 * k)
            self.drive(ctx)
            await scenario(ctx)

        simulator = Simulator(self.dut)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        simulator.run()

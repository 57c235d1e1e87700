"""What the tests of the memory units share: warp accesses, a model of them, a driver, and a memory behind the ports."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.isa.opcodes import AtomicOp, Size, Space

__all__ = ["Access", "random_access", "random_atomic", "load_value", "store_bytes", "atomic_value", "perform", "drive",
           "PortMemory", "RegisterWrites"]

LOADS = tuple(Size)
STORES = (Size.U8, Size.U16, Size.B32, Size.B64, Size.B128)


@dataclass
class Access:
    """One warp instruction: `address` of each lane; ``data[k]`` is what register ``d + k`` of each lane holds.

    Of an atomic (`function`), `data` is b, c, high b, high c of each lane; it writes registers if `returns`. Addresses
    of `Space.LOCAL` are offsets.
    """

    warp: int
    size: Size
    store: bool
    mask: int
    address: list[int]
    data: np.ndarray
    d: int
    pc: int
    base: int = 0
    tb: int = 0
    kernel: int = 0
    function: AtomicOp | None = None
    returns: bool = True
    space: Space = Space.GLOBAL
    block_warp: int = 0

    @property
    def lanes(self) -> list[int]:
        """Lanes of the mask, ascending."""
        return [lane for lane in range(len(self.address)) if self.mask >> lane & 1]

    @property
    def misaligned(self) -> list[int]:
        """Lanes of the mask whose address is not a multiple of the size."""
        return [lane for lane in self.lanes if self.address[lane] % self.size.bytes]

    def segments(self) -> list[list[int]]:
        """The lanes of each 128-byte segment, in the order of their lowest lanes."""
        groups: dict[int, list[int]] = {}
        for lane in self.lanes:
            groups.setdefault(self.address[lane] // 128, []).append(lane)
        return list(groups.values())


def random_access(rng: random.Random, g: Geometry, warp: int, d: int, pc: int, first: int, end: int,
                  odd: float = 0.0) -> Access:
    """Return an access of `warp` to bytes `first` to `end`: consecutive, strided, one address, or scattered.

    `odd` is the probability that addresses need not be multiples of the size.
    """
    store = rng.random() < 0.5
    size = rng.choice(STORES if store else LOADS)
    step = 1 if rng.random() < odd else size.bytes
    places = (end - first - size.bytes) // step
    start, stride = rng.randrange(places), rng.choice([0, 1, 1, 1, 2, 5])
    scattered = rng.random() < 0.4
    near = rng.choice([8, 40, places])
    address = [first + step * ((start + (rng.randrange(near) if scattered else lane * stride)) % places)
               for lane in range(g.warp_size)]
    mask = rng.choice([(1 << g.warp_size) - 1, rng.randrange(1, 1 << g.warp_size), 1 << rng.randrange(g.warp_size)])
    words = np.array([[rng.getrandbits(32) for _ in range(g.warp_size)] for _ in range(4)], np.uint32)
    return Access(warp, size, store, mask, address, words, d, pc)


def random_atomic(rng: random.Random, g: Geometry, warp: int, d: int, pc: int, first: int, end: int,
                  odd: float = 0.0) -> Access:
    """Return an atomic of `warp` on bytes `first` to `end`: many lanes on few words, consecutive, or scattered.

    Operands are such that comparisons, wraps and swaps go both ways. `odd` as in `random_access`.
    """
    access = random_access(rng, g, warp, d, pc, first, end)
    narrow_only = (AtomicOp.FADD, AtomicOp.INC, AtomicOp.DEC)
    access.store, access.function = False, rng.choice(list(AtomicOp))
    access.size = Size.B32 if access.function in narrow_only else rng.choice([Size.B32, Size.B64])
    access.returns = access.function in (AtomicOp.EXCH, AtomicOp.CAS) or rng.random() < 0.6
    step = access.size.bytes
    places = min((end - first) // step, rng.choice([1, 3, 16, 1000]))
    start, stride = rng.randrange((end - first) // step - places + 1), rng.choice([None, 1, 1, 5])
    access.address = [first + step * (start + (rng.randrange(places) if stride is None else lane * stride % places))
                      for lane in range(g.warp_size)]
    if rng.random() < odd:
        access.address[rng.randrange(g.warp_size)] += rng.randrange(1, step)
    small = rng.random() < 0.5
    for lane in range(g.warp_size):
        for k in range(4):
            word = rng.randrange(4) if small and k < 2 else 0 if small else rng.getrandbits(32)
            if access.function is AtomicOp.FADD:
                word = int(np.float32(rng.choice([0.1, 1e20, -1e20, -0.0, 3e38, 2.5e-45, 1])).view(np.uint32))
            access.data[k][lane] = word
    return access


def load_value(memory: np.ndarray, address: int, size: Size) -> list[int]:
    """Return the register values, one a register, that a load of `size` at `address` gives."""
    raw = memory[address:address + size.bytes].tobytes()
    if size.bytes < 4:
        return [int.from_bytes(raw, "little", signed=size in (Size.S8, Size.S16)) & 0xFFFF_FFFF]
    return [int.from_bytes(raw[4 * k:4 * k + 4], "little") for k in range(size.registers)]


def store_bytes(memory: np.ndarray, access: Access, lanes: Iterable[int], offset: int = 0):
    """Apply a store of the given lanes, ascending, so that the highest wins; `offset` is added to addresses."""
    for lane in lanes:
        raw = b"".join(int(access.data[k][lane]).to_bytes(4, "little") for k in range(access.size.registers))
        here = access.address[lane] + offset
        memory[here:here + access.size.bytes] = np.frombuffer(raw[:access.size.bytes], np.uint8)


def atomic_value(function: AtomicOp, wide: bool, old: int, b: int, c: int) -> int:
    """Return what an atomic leaves in memory, in Python's integers (f32 sums: numpy's), as an outside judge."""
    bits = 64 if wide else 32
    mask = (1 << bits) - 1
    old, b, c = old & mask, b & mask, c & mask
    if function is AtomicOp.FADD:
        with np.errstate(all="ignore"):
            total = np.uint32(old).view(np.float32) + np.uint32(b).view(np.float32)
        return 0x7FFF_FFFF if np.isnan(total) else int(total.view(np.uint32))
    signed = [value - (value >> bits - 1 << bits) for value in (old, b)]
    return mask & {
        AtomicOp.ADD: old + b, AtomicOp.MIN_S: min(signed), AtomicOp.MIN_U: min(old, b), AtomicOp.MAX_S: max(signed),
        AtomicOp.MAX_U: max(old, b), AtomicOp.AND: old & b, AtomicOp.OR: old | b, AtomicOp.XOR: old ^ b,
        AtomicOp.EXCH: b, AtomicOp.CAS: c if old == b else old, AtomicOp.INC: 0 if old >= b else old + 1,
        AtomicOp.DEC: b if old == 0 or old > b else old - 1,
    }[function]


def perform(memory: np.ndarray, access: Access, lane: int, offset: int = 0) -> int:
    """Apply one lane of an atomic to `memory` and return what was there; `offset` is added to the address."""
    here, size = access.address[lane] + offset, access.size.bytes
    b, c, high_b, high_c = (int(row[lane]) for row in access.data)
    old = int.from_bytes(memory[here:here + size].tobytes(), "little")
    assert access.function is not None
    new = atomic_value(access.function, size == 8, old, high_b << 32 | b, high_c << 32 | c)
    memory[here:here + size] = np.frombuffer(new.to_bytes(size, "little"), np.uint8)
    return old


async def drive(ctx, unit, g: Geometry, access: Access):
    """Send one instruction to a memory unit as its beats; the unit must take each at once."""
    for beat in range(g.beats):
        part = slice(beat * g.lanes, (beat + 1) * g.lanes)
        ctx.set(unit.access.op.payload, {
            "warp": access.warp, "tb": access.tb, "kernel": access.kernel, "base": access.base, "pc": access.pc,
            "d": access.d, "size": access.size, "store": access.store, "beat": beat, "last": beat == g.beats - 1,
            "atomic": access.function is not None, "function": access.function or 0, "space": access.space,
            "writes_d": not access.store and access.returns, "block_warp": access.block_warp,
            "mask": access.mask >> part.start & (1 << g.lanes) - 1, "address": access.address[part]}
            | ({"data": [[int(word) for word in row[part]] for row in access.data]}
               if "data" in unit.access.op.payload.shape().members else {}))
        ctx.set(unit.access.op.valid, 1)
        *_, ready = await ctx.tick().sample(unit.access.op.ready)
        ctx.set(unit.access.op.valid, 0)
        assert ready, "the unit refused an operation within its credit"


@dataclass
class RegisterWrites:
    """Collects register writes and checks their form: beats ascending, a register's not interrupted.

    ``registers[warp, register]`` are the values by lane (None where not written); ``released[warp, register]``
    counts releases. The caller removes what it has compared.
    """

    geometry: Geometry
    registers: dict = field(default_factory=dict)
    released: dict = field(default_factory=dict)
    beats: int = 0
    _expected: int = 0
    _packet: tuple | None = None

    def take(self, write):
        """Take one beat, a constant of the register_write layout."""
        g = self.geometry
        header = (write.warp, write.base, write.register)
        assert write.beat == self._expected and self._packet in (None, header), "beats of a register out of order"
        assert write.last == (write.beat == g.beats - 1)
        assert write.last or not write.release
        self._packet = None if write.last else header
        self._expected = 0 if write.last else self._expected + 1
        self.beats += 1
        key = (write.warp, write.register)
        row = self.registers.setdefault(key, [None] * g.warp_size)
        for i in range(g.lanes):
            if write.mask >> i & 1:
                row[write.beat * g.lanes + i] = write.data[i]
            else:
                assert write.data[i] == 0, "data outside the mask"
        self.released[key] = self.released.get(key, 0) + write.release

    def pop(self, access: Access) -> list[list]:
        """Return and forget the registers of a load, which must have been released once each."""
        keys = [(access.warp, access.d + k) for k in range(access.size.registers)]
        assert all(self.released.pop(key) == 1 for key in keys), "a register not released exactly once"
        return [self.registers.pop(key) for key in keys]


class PortMemory:
    """A memory behind a `ReadPort` and a `WritePort`, with processes to add to a simulation.

    Parameters
    ----------
    size : int
        Bytes, from address 0.
    latency : int
        Cycles before a burst is answered.
    busy : callable
        Whether to hold back this cycle, asked for each channel.
    fails : callable
        Whether the segment at this address answers with errors; its stores are not done.
    refuses : callable
        Whether it answers only stores with errors, which are not done.
    """

    def __init__(self, g: Geometry, size: int, latency: int, busy: Callable[[], bool] = lambda: False,
                 fails: Callable[[int], bool] = lambda address: False,
                 refuses: Callable[[int], bool] = lambda address: False):
        self.geometry, self.latency, self.busy, self.fails, self.refuses = g, latency, busy, fails, refuses
        self.bytes = np.zeros(size, np.uint8)
        self.read_bursts: list[int] = []
        self.read_cycles: list[int] = []
        self.write_cycles: list[int] = []
        self.most_outstanding = 0

    def reader(self, port) -> Callable:
        """Return the process that answers a read port."""
        g = self.geometry

        async def process(ctx):
            waiting, cycle, beat = deque(), 0, None
            while True:
                ready = not self.busy()
                ctx.set(port.request.ready, ready)
                if beat is None and waiting and waiting[0][0] <= cycle and not self.busy():
                    _, address, left = waiting[0]
                    data = int.from_bytes(self.bytes[address:address + g.bus_bytes].tobytes(), "little")
                    beat = {"data": data, "last": left == 0, "error": self.fails(address)}
                    ctx.set(port.beat.payload, beat)
                ctx.set(port.beat.valid, beat is not None)
                *_, asked, address, extra, taken = await ctx.tick().sample(
                    port.request.valid, port.request.payload.address, port.request.payload.extra_beats,
                    port.beat.ready)
                cycle += 1
                if asked and ready:
                    assert address % 128 + (extra + 1) * g.bus_bytes <= 128 and address % g.bus_bytes == 0
                    waiting.append((cycle + self.latency, address, extra))
                    self.read_bursts.append(address)
                    self.most_outstanding = max(self.most_outstanding, len(waiting))
                if beat is not None and taken:
                    self.read_cycles.append(cycle)
                    due, address, left = waiting.popleft()
                    if left:
                        waiting.appendleft((due, address + g.bus_bytes, left - 1))
                    beat = None
        return process

    def writer(self, port) -> Callable:
        """Return the process that answers a write port."""
        g = self.geometry

        async def process(ctx):
            bursts, beats, waiting, cycle, offered = deque(), deque(), deque(), 0, False
            while True:
                ready, space = not self.busy(), not self.busy()
                ctx.set(port.request.ready, ready)
                ctx.set(port.beat.ready, space)
                if not offered and waiting and waiting[0][0] <= cycle and not self.busy():
                    offered = True
                    ctx.set(port.ack.payload.error, waiting[0][1])
                ctx.set(port.ack.valid, offered)
                *_, asked, address, extra, valid, data, strobe, last, taken = await ctx.tick().sample(
                    port.request.valid, port.request.payload.address, port.request.payload.extra_beats,
                    port.beat.valid, port.beat.payload.data, port.beat.payload.strobe, port.beat.payload.last,
                    port.ack.ready)
                cycle += 1
                if offered and taken:
                    waiting.popleft()
                    offered = False
                if asked and ready:
                    assert address % 128 + (extra + 1) * g.bus_bytes <= 128 and address % g.bus_bytes == 0
                    bursts.append((address, extra))
                if valid and space:
                    self.write_cycles.append(cycle)
                    beats.append((data, strobe, last))
                while bursts and len(beats) > bursts[0][1]:
                    address, extra = bursts.popleft()
                    failed = self.fails(address) or self.refuses(address)
                    taken_beats = [beats.popleft() for _ in range(extra + 1)]
                    assert [last for *_, last in taken_beats] == [0] * extra + [1]
                    assert taken_beats[0][1] and taken_beats[-1][1], "a burst longer than what is written"
                    for number, (data, strobe, _) in enumerate(taken_beats):
                        for byte in range(g.bus_bytes):
                            if strobe >> byte & 1 and not failed:
                                self.bytes[address + number * g.bus_bytes + byte] = data >> 8 * byte & 0xFF
                    waiting.append((cycle + self.latency, failed))
        return process

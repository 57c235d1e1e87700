"""A bench that drives `ExecutePipeline` and a model that executes each instruction when it is issued."""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

import numpy as np

from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.arch.isa.opcodes import PT, AluOp, Special, Unit
from caesura.hw.arch.isa.words import Instruction
from caesura.hw.core.execute.pipeline import ExecutePipeline
from caesura.hw.core.execution_units import MEMORY_UNITS, SIDE_UNITS
from caesura.hw.core.units.exchange import ExchangeUnit
from caesura.hw.core.units.f64 import F64Unit
from caesura.hw.core.units.floating import FloatUnit
from caesura.hw.core.units.integer import IntegerLane
from caesura.hw.core.units.sfu import SpecialFunctionUnit

from ..hw.simulation import Context, Simulator, component
from ..selection import quick

MEMORY_PORTS = {row.unit: row.name for row in MEMORY_UNITS}
SIDE_PORTS = {row.unit: row.name for row in SIDE_UNITS}
WIDE = preset("ecp5")  # 32 threads on 8 lanes
GEOMETRIES = {
    "tiny": preset("tiny"),
    "wide": WIDE.replace(warps=6, registers=128),
    "two beats, slow": WIDE.replace(warp_size=16, warps=3, registers=64, alu_latency=8),
}
CHECKED = quick(("tiny", "wide", "two beats, slow"), ["two beats, slow"])
BLOCKS = [(8, 2, 1), (5, 3, 2), (1, 7, 3), (16, 1, 1)]
GRID = (70000, 300, 2)
WORD = 0xFFFF_FFFF


def bits(lanes: Iterable) -> int:
    return int(sum(int(x) << k for k, x in enumerate(lanes)))


def control_bundle(i: Instruction) -> dict:
    """What the decoder makes of an instruction, as far as the execution pipeline looks at it."""
    op, operands = i.op, i.op.operands
    return {
        "unit": op.unit, "alu": op.alu or AluOp.MOV, "function": op.code & 0x7F, "space": op.space or 0,
        "size": op.size or 0, "store": op.store, "atomic": op.is_atomic,
        **{f"pair_{x}": x in op.pairs and x in operands for x in "abc"},
        "d": i.get("d"), "a": i.get("a"), "b": i.get("b"), "c": i.get("c"),
        "reads_a": "a" in operands or ("mem" in operands and not i.get("no_base") and "ud" not in operands),
        "reads_b": "b" in operands, "writes_u": "ud" in operands,
        "reads_c": "c" in operands, "reads_d": "data" in operands, "writes_d": bool(i.writes),
        "data_registers": op.data_registers, "no_base": i.get("no_base") or "param" in operands,
        "use_imm": "imm" in operands,
        "imm": i.get("imm") & WORD, "pd": i.get("pd"), "writes_pd": bool(i.predicate_writes),
    }


class Model:
    """Registers and predicates as they are once everything issued has completed."""

    def __init__(self, g: Geometry, rng: np.random.Generator):
        self.g, self.rng = g, rng
        self.registers = np.zeros((g.warps, 16, g.warp_size), np.uint32)
        self.valid = np.zeros((g.warps, 16), bool)
        self.dirty = np.zeros((g.warps, 16), bool)
        self.predicates = np.zeros((g.warps, 8, g.warp_size), bool)
        self.predicates[:, PT] = True
        self.written = np.zeros((g.warps, 7), bool)

    def write(self, warp: int, register: int, mask: np.ndarray, value: np.ndarray):
        self.registers[warp, register][mask] = value[mask]
        self.valid[warp, register] = True
        self.dirty[warp, register] = True

    def special(self, number: int, warp: int) -> np.ndarray:
        g, lane = self.g, np.arange(self.g.warp_size)
        (x, y, z), (kernel, tb, block_warp) = BLOCKS[warp % 4], self.home(warp)
        linear = block_warp * g.warp_size + lane
        values: dict[int, Any] = {
            Special.LANEID: lane, Special.WARPID: block_warp, Special.SMID: 0, Special.NSMID: 1,
            Special.TID_X: linear % x, Special.TID_Y: linear // x % y, Special.TID_Z: linear // x // y,
            Special.NTID_X: x, Special.NTID_Y: y, Special.NTID_Z: z,
            Special.CTAID_X: 1000 + tb, Special.CTAID_Y: 100 + tb, Special.CTAID_Z: 10 + tb,
            Special.NCTAID_X: GRID[0] + kernel, Special.NCTAID_Y: GRID[1] + kernel,
            Special.NCTAID_Z: GRID[2] + kernel,
        }
        return np.broadcast_to(np.asarray(values.get(number, 0), np.uint32), g.warp_size)

    def home(self, warp: int) -> tuple[int, int, int]:
        """Kernel, TB and warp of the TB of a warp slot; every kernel slot has its own block shape."""
        return warp % 4, warp % self.g.tb_slots, warp % self.g.max_block_warps

    def execute(self, i: Instruction, warp: int, mask: np.ndarray):
        """Apply an instruction of the lanes or of a unit beside them."""
        a, b, c = (self.registers[warp, i.get(x)] for x in "abc")
        pa = self.predicates[warp, i.get("pa")] ^ bool(i.get("pa_not"))
        pb = self.predicates[warp, i.get("pb")] ^ bool(i.get("pb_not"))
        if i.op.unit in SIDE_PORTS:
            self.side(i, warp, mask)
            return
        alu, test = i.op.alu, None
        assert alu is not None
        if alu is AluOp.S2R:
            value = self.special(i.get("imm"), warp)
        elif alu is AluOp.BALLOT:
            value = np.full(self.g.warp_size, bits(mask & pa), np.uint32)
        else:
            if "imm" in i.op.operands:
                b = np.full(self.g.warp_size, i.get("imm") & WORD, np.uint32)
            value, test = (FloatUnit.compute(alu, a, b, c) if alu.is_float
                           else IntegerLane.compute(alu, a, b, c, pa, pb))
        if i.writes:
            self.write(warp, i.get("d"), mask, value)
        if i.predicate_writes:
            assert test is not None
            self.predicates[warp, i.get("pd")][mask] = test[mask]
            self.written[warp, i.get("pd")] = True

    def operand(self, i: Instruction, warp: int, name: str) -> np.ndarray:
        """Return an operand as 64-bit numbers: a register, a pair of them, or the immediate (b)."""
        if name == "b" and "imm" in i.op.operands:
            return np.full(self.g.warp_size, i.get("imm") & WORD, np.uint64)
        low = self.registers[warp, i.get(name)].astype(np.uint64)
        high = self.registers[warp, i.get(name) | 1].astype(np.uint64) if name in i.op.pairs else np.uint64(0)
        return low | high << np.uint64(32)

    def side(self, i: Instruction, warp: int, mask: np.ndarray):
        """Apply an instruction of the f64, special-function or exchange unit."""
        op: Any = i.op.function
        a, b, c = (self.operand(i, warp, name) for name in "abc")
        test = None
        if i.op.unit is Unit.F64:
            value, test = F64Unit.compute(op, a, b, c)
        elif i.op.unit is Unit.SFU:
            value = SpecialFunctionUnit.compute(op, b.astype(np.uint32)).astype(np.uint64)
        else:
            a, b, c = (x.astype(np.uint32) for x in (a, b, c))
            value, test = ExchangeUnit.compute(op, a, b, c, mask)
            value = value.astype(np.uint64)
        for k, register in enumerate(i.writes):
            self.write(warp, register, mask, (value >> np.uint64(32 * k)).astype(np.uint32))
        if i.predicate_writes:
            assert test is not None
            self.predicates[warp, i.get("pd")][mask] = test[mask]
            self.written[warp, i.get("pd")] = True


class Bench:
    """Drives the pipeline as front end, memory units and preemption unit would, with a scoreboard."""

    ctx: Context

    def __init__(self, g: Geometry, seed: int = 0):
        self.g, self.dut, self.rng = g, component(ExecutePipeline, g), np.random.default_rng(seed)
        self.model = Model(g, self.rng)
        self.cycle = 0
        self.pending = [set() for _ in range(g.warps)]         # register numbers, and "p" + predicate
        self.expected = {name: deque() for name in MEMORY_PORTS.values()}  # memory beats to come
        self.results = {name: deque() for name in MEMORY_PORTS.values()}   # beats that an instruction will write back
        self.writes = {name: deque() for name in MEMORY_PORTS.values()}    # beats to write back
        self.places = dict.fromkeys(SIDE_PORTS, 1)
        self.traced = []                                       # (cycle, register write)
        self.trace_predicates, self.throttled = [], 0
        self.stall = 0.0                                       # how often a memory unit is not ready
        self.saved_warp = self.wanted = self.saving = None     # warp, register beat and words read all the time
        self.saves = 0

    def run(self, process: Callable[[], Awaitable[None]]):
        async def bench(ctx: Context):
            self.ctx = ctx
            self.constants()
            self.drive()
            await process()

        sim = Simulator(self.dut)
        sim.add_clock(1e-6)
        sim.add_testbench(bench)
        sim.run()

    def constants(self):
        dut, set_ = self.dut, self.ctx.set
        for k in range(self.g.kernel_slots):
            x, y, z = BLOCKS[k]
            set_(dut.kernels[k], {"block_x": x, "block_y": y, "block_z": z, "reciprocal_x": -(-(1 << 20) // x),
                                  "reciprocal_y": -(-(1 << 20) // y), "grid_x": GRID[0] + k,
                                  "grid_y": GRID[1] + k, "grid_z": GRID[2] + k})
        for k in range(self.g.tb_slots):
            set_(dut.tbs[k], {"ctaid_x": 1000 + k, "ctaid_y": 100 + k, "ctaid_z": 10 + k})

    def base(self, warp: int) -> int:
        return 16 * warp % self.g.registers

    def drive(self):
        """Start a cycle: drive what memory units answer."""
        ctx, dut = self.ctx, self.dut
        for name in MEMORY_PORTS.values():
            access = getattr(dut, f"{name}_access")
            ctx.set(access.op.ready, self.rng.random() >= self.stall)
            queue, port = self.writes[name], access.write
            ctx.set(port.valid, bool(queue))
            if queue:
                ctx.set(port.payload, queue[0])
        ctx.set(dut.issue.op.valid, 0)
        self.wanted = None
        ctx.set(dut.state.read.valid, self.saved_warp is not None)
        if self.saved_warp is not None:
            warp, register = self.saved_warp, int(self.rng.integers(16))
            beat = int(self.rng.integers(self.g.beats))
            self.wanted = warp, register, slice(beat * self.g.lanes, (beat + 1) * self.g.lanes)
            ctx.set(dut.state.read.payload, {"warp": warp, "base": self.base(warp), "register": register,
                                            "beat": beat})

    async def tick(self):
        """Finish a cycle: look at every output, clock, start the next."""
        self.observe()
        await self.ctx.tick()
        self.cycle += 1
        assert self.cycle < 20000
        self.drive()

    def observe(self):
        ctx, dut = self.ctx, self.dut
        self.throttled += ctx.get(dut.issue.throttle)
        if self.saving is not None:
            assert [int(x) for x in ctx.get(dut.state.read_data.data)] == self.saving
            self.saves += 1
        self.saving = None
        if self.wanted is not None and ctx.get(dut.state.read.ready):
            self.saving = self.model.registers[self.wanted].tolist()
        for name in MEMORY_PORTS.values():
            access = getattr(dut, f"{name}_access")
            if ctx.get(access.write.valid) and ctx.get(access.write.ready):
                self.writes[name].popleft()
            op = access.op
            if ctx.get(op.valid) and ctx.get(op.ready):
                expected = self.expected[name].popleft()
                self.check_beat(expected, ctx.get(op.payload))
                if expected["last"]:
                    self.writes[name].extend(self.results[name].popleft())
        for unit, name in SIDE_PORTS.items():
            self.places[unit] += ctx.get(dut.issue.room[name])
        release = ctx.get(dut.issue.release_register)
        if release.valid:
            self.pending[release.warp].remove(release.register)
        release = ctx.get(dut.issue.release_predicate)
        if release.valid:
            self.pending[release.warp].remove(f"p{release.predicate}")
        if ctx.get(dut.trace_write.valid):
            self.traced.append((self.cycle, ctx.get(dut.trace_write.write)))
        if ctx.get(dut.trace_predicate.valid):
            self.trace_predicates.append((self.cycle, ctx.get(dut.trace_predicate.write)))

    @staticmethod
    def check_beat(expected: dict[str, Any], got: Any):
        for name, value in expected.items():
            if name == "address":
                for lane, address in value.items():
                    assert got.address[lane] == address
            elif name == "data":
                for (k, lane), word in value.items():
                    assert got.data[k][lane] == word
            else:
                assert int(got[name]) == value, name

    def hazard(self, warp: int, i: Instruction) -> bool:
        names = {*i.reads, *i.writes, *(f"p{p}" for p in (*i.predicate_reads, *i.predicate_writes))}
        return bool(names & self.pending[warp])

    def issuable(self, i: Instruction) -> bool:
        """Whether the pipeline takes an instruction of this kind in this cycle."""
        ready = self.ctx.get(self.dut.issue.op.ready)
        return bool(ready and self.places.get(i.op.unit, 1)
                    and not (i.op.unit == Unit.ALU and self.ctx.get(self.dut.issue.throttle)))

    def issue(self, warp: int, i: Instruction, mask: np.ndarray):
        """Offer an instruction in this cycle (the pipeline must be ready) and apply it to the model."""
        model, ctx = self.model, self.ctx
        pa, pb = (model.predicates[warp, i.get(x)] ^ bool(i.get(f"{x}_not")) for x in ("pa", "pb"))
        kernel, tb, block_warp = model.home(warp)
        ctx.set(self.dut.issue.op.payload, {
            "op": control_bundle(i), "warp": warp, "tb": tb, "kernel": kernel, "block_warp": block_warp,
            "base": self.base(warp), "pc": self.cycle, "mask": bits(mask), "pa": bits(pa), "pb": bits(pb)})
        ctx.set(self.dut.issue.op.valid, 1)
        self.pending[warp] |= {*i.writes, *(f"p{p}" for p in i.predicate_writes)}
        if i.op.unit in self.places:
            self.places[i.op.unit] -= 1
        if i.op.unit in MEMORY_PORTS:
            self.memory(warp, i, mask)
        else:
            model.execute(i, warp, mask)

    def memory(self, warp: int, i: Instruction, mask: np.ndarray):
        """Note the beats of a memory instruction; a load's data comes back a while later, in two parts."""
        g, model, name = self.g, self.model, MEMORY_PORTS[i.op.unit]
        once = "ud" in i.op.operands  # one beat, of all lanes
        based = "mem" in i.op.operands and not i.get("no_base") and not once
        base = model.registers[warp, i.get("a")].astype(np.uint64) if based else 0
        address = (base + np.uint64(i.get("imm") & WORD)) + np.zeros(g.warp_size, np.uint64) & np.uint64(WORD)
        registers = dict(enumerate(i.get("d") + k for k in range(i.op.data_registers))) if i.op.store else {}
        if i.op.is_atomic:
            high = 1 if i.op.pairs else 0
            used = [x for x in "bc" if x in i.op.operands]
            registers = {"bc".index(x) + 2 * k: i.get(x) + k for x in used for k in range(1 + high)}
        given = np.ones_like(mask) if once else mask
        for beat in [g.beats - 1] if once else range(g.beats):
            lanes = [lane for lane in range(g.lanes) if given[beat * g.lanes + lane]]
            self.expected[name].append({
                "warp": warp, "tb": model.home(warp)[1], "kernel": warp % 4, "base": self.base(warp),
                "pc": self.cycle, "d": i.get("d"), "size": int(i.op.size or 0), "store": int(i.op.store), "beat": beat,
                "atomic": int(i.op.is_atomic), "space": int(i.op.space or 0), "writes_d": int(bool(i.writes)),
                "block_warp": model.home(warp)[2],
                "last": int(beat == g.beats - 1), "mask": bits(given[beat * g.lanes:][:g.lanes]), "writes_u": int(once),
                "address": {lane: int(address[beat * g.lanes + lane]) for lane in lanes},
                "data": {(k, lane): int(model.registers[warp, r][beat * g.lanes + lane])
                         for k, r in registers.items() for lane in lanes},
            } | ({"function": int(i.op.function or 0)} if i.op.is_atomic else {}))
        first, results = mask & (self.rng.random(g.warp_size) < 0.5), []
        for register in i.writes:
            value = self.rng.integers(0, 1 << 32, g.warp_size, dtype=np.uint32)
            for part, release in ((first, 0), (mask & ~first, 1)):
                results.extend(self.beats_of(warp, register, part, value, release))
            model.write(warp, register, mask, value)
        self.results[name].append(results)

    def beats_of(self, warp: int, register: int, mask: np.ndarray, value: np.ndarray,
                 release: int = 0) -> Iterator[dict[str, Any]]:
        g = self.g
        for beat in range(g.beats):
            at, last = beat * g.lanes, beat == g.beats - 1
            yield {"warp": warp, "base": self.base(warp), "register": register, "beat": beat, "last": int(last),
                   "release": int(release and last), "mask": bits(mask[at:at + g.lanes]),
                   "data": [int(x) for x in value[at:at + g.lanes]]}

    async def quiet(self):
        while any(self.pending) or any(self.writes.values()) or any(self.expected.values()):
            await self.tick()
        for _ in range(3):
            await self.tick()

    async def read(self, warp: int, register: int) -> list[int]:
        """Read a register through the save port while nothing is issued."""
        words = []
        for beat in range(self.g.beats):
            self.ctx.set(self.dut.state.read.payload, {"warp": warp, "base": self.base(warp), "register": register,
                                                      "beat": beat})
            self.ctx.set(self.dut.state.read.valid, 1)
            assert self.ctx.get(self.dut.state.read.ready)
            await self.tick()
            assert self.ctx.get(self.dut.state.read_data.valid)
            words += [int(x) for x in self.ctx.get(self.dut.state.read_data.data)]
        return words

    async def check_state(self, warps: Iterable[int] | None = None):
        """Compare every register, predicate and flag of quiet warps with the model."""
        ctx, dut, model = self.ctx, self.dut, self.model
        for warp in warps or range(self.g.warps):
            ctx.set(dut.state.flags.warp, warp)
            assert ctx.get(dut.state.flags.valid) == bits(model.valid[warp])
            assert ctx.get(dut.state.flags.dirty) == bits(model.dirty[warp])
            assert ctx.get(dut.state.flags.predicates_written) == bits(model.written[warp])
            for p in range(8):
                ctx.set(dut.state.flags.predicate_select, p)
                assert ctx.get(dut.state.flags.predicate_value) == bits(model.predicates[warp, p])
            for register in range(16):
                assert await self.read(warp, register) == model.registers[warp, register].tolist()

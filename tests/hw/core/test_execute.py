"""The execution pipeline against a model that executes each instruction when it is issued."""

from collections import deque

import numpy as np
import pytest
from amaranth.sim import Simulator

from caesura.hw.arch.encoding import Instruction
from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa import BY_NAME, OPCODES, PT, AluOp, Special, Unit
from caesura.hw.core.alu import IntegerLane
from caesura.hw.core.execute import ExecutePipeline
from caesura.hw.core.floating import FloatUnit

WIDE = preset("ecp5")  # 32 threads on 8 lanes
GEOMETRIES = {
    "tiny": preset("tiny"),
    "wide": WIDE.replace(warps=6, registers=128),
    "two beats, slow": WIDE.replace(warp_size=16, warps=3, registers=64, alu_latency=8, param_words=5),
}
BLOCKS = [(8, 2, 1), (5, 3, 2), (1, 7, 3), (16, 1, 1)]
GRID = (70000, 300, 2)
WORD = 0xFFFF_FFFF


def bits(lanes) -> int:
    return int(sum(int(x) << k for k, x in enumerate(lanes)))


def control_bundle(i: Instruction) -> dict:
    """What the decoder makes of an instruction, as far as the execution pipeline looks at it."""
    op, operands = i.op, i.op.operands
    return {
        "unit": op.unit, "alu": op.alu or AluOp.MOV, "size": op.size or 0, "store": op.store,
        "d": i.get("d"), "a": i.get("a"), "b": i.get("b"), "c": i.get("c"),
        "reads_a": "a" in operands or ("mem" in operands and not i.get("no_base")), "reads_b": "b" in operands,
        "reads_c": "c" in operands, "reads_d": "data" in operands, "writes_d": bool(i.writes),
        "data_registers": op.data_registers, "no_base": i.get("no_base"), "use_imm": "imm" in operands,
        "imm": i.get("imm") & WORD, "pd": i.get("pd"), "writes_pd": "pd" in operands,
    }


class Model:
    """Registers and predicates as they are once everything issued has completed."""

    def __init__(self, g, rng):
        self.g, self.rng = g, rng
        self.registers = np.zeros((g.warps, 16, g.warp_size), np.uint32)
        self.valid = np.zeros((g.warps, 16), bool)
        self.dirty = np.zeros((g.warps, 16), bool)
        self.predicates = np.zeros((g.warps, 8, g.warp_size), bool)
        self.predicates[:, PT] = True
        self.written = np.zeros((g.warps, 7), bool)
        self.params = rng.integers(0, 1 << 32, (g.kernel_slots, g.param_words), dtype=np.uint32)

    def write(self, warp, register, mask, value, dirty=True):
        self.registers[warp, register][mask] = value[mask]
        self.valid[warp, register] = True
        self.dirty[warp, register] |= dirty

    def special(self, number, warp):
        g, lane = self.g, np.arange(self.g.warp_size)
        (x, y, z), (kernel, tb, block_warp) = BLOCKS[warp % 4], self.home(warp)
        linear = block_warp * g.warp_size + lane
        values = {
            Special.LANEID: lane, Special.WARPID: block_warp, Special.SMID: 0, Special.TID_X: linear % x,
            Special.TID_Y: linear // x % y, Special.TID_Z: linear // x // y, Special.NTID_X: x, Special.NTID_Y: y,
            Special.NTID_Z: z, Special.CTAID_X: 1000 + tb, Special.CTAID_Y: 100 + tb, Special.CTAID_Z: 10 + tb,
            Special.NCTAID_X: GRID[0] + kernel, Special.NCTAID_Y: GRID[1] + kernel,
            Special.NCTAID_Z: GRID[2] + kernel,
        }
        return np.broadcast_to(np.asarray(values.get(number, 0), np.uint32), g.warp_size)

    def home(self, warp):
        """Kernel, TB and warp of the TB of a warp slot; every kernel slot has its own block shape."""
        return warp % 4, warp % self.g.tb_slots, warp % self.g.max_block_warps

    def execute(self, i: Instruction, warp, mask):
        """Apply an ALU instruction; return its register and predicate results."""
        a, b, c = (self.registers[warp, i.get(x)] for x in "abc")
        pa = self.predicates[warp, i.get("pa")] ^ bool(i.get("pa_not"))
        pb = self.predicates[warp, i.get("pb")] ^ bool(i.get("pb_not"))
        if i.op.alu == AluOp.S2R:
            value, test = self.special(i.get("imm"), warp), None
        elif i.op.alu == AluOp.LDP:
            value, test = np.full(self.g.warp_size, self.params[warp % 4, i.get("imm") // 4]), None
        else:
            if "imm" in i.op.operands:
                b = np.full(self.g.warp_size, i.get("imm") & WORD, np.uint32)
            value, test = (FloatUnit.compute(i.op.alu, a, b, c) if i.op.alu.is_float
                           else IntegerLane.compute(i.op.alu, a, b, c, pa, pb))
        if i.writes:
            self.write(warp, i.get("d"), mask, value)
        if i.predicate_writes:
            self.predicates[warp, i.get("pd")][mask] = test[mask]
            self.written[warp, i.get("pd")] = True


class Bench:
    """Drives the pipeline as front end, memory units and preemption unit would, with a scoreboard."""

    def __init__(self, g, seed=0):
        self.g, self.dut, self.rng = g, ExecutePipeline(g), np.random.default_rng(seed)
        self.model = Model(g, self.rng)
        self.cycle = 0
        self.pending = [set() for _ in range(g.warps)]         # register numbers, and "p" + predicate
        self.expected = {"global": deque(), "shared": deque()}  # memory beats to come
        self.writes = {"global": deque(), "shared": deque()}    # beats to write back
        self.traced = []                                       # (cycle, register write)
        self.trace_predicates, self.faults, self.throttled = [], [], 0
        self.stall = 0.0                                       # how often a memory unit is not ready
        self.saved_warp = self.wanted = self.saving = None     # warp, register beat and words read all the time
        self.saves = 0

    def run(self, process):
        async def bench(ctx):
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

    def base(self, warp):
        return 16 * warp % self.g.registers

    def drive(self):
        """Start a cycle: drive what memory units and parameters answer."""
        ctx, dut = self.ctx, self.dut
        for name in ("global", "shared"):
            ctx.set(getattr(dut, f"{name}_op").ready, self.rng.random() >= self.stall)
            queue, port = self.writes[name], getattr(dut, f"{name}_write")
            ctx.set(port.valid, bool(queue))
            if queue:
                ctx.set(port.payload, queue[0])
        select = ctx.get(dut.param_select)
        ctx.set(dut.param_value, int(self.model.params[select.kernel][select.word % self.g.param_words]))
        ctx.set(dut.issue.valid, 0)
        self.wanted = None
        ctx.set(dut.save_read.valid, self.saved_warp is not None)
        if self.saved_warp is not None:
            warp, register = self.saved_warp, int(self.rng.integers(16))
            beat = int(self.rng.integers(self.g.beats))
            self.wanted = warp, register, slice(beat * self.g.lanes, (beat + 1) * self.g.lanes)
            ctx.set(dut.save_read.payload, {"warp": warp, "base": self.base(warp), "register": register,
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
        self.throttled += ctx.get(dut.throttle)
        if self.saving is not None:
            assert [int(x) for x in ctx.get(dut.save_data.data)] == self.saving
            self.saves += 1
        self.saving = None
        if self.wanted is not None and ctx.get(dut.save_read.ready):
            self.saving = self.model.registers[self.wanted].tolist()
        for name in ("global", "shared"):
            if ctx.get(getattr(dut, f"{name}_write").valid) and ctx.get(getattr(dut, f"{name}_write").ready):
                self.writes[name].popleft()
            op = getattr(dut, f"{name}_op")
            if ctx.get(op.valid) and ctx.get(op.ready):
                self.check_beat(self.expected[name].popleft(), ctx.get(op.payload))
        release = ctx.get(dut.release_register)
        if release.valid:
            self.pending[release.warp].remove(release.register)
        release = ctx.get(dut.release_predicate)
        if release.valid:
            self.pending[release.warp].remove(f"p{release.predicate}")
        if ctx.get(dut.trace_write.valid):
            self.traced.append((self.cycle, ctx.get(dut.trace_write.write)))
        if ctx.get(dut.trace_predicate.valid):
            self.trace_predicates.append((self.cycle, ctx.get(dut.trace_predicate)))
        if ctx.get(dut.fault.valid):
            self.faults.append(ctx.get(dut.fault))

    @staticmethod
    def check_beat(expected, got):
        for name, value in expected.items():
            if name == "address":
                for lane, address in value.items():
                    assert got.address[lane] == address
            elif name == "data":
                for (k, lane), word in value.items():
                    assert got.data[k][lane] == word
            else:
                assert int(got[name]) == value, name

    def hazard(self, warp, i):
        names = {*i.reads, *i.writes, *(f"p{p}" for p in (*i.predicate_reads, *i.predicate_writes))}
        return bool(names & self.pending[warp])

    def issuable(self, i):
        """Whether the pipeline takes an instruction of this kind in this cycle."""
        ready = self.ctx.get(self.dut.issue.ready)
        return ready and not (i.op.unit == Unit.ALU and self.ctx.get(self.dut.throttle))

    def issue(self, warp, i, mask, fault=False):
        """Offer an instruction in this cycle (the pipeline must be ready) and apply it to the model."""
        model, ctx = self.model, self.ctx
        pa, pb = (model.predicates[warp, i.get(x)] ^ bool(i.get(f"{x}_not")) for x in ("pa", "pb"))
        kernel, tb, block_warp = model.home(warp)
        ctx.set(self.dut.issue.payload, {
            "op": control_bundle(i), "warp": warp, "tb": tb, "kernel": kernel, "block_warp": block_warp,
            "base": self.base(warp), "pc": self.cycle, "mask": bits(mask), "pa": bits(pa), "pb": bits(pb)})
        ctx.set(self.dut.issue.valid, 1)
        self.pending[warp] |= {*i.writes, *(f"p{p}" for p in i.predicate_writes)}
        if i.op.unit != Unit.ALU:
            self.memory(warp, i, mask)
        elif not fault:
            model.execute(i, warp, mask)

    def memory(self, warp, i, mask):
        """Note the beats of a memory instruction; a load's data comes back a while later, in two parts."""
        g, model, name = self.g, self.model, i.op.space.name.lower()
        base = 0 if i.get("no_base") else model.registers[warp, i.get("a")].astype(np.uint64)
        address = (base + np.uint64(i.get("imm") & WORD)) + np.zeros(g.warp_size, np.uint64) & np.uint64(WORD)
        registers = [i.get("d") + k for k in range(i.op.data_registers)] if i.op.store else []
        for beat in range(g.beats):
            lanes = [lane for lane in range(g.lanes) if mask[beat * g.lanes + lane]]
            self.expected[name].append({
                "warp": warp, "tb": model.home(warp)[1], "kernel": warp % 4, "base": self.base(warp),
                "pc": self.cycle, "d": i.get("d"), "size": int(i.op.size), "store": int(i.op.store), "beat": beat,
                "last": int(beat == g.beats - 1), "mask": bits(mask[beat * g.lanes:][:g.lanes]),
                "address": {lane: int(address[beat * g.lanes + lane]) for lane in lanes},
                "data": {(k, lane): int(model.registers[warp, r][beat * g.lanes + lane])
                         for k, r in enumerate(registers) for lane in lanes},
            })
        first = mask & (self.rng.random(g.warp_size) < 0.5)
        for register in i.writes:
            value = self.rng.integers(0, 1 << 32, g.warp_size, dtype=np.uint32)
            for part, release in ((first, 0), (mask & ~first, 1)):
                self.writes[name].extend(self.beats_of(warp, register, part, value, release))
            model.write(warp, register, mask, value)

    def beats_of(self, warp, register, mask, value, release=0):
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

    async def read(self, warp, register):
        """Read a register through the save port while nothing is issued."""
        words = []
        for beat in range(self.g.beats):
            self.ctx.set(self.dut.save_read.payload, {"warp": warp, "base": self.base(warp), "register": register,
                                                      "beat": beat})
            self.ctx.set(self.dut.save_read.valid, 1)
            assert self.ctx.get(self.dut.save_read.ready)
            await self.tick()
            assert self.ctx.get(self.dut.save_data.valid)
            words += [int(x) for x in self.ctx.get(self.dut.save_data.data)]
        return words

    async def check_state(self, warps=None):
        """Compare every register, predicate and flag of quiet warps with the model."""
        ctx, dut, model = self.ctx, self.dut, self.model
        for warp in warps or range(self.g.warps):
            ctx.set(dut.flags_select, warp)
            assert ctx.get(dut.flags_valid) == bits(model.valid[warp])
            assert ctx.get(dut.flags_dirty) == bits(model.dirty[warp])
            assert ctx.get(dut.flags_predicates) == bits(model.written[warp])
            for p in range(8):
                ctx.set(dut.save_predicate_select, p)
                assert ctx.get(dut.save_predicate) == bits(model.predicates[warp, p])
            for register in range(16):
                assert await self.read(warp, register) == model.registers[warp, register].tolist()


ALU = [op for op in OPCODES if op.unit == Unit.ALU]
MEMORY = [op for op in OPCODES if op.unit in (Unit.GLOBAL, Unit.SHARED)]


def random_instruction(rng, g) -> Instruction:
    op = MEMORY[rng.integers(len(MEMORY))] if rng.random() < 0.25 else ALU[rng.integers(len(ALU))]
    pick = {name: int(rng.integers(16)) for name in "dabc"}
    fields = {name: pick[name] for name in "abc" if name in op.operands}
    if "d" in op.operands or "data" in op.operands:
        fields["d"] = pick["d"] - pick["d"] % op.data_registers
    if "mem" in op.operands:
        fields |= {"a": pick["a"], "no_base": int(rng.random() < 0.2)}
    if "imm" in op.operands or "mem" in op.operands:
        fields["imm"] = int(rng.choice([rng.integers(1 << 32), rng.integers(40)]))
    if "sreg" in op.operands:
        fields["imm"] = int(rng.choice([*(s for s in Special if s != Special.CLOCK), 7, 19, 36]))
    if "param" in op.operands:
        fields["imm"] = 4 * int(rng.integers(g.param_words))
    for name in ("pa", "pb", "pd"):
        if name in op.operands:
            fields[name] = int(rng.integers(8))
    for name in ("pa", "pb"):
        if name in op.operands:
            fields[f"{name}_not"] = int(rng.integers(2))
    return Instruction(op, fields)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_random_instructions_leave_the_state_of_the_model(name):
    bench = Bench(GEOMETRIES[name], seed=len(name))
    g, rng = bench.g, bench.rng

    async def process():
        issued = 0
        while issued < 250:
            bench.stall = 0.5 if issued % 100 > 70 else 0.0
            if issued == 30:
                await bench.quiet()
                bench.saved_warp = 0    # from now on warp 0 is read all the time and does nothing
            warp, i = int(rng.integers(issued >= 30, g.warps)), random_instruction(rng, g)
            mask = rng.random(g.warp_size) < rng.choice([0.3, 1.0])
            if rng.random() < 0.9 and mask.any() and not bench.hazard(warp, i):
                while not bench.issuable(i):
                    await bench.tick()
                if not bench.hazard(warp, i):
                    bench.issue(warp, i, mask)
                    issued += 1
            await bench.tick()
        bench.saved_warp = None
        await bench.tick()
        await bench.quiet()
        await bench.check_state()

    bench.run(process)
    assert not bench.faults and bench.saves > 100


@pytest.mark.parametrize("name", GEOMETRIES)
def test_conflict_free_instructions_flow_every_beats_cycles(name):
    bench = Bench(GEOMETRIES[name])
    g, starts = bench.g, []

    async def process():
        for k in range(8):
            while not bench.ctx.get(bench.dut.issue.ready):
                await bench.tick()
            starts.append(bench.cycle)
            bench.issue(k % g.warps, Instruction.make("imad.lo", d=8 + k, a=0, b=1, c=2),
                        np.ones(g.warp_size, bool))
            await bench.tick()
        await bench.quiet()

    bench.run(process)
    assert np.diff(starts).tolist() == [g.beats] * 7
    cycles = [cycle for cycle, _ in bench.traced]
    assert cycles == list(range(cycles[0], cycles[0] + 8 * g.beats))
    assert cycles[0] == starts[0] + 2 + g.alu_latency


@pytest.mark.parametrize("registers, cycles", [((0, 4, 8), 3), ((0, 4, 1), 2), ((5, 5, 5), 1), ((0, 1, 4), 2),
                                               ((4, 4, 3), 1)])
def test_registers_of_one_bank_are_read_in_turn(registers, cycles):
    bench = Bench(preset("tiny"))
    starts = []

    async def process():
        for k in range(3):
            while not bench.ctx.get(bench.dut.issue.ready):
                await bench.tick()
            starts.append(bench.cycle)
            bench.issue(0, Instruction.make("imad.lo", d=10 + k, **dict(zip("abc", registers, strict=True))),
                        np.ones(8, bool))
            await bench.tick()
        await bench.quiet()

    bench.run(process)
    assert np.diff(starts).tolist() == [cycles] * 2


@pytest.mark.parametrize("name", GEOMETRIES)
def test_clear_forgets_registers_and_predicates_of_one_warp(name):
    bench = Bench(GEOMETRIES[name])
    g, model = bench.g, bench.model
    everyone = np.ones(g.warp_size, bool)

    async def go(warp, i, mask=everyone):
        while not bench.issuable(i):
            await bench.tick()
        bench.issue(warp, i, mask)
        await bench.tick()
        await bench.quiet()

    async def process():
        for warp in (0, 1):
            await go(warp, Instruction.make("mov.i", d=3, imm=-5))
            await go(warp, Instruction.make("setp.eq", pd=2, a=3, b=3))
        bench.ctx.set(bench.dut.clear, {"valid": 1, "warp": 1})
        await bench.tick()
        bench.ctx.set(bench.dut.clear, {"valid": 0, "warp": 1})
        model.registers[1] = 0
        model.valid[1] = model.dirty[1] = False
        model.predicates[1, :PT] = False
        model.written[1] = False
        await bench.check_state([0, 1])
        half = np.arange(g.warp_size) % 2 == 0
        await go(1, Instruction.make("iadd.i", d=3, a=3, imm=7), half)      # reads 0, zeroes the other lanes
        await go(1, Instruction.make("por", pd=2, pa=PT, pb=2), half)
        await bench.check_state([0, 1])

    bench.run(process)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_restore_and_save_run_beside_instructions(name):
    bench = Bench(GEOMETRIES[name], seed=3)
    g, rng, model, dut = bench.g, bench.rng, bench.model, bench.dut
    warp, value = 2, np.zeros((8, g.warp_size), np.uint32)
    value[:] = rng.integers(0, 1 << 32, value.shape)
    everyone = np.ones(g.warp_size, bool)

    async def process():
        beats = deque((r, beat) for r in range(8) for beat in bench.beats_of(warp, r, everyone, value[r]))
        restored = 0
        for p in (1, 4):
            bits_ = int(rng.integers(1 << g.warp_size, dtype=np.uint64))
            bench.ctx.set(dut.restore_predicate, {"valid": 1, "warp": warp, "predicate": p, "value": bits_})
            model.predicates[warp, p] = [bits_ >> k & 1 for k in range(g.warp_size)]
            model.written[warp, p] = True
            await busy_cycle(p)
        bench.ctx.set(dut.restore_predicate, {"valid": 0})
        while beats:
            register, beat = beats[0]
            bench.ctx.set(dut.restore_write.payload, beat)
            bench.ctx.set(dut.restore_write.valid, 1)
            bench.ctx.set(dut.mark_clean, register % 2)
            ready = bench.ctx.get(dut.restore_write.ready)
            await busy_cycle(restored)
            restored += 1
            if ready:
                beats.popleft()
                if beat["last"]:
                    model.write(warp, register, everyone, value[register], dirty=register % 2 == 0)
        bench.ctx.set(dut.restore_write.valid, 0)
        assert restored < 40 * g.beats
        assert not any(write.warp == warp for _, write in bench.traced)
        for register in range(8):
            words = await bench.read(warp, register)
            assert words == value[register].tolist()
        await bench.quiet()
        await bench.check_state()

    async def busy_cycle(k):
        """Keep the write port busy with another warp's instructions, as far as throttle lets it."""
        i = Instruction.make("iadd.i", d=k % 13, a=14, imm=k)
        if bench.issuable(i) and not bench.hazard(0, i):
            bench.issue(0, i, everyone)
        await bench.tick()

    bench.run(process)
    assert bench.throttled


def test_saving_waits_for_a_bank_that_instructions_use():
    bench = Bench(preset("tiny"))
    dut = bench.dut

    async def process():
        bench.ctx.set(dut.save_read.payload, {"warp": 1, "base": 16, "register": 6, "beat": 0})
        bench.ctx.set(dut.save_read.valid, 1)
        bench.issue(0, Instruction.make("mov", d=1, b=2), np.ones(8, bool))
        seen = []
        for _ in range(4):
            await bench.tick()
            seen.append(bench.ctx.get(dut.save_read.ready))
        assert seen == [0, 1, 1, 1]

    bench.run(process)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_parameter_out_of_bounds_faults_once_and_writes_nothing(name):
    bench = Bench(GEOMETRIES[name])
    offsets, pcs = (2, 1 << 20, 4 * bench.g.param_words), []

    async def process():
        for offset in offsets:
            pcs.append(bench.cycle)
            bench.issue(1, Instruction(BY_NAME["ldp"], {"d": 5, "imm": offset}), np.ones(bench.g.warp_size, bool),
                        fault=True)
            await bench.tick()
            await bench.quiet()
        await bench.check_state([1])

    bench.run(process)
    assert [(f.kind, f.warp, f.pc, f.address) for f in bench.faults] == [
        (Fault.PARAM_BOUND, 1, pc, offset) for pc, offset in zip(pcs, offsets, strict=True)]
    assert not bench.traced


@pytest.mark.parametrize("name", GEOMETRIES)
def test_trace_has_every_written_beat(name):
    bench = Bench(GEOMETRIES[name])
    g = bench.g
    mask = np.arange(g.warp_size) % 3 == 1

    async def process():
        bench.issue(1, Instruction.make("iaddc", d=4, pd=3, a=0, b=0, pa=PT), mask)
        await bench.tick()
        await bench.quiet()

    bench.run(process)
    writes = [write for _, write in bench.traced]
    assert [(w.warp, w.register, w.beat, w.last) for w in writes] == [
        (1, 4, beat, beat == g.beats - 1) for beat in range(g.beats)]
    assert [int(x) for w in writes for x in w.data] == [int(x) for x in mask]
    assert [w.mask for w in writes] == [p.mask for _, p in bench.trace_predicates]
    assert all(p.predicate == 3 and p.value == 0 for _, p in bench.trace_predicates)
    assert len(bench.trace_predicates) == g.beats


def test_predicate_reads_are_combinational_and_pt_is_true():
    bench = Bench(GEOMETRIES["wide"])
    g, dut = bench.g, bench.dut

    async def process():
        bench.ctx.set(dut.restore_predicate, {"valid": 1, "warp": 3, "predicate": 6, "value": 0x1234_5678})
        await bench.tick()
        bench.ctx.set(dut.restore_predicate, {"valid": 0})
        bench.ctx.set(dut.predicate_select, {"warp": 3, "guard": 6, "pa": PT, "pb": 5})
        assert bench.ctx.get(dut.predicate_guard) == 0x1234_5678
        assert bench.ctx.get(dut.predicate_pa) == (1 << g.warp_size) - 1
        assert bench.ctx.get(dut.predicate_pb) == 0
        bench.ctx.set(dut.predicate_select, {"warp": 2, "guard": 6, "pa": 6, "pb": 6})
        assert bench.ctx.get(dut.predicate_guard) == 0

    bench.run(process)

"""The execution pipeline against a model that executes each instruction when it is issued."""

from collections import deque

import numpy as np
import pytest

from caesura.hw.arch.isa.opcodes import OPCODES, PT, Special, Unit
from caesura.hw.arch.isa.words import Instruction
from caesura.hw.core.execute.overdue import MOST_WAIT
from support.core.execute_bench import CHECKED, GEOMETRIES, MEMORY_PORTS, SIDE_PORTS, Bench
from support.selection import quick

ALU = [op for op in OPCODES if op.unit == Unit.ALU]
MEMORY = [op for op in OPCODES if op.unit in MEMORY_PORTS]
SIDE = [op for op in OPCODES if op.unit in SIDE_PORTS]


def random_instruction(rng, g) -> Instruction:
    kind = rng.random()
    table = MEMORY if kind < 0.25 else SIDE if kind < 0.4 else ALU
    op = table[rng.integers(len(table))]
    pick = {name: int(rng.integers(16)) for name in "dabc"}
    fields = {name: pick[name] & ~1 if name in op.pairs else pick[name] for name in "abc" if name in op.operands}
    if "ud" in op.operands:
        fields["d"] = pick["d"]
    if "d" in op.operands or "data" in op.operands:
        fields["d"] = pick["d"] - pick["d"] % max(1, op.data_registers)
    if "mem" in op.operands:
        fields |= {"a": pick["a"], "no_base": int(rng.random() < 0.2)}
    if "imm" in op.operands or "mem" in op.operands:
        limit = 1 << 23 if op.is_atomic else 1 << 32
        fields["imm"] = int(rng.choice([rng.integers(limit), rng.integers(40)]))
    if "sreg" in op.operands:
        fields["imm"] = int(rng.choice([*(s for s in Special if s != Special.CLOCK), 7, 19, 36]))
    if "param" in op.operands:
        fields["imm"] = 4 * int(rng.integers(64))
    for name in ("pa", "pb", "pd"):
        if name in op.operands:
            fields[name] = int(rng.integers(8))
    for name in ("pa", "pb"):
        if name in op.operands:
            fields[f"{name}_not"] = int(rng.integers(2))
    return Instruction(op, fields)


@pytest.mark.parametrize("name, count", quick(
    [*((name, 200) for name in GEOMETRIES), ("two beats, slow", 80)], [("two beats, slow", 80)]))
def test_random_instructions_leave_the_state_of_the_model(name, count):
    bench = Bench(GEOMETRIES[name], seed=len(name))
    g, rng = bench.g, bench.rng

    async def process():
        issued = 0
        while issued < count:
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
    assert bench.saves > count // 2


@pytest.mark.parametrize("name", CHECKED)
def test_conflict_free_instructions_flow_every_beats_cycles(name):
    bench = Bench(GEOMETRIES[name])
    g, starts = bench.g, []

    async def process():
        for k in range(8):
            while not bench.ctx.get(bench.dut.issue.op.ready):
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
@pytest.mark.parametrize("name", CHECKED)
def test_registers_of_one_bank_are_read_in_turn(name, registers, cycles):
    """As many cycles for each beat."""
    bench = Bench(GEOMETRIES[name])
    starts = []

    async def process():
        for k in range(3):
            while not bench.ctx.get(bench.dut.issue.op.ready):
                await bench.tick()
            starts.append(bench.cycle)
            bench.issue(0, Instruction.make("imad.lo", d=10 + k, **dict(zip("abc", registers, strict=True))),
                        np.ones(bench.g.warp_size, bool))
            await bench.tick()
        await bench.quiet()

    bench.run(process)
    assert np.diff(starts).tolist() == [cycles * bench.g.beats] * 2


@pytest.mark.parametrize("name", CHECKED)
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
        bench.ctx.set(bench.dut.clear, {"valid": 1, "warp": 0, "kept": 1})      # the predicates alone
        await bench.tick()
        bench.ctx.set(bench.dut.clear, {"valid": 0, "warp": 0})
        model.predicates[0, :PT] = False
        model.written[0] = False
        await bench.check_state([0, 1])
        half = np.arange(g.warp_size) % 2 == 0
        await go(1, Instruction.make("iadd.i", d=3, a=3, imm=7), half)      # reads 0, zeroes the other lanes
        await go(1, Instruction.make("por", pd=2, pa=PT, pb=2), half)
        await bench.check_state([0, 1])

    bench.run(process)


@pytest.mark.parametrize("name", CHECKED)
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
            port = dut.state.restore_predicate
            bench.ctx.set(port.payload, {"warp": warp, "predicate": p, "value": bits_})
            bench.ctx.set(port.valid, 1)
            taken = False
            while not taken:
                taken = bench.ctx.get(port.ready)
                await busy_cycle(p)
            model.predicates[warp, p] = [bits_ >> k & 1 for k in range(g.warp_size)]
            model.written[warp, p] = True
        bench.ctx.set(dut.state.restore_predicate.valid, 0)
        while beats:
            register, beat = beats[0]
            bench.ctx.set(dut.state.restore_write.payload, beat)
            bench.ctx.set(dut.state.restore_write.valid, 1)
            ready = bench.ctx.get(dut.state.restore_write.ready)
            await busy_cycle(restored)
            restored += 1
            if ready:
                beats.popleft()
                if beat["last"]:
                    model.write(warp, register, everyone, value[register])
        bench.ctx.set(dut.state.restore_write.valid, 0)
        bench.ctx.set(dut.state.clean, 1 << warp)
        await bench.tick()
        bench.ctx.set(dut.state.clean, 0)
        model.dirty[warp] = False
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


@pytest.mark.parametrize("name", CHECKED)
def test_saving_waits_for_a_bank_that_instructions_use(name):
    bench = Bench(GEOMETRIES[name])
    dut = bench.dut

    async def process():
        bench.ctx.set(dut.state.read.payload, {"warp": 1, "base": 16, "register": 6, "beat": 0})
        bench.ctx.set(dut.state.read.valid, 1)
        bench.issue(0, Instruction.make("mov", d=1, b=2), np.ones(bench.g.warp_size, bool))
        seen = []
        for _ in range(bench.g.beats + 3):
            await bench.tick()
            seen.append(bench.ctx.get(dut.state.read.ready))
        assert seen == [0] * bench.g.beats + [1, 1, 1]

    bench.run(process)


@pytest.mark.parametrize("name", CHECKED)
def test_saving_waits_for_no_more_than_an_instruction_once_it_has_waited_long(name):
    """Warps that read its bank in every cycle, one instruction behind the other."""
    bench = Bench(GEOMETRIES[name])
    dut, g = bench.dut, bench.g
    everyone = np.ones(g.warp_size, bool)

    async def process():
        waited, longest, issued, saves = 0, 0, 0, 0
        for k in range(60 * g.beats + 200):
            i = Instruction.make("mov", d=3 + k % 9, b=2)
            warp = k % (g.warps - 1)
            if bench.issuable(i) and not bench.hazard(warp, i):
                bench.issue(warp, i, everyone)
                issued += 1
            bench.ctx.set(dut.state.read.payload, {"warp": g.warps - 1, "base": 16 * 3, "register": 6, "beat": 0})
            bench.ctx.set(dut.state.read.valid, 1)
            taken = bench.ctx.get(dut.state.read.ready)
            waited = 0 if taken else waited + 1
            longest, saves = max(longest, waited), saves + taken
            await bench.tick()
        assert longest <= MOST_WAIT + g.beats + 1 and saves
        assert issued > 30, "the bank is busy"

    bench.run(process)


@pytest.mark.parametrize("name", CHECKED)
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
    bench = Bench(GEOMETRIES["two beats, slow"])
    g, dut = bench.g, bench.dut

    async def process():
        port = dut.state.restore_predicate
        bench.ctx.set(port.payload, {"warp": 2, "predicate": 6, "value": 0x5678})
        bench.ctx.set(port.valid, 1)
        assert bench.ctx.get(port.ready), "nobody else writes"
        await bench.tick()
        bench.ctx.set(port.valid, 0)
        bench.ctx.set(dut.issue.predicates.select, {"warp": 2, "guard": 6, "pa": PT, "pb": 5})
        assert bench.ctx.get(dut.issue.predicates.guard) == 0x5678
        assert bench.ctx.get(dut.issue.predicates.pa) == (1 << g.warp_size) - 1
        assert bench.ctx.get(dut.issue.predicates.pb) == 0
        bench.ctx.set(dut.issue.predicates.select, {"warp": 1, "guard": 6, "pa": 6, "pb": 6})
        assert bench.ctx.get(dut.issue.predicates.guard) == 0

    bench.run(process)

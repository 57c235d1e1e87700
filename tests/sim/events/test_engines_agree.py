"""The event-driven engine against Amaranth's own: every signal and memory row after every cycle, and messages."""

import functools
import random
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import (
    Array,
    Assert,
    Cat,
    ClockDomain,
    Const,
    DomainRenamer,
    Fragment,
    Module,
    Mux,
    Print,
    ResetInserter,
    Signal,
    Value,
    signed,
    unsigned,
)
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In
from amaranth.sim import Simulator
from amaranth.sim.pysim import PySimEngine

from caesura.hw.arch.geometry import preset
from caesura.hw.core.front_end.front import FrontEnd
from caesura.hw.core.memory.load_store import LoadStore
from caesura.hw.dispatch.allocator import AllocationTable
from caesura.hw.dispatch.room_planner import RoomPlanner
from caesura.hw.preempt.engine import PreemptEngine
from caesura.sim.events import EventEngine
from caesura.sim.events.state import Slot
from support.selection import quick

TINY = preset("tiny")


def recorded(prepared: Any, engine: Any, inputs: list[Signal], cycles: int, seed: int, chance: float) -> tuple:
    """Run a design with random inputs; return all signals after every cycle, by identity, and all memories at last."""
    rng = random.Random(seed)
    simulator = Simulator(Module())
    simulator._design, simulator._engine = prepared, engine(prepared)
    for name in simulator._design.fragment.domains:
        simulator.add_clock(1e-6, domain=name)
    state = simulator._engine.state
    signals = [signal for signal in state.signals if signal.name not in ("clk", "rst")]
    seen: list[list[int]] = []

    async def bench(ctx: Any) -> None:
        for _ in range(cycles):
            for signal in inputs:
                if rng.random() < chance:
                    ctx.set(signal, rng.choice((rng.getrandbits(len(signal)), rng.getrandbits(2), 0, -1)))
            await ctx.tick()
            seen.append([ctx.get(signal) for signal in signals])

    simulator.add_testbench(bench)
    simulator.run()
    values = {id(signal): (signal, column) for signal, *column in zip(signals, *seen, strict=True)}
    return values, {memory: list(state.slots[index].data) for memory, index in state.memories.items()}


def agree(dut: Any, inputs: list[Signal], *, cycles: int = 60, seed: int = 1, chance: float = 0.5,
          engine: Callable[[Any], EventEngine] = EventEngine) -> int:
    """Compare an engine with Amaranth's; return how many signals took more than one value."""
    prepared = Fragment.get(dut, None).prepare()
    theirs, memories = recorded(prepared, PySimEngine, inputs, cycles, seed, chance)
    ours, ours_of_memories = recorded(prepared, engine, inputs, cycles, seed, chance)
    assert all(not len(theirs[key][0]) or theirs[key][0].name.startswith("in_") for key in theirs.keys() - ours.keys())
    wrong = [(signal.name, cycle, a, b) for key, (signal, column) in theirs.items() if key in ours
             for cycle, (a, b) in enumerate(zip(column, ours[key][1], strict=True)) if a != b]
    assert not wrong, "; ".join(f"{name} in cycle {cycle}: {a}, not {b}" for name, cycle, a, b in wrong[:5])
    assert memories == ours_of_memories
    return sum(len(set(column)) > 1 for _, column in theirs.values())


def inputs_of(dut: Any) -> list[Signal]:
    return [Value.cast(value) for _, member, value in dut.signature.flatten(dut) if member.flow is In]


@pytest.mark.parametrize(("block", "moving"), [
    (lambda: AllocationTable(64, 4, 6), 10), (lambda: RoomPlanner(TINY), 30),
    *(pytest.param(make, 100, marks=pytest.mark.full) for make in (
        lambda: FrontEnd(TINY), lambda: LoadStore(TINY), lambda: PreemptEngine(TINY)))],
    ids=["AllocationTable", "RoomPlanner", "FrontEnd", "LoadStore", "PreemptEngine"])
@pytest.mark.parametrize("chance", quick([0.1, 0.5], [0.5]))
def test_blocks(block, moving, chance):
    dut = block()
    assert agree(dut, inputs_of(dut), cycles=100, chance=chance) > moving


def expression(rng: random.Random, leaves: list[Value], depth: int) -> Value:
    """Return a random expression.

    No part of an `as_unsigned` is selected: beyond its end Amaranth's engine finds the sign, where hardware has zeros.
    """
    if depth == 0:
        return rng.choice([*leaves, Const(rng.getrandbits(5), 5), Const(-3, signed(4)), Const(0, 0)])

    def inner() -> Value:
        return expression(rng, leaves, depth - 1)

    def few() -> Value:
        return inner().as_unsigned()[:3]

    match rng.randrange(16):
        case 0:
            return inner() + inner()
        case 1:
            return inner() - inner()
        case 2:
            return inner() * few()
        case 3:
            return inner() // inner()
        case 4:
            return inner() % inner()
        case 5:
            return rng.choice([lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b])(inner(), inner())
        case 6:
            return inner() << few()
        case 7:
            return inner() >> few()
        case 8:
            return rng.choice([lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a == b, lambda a, b: a != b,
                               lambda a, b: a > b, lambda a, b: a >= b])(inner(), inner())
        case 9:
            return rng.choice([lambda a: ~a, lambda a: -a, lambda a: a.any(), lambda a: a.all(), lambda a: a.xor(),
                               lambda a: a.bool(), lambda a: a.as_signed() if len(a) else a,
                               lambda a: a.as_unsigned()])(inner())
        case 10:
            return Mux(inner(), inner(), inner())
        case 11:
            return Cat(inner(), inner(), inner())
        case 12:
            value = inner()
            start = rng.randrange(len(value) + 1)
            return value[start:rng.randrange(start, len(value) + 1)]
        case 13:
            return rng.choice([*leaves, Cat(inner())]).bit_select(few(), rng.randrange(1, 4))
        case 14:
            return Cat(inner()).word_select(few(), 1)
        case _:
            return Array([inner(), inner(), inner()])[few()]


@pytest.mark.parametrize("seed", quick(range(24), range(10)))
def test_random_expressions(seed):
    """Into signals of other widths and signs, at once and through registers, in nested choices."""
    rng = random.Random(seed)
    m = Module()
    inputs = [Signal(shape, name=f"in_{k}") for k, shape in enumerate([
        1, 3, unsigned(8), signed(1), signed(5), signed(9), unsigned(70), 0])]
    leaves: list[Value] = list(inputs)
    for k in range(8):
        shape = rng.choice([unsigned, signed])(rng.choice([1, 2, 7, 20]))
        now, kept = Signal(shape, name=f"now_{k}"), Signal(shape, name=f"kept_{k}", reset_less=rng.random() < 0.3)
        m.d.comb += now.eq(expression(rng, leaves, 3))
        with m.Switch(rng.choice(inputs[1:3])):
            with m.Case(0):
                m.d.sync += kept.eq(expression(rng, leaves, 2))
                m.d.comb += now.eq(expression(rng, leaves, 2))
            with m.Case(1, 2) if rng.random() < 0.5 else m.Default():
                with m.If(rng.choice(leaves).any()):
                    m.d.sync += kept[:1].eq(expression(rng, leaves, 2))
                with m.Else():
                    m.d.sync += Cat(kept.as_unsigned()[1:], Signal(2)).eq(expression(rng, leaves, 2))
        leaves += [now, kept]
    assert agree(m, inputs, seed=seed, cycles=40) > 4


class _Features(wiring.Component):
    """What the blocks do not have: a signal of two modules, ports of memories of every kind, two clock edges."""

    data: In(8)
    address: In(3)
    enable: In(2)
    clear: In(1)

    def elaborate(self, _):
        m = Module()
        shared, part = Signal(8), Module()
        m.d.comb += shared[:4].eq(self.data[:4])
        part.d.comb += shared[4:].eq(~self.data[:4])
        m.submodules.part = part
        mixed = Signal(signed(6))
        m.d.comb += mixed[:2].eq(self.data)
        part.d.sync += mixed[2:].eq(self.data + mixed)

        m.submodules.memory = memory = Memory(shape=8, depth=6, init=[3, 1, 4])
        write = memory.write_port(granularity=4)
        other = memory.write_port()
        reads = [memory.read_port(domain="comb"), memory.read_port(), memory.read_port(transparent_for=(write, other))]
        m.d.comb += [write.addr.eq(self.address), write.data.eq(self.data), write.en.eq(self.enable),
                     other.addr.eq(5), other.data.eq(shared), other.en.eq(self.clear & self.enable[1])]
        for k, port in enumerate(reads):
            m.d.comb += port.addr.eq(self.address + k)
        m.d.comb += [port.en.eq(self.enable[0]) for port in reads[1:]]

        m.domains.falling = ClockDomain(clk_edge="neg")
        count, kept = Signal(5), Signal(5)
        m.d.falling += count.eq(count + self.enable)
        m.d.sync += kept.eq(count)
        counter = Module()
        counted = Signal(4, init=7)
        counter.d.sync += counted.eq(counted + 1)
        m.submodules.counter = ResetInserter(self.clear)(counter)
        half = Module()
        halved = Signal(4)
        half.d.half += halved.eq(halved - reads[0].data)
        m.submodules.half = DomainRenamer({"half": "falling"})(half)

        ring = Signal(4)  # a ring of signals without a ring of bits
        m.d.comb += [ring[0].eq(self.enable[0]), ring[1].eq(ring[0] ^ self.clear), ring[2:].eq(ring[:2] + 1)]
        table = Array(Signal(3, name=f"row_{k}") for k in range(4))
        m.d.sync += table[self.address[:2]].eq(self.data)
        taken = Signal(20)
        m.d.sync += [taken.bit_select(self.address, 3).eq(self.data), taken.word_select(self.enable, 4).eq(ring)]
        with m.FSM():
            with m.State("IDLE"), m.If(self.enable.all()):
                m.next = "BUSY"
            with m.State("BUSY"):
                m.d.sync += taken.eq(self.data)
                m.next = "IDLE"
        with m.If(self.clear):
            m.d.sync += Print("cleared at ", self.address)
        return m


@pytest.mark.parametrize("chance", [0.1, 0.9])
def test_features(chance, capsys):
    dut = _Features()
    assert agree(dut, inputs_of(dut), cycles=300, chance=chance) > 15
    printed = capsys.readouterr().out.splitlines()
    half = len(printed) // 2
    assert half > 10 and printed[:half] == printed[half:]


def test_a_process_that_is_not_woken_is_noticed():
    """By any one of the signals that it reads. Left out are resets, which never come, and what runs anyway."""
    def forgetful(prepared: Any, number: int) -> EventEngine:
        engine = EventEngine(prepared)
        codes = engine._comb | engine._sync
        readers = [(slot, process) for slot in engine.state.slots if isinstance(slot, Slot)
                   for process in (*slot.comb, *slot.sync)
                   if not slot.signal.name.endswith("rst") and len(codes[process].outputs) == 1]
        slot, process = readers[number % len(readers)]
        (slot.comb if process in slot.comb else slot.sync).remove(process)
        places.append(len(readers))
        return engine

    places: list[int] = []
    for number in range(0, 40, 3):
        dut = _Features()
        with pytest.raises(AssertionError, match="in cycle"):
            agree(dut, inputs_of(dut), cycles=400, chance=0.15, engine=functools.partial(forgetful, number=number))
    assert places[0] > 30


def test_assertions_fail():
    m, s = Module(), Signal(4)
    m.d.sync += s.eq(s + 1)
    m.d.comb += Assert(s != 9)
    simulator = Simulator(m, engine=EventEngine)
    simulator.add_clock(1e-6)

    async def bench(ctx: Any) -> None:
        await ctx.tick().repeat(8)
        assert ctx.get(s) == 8
        await ctx.tick()

    simulator.add_testbench(bench)
    with pytest.raises(AssertionError, match="Assertion violated"):
        simulator.run()


def test_a_register_set_from_outside_is_overwritten_at_the_next_edge():
    """Though nothing that its process reads has changed."""
    m, a, b = Module(), Signal(4), Signal(4)
    m.d.sync += b.eq(a)
    simulator = Simulator(m, engine=EventEngine)
    simulator.add_clock(1e-6)

    async def bench(ctx: Any) -> None:
        ctx.set(a, 3)
        await ctx.tick().repeat(3)
        ctx.set(b, 9)
        assert ctx.get(b) == 9
        await ctx.tick()
        assert ctx.get(b) == 3

    simulator.add_testbench(bench)
    simulator.run()


def test_it_starts_again_from_the_initial_state():
    dut = _Features()
    simulator = Simulator(dut, engine=EventEngine)
    for domain in ("sync", "falling"):
        simulator.add_clock(1e-6, domain=domain)
    runs: list[list[int]] = []

    async def bench(ctx: Any) -> None:
        runs.append([])
        ctx.set(dut.enable, 3)
        for value in range(20):
            ctx.set(dut.data, 7 * value)
            ctx.set(dut.address, value)
            await ctx.tick()
            runs[-1].append(hash(tuple(slot.curr for slot in simulator._engine.state.slots if hasattr(slot, "curr"))))

    simulator.add_testbench(bench)
    simulator.run()
    simulator.reset()
    simulator.run()
    assert runs[0] == runs[1] and len(set(runs[0])) == 20


def test_what_it_cannot_do_is_refused(tmp_path):
    m = Module()
    m.domains.sync = ClockDomain(async_reset=True)
    m.d.sync += Signal(name="s").eq(1)
    with pytest.raises(NotImplementedError, match="'sync' is asynchronous"):
        Simulator(m, engine=EventEngine)
    simulator = Simulator(_Features(), engine=EventEngine)
    with pytest.raises(NotImplementedError, match="waveforms"), simulator.write_vcd(tmp_path / "a.vcd"):
        pass

"""The shell of the narrow units: every thread's operands reach the pipeline, every result its register."""

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from caesura.hw.arch.geometry import preset
from caesura.hw.core.units.serializer import Serial
from caesura.hw.interfaces import payloads as payload
from support.core.kept_benches import SideBench
from support.core.side_units import Operation
from support.hw.simulation import component
from support.selection import quick

TINY, ECP5, WIDE = preset("tiny"), preset("ecp5"), preset("gtx480")
CASES = {"8 of 8, one at a time": (TINY, 1, 3), "8 of 8, all at once": (TINY, 8, 1), "32 of 8, one": (ECP5, 1, 5),
         "32 of 8, four": (ECP5, 4, 2), "32 of 8, eight": (ECP5, 8, 4), "32 of 32, one": (WIDE, 1, 7),
         "32 of 32, four": (WIDE, 4, 4), "8 of 4, two": (TINY.replace(lanes=4), 2, 12)}

WIDEST = (0, "32 of 32, four"), (0.8, "32 of 32, one")


class Unit(wiring.Component):
    """A pipeline that returns a - c and a ^ high_b ^ function, and tests whether c is odd."""

    op: stream.Interface
    room: Signal
    write: stream.Interface
    predicate: stream.Interface
    entered: data.View

    def __init__(self, g, threads, latency):
        self.serial = Serial(g, threads=threads, operands=("a", "c", "high_b"), registers=2, latency=latency,
                             predicates=True)
        super().__init__({
            "op": In(stream.Signature(payload.lane_op(g, self.serial.operands), always_ready=True)), "room": Out(1),
            "write": Out(stream.Signature(payload.register_write(g))),
            "predicate": Out(stream.Signature(payload.predicate_write(g))),
            "entered": Out(self.serial.enter.shape()),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.serial = serial = self.serial
        wiring.connect(m, wiring.flipped(self.op), serial.op)
        wiring.connect(m, serial.write, wiring.flipped(self.write))
        wiring.connect(m, serial.predicate, wiring.flipped(self.predicate))
        enter = serial.enter
        m.d.comb += [self.room.eq(serial.room), self.entered.eq(enter)]
        words = [[(enter.a[t] - enter.c[t])[:32] for t in range(serial.threads)],
                 [enter.a[t] ^ enter.high_b[t] ^ enter.function for t in range(serial.threads)]]
        values: Any = Mux(enter.valid, Cat(*words[0], *words[1], *(enter.c[t][0] for t in range(serial.threads))), ~0)
        for _ in range(serial.latency):
            later = Signal(65 * serial.threads)
            m.d.sync += later.eq(values)
            values = later
        m.d.comb += Cat(serial.result.as_value(), serial.tested).eq(values)
        return m


def random_operations(g, rng, count):
    for _ in range(count):
        kind = rng.integers(4)
        mask = int(rng.integers(1, 1 << g.warp_size)) & int(rng.integers(0, 1 << g.warp_size) | (1 << g.warp_size) - 1)
        mask = [mask, (1 << g.warp_size) - 1, 1 << int(rng.integers(g.warp_size))][rng.integers(3)]
        yield Operation(
            int(rng.integers(128)), mask, {n: rng.integers(0, 1 << 32, g.warp_size, np.uint32) for n in "ac"}
            | {"high_b": rng.integers(0, 1 << 32, g.warp_size, np.uint32)},
            warp=int(rng.integers(g.warps)), base=int(rng.integers(g.registers)), d=int(rng.integers(32)) * 2,
            pd=int(rng.integers(7)), registers=int(kind and 1 + kind % 2), writes_pd=bool(kind == 0))


def check(g, operation):
    w = {name: np.asarray(x, np.uint32) for name, x in operation.words.items()}
    lanes = [lane for lane in range(g.warp_size) if operation.mask >> lane & 1]
    results = [w["a"] - w["c"], w["a"] ^ w["high_b"] ^ np.uint32(operation.function)][:operation.registers]
    assert operation.written == [{lane: int(row[lane]) for lane in lanes} for row in results]
    assert operation.tested == ({lane: int(w["c"][lane] & 1) for lane in lanes} if operation.writes_pd else {})


@pytest.mark.parametrize("stalls, case", quick(
    [(stalls, case) for stalls in (0, 0.3, 0.8) for case in CASES],
    [(0, "8 of 4, two"), (0.8, "8 of 8, all at once"), (0, "8 of 8, one at a time"), (0.8, "32 of 8, four")]))
def test_random_stream(case, stalls):
    g, threads, latency = CASES[case]
    rng = np.random.default_rng([len(case), int(10 * stalls)])
    count = 6 if g.lanes == 32 else 20 if g.warp_size == 32 else 30
    bench = SideBench(g, component(Unit, g, threads, latency), random_operations(g, rng, count),
                      lambda: rng.random() < stalls)
    bench.run()
    for operation in bench.operations:
        check(g, operation)


def active_groups(g, threads, mask):
    return sum(bool(mask >> k & (1 << threads) - 1) for k in range(0, g.warp_size, threads))


@pytest.mark.parametrize("case", CASES)
def test_latency(case):
    """As documented, for an instruction on its own."""
    g, threads, latency = CASES[case]
    everything = (1 << g.warp_size) - 1
    for mask in (everything, 1, 1 << g.warp_size - 1, everything // 3, 0x81):
        operation = Operation(3, mask, {name: np.arange(g.warp_size, dtype=np.uint32) for name in ("a", "c", "high_b")},
                              registers=2)
        bench = SideBench(g, component(Unit, g, threads, latency), [operation])
        bench.run()
        assert operation.offered - operation.accepted == latency + active_groups(g, threads, mask) + 5
        assert operation.finished - operation.offered == 2 * g.beats - 1
        check(g, operation)


@pytest.mark.parametrize("case", ["32 of 8, one", "32 of 32, one"])
def test_throughput(case):
    """Back to back, the groups of one instruction follow those of the one before."""
    g, threads, latency = CASES[case]
    rng = np.random.default_rng(1)
    operations = list(random_operations(g, rng, 5))
    for operation in operations:
        operation.mask = (1 << g.warp_size) - 1
    bench = SideBench(g, component(Unit, g, threads, latency), operations)
    bench.run()
    first = [operation.offered for operation in operations]
    assert np.diff(first).tolist() == [g.warp_size] * (len(operations) - 1)
    for operation in operations:
        check(g, operation)


def test_an_instruction_without_active_threads_is_written_with_empty_masks():
    operations = [Operation(0, 0, {}, registers=2), Operation(0, 0, {}, writes_pd=True, registers=0)]
    bench = SideBench(TINY, component(Unit, TINY, 1, 2), operations)
    bench.run()
    assert [(operation.written, operation.tested) for operation in operations] == [([{}, {}], {}), ([], {})]


def test_idle_pipeline_stands_still():
    """Between groups the operands shown to the pipeline do not change."""
    rng = np.random.default_rng(3)
    unit = component(Unit, TINY, 1, 2)
    bench = SideBench(TINY, unit, random_operations(TINY, rng, 10), lambda: rng.random() < 0.5)
    changes = []

    async def watch(ctx):
        before = None
        while True:
            _, _, valid, bits = await ctx.tick().sample(unit.entered.valid, unit.entered.as_value()[1:])
            changes.append((valid, before is not None and bits != before))
            before = bits

    bench.run(watch)
    assert (1, True) in changes and (0, True) not in changes


@pytest.mark.parametrize("wrong", [{"threads": 3}, {"threads": 16}, {"registers": 3}, {"latency": 0}])
def test_sizes_are_checked(wrong):
    sizes: dict[str, Any] = {"threads": 1, "registers": 1, "latency": 1} | wrong
    with pytest.raises(ValueError, match="not"):
        Serial(TINY, operands=("a",), **sizes)

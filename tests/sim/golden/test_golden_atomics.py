"""Atomics of the golden model against plain Python, lane by lane, and the order of a trace."""

import random
import struct

import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import OPCODES, AtomicOp, Size, Space
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.trace.retired import ATOMIC
from caesura.software.compiler import KernelImage
from support.programs.machine_code import word
from support.reference.binary32 import results
from support.sim.launch import Bench

BASE, END = 0x4000, 0x5000
ATOMICS = [op for op in OPCODES if op.is_atomic]


def launch(*words, block=(32,), name="gtx480", trace=False):
    """Start one TB; return the bench and the TB."""
    transport = GoldenTransport(preset(name), 1 << 16, trace=trace)
    bench = Bench(transport)
    bench.load(0, KernelImage("k", (*words, word("exit")), 16, shared_bytes=1024), (1,), block, windows=((BASE, END),))
    bench.start(0)
    transport.machine.manage()
    (tb,) = transport.machine.resident()
    return bench, tb


def plain(op, bits, old, b, c):
    """Return what memory holds after an atomic, as CUDA's programming guide words it."""
    def signed(x):
        return x - (1 << bits) if x >> bits - 1 else x

    return {
        AtomicOp.ADD: lambda: (old + b) % (1 << bits), AtomicOp.EXCH: lambda: b,
        AtomicOp.MIN_S: lambda: min(old, b, key=signed), AtomicOp.MAX_S: lambda: max(old, b, key=signed),
        AtomicOp.MIN_U: lambda: min(old, b), AtomicOp.MAX_U: lambda: max(old, b),
        AtomicOp.AND: lambda: old & b, AtomicOp.OR: lambda: old | b, AtomicOp.XOR: lambda: old ^ b,
        AtomicOp.CAS: lambda: c if old == b else old,
        AtomicOp.FADD: lambda: int(_float_sum(old, b)),
        AtomicOp.INC: lambda: 0 if old >= b else old + 1, AtomicOp.DEC: lambda: b if old == 0 or old > b else old - 1,
    }[op]()


def _float_sum(a, b):
    from caesura.hw.arch.isa.opcodes import AluOp

    return results(AluOp.FADD_RN, [a], [b], [0])[0]


@pytest.mark.parametrize("op", ATOMICS, ids=lambda op: op.name)
def test_lanes_change_memory_in_ascending_order(op):
    rng = random.Random(op.code)
    size, bits = op.size.bytes, 8 * op.size.bytes
    contents = [rng.choice((0, 1, (1 << bits) - 1, 1 << bits - 1, rng.getrandbits(bits))) for _ in range(6)]
    places = [rng.randrange(6) for _ in range(32)]
    operand = [[rng.choice((0, 2, rng.choice(contents), rng.getrandbits(bits))) for _ in range(32)] for _ in range(2)]
    fields = {name: number for name, number in (("d", 4), ("b", 6), ("c", 8)) if name in op.operands}
    bench, tb = launch(word(op.name, a=0, imm=-8, **fields, guard=2))
    warp, shared = tb.warps[0], op.space is Space.SHARED
    base = 64 if shared else BASE + 64
    raw = b"".join(value.to_bytes(size, "little") for value in contents)
    if shared:
        tb.shared[64:64 + len(raw)] = list(raw)
    else:
        bench.transport.write_memory(base, raw)
    warp.registers[0] = [base + 8 + size * place for place in places]
    for register, values in ((6, operand[0]), (8, operand[1])):
        warp.registers[register] = [value & 0xFFFF_FFFF for value in values]
        warp.registers[register + 1] = [value >> 32 for value in values]
    warp.registers[4:6] = 77
    warp.predicates[2] = mask = rng.getrandbits(32)
    bench.transport.advance(1)
    found = [77] * 32
    for lane in range(32):
        if mask >> lane & 1:
            found[lane] = contents[places[lane]]
            contents[places[lane]] = plain(op.function, bits, found[lane], operand[0][lane], operand[1][lane])
    raw = tb.shared[64:64 + 6 * size].tobytes() if shared else bench.transport.read_memory(base, 6 * size)
    assert list(struct.unpack(f"<6{'Q' if size == 8 else 'I'}", raw)) == contents
    if "d" in op.operands:
        high = [(v >> 32 if size == 8 else 77) if mask >> lane & 1 else 77 for lane, v in enumerate(found)]
        assert warp.registers[4].tolist() == [v & 0xFFFF_FFFF for v in found]
        assert warp.registers[5].tolist() == high
    else:
        assert (warp.registers[4:6] == 77).all()
    assert tb.lines_valid == (1 if shared and mask else 0)


def test_trace_goes_segment_by_segment():
    bench, tb = launch(word("atom.global.add.b32", a=0, b=1, d=4), trace=True)
    tb.warps[0].registers[0] = [BASE + 128 * (lane % 3) + 4 * (lane % 2) for lane in range(32)]
    tb.warps[0].registers[1] = 1
    bench.transport.advance(1)
    trace = bench.transport.take_trace()
    events = trace[trace["kind"] == ATOMIC]
    lanes = [mask.bit_length() - 1 for mask in events["mask"].tolist()]
    assert lanes == [lane for segment in range(3) for lane in range(segment, 32, 3)]
    assert events["data"][:, 0].tolist() == [k // 2 for length in (11, 11, 10) for k in range(length)]
    assert set(events["register"].tolist()) == {0} and set(events["pc"].tolist()) == {0}


@pytest.mark.parametrize("name, address, kind", [
    ("atom.global.add.b32", END, Fault.GLOBAL_WINDOW), ("red.global.add.b32", BASE - 4, Fault.GLOBAL_WINDOW),
    ("red.global.add.b64", BASE + 4, Fault.MISALIGNED), ("atom.shared.exch.b32", 1024, Fault.SHARED_BOUND),
    ("red.shared.max.u.b64", 1020, Fault.MISALIGNED), ("atom.shared.cas.b64", (1 << 32) - 8, Fault.SHARED_BOUND),
])
def test_a_lane_that_may_not_keeps_all_lanes_from_it(name, address, kind):
    fields = {"d": 8} if name.startswith("atom") else {}
    bench, tb = launch(word(name, a=0, b=2, **fields))
    good = BASE if "global" in name else 0
    tb.warps[0].registers[0] = [address if lane in (7, 20) else good + 8 * lane for lane in range(32)]
    tb.warps[0].registers[2:8] = 0xFF
    bench.transport.advance(1)
    fault = bench.fault()
    assert (fault.kind, fault.address) == (kind, address)
    assert not any(bench.transport.read_memory(BASE, END - BASE)) and not tb.shared.any()


COUNT = [word("atom.global.add.b32", a=0, b=1, d=4), word("red.shared.or.b32", no_base=1, imm=8, b=2),
         word("atom.shared.exch.b64", no_base=1, imm=16, b=2, d=6)]


def events_of(order, pc, shared):
    """Return trace records of atomics for (warp, lane) pairs."""
    from numpy import zeros

    from caesura.sim.trace.retired import TRACE

    records = zeros(len(order), TRACE)
    records["kind"], records["pc"], records["register"] = ATOMIC, pc, shared
    records["warp"] = [warp for warp, _ in order]
    records["mask"] = [1 << lane for _, lane in order]
    return records


def test_a_given_order_is_followed_lane_by_lane():
    import numpy as np

    rng = random.Random(5)
    bench, tb = launch(*COUNT, block=(16,), name="tiny", trace=True)
    pairs = [(warp, lane) for warp in range(2) for lane in range(8)]
    orders = [rng.sample(pairs, len(pairs)) for _ in range(3)]
    bench.transport.follow(np.concatenate([events_of(order, pc, pc > 0) for pc, order in enumerate(orders)]))
    for warp in tb.warps:
        warp.registers[0], warp.registers[1] = BASE, 1
        warp.registers[2] = [1 << lane for lane in range(8)]
        warp.registers[3] = [warp.index * 100 + lane for lane in range(8)]
    bench.transport.advance(40)
    assert bench.fault() is None
    assert bench.transport.read_memory(BASE, 4) == struct.pack("<I", 16)
    for position, (warp, lane) in enumerate(orders[0]):
        assert tb.warps[warp].registers[4][lane] == position
    chain = [(0, 0)] + [(1 << lane, warp * 100 + lane) for warp, lane in orders[2]]
    for (warp, lane), before in zip(orders[2], chain, strict=False):
        assert (int(tb.warps[warp].registers[6][lane]), int(tb.warps[warp].registers[7][lane])) == before
    trace = bench.transport.take_trace()
    done = [(int(r["warp"]), int(r["mask"]).bit_length() - 1) for r in trace if r["kind"] == ATOMIC and r["pc"] == 0]
    assert done == orders[0]


def test_size_of_every_atomic_is_one_or_two_words():
    assert {op.size for op in ATOMICS} == {Size.B32, Size.B64} and len(ATOMICS) > 80

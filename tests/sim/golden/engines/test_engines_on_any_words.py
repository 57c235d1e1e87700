"""Any 64 bits as an instruction, with any bits in unused fields: both engines do the same, and end in no error."""

import random

import numpy as np
import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import OPCODES
from caesura.sim.golden.transport import GoldenTransport
from caesura.software.compiler import KernelImage
from caesura.software.driver.machine.bounds import MemoryObject
from support.selection import quick
from support.sim.engines import EnginePair
from support.sim.launch import Bench

GTX480 = preset("gtx480")
MEMORY, ARRAY = 1 << 16, 0x8000
REGISTERS = 32
"""Half of those that a field can name: a field that does not count names one that is not there half of the time."""


def word(rng, op):
    return op.code << 54 | rng.getrandbits(54)


def launch(transport, words, warps=1, before=lambda: None):
    """Start a kernel of any words, its registers random."""
    transport.write_memory(ARRAY, np.random.default_rng(1).bytes(MEMORY - ARRAY))
    bench = Bench(transport)
    g = transport.geometry
    image = KernelImage("k", tuple(words), REGISTERS, shared_bytes=252, local_bytes=64, constants=bytes(range(256)))
    bench.load(0, image, (2,), (warps * g.warp_size,), params=[ARRAY] * 64, area_bytes=128)
    before()
    bench.start(0)
    transport.machine.manage()
    random_words = np.random.default_rng(2)
    for tb in transport.machine.resident():
        for warp in tb.warps:
            warp.registers[:] = random_words.integers(0, 1 << 32, warp.registers.shape, np.uint32)
            warp.registers[::4] >>= 16  # small enough to be an address


def test_every_operation_with_any_fields():
    """One word after the other, so that a fault of one does not hide the next."""
    rng, faults = random.Random(1), set()
    pair = EnginePair(GTX480, MEMORY, trace=True)
    start = [transport.snapshot() for transport in pair.transports]
    for op in OPCODES:
        for transport, snapshot in zip(pair.transports, start, strict=True):
            transport.restore(snapshot)
        words = [word(rng, op) for _ in range(6)]
        for transport in pair.transports:
            launch(transport, words)
            for number, warp in enumerate(warp for tb in transport.machine.resident() for warp in tb.warps):
                warp.stack[-1].pc = 3 * number
        for _ in range(3):
            pair.each(lambda transport: transport.advance(2))
            pair.check()
        faults.add(pair.transports[0].machine.fault.kind)
    assert {Fault.NONE, Fault.REGISTER_BOUND, Fault.ILLEGAL_OPCODE} < faults


@pytest.mark.parametrize("seeds", quick([range(40), range(40, 2000)], [range(40)]),
                         ids=["some", "many"])
def test_programs_of_any_bits(seeds):
    for seed in seeds:
        rng = random.Random(seed)
        words = [rng.getrandbits(64) if rng.random() < 0.1 else word(rng, rng.choice(OPCODES)) for _ in range(30)]
        pair = EnginePair(GTX480, MEMORY, trace=True)
        for transport in pair.transports:
            launch(transport, words, warps=2)
        for _ in range(4):
            pair.each(lambda transport: transport.advance(20))
            pair.check()


def test_bounds_are_checked_of_any_words():
    """All registers hold addresses of one array, so tags move wherever an operation lets them."""
    rng = random.Random(3)
    for op in OPCODES:
        transport = GoldenTransport(GTX480, MEMORY, check_bounds=True)
        array, pointers = MemoryObject(ARRAY, MEMORY - ARRAY, "the array"), dict.fromkeys(range(64), ARRAY)
        checker = transport.bounds
        launch(transport, [word(rng, op) for _ in range(6)], before=lambda: checker.launch(0, [array], pointers))  # noqa: B023
        for number, warp in enumerate(warp for tb in transport.machine.resident() for warp in tb.warps):
            warp.stack[-1].pc = 3 * number
            for register in range(REGISTERS):
                warp.bounds_tags().set(register, (1 << GTX480.warp_size) - 1, 1)
        transport.advance(6)

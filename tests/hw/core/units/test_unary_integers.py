"""Integer operations of one word, for all 2**32 of them: the hardware by proof, the model by running through them."""

import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import AluOp
from caesura.hw.core.units.integer import IntegerLane, IntegerUnit
from caesura.hw.export.verilog import ExportError, rtlil_text, run_yosys
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw")

PROOF = """
read_rtlil d.il; proc; flatten; setattr -unset init w:*; opt -full; techmap; opt -full
tee -o proof.txt sat -verify -timeout 300 -seq {steps} -prove-skip {latency} -prove right 1 top
""".strip()
"""Any state of the registers at the start, any words on all inputs in every cycle."""


def leading_zeros(m, b):
    count = Signal(6, init=32)
    for k in range(32):
        with m.If(b[k]):
            m.d.comb += count.eq(31 - k)
    return count


def set_bits(m, b):
    return sum(b)


HARDWARE = {
    AluOp.NOT: lambda m, b: 0xFFFF_FFFF - b,
    AluOp.IABS: lambda m, b: Mux(b.as_signed() < 0, 0x1_0000_0000 - b, b)[:32],
    AluOp.SEXT_8: lambda m, b: Mux(b[7], 0xFFFF_FF00, 0) + b[:8],
    AluOp.SEXT_16: lambda m, b: Mux(b[15], 0xFFFF_0000, 0) + b[:16],
    AluOp.BREV: lambda m, b: Cat(b[31 - k] for k in range(32)),
    AluOp.CLZ: leading_zeros,
    AluOp.POPC: set_bits,
}


class Judged(wiring.Component):
    """An integer unit that does one operation, on any word in every cycle; `right` if the result is as expected."""

    a: Signal
    b: Signal
    c: Signal
    pa: Signal
    pb: Signal
    right: Signal

    def __init__(self, op, expected):
        self.op, self.expected = op, expected
        super().__init__({"a": In(32), "b": In(32), "c": In(32), "pa": In(1), "pb": In(1), "right": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = unit = IntegerUnit(preset("tiny"), 1)
        b = self.b
        m.d.comb += [unit.op.eq(self.op), unit.valid.eq(1), unit.a[0].eq(self.a), unit.b[0].eq(b), unit.c[0].eq(self.c),
                     unit.pa.eq(self.pa), unit.pb.eq(self.pb)]
        for stage in range(IntegerLane.LATENCY):
            before, b = b, Signal(32, name=f"b_{stage}", reset_less=True)
            m.d.sync += b.eq(before)
        m.d.comb += self.right.eq(unit.result[0] == self.expected(m, b))
        return m


def prove(op, expected):
    latency = IntegerLane.LATENCY
    text = rtlil_text(Judged(op, expected), reset=False)
    return run_yosys(text, PROOF.format(steps=latency + 1, latency=latency), "proof.txt")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("op", quick(HARDWARE, [AluOp.SEXT_8]), ids=lambda op: op.name)
def test_hardware_is_right_for_every_word(op):
    assert "SAT proof finished - no model found: SUCCESS!" in prove(op, HARDWARE[op])


@pytest.mark.full
def test_proof_notices_one_wrong_word():
    """Of all words the expectation is wrong for a single one."""
    with pytest.raises(ExportError, match="proof did fail"):
        prove(AluOp.NOT, lambda m, b: HARDWARE[AluOp.NOT](m, b) + (b == 12345))


def reverse(b):
    """Bytes in the other order, the bits of each reversed."""
    return np.packbits(np.unpackbits(b.view(np.uint8)), bitorder="little").view(np.uint32).byteswap()


MODEL = {
    AluOp.NOT: lambda b: np.uint32(0xFFFF_FFFF) - b,
    AluOp.IABS: lambda b: np.abs(b.view(np.int32).astype(np.int64)).astype(np.uint32),
    AluOp.SEXT_8: lambda b: b.astype(np.uint8).view(np.int8).astype(np.int32).view(np.uint32),
    AluOp.SEXT_16: lambda b: b.astype(np.uint16).view(np.int16).astype(np.int32).view(np.uint32),
    AluOp.BREV: reverse,
    AluOp.CLZ: lambda b: 32 - np.frexp(b.astype(np.float64))[1].astype(np.uint32),
    AluOp.POPC: lambda b: np.bitwise_count(b).astype(np.uint32),
}


def check_model(op, first, count):
    b = np.arange(first, first + count, dtype=np.uint64).astype(np.uint32)
    none = np.zeros_like(b)
    value, test = IntegerLane.compute(op, none, b, none, none > 0, none > 0)
    wrong = np.flatnonzero(value != MODEL[op](b))
    assert not len(wrong), hex(b[wrong[0]])
    assert not test.any()


@pytest.mark.parametrize("op", MODEL, ids=lambda op: op.name)
def test_model_is_right_at_the_ends(op):
    for first in (0, (1 << 31) - 30_000, (1 << 32) - 60_000):
        check_model(op, first, 60_000)


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("op", MODEL, ids=lambda op: op.name)
def test_model_is_right_for_every_word(op):
    for first in range(0, 1 << 32, 1 << 21):
        check_model(op, first, 1 << 21)

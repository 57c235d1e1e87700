"""Operators with equal widths compute what they computed: proved by Yosys' SAT solver for every input."""

import random

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from caesura.hw.export.verilog import ExportError, rtlil_text, run_yosys
from caesura.hw.export.widths import with_equal_widths

OPERATORS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a[:4] * b[:4], "and": lambda a, b: a & b,
    "xor": lambda a, b: a ^ b, "eq": lambda a, b: a == b, "lt": lambda a, b: a < b, "ge": lambda a, b: a >= b,
    "shl": lambda a, b: a << b.as_unsigned()[:3], "shr": lambda a, b: a >> b.as_unsigned()[:3], "not": lambda a, b: ~a,
    "neg": lambda a, b: -a, "select": lambda a, b: a.bit_select(b.as_unsigned()[:3], 2),
    "word": lambda a, b: a.word_select(b.as_unsigned()[:2], 3), "zero": lambda a, b: a != 0,
    "less one": lambda a, b: a - 1, "mux": lambda a, b: Mux(a[0], a, b),
    "div": lambda a, b: a.as_unsigned()[:5] // b.as_unsigned()[:3],
    "eighth": lambda a, b: (a + 7) // 8, "negative eighth": lambda a, b: -a // 8, "third": lambda a, b: a[:4] // 3,
    "mod": lambda a, b: a.as_unsigned()[:5] % b.as_unsigned()[:3]}


class Expressions(wiring.Component):
    """Every operator, of operands of the widths and signs given, into results that cut or extend them."""

    def __init__(self, shapes, seed):
        self.random = random.Random(seed)
        super().__init__({"a": In(shapes[0]), "b": In(shapes[1]), "results": Out(400)})

    def elaborate(self, platform):
        m = Module()
        results = []
        for name, operator in OPERATORS.items():
            value = operator(self.a, self.b)
            result = Signal(self.random.choice([unsigned, signed])(self.random.randint(1, len(value) + 5)),
                            name=name.replace(" ", "_"))
            m.d.comb += result.eq(value)
            results.append(result)
        m.d.comb += self.results.eq(Cat(results))
        return m


def refuted(gold: str, gate: str) -> bool:
    """Return whether two RTLIL texts of one module differ for some input."""
    both = gold.replace("module \\top", "module \\gold") + gate.replace("module \\top", "module \\gate").replace(
        "attribute \\top 1", "")
    script = ("read_rtlil d.il; proc; opt_clean; miter -equiv -flatten -make_assert gold gate miter; "
              "sat -verify -prove-asserts -timeout 60 miter; write_rtlil done.il")
    try:
        run_yosys(both, script, "done.il")
    except ExportError as error:
        assert "proof did fail" in str(error).lower(), error
        return True
    return False


@pytest.mark.parametrize("seed, shapes", [
    pytest.param(0, (unsigned(7), unsigned(4)), marks=pytest.mark.full), (1, (signed(7), signed(4))),
    (2, (signed(4), unsigned(7))), pytest.param(3, (unsigned(9), signed(9)), marks=pytest.mark.full)])
def test_what_is_computed_stays(seed, shapes):
    text = rtlil_text(Expressions(shapes, seed))
    mended = with_equal_widths(text)
    assert mended != text
    assert not refuted(text, mended)


def test_a_wrong_extension_is_refuted():
    text = rtlil_text(Expressions((signed(7), signed(4)), 1))
    wrong = with_equal_widths(text.replace("A_SIGNED 1", "A_SIGNED 0").replace("B_SIGNED 1", "B_SIGNED 0"))
    assert refuted(text, wrong)

"""Controls of an integer lane: what each operation asks of the three stages."""

from __future__ import annotations

from amaranth.lib import data, enum

from ....arch.isa.opcodes import AluOp

__all__ = ["High", "Logic", "Choice", "Test", "STAGE_1", "STAGE_2", "STAGE_3", "ROWS"]


class High(enum.Enum, shape=2):
    """Upper word that the funnel shifter shifts in."""

    ZERO = 0
    SIGN_A = 1
    A = 2
    B = 3


class Logic(enum.Enum, shape=4):
    """Operation that needs neither adder, shifter nor multiplier."""

    B = 0
    AND = 1
    OR = 2
    XOR = 3
    NOT_B = 4
    SEXT_8 = 5
    SEXT_16 = 6
    SELECT = 7
    C = 8
    REVERSED = 9
    PERMUTED = 10
    ZERO = 11
    FIELD_SIGN = 12


class Choice(enum.Enum, shape=3):
    """Data that stage 2 passes on."""

    OTHER = 0
    SUM = 1
    SHIFTED = 2
    MINIMUM = 3
    MAXIMUM = 4
    ABSOLUTE = 5
    MERGED = 6
    COUNT = 7


class Test(enum.Enum, shape=3):
    """Source of the predicate result; the first four use a and b, the others pa and pb."""

    CARRY = 0
    EQUAL = 1
    LESS = 2
    LESS_EQUAL = 3
    AND = 4
    OR = 5
    XOR = 6


STAGE_1 = data.StructLayout({
    "zero_x": 1, "invert_x": 1, "invert_y": 1, "carry": 1, "carry_pa": 1,
    "high": High, "zero_low": 1, "count_c": 1, "left": 1, "pass_a": 1,
    "field": 1, "insert": 1, "count": 1, "leading_digit": 1,
    "logic": Logic, "multiply": 1, "signed_product": 1, "accumulate": 1, "enable": 1,
})
"""Controls of stage 1. With `enable` there is an operation. The others control the adder (x is a, y
is b), the funnel shifter, a bit field, the counts of each digit, logic, and the correction added to
the product. With `insert` a bit field is put at its place, not at bit 0."""
STAGE_2 = data.StructLayout({"choice": Choice, "test": Test, "signed": 1,
                             "negate": 1, "leading": 1, "multiply": 1, "enable": 1})
"""Controls of stage 2: what to pass on, which comparison, which digits count."""
STAGE_3 = data.StructLayout({"multiply": 1, "high_half": 1, "correct": 1})
"""Controls of stage 3: product or not, which half, carry into the (negative) correction."""

_A_MINUS_B: dict[str, object] = {"invert_y": 1, "carry": 1}
_PASS_B: dict[str, object] = {"logic": Logic.B, "choice": Choice.OTHER}
ROWS: dict[AluOp, dict[str, object]] = {
    AluOp.MOV: _PASS_B,
    AluOp.IADD: {"choice": Choice.SUM},
    AluOp.ISUB: _A_MINUS_B | {"choice": Choice.SUM},
    AluOp.IRSUB: {"invert_x": 1, "carry": 1, "choice": Choice.SUM},
    AluOp.IADDC: {"carry_pa": 1, "choice": Choice.SUM},
    AluOp.ISUBC: {"invert_y": 1, "carry_pa": 1, "choice": Choice.SUM},
    AluOp.IMUL_LO: {"multiply": 1},
    AluOp.IMUL_HI_S: {"multiply": 1, "high_half": 1, "signed_product": 1, "correct": 1},
    AluOp.IMUL_HI_U: {"multiply": 1, "high_half": 1},
    AluOp.IMAD_LO: {"multiply": 1, "accumulate": 1},
    AluOp.AND: {"logic": Logic.AND},
    AluOp.OR: {"logic": Logic.OR},
    AluOp.XOR: {"logic": Logic.XOR},
    AluOp.NOT: {"logic": Logic.NOT_B},
    AluOp.SHL: {"high": High.A, "zero_low": 1, "left": 1, "choice": Choice.SHIFTED},
    AluOp.SHR_U: {"high": High.ZERO, "choice": Choice.SHIFTED},
    AluOp.SHR_S: {"high": High.SIGN_A, "choice": Choice.SHIFTED},
    AluOp.SHF_L: {"high": High.B, "count_c": 1, "left": 1, "choice": Choice.SHIFTED},
    AluOp.SHF_R: {"high": High.B, "count_c": 1, "choice": Choice.SHIFTED},
    AluOp.IMIN_S: _PASS_B | _A_MINUS_B | {"pass_a": 1, "signed": 1, "choice": Choice.MINIMUM},
    AluOp.IMIN_U: _PASS_B | _A_MINUS_B | {"pass_a": 1, "choice": Choice.MINIMUM},
    AluOp.IMAX_S: _PASS_B | _A_MINUS_B | {"pass_a": 1, "signed": 1, "choice": Choice.MAXIMUM},
    AluOp.IMAX_U: _PASS_B | _A_MINUS_B | {"pass_a": 1, "choice": Choice.MAXIMUM},
    AluOp.IABS: _PASS_B | _A_MINUS_B | {"zero_x": 1, "choice": Choice.ABSOLUTE},
    AluOp.SEXT_8: {"logic": Logic.SEXT_8},
    AluOp.SEXT_16: {"logic": Logic.SEXT_16},
    AluOp.BREV: {"logic": Logic.REVERSED},
    AluOp.SEL: {"logic": Logic.SELECT},
    AluOp.BFE_U: {"field": 1, "high": High.ZERO, "logic": Logic.ZERO, "choice": Choice.MERGED},
    AluOp.BFE_S: {"field": 1, "high": High.SIGN_A,
                  "logic": Logic.FIELD_SIGN, "choice": Choice.MERGED},
    AluOp.BFI: {"field": 1, "insert": 1, "high": High.A, "zero_low": 1,
                "left": 1, "logic": Logic.C, "choice": Choice.MERGED},
    AluOp.PRMT: {"logic": Logic.PERMUTED}, AluOp.SETP_EQ: _A_MINUS_B | {"test": Test.EQUAL},
    AluOp.SETP_NE: _A_MINUS_B | {"test": Test.EQUAL, "negate": 1},
    AluOp.SETP_LT_S: _A_MINUS_B | {"test": Test.LESS, "signed": 1},
    AluOp.SETP_LE_S: _A_MINUS_B | {"test": Test.LESS_EQUAL, "signed": 1},
    AluOp.SETP_GT_S: _A_MINUS_B | {"test": Test.LESS_EQUAL, "signed": 1, "negate": 1},
    AluOp.SETP_GE_S: _A_MINUS_B | {"test": Test.LESS, "signed": 1, "negate": 1},
    AluOp.SETP_LT_U: _A_MINUS_B | {"test": Test.LESS},
    AluOp.SETP_LE_U: _A_MINUS_B | {"test": Test.LESS_EQUAL},
    AluOp.SETP_GT_U: _A_MINUS_B | {"test": Test.LESS_EQUAL, "negate": 1},
    AluOp.SETP_GE_U: _A_MINUS_B | {"test": Test.LESS, "negate": 1},
    AluOp.S2R: _PASS_B,
    AluOp.CLZ: {"count": 1, "leading_digit": 1, "leading": 1, "choice": Choice.COUNT},
    AluOp.POPC: {"count": 1, "choice": Choice.COUNT}, AluOp.BALLOT: _PASS_B,
    AluOp.PAND: {"test": Test.AND}, AluOp.POR: {"test": Test.OR}, AluOp.PXOR: {"test": Test.XOR},
}
"""Controls by operation; what is left out is 0.

`S2R` and `BALLOT` pass operand b, where `special` puts the value.
"""

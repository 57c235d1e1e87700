"""Floating-point campaigns: an outside judge (the host's IEEE 754 arithmetic in C++) for model and RTL.

`judge.h` makes stratified operands and the expected results in all rounding directions; `tuples` and `results` hand
them to numpy, `Stream` drives a verilated `FloatUnit` with them, all lanes in every cycle.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.isa.opcodes import AluOp
from caesura.hw.core.units.floating import FloatUnit
from support.reference import float_judge
from support.reference.float_judge import Judge, Operation, describe

__all__ = ["OPERATIONS", "Stream", "results", "tuples"]

KINDS = ("ADD", "SUB", "MUL", "FMA", "TEST", "MIN", "MAX", "NEG", "ABS", "SAT", "TO_S", "TO_U", "FROM_S", "FROM_U",
         "INTEGRAL", "FLUSH")
DEFINES = {f"KIND_{name}": number for number, name in enumerate(KINDS)} | float_judge.MODE_DEFINES
HERE = Path(__file__).resolve().parent
_STEMS = {stem: (kind, 0) for stem, kind in {
    "FADD": "ADD", "FSUB": "SUB", "FMUL": "MUL", "FFMA": "FMA", "FMIN": "MIN", "FMAX": "MAX", "FNEG": "NEG",
    "FABS": "ABS", "FSAT": "SAT", "F2I_S": "TO_S", "F2I_U": "TO_U", "I2F_S": "FROM_S", "I2F_U": "FROM_U",
    "FRND": "INTEGRAL", "FFTZ": "FLUSH"}.items()}
OPERATIONS: dict[AluOp, Operation] = {op: describe(op, KINDS, "FSETP_", _STEMS) for op in AluOp if op.is_float}
"""Description of each operation for the judge."""
_JUDGE = Judge(HERE / "judge.cpp", DEFINES, OPERATIONS, np.uint32)
results, tuples = _JUDGE.results, _JUDGE.tuples


class Stream(float_judge.Stream):
    """A verilated `FloatUnit` under the judge's eyes.

    Parameters
    ----------
    g : Geometry
        Gives the lanes, 8 or more.
    """

    def __init__(self, g: Geometry):
        defines = DEFINES | {"UNIT_LANES": g.lanes, "LATENCY": FloatUnit.LATENCY}
        super().__init__(FloatUnit(g), HERE / "unit.cpp", defines, OPERATIONS, 32, g.lanes)

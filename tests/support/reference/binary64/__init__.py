"""Campaigns for the f64 unit: an outside judge (the host's IEEE 754 arithmetic in C++) for model and RTL.

The parts are the same as in `binary32`. `tuples` and `results` hand stratified operands and expected results to numpy.
`Stream` drives a verilated `F64Lane` with them, one operation per cycle, without leaving C++.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from caesura.hw.arch.isa.opcodes import F64Op
from caesura.hw.core.units.f64.lane import F64Lane
from support.reference import binary32, float_judge
from support.reference.float_judge import Difference, Judge, Operation, describe

__all__ = ["OPERATIONS", "Stream", "results", "tuples"]

KINDS = ("ADD", "SUB", "MUL", "FMA", "TEST", "MIN", "MAX", "INTEGRAL", "TO_SINGLE", "TO_INTEGER", "FROM_SINGLE",
         "SINGLE_TO_INTEGER", "FROM_INTEGER", "INTEGER_TO_SINGLE")
HERE = Path(__file__).resolve().parent
DEFINES = binary32.DEFINES | {f"OF_{name}": number for number, name in enumerate(KINDS)}
"""Macros, with those of the header of `binary32`, which this folder's header includes."""
_STEMS = {
    "DADD": ("ADD", 0), "DSUB": ("SUB", 0), "DMUL": ("MUL", 0), "DFMA": ("FMA", 0), "DRND": ("INTEGRAL", 0),
    "DMIN": ("MIN", 0), "DMAX": ("MAX", 0), "D2F": ("TO_SINGLE", 0), "F2D": ("FROM_SINGLE", 0),
    "D2I_S": ("TO_INTEGER", 33), "D2I_U": ("TO_INTEGER", 32), "D2L_S": ("TO_INTEGER", 65), "D2L_U": ("TO_INTEGER", 64),
    "F2L_S": ("SINGLE_TO_INTEGER", 65), "F2L_U": ("SINGLE_TO_INTEGER", 64),
    "I2D_S": ("FROM_INTEGER", 33), "I2D_U": ("FROM_INTEGER", 32), "L2D_S": ("FROM_INTEGER", 65),
    "L2D_U": ("FROM_INTEGER", 64), "L2F_S": ("INTEGER_TO_SINGLE", 65), "L2F_U": ("INTEGER_TO_SINGLE", 64),
}
"""Kind and detail by mnemonic: integers by their bits, and 1 more if they are signed."""


OPERATIONS: dict[F64Op, Operation] = {op: describe(op, KINDS, "DSETP_", _STEMS) for op in F64Op}
"""Description of each operation for the judge."""
_JUDGE = Judge(HERE / "judge.cpp", DEFINES, OPERATIONS, np.uint64)
results, tuples = _JUDGE.results, _JUDGE.tuples


class Stream(float_judge.Stream):
    """A verilated `F64Lane` under the judge's eyes."""

    def __init__(self):
        defines = DEFINES | {"LATENCY": F64Lane.LATENCY}
        super().__init__(F64Lane(), HERE / "lane.cpp", defines, OPERATIONS, 64)

    def run(self, ops: Sequence[F64Op], count: int, seed: int, *, gap: int = 0,
            stride: int = 0) -> tuple[int, Difference | None]:
        """Send `count` tuples through the lane, as the method it overrides.

        With a `stride`, operands b are every `stride`-th 32-bit pattern from `seed` on, not stratified ones.
        """
        return self._send(ops, count, seed, gap, stride)

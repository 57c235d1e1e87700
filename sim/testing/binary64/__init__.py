"""Campaigns for the f64 unit: an outside judge (the host's IEEE 754 arithmetic in C++) for model and RTL.

As `binary32`: `tuples` and `results` hand stratified operands and expected results to numpy, `Stream` drives a
verilated `F64Lane` with them, an operation a cycle, without leaving C++.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from caesura.hw.arch.isa import F64Op
from caesura.hw.core.f64.lane import F64Lane
from caesura.sim.rtl.verilator import block_library
from caesura.sim.testing import binary32

__all__ = ["OPERATIONS", "Difference", "Stream", "results", "tuples"]

KINDS = ("ADD", "SUB", "MUL", "FMA", "TEST", "MIN", "MAX", "INTEGRAL", "TO_SINGLE", "TO_INTEGER", "FROM_SINGLE",
         "SINGLE_TO_INTEGER", "FROM_INTEGER", "INTEGER_TO_SINGLE")
HERE = Path(__file__).resolve().parent
DEFINES = (binary32.DEFINES | {f"OF_{name}": number for number, name in enumerate(KINDS)}
           | {"BINARY32": zlib.crc32((Path(binary32.__file__).parent / "judge.h").read_bytes())})
"""With the version of the header that this folder's includes."""
_STEMS = {
    "DADD": ("ADD", 0), "DSUB": ("SUB", 0), "DMUL": ("MUL", 0), "DFMA": ("FMA", 0), "DRND": ("INTEGRAL", 0),
    "DMIN": ("MIN", 0), "DMAX": ("MAX", 0), "D2F": ("TO_SINGLE", 0), "F2D": ("FROM_SINGLE", 0),
    "D2I_S": ("TO_INTEGER", 33), "D2I_U": ("TO_INTEGER", 32), "D2L_S": ("TO_INTEGER", 65), "D2L_U": ("TO_INTEGER", 64),
    "F2L_S": ("SINGLE_TO_INTEGER", 65), "F2L_U": ("SINGLE_TO_INTEGER", 64),
    "I2D_S": ("FROM_INTEGER", 33), "I2D_U": ("FROM_INTEGER", 32), "L2D_S": ("FROM_INTEGER", 65),
    "L2D_U": ("FROM_INTEGER", 64), "L2F_S": ("INTEGER_TO_SINGLE", 65), "L2F_U": ("INTEGER_TO_SINGLE", 64),
}
"""Kind and detail by mnemonic: integers by their bits, and 1 more if they are signed."""


class _Difference(ctypes.Structure):
    _fields_ = [("operation", ctypes.c_int32),
                *((name, ctypes.c_uint64) for name in ("a", "b", "c", "expected", "got"))]


def _describe(op: F64Op) -> binary32.Operation:
    if op.name.startswith("DSETP_"):
        relations = binary32.RELATIONS[op.name.removeprefix("DSETP_")]
        return binary32.Operation(op, KINDS.index("TEST"), relations, 0)
    stem, _, mode = op.name.rpartition("_")
    if mode not in binary32.MODES:
        stem, mode = op.name, "RN"
    kind, detail = _STEMS[stem]
    return binary32.Operation(op, KINDS.index(kind), detail, binary32.MODES.index(mode))


OPERATIONS: dict[F64Op, binary32.Operation] = {op: _describe(op) for op in F64Op}
"""What each operation is to the judge."""


@dataclass(frozen=True)
class Difference:
    """Result of the RTL that is not the judge's."""

    op: F64Op
    a: int
    b: int
    c: int
    expected: int
    got: int

    def __str__(self) -> str:
        return (f"{self.op.name} of {self.a:016x} {self.b:016x} {self.c:016x}: expected {self.expected:016x}, "
                f"got {self.got:016x}")


@cache
def _judge() -> ctypes.CDLL:
    return binary32.judge_library(HERE / "judge.cpp", DEFINES)


def results(op: F64Op, a, b, c) -> np.ndarray:
    """Return the results of an operation (of a comparison 0 or 1) for arrays of operands."""
    a, b, c = (np.ascontiguousarray(x, np.uint64) for x in np.broadcast_arrays(a, b, c))
    expected, about = np.empty(a.shape, np.uint64), OPERATIONS[op]
    _judge().judge(about.kind, about.detail, about.mode, ctypes.c_uint64(a.size), *binary32.pointers(a, b, c, expected))
    return expected


def tuples(op: F64Op, count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return `count` stratified operands a, b, c of an operation and its results."""
    a, b, c = (np.empty(count, np.uint64) for _ in range(3))
    about = OPERATIONS[op]
    _judge().make_operands(about.kind, about.detail, ctypes.c_uint64(seed), ctypes.c_uint64(count),
                           *binary32.pointers(a, b, c))
    return a, b, c, results(op, a, b, c)


class Stream:
    """A verilated `F64Lane` under the judge's eyes."""

    def __init__(self):
        defines = DEFINES | {"LATENCY": F64Lane.LATENCY}
        self._library = ctypes.CDLL(str(block_library(F64Lane(), HERE / "lane.cpp", defines, binary32.FLAGS)))
        self._library.stream.restype = ctypes.c_uint64

    def run(self, ops: Sequence[F64Op], count: int, seed: int, *, gap: int = 0,
            stride: int = 0) -> tuple[int, Difference | None]:
        """Send `count` tuples through the lane, one a cycle; return the number of differences.

        Parameters
        ----------
        ops : sequence of F64Op
            Each cycle takes a random one of them.
        count, seed : int
        gap : int
            In one cycle of this many there is no operation (0: never).
        stride : int
            If it is not 0, operands b are every `stride`-th 32-bit pattern from `seed` on, not stratified ones.

        Returns
        -------
        tuple
            Number of differences and the first of them.
        """
        table = (binary32.Operation * len(ops))(*(OPERATIONS[op] for op in ops))
        found = _Difference()
        differences = self._library.stream(
            table, ctypes.c_int(len(ops)), ctypes.c_uint64(seed), ctypes.c_uint64(count), ctypes.c_int(gap),
            ctypes.c_int(stride), ctypes.byref(found))
        if not differences:
            return 0, None
        return differences, Difference(ops[found.operation], found.a, found.b, found.c, found.expected, found.got)

"""Floating-point campaigns: an outside judge (the host's IEEE 754 arithmetic in C++) for model and RTL.

`judge.h` makes stratified operands and the expected results in all rounding directions; `tuples` and `results` hand
them to numpy, `Stream` drives a verilated `FloatUnit` with them, all lanes in every cycle, without leaving C++.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.isa import AluOp
from caesura.hw.core.floating import FloatUnit
from caesura.hw.export import cache_directory
from caesura.sim.rtl.verilator import BuildError, block_library, source_texts

__all__ = ["OPERATIONS", "RELATIONS", "Difference", "Operation", "Stream", "judge_library", "pointers",
           "results", "tuples"]

KINDS = ("ADD", "SUB", "MUL", "FMA", "TEST", "MIN", "MAX", "NEG", "ABS", "SAT", "TO_S", "TO_U", "FROM_S", "FROM_U",
         "INTEGRAL", "FLUSH")
MODES = ("RN", "RZ", "RM", "RP")
DEFINES = ({f"KIND_{name}": number for number, name in enumerate(KINDS)}
           | {f"MODE_{name}": number for number, name in enumerate(MODES)})
FLAGS = "-frounding-math -ffp-contract=off"
HERE = Path(__file__).resolve().parent
LESS, EQUAL, GREATER, UNORDERED = 1, 2, 4, 8
RELATIONS = {"EQ": EQUAL, "NE": LESS | GREATER, "LT": LESS, "LE": LESS | EQUAL, "GT": GREATER,
              "GE": GREATER | EQUAL}
RELATIONS |= {f"{name}U": relations | UNORDERED for name, relations in RELATIONS.items()}
RELATIONS |= {"NUM": LESS | EQUAL | GREATER, "NAN": UNORDERED}
_STEMS = {"FADD": "ADD", "FSUB": "SUB", "FMUL": "MUL", "FFMA": "FMA", "FMIN": "MIN", "FMAX": "MAX", "FNEG": "NEG",
          "FABS": "ABS", "FSAT": "SAT", "F2I_S": "TO_S", "F2I_U": "TO_U", "I2F_S": "FROM_S", "I2F_U": "FROM_U",
          "FRND": "INTEGRAL", "FFTZ": "FLUSH"}


class Operation(ctypes.Structure):
    """What an operation is to the judge; C++ has the same structure."""

    _fields_ = [(name, ctypes.c_int32) for name in ("code", "kind", "detail", "mode")]


class _Difference(ctypes.Structure):
    _fields_ = [("operation", ctypes.c_int32),
                *((name, ctypes.c_uint32) for name in ("a", "b", "c", "expected", "got"))]


def _describe(op: AluOp) -> Operation:
    if op.name.startswith("FSETP_"):
        return Operation(op, KINDS.index("TEST"), RELATIONS[op.name.removeprefix("FSETP_")], 0)
    stem, _, mode = op.name.rpartition("_")
    if mode not in MODES:
        stem, mode = op.name, "RN"
    return Operation(op, KINDS.index(_STEMS[stem]), 0, MODES.index(mode))


OPERATIONS: dict[AluOp, Operation] = {op: _describe(op) for op in AluOp if op.is_float}
"""What each operation is to the judge."""


@dataclass(frozen=True)
class Difference:
    """Result of the RTL that is not the judge's."""

    op: AluOp
    a: int
    b: int
    c: int
    expected: int
    got: int

    def __str__(self) -> str:
        return (f"{self.op.name} of {self.a:08x} {self.b:08x} {self.c:08x}: expected {self.expected:08x}, "
                f"got {self.got:08x}")


def judge_library(source: Path, defines: dict[str, int]) -> ctypes.CDLL:
    """Compile a judge, once for each version of its source and of the headers it includes."""
    command = ["g++", "-std=c++17", "-O2", "-march=native", "-fPIC", "-shared", *FLAGS.split(),
               *(f"-D{name}={value}" for name, value in defines.items()), str(source)]
    if shutil.which("g++") is None:
        raise BuildError("g++ missing, needed to compile the judge; install with `sudo apt-get install g++`")
    texts = [*command, *source_texts(source)]
    folder = cache_directory() / "judge"
    folder.mkdir(exist_ok=True)
    library = folder / f"{hashlib.sha256(chr(0).join(texts).encode()).hexdigest()[:24]}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=folder) as work:
            done = subprocess.run([*command, "-o", f"{work}/judge.so"], capture_output=True, text=True)
            if done.returncode:
                raise BuildError(f"the judge does not compile:\n{done.stderr[:2000]}")
            os.replace(f"{work}/judge.so", library)
    return ctypes.CDLL(str(library))


@cache
def _judge() -> ctypes.CDLL:
    return judge_library(HERE / "judge.cpp", DEFINES)


def pointers(*arrays: np.ndarray) -> list[ctypes.c_void_p]:
    """Return the addresses of arrays, as a judge's functions take them."""
    return [ctypes.c_void_p(array.ctypes.data) for array in arrays]


def results(op: AluOp, a, b, c) -> np.ndarray:
    """Return the results of an operation (of a comparison 0 or 1) for arrays of operands."""
    a, b, c = (np.ascontiguousarray(x, np.uint32) for x in np.broadcast_arrays(a, b, c))
    expected, about = np.empty(a.shape, np.uint32), OPERATIONS[op]
    _judge().judge(about.kind, about.detail, about.mode, ctypes.c_uint64(a.size), *pointers(a, b, c, expected))
    return expected


def tuples(op: AluOp, count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return `count` stratified operands a, b, c of an operation and its results."""
    a, b, c = (np.empty(count, np.uint32) for _ in range(3))
    _judge().make_operands(OPERATIONS[op].kind, ctypes.c_uint64(seed), ctypes.c_uint64(count), *pointers(a, b, c))
    return a, b, c, results(op, a, b, c)


class Stream:
    """A verilated `FloatUnit` under the judge's eyes.

    Parameters
    ----------
    g : Geometry
        Gives the lanes, 8 or more.
    """

    def __init__(self, g: Geometry):
        self.lanes = g.lanes
        defines = DEFINES | {"LANES": g.lanes, "LATENCY": FloatUnit.LATENCY}
        self._library = ctypes.CDLL(str(block_library(FloatUnit(g), HERE / "unit.cpp", defines, FLAGS)))
        self._library.stream.restype = ctypes.c_uint64

    def run(self, ops: Sequence[AluOp], count: int, seed: int, *, gap: int = 0) -> tuple[int, Difference | None]:
        """Send at least `count` tuples through the unit, `lanes` a cycle; return the number of differences.

        Parameters
        ----------
        ops : sequence of AluOp
            Each cycle takes a random one of them.
        count, seed : int
        gap : int
            In one cycle of this many there is no operation (0: never).

        Returns
        -------
        tuple
            Number of differences and the first of them.
        """
        table = (Operation * len(ops))(*(OPERATIONS[op] for op in ops))
        found = _Difference()
        cycles = -(-count // self.lanes)
        differences = self._library.stream(
            table, ctypes.c_int(len(ops)), ctypes.c_uint64(seed), ctypes.c_uint64(cycles), ctypes.c_int(gap),
            ctypes.byref(found))
        if not differences:
            return 0, None
        return differences, Difference(ops[found.operation], found.a, found.b, found.c, found.expected, found.got)

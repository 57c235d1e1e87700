"""Common parts of the floating-point units' campaigns: the outside judge in C++, and the stream through a pipeline.

A judge is the host's IEEE 754 arithmetic. `binary32` and `binary64` have one each; both describe an operation by an
`Operation`, both make operands of what `operands.h` has, and both compare a verilated pipeline with the judge by the
loop in `stream.h`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path

import numpy as np
from amaranth.lib import wiring

from caesura.sim.rtl.toolchain import shared_library
from caesura.sim.rtl.verilator import block_library

__all__ = ["MODES", "MODE_DEFINES", "RELATIONS", "Difference", "Judge", "Operation", "Stream",
           "describe"]

MODES = ("RN", "RZ", "RM", "RP")
MODE_DEFINES = {f"MODE_{name}": number for number, name in enumerate(MODES)}
"""Macros of every judge: the rounding directions."""
FLAGS = "-frounding-math", "-ffp-contract=off"
LESS, EQUAL, GREATER, UNORDERED = 1, 2, 4, 8
RELATIONS = {"EQ": EQUAL, "NE": LESS | GREATER, "LT": LESS, "LE": LESS | EQUAL, "GT": GREATER,
             "GE": GREATER | EQUAL}
RELATIONS |= {f"{name}U": relations | UNORDERED for name, relations in RELATIONS.items()}
RELATIONS |= {"NUM": LESS | EQUAL | GREATER, "NAN": UNORDERED}
"""Relations for which a comparison holds, by the end of its name."""


class Operation(ctypes.Structure):
    """An operation as described to a judge; C++ has the same structure."""

    _fields_ = [(name, ctypes.c_int32) for name in ("code", "kind", "detail", "mode")]


def describe(op: IntEnum, kinds: Sequence[str], comparison: str, stems: Mapping[str, tuple[str, int]]) -> Operation:
    """Return what an operation is to a judge, as its name says.

    Parameters
    ----------
    op : IntEnum
    kinds : sequence of str
        The judge's kinds; comparisons are of kind ``TEST``.
    comparison : str
        How the names of comparisons begin; a relation follows.
    stems : mapping of str to tuple of str and int
        Kind and detail of the other operations by their names without a rounding direction.
    """
    if op.name.startswith(comparison):
        return Operation(op, kinds.index("TEST"), RELATIONS[op.name.removeprefix(comparison)], 0)
    stem, _, mode = op.name.rpartition("_")
    if mode not in MODES:
        stem, mode = op.name, "RN"
    kind, detail = stems[stem]
    return Operation(op, kinds.index(kind), detail, MODES.index(mode))


@dataclass(frozen=True)
class Difference:
    """Result of the RTL that is not the judge's; `digits` hexadecimal digits are a word."""

    op: IntEnum
    a: int
    b: int
    c: int
    expected: int
    got: int
    digits: int

    def __str__(self) -> str:
        a, b, c, expected, got = (f"{x:0{self.digits}x}" for x in (self.a, self.b, self.c, self.expected, self.got))
        return f"{self.op.name} of {a} {b} {c}: expected {expected}, got {got}"


def _compile(source: Path, defines: dict[str, int]) -> ctypes.CDLL:
    """Compile a judge, once for each version of its source and of the headers it includes."""
    flags = [*FLAGS, *(f"-D{name}={value}" for name, value in defines.items())]
    return ctypes.CDLL(str(shared_library(source, flags, "judge of floating-point results", "judge")))


def _pointers(*arrays: np.ndarray) -> list[ctypes.c_void_p]:
    return [ctypes.c_void_p(array.ctypes.data) for array in arrays]


class Judge:
    """Operands and expected results of operations, from C++ that is compiled at the first use.

    Parameters
    ----------
    source : Path
        C++ source with the functions ``make_operands`` and ``judge``.
    defines : dict of str to int
        Its macros.
    operations : mapping of IntEnum to Operation
        Description of each operation for the judge.
    word : type
        numpy type of operands and results.

    Raises
    ------
    BuildError
        At the first use, if the compiler is missing or fails.
    """

    def __init__(self, source: Path, defines: dict[str, int], operations: Mapping, word: type[np.unsignedinteger]):
        self._source, self._defines, self._operations, self._word = source, defines, operations, word

    @cached_property
    def _library(self) -> ctypes.CDLL:
        return _compile(self._source, self._defines)

    def results(self, op: IntEnum, a, b, c) -> np.ndarray:
        """Return the results of an operation (of a comparison 0 or 1) for arrays of operands, broadcast."""
        a, b, c = (np.ascontiguousarray(x, self._word) for x in np.broadcast_arrays(a, b, c))
        expected, about = np.empty(a.shape, self._word), self._operations[op]
        self._library.judge(about.kind, about.detail, about.mode, ctypes.c_uint64(a.size),
                            *_pointers(a, b, c, expected))
        return expected

    def tuples(self, op: IntEnum, count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return `count` stratified operands a, b, c of an operation and its results."""
        a, b, c = (np.empty(count, self._word) for _ in range(3))
        about = self._operations[op]
        self._library.make_operands(about.kind, about.detail, ctypes.c_uint64(seed), ctypes.c_uint64(count),
                                    *_pointers(a, b, c))
        return a, b, c, self.results(op, a, b, c)


class Stream:
    """A verilated pipeline under a judge's eyes: operands go in every cycle, without leaving C++.

    Parameters
    ----------
    block : wiring.Component
        The pipeline; it takes `lanes` tuples a cycle.
    harness : Path
        C++ source that instantiates the loop of `stream.h`.
    defines : dict of str to int
        Its macros.
    operations : mapping of IntEnum to Operation
        Description of each operation for the judge.
    bits : int
        Width of operands and results, 32 or 64.
    lanes : int
    """

    def __init__(self, block: wiring.Component, harness: Path, defines: dict[str, int], operations: Mapping,
                 bits: int, lanes: int = 1):
        self._operations, self._bits, self._lanes = operations, bits, lanes
        self._library = ctypes.CDLL(str(block_library(block, harness, defines, FLAGS)))
        self._library.stream.restype = ctypes.c_uint64
        word = ctypes.c_uint32 if bits == 32 else ctypes.c_uint64
        fields = [("operation", ctypes.c_int32), *((name, word) for name in ("a", "b", "c", "expected", "got"))]
        self._found = type("Found", (ctypes.Structure,), {"_fields_": fields})

    def run(self, ops: Sequence[IntEnum], count: int, seed: int, *, gap: int = 0) -> tuple[int, Difference | None]:
        """Send at least `count` tuples through the pipeline.

        Parameters
        ----------
        ops : sequence of IntEnum
            Each cycle takes a random one of them.
        count, seed : int
        gap : int
            In one cycle of this many there is no operation (0: never).

        Returns
        -------
        tuple
            Number of differences and the first of them.
        """
        return self._send(ops, count, seed, gap)

    def _send(self, ops: Sequence[IntEnum], count: int, seed: int, gap: int, *more: int
              ) -> tuple[int, Difference | None]:
        """Call the harness, which may take `more` integers."""
        table = (Operation * len(ops))(*(self._operations[op] for op in ops))
        found = self._found()
        differences = self._library.stream(
            table, ctypes.c_int(len(ops)), ctypes.c_uint64(seed), ctypes.c_uint64(-(-count // self._lanes)),
            ctypes.c_int(gap), *map(ctypes.c_int, more), ctypes.byref(found))
        if not differences:
            return 0, None
        return differences, Difference(ops[found.operation], found.a, found.b, found.c, found.expected, found.got,
                                       self._bits // 4)

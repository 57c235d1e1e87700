"""Special-function campaigns: the host's functions judge the results of a verilated lane or of the model."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np

from caesura.hw.arch.isa.opcodes import SfuOp
from caesura.hw.core.units.sfu.errors import ERRORS
from caesura.hw.core.units.sfu.lane import SpecialFunctionLane
from caesura.hw.core.units.sfu.model import WIDE
from caesura.sim.rtl.verilator import block_library

__all__ = ["SPECIAL", "Errors", "operands", "results_of_lane", "judge", "broken_promises"]

SPECIAL = (0x0000_0000, 0x0000_0001, 0x007F_FFFF, 0x0080_0000, 0x3F80_0000, 0x4000_0000, 0x7F7F_FFFF, 0x7F80_0000,
           0x7F80_0001, 0x7FC0_0000, 0x7FFF_FFFF, 0x000F_FFFF, 0x0010_0000, 0x3FF0_0000, 0x7FEF_FFFF, 0x7FF0_0000,
           0x7FF0_0001, 0x42FF_FFFF, 0x4300_0000, 0x4314_FFFF, 0x4315_0000, 0x4316_0000, 0x437F_FFFF, 0x4380_0000,
           0x3B7F_FFFF, 0x3B80_0000, 0x7E80_0000, 0x7E80_0001, 0x7F00_0000, 0x0020_0000, 0x001F_FFFF)
"""Zero, limits of subnormal and normal numbers, infinity, NaN, of binary32 and of high words of binary64; where powers
of two overflow, become subnormal and zero; where sines begin; each is tried with its neighbours and both signs."""

FIGURES = ("ulps", "ulps_from_1", "absolute", "absolute_below_1", "relative")


class Errors(ctypes.Structure):
    """Largest errors that `judge` has found, in five figures; `<figure>_at` are the operands.

    Attributes
    ----------
    ulps, ulps_from_1 : float
        Errors in units in the last place of the exact result, over all results, and over those of magnitude 1 and more.
    absolute, absolute_below_1 : float
        Absolute errors over all results, and over those of magnitude below 1.
    relative : float
        Relative error of binary64 results.
    wrong : int
        Results that have another sign than the exact one, are infinite or not a number when it is not, and so on.
    wrong_at : int
        The first of them.
    """

    _fields_ = [*((name, ctypes.c_double) for name in FIGURES), *((f"{name}_at", ctypes.c_uint32) for name in FIGURES),
                ("wrong_at", ctypes.c_uint32), ("wrong", ctypes.c_uint64)]


@cache
def _library() -> ctypes.CDLL:
    defines = {f"OP_{op.name}": int(op) for op in SfuOp} | {"LATENCY": SpecialFunctionLane.LATENCY}
    return ctypes.CDLL(str(block_library(SpecialFunctionLane(), Path(__file__).with_name("lane.cpp"), defines)))


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def operands(op: SfuOp, count: int, seed: int) -> np.ndarray:
    """Return words that meet every case: special, ends of all table intervals, every exponent, and `count` random.

    Random ones are uniform in their bits; half of them have an exponent near that of 1.
    """
    rng = np.random.default_rng(seed)
    random = rng.integers(0, 1 << 32, count, np.uint32)
    near = random[::2] & np.uint32(0x807F_FFFF) | rng.integers(112, 140, len(random[::2]), np.uint32) << np.uint32(23)
    exponents, intervals = np.arange(256, dtype=np.uint32) << np.uint32(23), np.arange(257, dtype=np.uint32)
    ends = [exponents[:, None] + (intervals << np.uint32(15))[None, :]]  # also of the high word of binary64
    if op in (SfuOp.EX2, SfuOp.SIN, SfuOp.COS):
        unit = 1.0 if op is SfuOp.EX2 else np.pi / 2
        numbers = np.arange(-160, 161)[:, None] + intervals[None, :] / 256
        ends.append((numbers * unit).astype(np.float32).view(np.uint32))
    some = np.concatenate([np.array(SPECIAL, np.uint32), *map(np.ravel, ends)])
    some = np.concatenate([some - np.uint32(1), some, some + np.uint32(1)])
    return np.concatenate([some, some ^ np.uint32(1 << 31), random[1::2], near])


def results_of_lane(op: SfuOp, b: np.ndarray) -> np.ndarray:
    """Return what the verilated lane makes of an array of words, one a cycle."""
    b = np.ascontiguousarray(b, np.uint32)
    results = np.empty_like(b)
    _library().stream(ctypes.c_int(op), ctypes.c_uint64(b.size), _pointer(b), _pointer(results))
    return results


def judge(op: SfuOp, b: np.ndarray, results: np.ndarray, found: Errors | None = None) -> Errors:
    """Compare results with the host's functions; return `found` (or a new record) with larger errors put in."""
    b, results = np.ascontiguousarray(b, np.uint32), np.ascontiguousarray(results, np.uint32)
    found = Errors() if found is None else found
    function = _library().judge_wide if op in WIDE else _library().judge
    function(ctypes.c_int(op), ctypes.c_uint64(b.size), _pointer(b), _pointer(results), ctypes.byref(found))
    return found


def broken_promises(op: SfuOp, found: Errors) -> list[str]:
    """Return a line for each error that is larger than `hw.core.units.sfu.errors.ERRORS` allows."""
    promise = ERRORS[op]
    both = promise.ulps is not None and promise.absolute is not None
    limits = {"ulps_from_1" if both else "ulps": promise.ulps,
              "absolute_below_1" if both else "absolute": promise.absolute, "relative": promise.relative}
    lines = [f"{op.name}: {name} error {getattr(found, name)} at {getattr(found, name + '_at'):08x}, promised {limit}"
             for name, limit in limits.items() if limit is not None and getattr(found, name) > limit]
    if found.wrong:
        lines.append(f"{op.name}: {found.wrong} wrong results, the first of {found.wrong_at:08x}")
    return lines

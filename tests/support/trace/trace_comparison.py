"""Compares two retire traces: what one machine did, warp by warp and register by register, the other did too.

Different machines interleave warps and finish loads at different times. What must agree, for each (kernel,
launch id, warp), is the sequence of retired instructions with their masks, and for each of its registers and
predicates the sequence of writes, and the same for uniform registers; and the sequence of lanes of its atomics with
what each found in memory. Where the order of atomics matters the model follows that of the machine
(`golden.transport.GoldenTransport.follow`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from caesura.hw.arch.isa.opcodes import PT
from caesura.hw.arch.isa.words import decode
from caesura.sim.trace.retired import ATOMIC, PREDICATE, RETIRE, TRACE, UNIFORM, WRITE

__all__ = ["Difference", "merge_writes", "differences", "first_difference", "describe"]

_KIND = {RETIRE: "instruction", WRITE: "write of register", PREDICATE: "write of predicate",
         UNIFORM: "write of uniform register", ATOMIC: "atomic in memory"}
_KEY = ("kernel", "launch", "warp", "kind", "register")
_SILENT = ("pp", "pp.div", "nop")


@dataclass(frozen=True)
class Difference:
    """The first place where two traces part.

    Attributes
    ----------
    kernel, launch, warp : int
        Which warp.
    kind : int
        `RETIRE`, `WRITE`, `PREDICATE`, `UNIFORM` or `ATOMIC`.
    register : int
        Register or predicate number; of an atomic 0 for global and 1 for shared memory.
    position : int
        Index in the sequence.
    pc : int or None
        Of the instruction, where the expected trace has it.
    expected, got : TRACE record or None
        None where a sequence has ended.
    """

    kernel: int
    launch: int
    warp: int
    kind: int
    register: int
    position: int
    pc: int | None
    expected: np.void | None
    got: np.void | None


def merge_writes(trace: np.ndarray) -> np.ndarray:
    """Return the trace with the partial writes of a load joined into one record, where the last one stood.

    Records of one register must be in program order.
    """
    result = trace.copy()
    partial: dict[tuple, tuple[int, np.ndarray]] = {}
    keep = np.ones(len(trace), bool)
    writes = np.flatnonzero((trace["kind"] == WRITE) | (trace["kind"] == PREDICATE))
    suspects = set(zip(*(trace[n][writes[trace["last"][writes] == 0]].tolist() for n in _KEY), strict=True))
    keys = list(zip(*(trace[n][writes].tolist() for n in _KEY), strict=True))
    for row, key in zip(writes.tolist(), keys, strict=True):
        if key not in suspects:
            continue
        record = result[row]
        if key in partial:
            mask, data = partial.pop(key)
            record["mask"] |= mask
            record["data"] |= data
        if not record["last"]:
            partial[key] = (int(record["mask"]), record["data"].copy())
            keep[row] = False
    return result[keep]


def _sequences(trace: np.ndarray, code: dict[int, Sequence[int]]) -> dict[tuple, np.ndarray]:
    """Split a trace by warp, kind and register, leaving out what is not compared."""
    trace = merge_writes(trace)
    keep = ~((trace["kind"] == PREDICATE) & (trace["register"] == PT))
    keep &= (trace["kind"] == RETIRE) | (trace["mask"] != 0)
    for kernel, words in code.items():
        silent = np.array([decode(word).op.name in _SILENT for word in words] or [False])
        mine = (trace["kind"] == RETIRE) & (trace["kernel"] == kernel) & (trace["pc"] < len(words))
        keep[mine] &= ~silent[trace["pc"][mine]]
    trace = trace[keep]
    trace["register"][trace["kind"] == RETIRE] = 0
    order = np.lexsort([trace[name] for name in reversed(_KEY)])
    trace = trace[order]
    if not len(trace):
        return {}
    changes = np.zeros(len(trace), bool)
    for name in _KEY:
        changes[1:] |= trace[name][1:] != trace[name][:-1]
    parts = np.split(trace, np.flatnonzero(changes))
    return {tuple(int(part[name][0]) for name in _KEY): part for part in parts}


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return which records of two equally long sequences of one key are equal."""
    if a["kind"][0] == RETIRE:
        return (a["pc"] == b["pc"]) & (a["mask"] == b["mask"])
    same = (a["mask"] == b["mask"]) & (a["data"] == b["data"]).all(axis=1)
    return same & (a["pc"] == b["pc"]) if a["kind"][0] == ATOMIC else same


def differences(expected: np.ndarray, got: np.ndarray, code: dict[int, Sequence[int]] | None = None,
                prefix: bool = False) -> Iterator[Difference]:
    """Yield the first difference of each sequence; parameters as of `first_difference`."""
    left, right = (_sequences(trace, code or {}) for trace in (expected, got))
    nothing = np.zeros(0, TRACE)
    for key in sorted(left.keys() | right.keys()):
        a, b = left.get(key, nothing), right.get(key, nothing)
        shared = min(len(a), len(b))
        wrong = np.flatnonzero(~_same(a[:shared], b[:shared])) if shared else nothing
        if len(wrong):
            position = int(wrong[0])
        elif len(b) > shared or (len(a) > shared and not prefix):
            position = shared
        else:
            continue
        kernel, launch, warp, kind, register = key
        yield Difference(kernel, launch, warp, kind, register, position,
                         int(a["pc"][position]) if position < len(a) else None,
                         a[position] if position < len(a) else None, b[position] if position < len(b) else None)


def first_difference(expected: np.ndarray, got: np.ndarray, code: dict[int, Sequence[int]] | None = None,
                     prefix: bool = False) -> Difference | None:
    """Return the difference that comes first in the expected trace, None if the traces agree.

    Parameters
    ----------
    expected, got : ndarray of TRACE
        Usually the golden model's and the RTL's; ``pc`` of writes is read from `expected` only.
    code : dict of int to sequence of int, optional
        Instruction words of each kernel slot: retired ``pp``, ``pp.div`` and ``nop`` are then left out on both sides.
    prefix : bool
        The second trace may end early (a kernel still running).
    """
    found = differences(expected, got, code, prefix)
    return min(found, key=lambda d: int(d.expected["cycle"]) if d.expected is not None else 1 << 64, default=None)


def describe(difference: Difference, code: Sequence[int] | None = None) -> str:
    """Return a report of a difference: which warp, where, the instruction, and the lanes that differ."""
    d = difference
    where = f"kernel {d.kernel} TB {d.launch} warp {d.warp}: {_KIND[d.kind]}"
    where += f" {d.register}, number {d.position}" if d.kind != RETIRE else f" number {d.position}"
    if d.pc is not None:
        where += f", pc {d.pc}"
        if code is not None and d.pc < len(code):
            where += f" ({_instruction(code[d.pc])})"
    lines = [where]
    for name, record in (("expected", d.expected), ("got", d.got)):
        if record is None:
            lines.append(f"  {name}: nothing more")
        elif d.kind == RETIRE:
            lines.append(f"  {name}: pc {record['pc']}, mask {record['mask']:08x}")
        else:
            lines.append(f"  {name}: mask {record['mask']:08x}, {_lanes(d, record)}")
    return "\n".join(lines)


def _lanes(d: Difference, record: np.void) -> str:
    if d.kind in (PREDICATE, UNIFORM):
        return f"values {record['data'][0]:08x}"
    if d.kind == ATOMIC:
        return f"pc {record['pc']}, old {record['data'][1]:08x}{record['data'][0]:08x}"
    lanes = [lane for lane in range(32) if int(record["mask"]) >> lane & 1]
    if d.expected is not None and d.got is not None:
        lanes = [lane for lane in lanes if d.expected["data"][lane] != d.got["data"][lane]] or lanes
    return " ".join(f"{lane}:{record['data'][lane]:08x}" for lane in lanes)


def _instruction(word: int) -> str:
    instruction = decode(word)
    return " ".join([instruction.op.name, *(f"{k}={v}" for k, v in instruction.fields.items())])

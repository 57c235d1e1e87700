"""State that the compiled engine works on: arrays whose structure C++ takes from here.

A structure is a numpy dtype with C's alignment; `header` writes each as a C++ struct, and every number that the two
languages share as a constant.
"""

from __future__ import annotations

import enum

import numpy as np

from caesura.hw.arch.geometry import PC_NONE, SEGMENT_BYTES, UNIFORMS
from caesura.hw.arch.isa.opcodes import PT, AluOp, AtomicOp, ExchangeOp, F64Op, SfuOp, Size, Space, Special
from caesura.hw.core.units.sfu import model, tables
from caesura.sim.trace.retired import ATOMIC, PREDICATE, RETIRE, TRACE, UNIFORM, WRITE

__all__ = ["Handler", "Source", "Status", "OPERATION", "WARP", "BLOCK", "KERNEL", "MACHINE", "MOST_RECORDS",
           "STACK_WORD", "STACK_WORDS", "header"]

MAX_STACK = 64
"""Entries of a SIMT stack in any geometry."""
MAX_WARPS = 64
"""Warp slots in any geometry; a power of two, the size of the ring of ready warps."""
MAX_WINDOWS = 8
MOST_RECORDS = 80
"""Trace records of one instruction, at most: its retirement, a write or change of memory for each lane, and more."""


class Handler(enum.IntEnum):
    """The engine's handler of an operation."""

    UNDECODED = 0
    """It was never met: the machine's `Decoder` decodes it."""
    PYTHON = 1
    """Left to the numpy model."""
    VALUE = 2
    TEST = 3
    CHAIN = 4
    SELECT = 5
    BALLOT = 6
    LOGIC = 7
    SPECIAL = 9
    F64 = 10
    F64_TEST = 11
    SFU = 12
    SHUFFLE = 13
    MATCH = 14
    LOAD = 15
    STORE = 16
    ATOMIC = 17
    UNIFORM_VALUE = 18
    UNIFORM_TEST = 19
    UNIFORM_SPECIAL = 21
    UNIFORM_LOAD = 22
    BRANCH = 23
    EXIT = 24
    NOP = 25
    BARRIER = 26
    PP = 27
    PP_DIV = 28
    TRAP = 29
    CALL = 30
    BRU = 31
    REJOIN = 32


class Source(enum.IntEnum):
    """Where an operand or the base of an address comes from."""

    NONE = 0
    REGISTER = 1
    PAIR = 2
    UNIFORM = 3
    IMMEDIATE = 4


class Status(enum.IntEnum):
    """Why the engine stopped."""

    LIMIT = 0
    """All cycles passed, no warp is ready, or the trace is full."""
    PYTHON = 1
    """The next instruction is the numpy model's."""
    DECODE = 2
    """The next instruction was never met."""
    DONE = 3
    """The last warp of a thread block has exited."""
    ATTENTION = 4
    """The last warp of a thread block has stopped while a preempt is pending."""
    MISMATCH = 5
    """All warps of a thread block wait, at different barriers or at one where it may leave."""
    RAN_OFF = 6
    """Live lanes ran off the bottom of the stack."""
    WOKEN = 7
    """A row of the watch table has fired."""


def _struct(*fields: tuple) -> np.dtype:
    return np.dtype(list(fields), align=True)


OPERATION = _struct(
    *((name, "u1") for name in ("handler", "code", "guard", "guard_not", "recorded", "d", "a", "b", "c", "pd", "pa",
                                "pa_not", "pb", "pb_not", "from_a", "from_b", "from_c", "registers", "size", "space",
                                "wide", "returns", "tests", "barrier", "all_lanes")),
    ("imm", "u4"), ("target", "u4"), ("reconv", "u4"), ("live", "u8"))
"""A decoded instruction. `code` is its function, `registers` the vector registers it loads or stores, `from_a` the base
of an address."""

WARP = _struct(
    ("registers", "u8"), ("uniforms", "u8"), ("valid", "u8"), ("dirty", "u8"), ("live_vector", "u8"),
    ("live", "u4"), ("written", "u4"), ("uniforms_written", "u4"), ("waiting", "u4"), ("barrier", "u4"),
    ("parked", "u4"), ("after_pp", "u4"), ("returned", "u4"), ("yielding", "u4"),
    ("predicates", "u4", (PT + 1,)), ("index", "u4"), ("block", "u4"), ("depth", "u4"),
    ("stack", "u4", (MAX_STACK, 3)))
"""A warp slot; a stack entry is PC, mask and reconvergence PC, and predicate `PT` is all ones."""
STACK_WORD, STACK_WORDS = WARP.fields["stack"][1] // 4, 3  # type: ignore[index]
"""Where the stack begins in a warp, and the words of an entry."""

BLOCK = _struct(
    ("shared", "u8"), ("lines", "u8"), ("dirty_lines", "u8"), ("kernel", "u4"), ("launch", "u4"), ("ctaid", "u4", (3,)),
    ("local_base", "u4"), ("warps", "u4"), ("slots", "u4", (32,)), ("pending", "u4"),
    ("traps", "u4"), ("instructions", "u8"))
"""A TB slot. `lines` and `dirty_lines` point to one bit per 128-byte line of shared memory. The bits tell which lines
were written ever, and since the last save of a base. With `pending` its warps have to stop; with `traps` they are in
their kernel's routines."""

KERNEL = _struct(
    ("operations", "u8"), ("code_words", "u4"), ("trap_base", "u4"), ("shared_bytes", "u4"),
    ("const_base", "u4"), ("const_bytes", "u4"), ("param_base", "u4"), ("param_bytes", "u4"), ("local_bytes", "u4"),
    ("block", "u4", (3,)), ("grid", "u4", (3,)),
    ("windows", "u4"), ("window", "u4", (MAX_WINDOWS, 2)))
"""A kernel slot."""

MACHINE = _struct(
    ("memory", "u8"), ("memory_bytes", "u8"), ("cycle", "u8"), ("retired", "u8"), ("warps", "u8"), ("blocks", "u8"),
    ("kernels", "u8"), ("trace", "u8"), ("watches", "u8"), ("coefficients", "u8"), ("angles", "u8"),
    ("trace_count", "u4"), ("trace_room", "u4"), ("stack_depth", "u4"), ("ordered", "u4"),
    ("number", "u4"), ("sms", "u4"), ("first", "u4"), ("count", "u4"), ("slot", "u4"), ("pc", "u4"),
    ("watch_rows", "u4"), ("table_first", "u4"), ("table_end", "u4"), ("woken", "u4"),
    ("ready", "u4", (MAX_WARPS,)))
"""The machine. `ready` is a ring of warp slots, `ordered` says that atomics follow a trace. `number` is the SM's, of
`sms` on the device. `slot` and `pc` are those of the instruction that stopped the engine. `watches` are the words of
`Watches`; `woken` says that a row of the SM's own watch table, `table_first` to `table_end`, has fired."""

_STRUCTS = {"Operation": OPERATION, "Warp": WARP, "Block": BLOCK, "Kernel": KERNEL, "Machine": MACHINE, "Record": TRACE}
_ENUMS = (Handler, Source, Status, AluOp, F64Op, SfuOp, ExchangeOp, AtomicOp, Space, Size, Special)
_CONSTANTS = {
    "PT": PT, "PC_NONE": PC_NONE, "SEGMENT_BYTES": SEGMENT_BYTES, "UNIFORMS": UNIFORMS, "MAX_WARPS": MAX_WARPS,
    "MOST_RECORDS": MOST_RECORDS, "RETIRE": RETIRE, "WRITE": WRITE, "PREDICATE": PREDICATE, "UNIFORM": UNIFORM,
    "ATOMIC": ATOMIC, "SMALL_SINE": model.SMALL_SINE, "LARGE_POWER": model.LARGE_POWER,
    "INDEX_BITS": tables.INDEX_BITS, "T_BITS": tables.T_BITS, "VALUE_BITS": tables.VALUE_BITS,
    "C1_BITS": tables.C1_BITS, "C2_BITS": tables.C2_BITS, "FRACTION_BITS": tables.FRACTION_BITS,
}
_RENAMED = {"register": "reg"}
"""Fields whose name is a word of C++."""
_TYPES = {"u1": "uint8_t", "u4": "uint32_t", "u8": "uint64_t"}


def _struct_text(name: str, layout: np.dtype) -> str:
    lines = []
    for field, (kind, *_) in (layout.fields or {}).items():
        dimensions = "".join(f"[{n}]" for n in kind.shape)
        lines.append(f"    {_TYPES[kind.base.str[1:]]} {_RENAMED.get(field, field)}{dimensions};\n")
    packed = "" if layout.isalignedstruct else " __attribute__((packed))"
    return (f"struct{packed} {name} {{\n{''.join(lines)}}};\n"
            f"static_assert(sizeof({name}) == {layout.itemsize}, \"{name} is laid out as in Python\");\n")


def header(warp_size: int) -> str:
    """Return the C++ header of everything that is shared, for warps of `warp_size` lanes."""
    parts = ["#pragma once\n#include <cstdint>\n"]
    for kind in _ENUMS:
        members = ", ".join(f"{member.name} = {int(member)}" for member in kind)
        parts.append(f"namespace {kind.__name__} {{\nenum : int {{ {members} }};\n}}\n")
    constants = _CONSTANTS | {"W": warp_size, "FULL": (1 << warp_size) - 1}
    parts += [f"constexpr int64_t {name} = {value};\n" if value < 0 or value >= 1 << 31 and name != "FULL"
              else f"constexpr {'uint32_t' if value >= 1 << 31 else 'int'} {name} = {value}u;\n"
              for name, value in constants.items()]
    rows = ", ".join(str(model.ROW_OF[op]) for op in SfuOp)
    sizes = ", ".join(str(size.bytes) for size in Size)
    parts.append(f"#define SFU_ROWS {{ {rows} }}\n#define SIZE_BYTES {{ {sizes} }}\n")
    parts += [_struct_text(name, layout) for name, layout in _STRUCTS.items()]
    return "".join(parts)

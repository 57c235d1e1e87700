"""Decoded instructions: a word becomes an `Operation`, which knows its effect."""

from __future__ import annotations

import enum

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import UNIFORMS
from caesura.hw.arch.isa.opcodes import PT, Unit
from caesura.hw.arch.isa.words import Instruction, decode

from ..state.kernel import Kernel
from ..state.sm import Sm
from ..state.thread_block import Warp
from .atomics import Atomic
from .load_store import constant_to_uniform, load_store
from .multicycle_units import exchange, f64, sfu
from .operands import Run
from .uniform import call, uniform
from .vector import alu

__all__ = ["Kind", "Operation", "compile_word"]

_UNITS = {Unit.ALU: alu, Unit.F64: f64, Unit.SFU: sfu, Unit.EXCHANGE: exchange, Unit.UNIFORM: uniform,
          Unit.GLOBAL: load_store, Unit.SHARED: load_store, Unit.CONSTANT: load_store}


class Kind(enum.IntEnum):
    """The machine's treatment of an operation."""

    RUN = 0
    BRANCH = 1
    EXIT = 2
    NOP = 3
    BARRIER = 4
    PP = 5
    PP_DIV = 6
    TRAP = 7
    FAULT = 8
    ATOMIC = 9
    CALL = 10
    BRU = 11
    REJOIN = 12
    UNWATCH = 13


def _nothing(warp: Warp, mask: int) -> None:
    """Have no effect."""


class Operation:
    """One decoded instruction.

    Attributes
    ----------
    kind : Kind
    guard, invert : int
        Guard predicate number, and all ones if it is negated.
    run : callable
        Effect of kind `RUN` on (warp, mask), which raises `WarpFault`. For kind `CALL` it writes the return address.
    atomic : Atomic or None
        Atomic operation of kind `ATOMIC`.
    target, reconv, live, barrier, uniform : int
        Of control instructions; `uniform` is the register that holds a return address.
    yields : bool
        Of kind `BARRIER`: the TB may leave the SM there.
    fault : Fault
        Fault of kind `FAULT`, raised at issue.
    recorded : bool
        Appears in the retire trace.
    all_lanes : bool
        Executed by all lanes that have not exited.
    instruction : Instruction or None
        The decoded instruction; None for kind `FAULT`.
    """

    __slots__ = ("kind", "guard", "invert", "run", "atomic", "target", "reconv", "live", "barrier", "uniform",
                 "fault", "recorded", "all_lanes", "yields", "instruction")

    def __init__(self, kind: Kind, fault: Fault = Fault.NONE):
        self.kind = kind
        self.guard = PT
        self.invert = 0
        self.run: Run = _nothing
        self.atomic: Atomic | None = None
        self.target = self.reconv = self.live = self.barrier = self.uniform = 0
        self.fault = fault
        self.recorded = True
        self.all_lanes = self.yields = False
        self.instruction: Instruction | None = None


def compile_word(word: int, sm: Sm, kernel: Kernel) -> Operation:
    """Decode one instruction word of `kernel`.

    Static faults (illegal opcode or operand, register bound) become operations of kind `FAULT`.
    """
    try:
        instruction = decode(word)
    except ValueError:
        return Operation(Kind.FAULT, Fault.ILLEGAL_OPCODE)
    op = instruction.op
    if _illegal(instruction) or op.yields and not sm.g.watches:
        return Operation(Kind.FAULT, Fault.ILLEGAL_OPCODE)
    if max((*instruction.reads, *instruction.writes), default=-1) >= kernel.registers:
        return Operation(Kind.FAULT, Fault.REGISTER_BOUND)
    operation = _control(instruction)
    if operation is None and op.is_atomic:
        operation = Operation(Kind.ATOMIC)
        operation.atomic = Atomic(instruction, sm, kernel)
    elif operation is None:
        operation = Operation(Kind.RUN)
        make = constant_to_uniform if "ud" in op.operands and op.size is not None else _UNITS[op.unit]
        operation.run = make(instruction, sm, kernel)
    operation.instruction, operation.all_lanes = instruction, op.all_lanes
    if operation.kind is Kind.CALL:
        operation.run = call(instruction, sm, kernel)
    if op.is_guarded:
        operation.guard = instruction.get("guard")
        operation.invert = (1 << sm.g.warp_size) - 1 if instruction.get("guard_not") else 0
    return operation


def _illegal(instruction: Instruction) -> bool:
    """A misaligned register group, a uniform register that does not exist, or one as half of a pair."""
    op, get = instruction.op, instruction.get
    if op.data_registers > 1 and get("d") % op.data_registers:
        return True
    shared = bool(get("b_uniform")) and "b" in op.operands
    if any(get(x) % 2 for x in op.pairs if x in op.operands and x != "d" and not (x == "b" and shared)):
        return True
    if shared and "b" in op.pairs:
        return True
    return any(u >= UNIFORMS for u in (*instruction.uniform_reads, *instruction.uniform_writes))


_CONTROL = {"bra": Kind.BRANCH, "exit": Kind.EXIT, "nop": Kind.NOP, "membar": Kind.NOP,
            "pp": Kind.PP, "pp.div": Kind.PP_DIV, "trap": Kind.TRAP, "call": Kind.CALL, "bru": Kind.BRU,
            "rejoin": Kind.REJOIN, "unwatch": Kind.UNWATCH}


def _control(instruction: Instruction) -> Operation | None:
    op = instruction.op
    if op.barrier is not None:
        operation = Operation(Kind.BARRIER)
        operation.barrier, operation.yields = op.barrier, op.yields
    elif op.name in _CONTROL:
        operation = Operation(_CONTROL[op.name])
    else:
        return None
    operation.target, operation.reconv = instruction.get("target"), instruction.get("reconv")
    operation.live = instruction.get("live")
    operation.uniform = next(iter((*instruction.uniform_writes, *instruction.uniform_reads)), 0)
    operation.recorded = op.name not in ("nop", "pp", "pp.div")
    return operation

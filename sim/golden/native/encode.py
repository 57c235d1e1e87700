"""Decoded instructions as the compiled engine takes them."""

from __future__ import annotations

from caesura.hw.arch.isa.formats import Format
from caesura.hw.arch.isa.opcodes import AluOp, ExchangeOp, Unit
from caesura.hw.arch.isa.words import Instruction

from ..semantics.operation import Kind, Operation
from ..semantics.operations import TEST, VALUE
from .layout import OPERATION, Handler, Source

__all__ = ["UNDECODED", "row"]

assert OPERATION.names is not None
_NAMES = OPERATION.names
UNDECODED = (0,) * len(_NAMES)
"""The row of an instruction that was never met."""
_SPECIAL_ALU = {
    AluOp.S2R: Handler.SPECIAL, AluOp.SEL: Handler.SELECT, AluOp.BALLOT: Handler.BALLOT,
    AluOp.IADDC: Handler.CHAIN, AluOp.ISUBC: Handler.CHAIN, AluOp.PAND: Handler.LOGIC, AluOp.POR: Handler.LOGIC,
    AluOp.PXOR: Handler.LOGIC,
}
_UNIFORM = {Handler.VALUE: Handler.UNIFORM_VALUE, Handler.TEST: Handler.UNIFORM_TEST,
            Handler.SPECIAL: Handler.UNIFORM_SPECIAL}
_CONTROL = {kind: Handler[kind.name] for kind in Kind if kind.name in
            ("BRANCH", "EXIT", "NOP", "BARRIER", "PP", "PP_DIV", "TRAP", "CALL", "BRU", "REJOIN")}


def row(operation: Operation) -> tuple[int, ...]:
    """Return the fields of `layout.OPERATION`; what the engine cannot do is of handler `PYTHON`."""
    instruction = operation.instruction
    if instruction is None:
        return _packed(handler=Handler.PYTHON)
    op, get = instruction.op, instruction.get
    registers = {name: get(name) if name in op.operands or f"u{name}" in op.operands else 0 for name in "abc"}
    if "mem" in op.operands:
        registers["a"] = 0 if get("no_base") else get("a")
    if operation.kind in (Kind.CALL, Kind.BRU):
        registers["d"] = operation.uniform
    return _packed(**{
        "handler": _handler(instruction, operation.kind), "code": _function(instruction), "guard": operation.guard,
        "guard_not": bool(operation.invert), "recorded": operation.recorded,
        "all_lanes": operation.all_lanes, "d": get("d"), **registers,
        **{name: get(name) for name in ("pd", "pa", "pa_not", "pb", "pb_not", "target", "reconv", "live")},
        **{f"from_{name}": _source(instruction, name) for name in "abc"},
        "registers": op.data_registers, "size": op.size or 0, "space": op.space or 0,
        "wide": op.size is not None and op.size.bytes == 8, "returns": "d" in op.operands,
        "tests": "pd" in op.operands, "barrier": op.barrier or 0, "imm": get("imm") & 0xFFFF_FFFF})


def _packed(**fields: int) -> tuple[int, ...]:
    return tuple(int(fields.get(name, 0)) for name in _NAMES)


def _handler(instruction: Instruction, kind: Kind) -> Handler:
    op = instruction.op
    if op.yields:
        return Handler.PYTHON
    if kind in _CONTROL:
        return _CONTROL[kind]
    if kind is Kind.ATOMIC:
        return Handler.ATOMIC
    if kind is not Kind.RUN:
        return Handler.PYTHON
    if op.unit is Unit.F64:
        return Handler.F64_TEST if "pd" in op.operands else Handler.F64
    if op.unit is Unit.SFU:
        return Handler.SFU
    if op.unit is Unit.EXCHANGE:
        return Handler.MATCH if op.function is ExchangeOp.MATCH else Handler.SHUFFLE
    if op.size is not None:
        return Handler.UNIFORM_LOAD if "ud" in op.operands else Handler.STORE if op.store else Handler.LOAD
    if op.alu is None:
        return Handler.PYTHON
    handler = Handler.VALUE if op.alu in VALUE else Handler.TEST if op.alu in TEST \
        else _SPECIAL_ALU.get(op.alu, Handler.PYTHON)
    if op.unit is Unit.UNIFORM:
        return _UNIFORM.get(handler, Handler.PYTHON)
    return handler if op.unit is Unit.ALU else Handler.PYTHON


def _function(instruction: Instruction) -> int:
    op = instruction.op
    return int(op.alu if op.alu is not None else op.function or 0)


def _source(instruction: Instruction, name: str) -> Source:
    op, get = instruction.op, instruction.get
    if name == "a" and "mem" in op.operands:
        uniform = get("base_uniform") or "ud" in op.operands
        return Source.NONE if get("no_base") else Source.UNIFORM if uniform else Source.REGISTER
    if name == "b" and op.format is Format.I:
        return Source.IMMEDIATE
    if f"u{name}" in op.operands or name == "b" and get("b_uniform"):
        return Source.UNIFORM
    if name not in op.operands:
        return Source.NONE
    return Source.PAIR if name in op.pairs else Source.REGISTER

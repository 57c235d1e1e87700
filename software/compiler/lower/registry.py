"""The registry of functions that lower PTX instructions, and messages for instructions without one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from ..errors import CompileError
from ..ptx.inline import CALL, ENTER, RETURN, YIELD
from ..ptx.syntax import Instruction, Operand, opcode_parts
from ..ptx.types import DATA_TYPES, HALF_TYPES, WIDTHS
from .context import Context

__all__ = ["lowers", "lowers_f32", "lowers_f64", "lowers_half", "handler", "supported_opcodes", "integer_type",
           "data_type", "check_modifiers", "take_operands", "without_policy", "CACHE_HINT"]

Handler = Callable[[Context], None]
_HANDLERS: dict[str, Handler] = {}
_FLOAT_HANDLERS: dict[str, dict[str, Handler]] = {"f32": {}, "f64": {}}
_HALF_HANDLERS: dict[str, Handler] = {}


def _register(table: dict[str, Handler], opcodes: tuple[str, ...]) -> Callable[[Handler], Handler]:
    def register(function: Handler) -> Handler:
        for opcode in opcodes:
            table[opcode] = function
        return function
    return register


def lowers(*opcodes: str) -> Callable[[Handler], Handler]:
    """Register a function for PTX instructions with the given base opcodes."""
    return _register(_HANDLERS, opcodes)


def lowers_f32(*opcodes: str) -> Callable[[Handler], Handler]:
    """Register a function for those instructions of the given base opcodes that have type f32."""
    return _register(_FLOAT_HANDLERS["f32"], opcodes)


def lowers_f64(*opcodes: str) -> Callable[[Handler], Handler]:
    """Register a function for those instructions of the given base opcodes that have type f64."""
    return _register(_FLOAT_HANDLERS["f64"], opcodes)


def lowers_half(*opcodes: str) -> Callable[[Handler], Handler]:
    """Register a function for those instructions of the given base opcodes that have a type of `HALF_TYPES`."""
    return _register(_HALF_HANDLERS, opcodes)


def handler(instruction: Instruction) -> Handler | None:
    """Return the function for an instruction, None if there is none."""
    return _handler(instruction.opcode)


@functools.lru_cache(4096)
def _handler(opcode: str) -> Handler | None:
    base, *modifiers = opcode_parts(opcode)
    last = modifiers[-2:]
    if base in _HALF_HANDLERS and any(m in HALF_TYPES for m in last):
        return _HALF_HANDLERS[base]
    for type, handlers in _FLOAT_HANDLERS.items():
        if type in last and base in handlers:
            return handlers[base]
    if base in _HANDLERS:
        return _HANDLERS[base]
    return _only_float if _float_types(base) else None


def _float_types(base: str) -> tuple[str, ...]:
    found = tuple(type for type, handlers in _FLOAT_HANDLERS.items() if base in handlers)
    return (*found, *HALF_TYPES) if base in _HALF_HANDLERS else found


def _only_float(ctx: Context) -> None:
    type = ctx.instruction.modifiers[-1] if ctx.instruction.modifiers else ""
    raise ctx.error(f"type .{type} is not supported" if type else "the type is missing",
                    "types " + ", ".join(f".{t}" for t in _float_types(ctx.instruction.base)))


def supported_opcodes() -> list[str]:
    """Return the supported base opcodes, without the internal ones of `ptx.inline`."""
    found = {*_HANDLERS, *_HALF_HANDLERS, *_FLOAT_HANDLERS["f32"], *_FLOAT_HANDLERS["f64"]}
    return sorted(found - {CALL, ENTER, RETURN, YIELD})


def check_modifiers(ctx: Context, allowed: set[str], modifiers: list[str]) -> None:
    """Refuse modifiers that are not `allowed`."""
    for modifier in modifiers:
        if modifier not in allowed:
            known = ", ".join(f".{m}" for m in sorted(allowed)) or "none"
            raise ctx.error(f"modifier .{modifier} is not supported here", f"modifiers {known}")


def take_operands(ctx: Context, count: int) -> tuple[Operand, ...]:
    """Return the operands; their number must be `count`."""
    operands = without_policy(ctx)
    if len(operands) != count:
        raise ctx.error(f"{len(operands)} operands where {count} belong")
    return operands


CACHE_HINT = "L2::cache_hint"
"""Modifier of a memory access whose last operand is a cache policy, which has no effect."""


def without_policy(ctx: Context) -> tuple[Operand, ...]:
    """Return the operands without a cache policy."""
    operands = ctx.instruction.operands
    if CACHE_HINT not in ctx.instruction.opcode or CACHE_HINT not in ctx.instruction.modifiers or not operands:
        return operands
    ctx.value(operands[-1], 64, "b64")
    return operands[:-1]


def integer_type(ctx: Context, widths: tuple[int, ...], position: int = -1) -> str:
    """Return the instruction's type modifier, which must be an integer type of one of the `widths`."""
    type = _type_at(ctx, position)
    if WIDTHS.get(type) not in widths:
        raise _wrong_type(ctx, type, WIDTHS, widths, _float_types(ctx.instruction.base))
    return type


def data_type(ctx: Context, widths: tuple[int, ...]) -> str:
    """Return the instruction's type modifier: an integer type of one of the `widths`, or a floating-point type."""
    type = _type_at(ctx, -1)
    if DATA_TYPES.get(type) not in widths:
        raise _wrong_type(ctx, type, DATA_TYPES, widths)
    return type


def _type_at(ctx: Context, position: int) -> str:
    modifiers = ctx.instruction.modifiers
    return modifiers[position] if len(modifiers) >= abs(position) else ""


def _wrong_type(ctx: Context, type: str, types: Mapping[str, int], widths: tuple[int, ...],
                others: tuple[str, ...] = ()) -> CompileError:
    known = [name for name, bits in types.items() if bits in widths]
    return ctx.error(f"type .{type} is not supported" if type else "the type is missing",
                     "types " + ", ".join(f".{name}" for name in (*known, *others)))

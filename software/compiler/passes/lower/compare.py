"""Lowering of comparison and selection (PTX ISA 9.7.5)."""

from __future__ import annotations

from ...ir.kernel import TRUE, Imm, Pred
from ...ptx.syntax import Name, Pair
from ..types import width_of
from .context import Context
from .registry import integer_type, lowers

__all__: list[str] = []

_TESTS = ("eq", "ne", "lt", "le", "gt", "ge")
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


@lowers("setp")
def _setp(ctx: Context) -> None:
    modifiers, operands = ctx.instruction.modifiers, ctx.instruction.operands
    test = modifiers[0] if modifiers else ""
    combine = modifiers[1] if len(modifiers) == 3 else ""
    known = f".{', .'.join((*_TESTS, *_UNSIGNED))}, with .and, .or or .xor, on integer types"
    if test not in (*_TESTS, *_UNSIGNED) or combine not in ("", "and", "or", "xor") or len(modifiers) > 3:
        raise ctx.error("not an integer comparison", known)
    type = integer_type(ctx, (16, 32, 64))
    if len(operands) != (4 if combine else 3):
        raise ctx.error(f"{len(operands)} operands where {4 if combine else 3} belong")
    bits = width_of(type)
    name = _comparison(test, type)
    if bits == 64:
        uses = (ctx.value(operands[1], 64), ctx.value(operands[2], 64))
    else:
        shown = f"u{bits}" if test in ("eq", "ne") else type
        uses = (ctx.extended(operands[1], shown), ctx.extended(operands[2], shown))
    first, second = _destinations(ctx, operands[0])
    if not combine and second is None:
        ctx.emit(name, (first,), uses)
        return
    # Both results are computed before either is written: the combined predicate may be a destination.
    outcome, results = ctx.p(), []
    ctx.emit(name, (outcome,), uses)
    other = ctx.pred(operands[3]) if combine else TRUE
    for negated, dest in ((False, first), (True, second)):
        if dest is not None:
            result = ctx.p()
            ctx.emit(f"p{combine or 'and'}", (result,), (Pred(outcome, negated), other))
            results.append((dest, result))
    for dest, result in results:
        ctx.emit("pand", (dest,), (Pred(result), TRUE))


def _comparison(test: str, type: str) -> str:
    signed = type[0] == "s" and test not in _UNSIGNED
    test = _UNSIGNED.get(test, test)
    name = f"setp.{test}" if test in ("eq", "ne") else f"setp.{test}.{'s' if signed else 'u'}"
    return f"{name}.64" if width_of(type) == 64 else name


def _destinations(ctx: Context, operand):
    if isinstance(operand, Pair):
        return tuple(None if name == "_" else ctx.dest(Name(name), 1) for name in (operand.first, operand.second))
    return ctx.dest(operand, 1), None


@lowers("selp")
def _selp(ctx: Context) -> None:
    operands = ctx.instruction.operands
    bits = width_of(integer_type(ctx, (16, 32, 64)))
    if len(operands) != 4:
        raise ctx.error(f"{len(operands)} operands where 4 belong")
    uses = (ctx.value(operands[1], bits), ctx.value(operands[2], bits), ctx.pred(operands[3]))
    ctx.emit("sel.64" if bits == 64 else "sel", (ctx.dest(operands[0], bits),), uses)


@lowers("set")
def _set(ctx: Context) -> None:
    modifiers, operands = ctx.instruction.modifiers, ctx.instruction.operands
    if len(modifiers) != 3 or modifiers[0] not in (*_TESTS, *_UNSIGNED) or modifiers[1] not in ("u32", "s32"):
        raise ctx.error("not an integer comparison", "set.<test>.u32 or .s32 on integer types")
    type = integer_type(ctx, (16, 32, 64))
    if len(operands) != 3:
        raise ctx.error(f"{len(operands)} operands where 3 belong")
    read = ctx.value if width_of(type) == 64 else None
    uses = tuple(read(x, 64) if read else ctx.extended(x, type) for x in operands[1:])
    outcome = ctx.p()
    ctx.emit(_comparison(modifiers[0], type), (outcome,), uses)
    ctx.emit("sel", (ctx.dest(operands[0], 32),), (Imm(0xFFFF_FFFF), Imm(0), Pred(outcome)))

"""Lowering of comparison and selection (PTX ISA 9.7.5, 9.7.6)."""

from __future__ import annotations

from ...ir.kernel import TRUE, Imm, Pred, Reg, Use
from ...ptx.syntax import Name, Operand, Pair
from ...ptx.types import DATA_TYPES, width_of
from ..context import Context
from ..registry import check_modifiers, data_type, integer_type, lowers, lowers_f32, lowers_f64, take_operands

__all__ = ["COMBINE", "FLOAT_TESTS", "comparison", "modifiers_of"]

_TESTS = ("eq", "ne", "lt", "le", "gt", "ge")
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
FLOAT_TESTS = (*_TESTS, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
COMBINE = ("and", "or", "xor")


@lowers("setp")
@lowers_f32("setp")
@lowers_f64("setp")
def _setp(ctx: Context) -> None:
    test, combine = modifiers_of(ctx, 1)
    operands = take_operands(ctx, 4 if combine else 3)
    name, uses = comparison(ctx, test, operands[1:3])
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


def modifiers_of(ctx: Context, types: int) -> tuple[str, str]:
    """Return the comparison and the operation that combines it with a predicate; `types` type modifiers follow."""
    modifiers = ctx.instruction.modifiers
    type = modifiers[-1] if modifiers else ""
    test, *others = [m for m in modifiers[:-types] if m != "ftz" or type != "f32"] or [""]
    floating = type in ("f32", "f64")
    tests = FLOAT_TESTS if floating else (*_TESTS, *_UNSIGNED)
    if test not in tests or len(others) > 1 or any(x not in COMBINE for x in others):
        what = type if floating else "integer"
        raise ctx.error(f"not an {what} comparison",
                        f".{', .'.join(tests)}, with .and, .or or .xor, on {what if floating else 'integer types'}")
    return test, others[0] if others else ""


def comparison(ctx: Context, test: str, operands: tuple[Operand, ...]) -> tuple[str, tuple[Use, ...]]:
    """Return the operation that compares two operands of the instruction's last type, and its operands."""
    type = ctx.instruction.modifiers[-1]
    if type in ("f32", "f64"):
        flush = "ftz" in ctx.instruction.modifiers
        return f"{'f' if type == 'f32' else 'd'}setp.{test}", tuple(ctx.number(x, type, flush) for x in operands)
    type = integer_type(ctx, (16, 32, 64))
    bits = width_of(type)
    signed = type[0] == "s" and test not in _UNSIGNED
    test = _UNSIGNED.get(test, test)
    name = f"setp.{test}" if test in ("eq", "ne") else f"setp.{test}.{'s' if signed else 'u'}"
    if bits == 64:
        return f"{name}.64", tuple(ctx.value(x, 64) for x in operands)
    shown = f"u{bits}" if test in ("eq", "ne") else type
    return name, tuple(ctx.extended(x, shown) for x in operands)


def _destinations(ctx: Context, operand: Operand) -> tuple[Reg | None, Reg | None]:
    if isinstance(operand, Pair):
        first, second = (None if name == "_" else ctx.dest(Name(name), 1) for name in (operand.first, operand.second))
        return first, second
    return ctx.dest(operand, 1), None


@lowers("selp")
def _selp(ctx: Context) -> None:
    check_modifiers(ctx, set(), ctx.instruction.modifiers[:-1])
    bits = width_of(data_type(ctx, (16, 32, 64)))
    d, a, b, p = take_operands(ctx, 4)
    uses = (ctx.value(a, bits), ctx.value(b, bits), ctx.pred(p))
    ctx.emit("sel.64" if bits == 64 else "sel", (ctx.dest(d, bits),), uses)


@lowers("set")
@lowers_f32("set")
@lowers_f64("set")
def _set(ctx: Context) -> None:
    test, combine = modifiers_of(ctx, 2)
    true = {"u32": 0xFFFF_FFFF, "s32": 0xFFFF_FFFF, "f32": 0x3F80_0000}.get(ctx.instruction.modifiers[-2])
    if true is None:
        raise ctx.error(f"result type .{ctx.instruction.modifiers[-2]} is not supported", "types .u32, .s32, .f32")
    operands = take_operands(ctx, 4 if combine else 3)
    name, uses = comparison(ctx, test, operands[1:3])
    outcome = ctx.p()
    ctx.emit(name, (outcome,), uses)
    if combine:
        result = ctx.p()
        ctx.emit(f"p{combine}", (result,), (Pred(outcome), ctx.pred(operands[3])))
        outcome = result
    ctx.emit("sel", (ctx.dest(operands[0], 32),), (Imm(true), Imm(0), Pred(outcome)))


@lowers("slct")
@lowers_f32("slct")
@lowers_f64("slct")
def _slct(ctx: Context) -> None:
    """Select the first source if the last one is at least zero, else (or if it is a NaN) the second."""
    options, types = ctx.instruction.modifiers[:-2], ctx.instruction.modifiers[-2:]
    flush = options == ["ftz"] and types[1] == "f32"
    if len(types) != 2 or DATA_TYPES.get(types[0], 0) < 16 or types[1] not in ("s32", "f32") or options and not flush:
        raise ctx.error("selection is not supported", "slct of 16-, 32- and 64-bit types by .s32 or (with .ftz) .f32")
    type, selector = types
    d, a, b, c = take_operands(ctx, 4)
    bits, outcome = width_of(type), ctx.p()
    value = ctx.number(c, "f32", flush) if selector == "f32" else ctx.value(c, 32)
    ctx.emit("fsetp.ge" if selector == "f32" else "setp.ge.s", (outcome,), (value, Imm(0)))
    uses = (ctx.value(a, bits, type), ctx.value(b, bits, type), Pred(outcome))
    ctx.emit("sel.64" if bits == 64 else "sel", (ctx.dest(d, bits),), uses)

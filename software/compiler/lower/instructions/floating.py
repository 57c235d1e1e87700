"""Lowering of f32 and f64 arithmetic (PTX ISA 9.7.3): each instruction becomes the operation of its name, never fused.

Instructions without a rounding modifier round to nearest even. With ``.ftz`` subnormal sources and results of f32
become zeros of their sign. Correctly rounded division and roots are routines of the library (`lower.expand`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.kernel import Imm, Reg, Use
from ...ptx.syntax import Operand
from ...ptx.types import ROUNDINGS, width_of
from ..context import Context
from ..registry import check_modifiers, lowers_f32, lowers_f64, take_operands

__all__: list[str] = []

_SIGN = 0x8000_0000
_NAN = 0x7FFF_FFFF


def _type(ctx: Context) -> str:
    return ctx.instruction.type


def _apply(ctx: Context, name: str, d: Operand, uses: Sequence[Use], *after: str) -> None:
    """Emit an operation, then those of `after` on its result, into destination `d`."""
    dest = ctx.dest(d, width_of(_type(ctx)))
    for k, step in enumerate((name, *after)):
        last = k == len(after)
        result = dest if last else ctx.r()
        ctx.emit(step, (result,), tuple(uses))
        uses = (result,)


def _arithmetic(ctx: Context, name: str, sources: int, required: bool = False) -> None:
    type, modifiers = _type(ctx), ctx.instruction.modifiers[:-1]
    check_modifiers(ctx, {*ROUNDINGS, "sat", "ftz"} if type == "f32" else {*ROUNDINGS}, modifiers)
    modes = [m for m in modifiers if m in ROUNDINGS]
    if len(modes) > 1 or (required and not modes):
        raise ctx.error("one rounding modifier belongs here", "." + ", .".join(ROUNDINGS))
    d, *operands = take_operands(ctx, sources + 1)
    flush = "ftz" in modifiers
    uses = [ctx.number(x, type, flush) for x in operands]
    after = ["fftz"] * flush + ["fsat"] * ("sat" in modifiers)
    _apply(ctx, f"{'f' if type == 'f32' else 'd'}{name}.{modes[0] if modes else 'rn'}", d, uses, *after)


@lowers_f32("add", "sub", "mul")
@lowers_f64("add", "sub", "mul")
def _binary(ctx: Context) -> None:
    _arithmetic(ctx, ctx.instruction.base, 2)


@lowers_f32("fma", "mad")
@lowers_f64("fma", "mad")
def _fma(ctx: Context) -> None:
    """Lower ``fma``, and ``mad``, which is the same (PTX ISA 9.7.3.7)."""
    _arithmetic(ctx, "fma", 3, required=True)


@lowers_f32("neg", "abs")
def _sign(ctx: Context) -> None:
    modifiers = ctx.instruction.modifiers[:-1]
    check_modifiers(ctx, {"ftz"}, modifiers)
    d, a = take_operands(ctx, 2)
    _apply(ctx, f"f{ctx.instruction.base}", d, (ctx.number(a, "f32", bool(modifiers)),))


def _halves(ctx: Context, value: Use) -> tuple[Reg, Reg]:
    """Return copies of the words of an f64 value."""
    low, high = ctx.r(), ctx.r()
    ctx.emit("lo.64", (low,), (value,))
    ctx.emit("hi.64", (high,), (value,))
    return low, high


@lowers_f64("neg", "abs")
def _sign_f64(ctx: Context) -> None:
    check_modifiers(ctx, set(), ctx.instruction.modifiers[:-1])
    d, a = take_operands(ctx, 2)
    low, high = _halves(ctx, ctx.value(a, 64))
    result = ctx.r()
    if ctx.instruction.base == "neg":
        ctx.emit("xor", (result,), (high, Imm(_SIGN)))
    else:
        ctx.emit("and", (result,), (high, Imm(_SIGN - 1)))
    ctx.emit("pack.64", (ctx.dest(d, 64),), (low, result))


@lowers_f32("copysign")
@lowers_f64("copysign")
def _copysign(ctx: Context) -> None:
    """Combine the sign of the first source with the magnitude of the second."""
    check_modifiers(ctx, set(), ctx.instruction.modifiers[:-1])
    d, a, b = take_operands(ctx, 3)
    sign, magnitude, result = ctx.r(), ctx.r(), ctx.r()
    if _type(ctx) == "f32":
        words, low = (ctx.value(a, 32), ctx.value(b, 32)), None
    else:
        (_, first), (low, second) = (_halves(ctx, ctx.value(x, 64)) for x in (a, b))
        words = first, second
    ctx.emit("and", (sign,), (words[0], Imm(_SIGN)))
    ctx.emit("and", (magnitude,), (words[1], Imm(_SIGN - 1)))
    if low is None:
        ctx.emit("or", (ctx.dest(d, 32),), (sign, magnitude))
    else:
        ctx.emit("or", (result,), (sign, magnitude))
        ctx.emit("pack.64", (ctx.dest(d, 64),), (low, result))


@lowers_f32("min", "max")
def _min_max(ctx: Context) -> None:
    """Lower ``min`` and ``max``; three sources go in turn; ``.xorsign.abs`` takes magnitudes, and xors signs."""
    modifiers = ctx.instruction.modifiers[:-1]
    check_modifiers(ctx, {"NaN", "ftz", "xorsign", "abs"}, modifiers)
    three = len(ctx.instruction.operands) == 4
    if ("xorsign" in modifiers) != ("abs" in modifiers and not three):
        raise ctx.error("not a known form", ".xorsign.abs with two sources, .abs with three")
    d, *operands = take_operands(ctx, 4 if three else 3)
    uses = [ctx.number(x, "f32") for x in operands]
    dest, sign = ctx.dest(d, 32), None
    if "xorsign" in modifiers:  # for a NaN too, whose sign a flush would drop
        sign = ctx.op("and", ctx.op("xor", *uses), Imm(_SIGN))
    if "ftz" in modifiers:
        uses = [ctx.flushed(use) for use in uses]
    if "abs" in modifiers:
        uses = [ctx.op("and", use, Imm(_SIGN - 1)) for use in uses]
    result = uses[0]
    for use in uses[1:]:
        result = _extreme(ctx, result, use, "NaN" in modifiers)
    if sign is not None:
        sign = ctx.op("sel", Imm(0), sign, ctx.test("fsetp.nan", result, result))
        result = ctx.op("or", result, sign)
    ctx.emit("mov", (dest,), (result,))


def _extreme(ctx: Context, a: Use, b: Use, of_nan: bool) -> Reg:
    result = ctx.op(f"f{ctx.instruction.base}", a, b)
    return ctx.op("sel", Imm(_NAN), result, ctx.test("fsetp.nan", a, b)) if of_nan else result


@lowers_f64("min", "max")
def _min_max_f64(ctx: Context) -> None:
    check_modifiers(ctx, set(), ctx.instruction.modifiers[:-1])
    d, a, b = take_operands(ctx, 3)
    _apply(ctx, f"d{ctx.instruction.base}", d, [ctx.number(x, "f64") for x in (a, b)])


@lowers_f32("testp")
@lowers_f64("testp")
def _testp(ctx: Context) -> None:
    """Test a property of the operand's bits without the sign; f64 has all low bits gathered in the lowest."""
    kind = ".".join(ctx.instruction.modifiers[:-1])
    least, infinity = (0x0080_0000, 0x7F80_0000) if _type(ctx) == "f32" else (0x0010_0000, 0x7FF0_0000)
    ranges = {"finite": (0, infinity), "infinite": (infinity, 1), "number": (0, infinity + 1),
              "notanumber": (infinity + 1, _SIGN - infinity - 1), "normal": (least, infinity - least),
              "subnormal": (1, least - 1)}
    if kind not in ranges:
        raise ctx.error("not a known property", "testp." + ", testp.".join(ranges))
    d, a = take_operands(ctx, 2)
    bits = ctx.r()
    if _type(ctx) == "f32":
        ctx.emit("and", (bits,), (ctx.value(a, 32), Imm(_SIGN - 1)))
    else:
        low, high = _halves(ctx, ctx.value(a, 64))
        magnitude, rest = ctx.r(), ctx.r()
        ctx.emit("and", (magnitude,), (high, Imm(_SIGN - 1)))
        ctx.emit("imin.u", (rest,), (low, Imm(1)))
        ctx.emit("or", (bits,), (magnitude, rest))
    first, count = ranges[kind]
    offset = ctx.r()
    ctx.emit("iadd", (offset,), (bits, Imm(-first & 0xFFFF_FFFF)))
    ctx.emit("setp.lt.u", (ctx.dest(d, 1),), (offset, Imm(count)))

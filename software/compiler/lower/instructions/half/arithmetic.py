"""Lowering of arithmetic on f16 and bf16 (PTX ISA 9.7.4 and 9.7.3), by f32 (`values`)."""

from __future__ import annotations

from ....ir.kernel import Imm, Use
from ....ptx.syntax import Operand
from ....ptx.types import ROUNDINGS
from ...context import Context
from ...registry import check_modifiers, lowers_f32, lowers_half, take_operands
from .values import Half, half_of, joined, narrowed, odd_sum, op, rounded, singles, test, write

__all__: list[str] = []

_SIGNS, _MAGNITUDES, _NAN = 0x8000_8000, 0x7FFF_7FFF, 0x7FFF_FFFF
_EACH = {"add": "fadd.rn", "sub": "fsub.rn", "mul": "fmul.rn"}


def _finish(ctx: Context, half: Half, value: Use, options: list[str]) -> Use:
    """Return an f32 result in 16 bits, after the clamp that the modifiers name."""
    if "sat" in options:
        value = op(ctx, "fsat", value)
    if "relu" in options:
        value = op(ctx, "imax.s", value, Imm(0))
    return rounded(ctx, half, value, flush="ftz" in options)


def _mixed(ctx: Context) -> bool:
    """Lower ``add sub fma`` of f32 whose sources have 16 bits, but for the last, which is f32 (PTX ISA 9.7.5)."""
    *options, to, _ = ["", *ctx.instruction.modifiers]
    base = ctx.instruction.base
    if to != "f32" or base == "mul":
        return False
    check_modifiers(ctx, {*ROUNDINGS, "sat"}, options[1:])
    modes = [m for m in options if m in ROUNDINGS]
    half = half_of(ctx)
    if half.count == 2 or len(modes) > 1 or base == "fma" and not modes:
        raise ctx.error(f"{base} is not supported in this form", f"{base}.rn.f32.f16, {base}.rn.f32.bf16")
    d, *operands, last = take_operands(ctx, 4 if base == "fma" else 3)
    uses = [singles(ctx, half, x)[0] for x in operands]
    name = "ffma" if base == "fma" else f"f{base}"
    result = op(ctx, f"{name}.{modes[0] if modes else 'rn'}", *uses, ctx.number(last, "f32"))
    write(ctx, d, 32, op(ctx, "fsat", result) if "sat" in options else result, "f32")
    return True


@lowers_half("add", "sub", "mul")
def _binary(ctx: Context) -> None:
    if _mixed(ctx):
        return
    half, options = half_of(ctx), ctx.instruction.modifiers[:-1]
    check_modifiers(ctx, {"rn"} if half.brain else {"rn", "ftz", "sat"}, options)
    d, *operands = take_operands(ctx, 3)
    pairs = zip(*(singles(ctx, half, x, "ftz" in options) for x in operands), strict=True)
    name = _EACH[ctx.instruction.base]
    write(ctx, d, half.bits, joined(ctx, [_finish(ctx, half, op(ctx, name, a, b), options) for a, b in pairs]))


@lowers_half("fma")
def _fma(ctx: Context) -> None:
    if _mixed(ctx):
        return
    half, options = half_of(ctx), ctx.instruction.modifiers[:-1]
    check_modifiers(ctx, {"rn", "relu"} if half.brain else {"rn", "ftz", "sat", "relu"}, options)
    if "rn" not in options or {"sat", "relu"} <= {*options}:
        raise ctx.error("fma is not supported in this form", "fma.rn, with .sat or .relu")
    d, *operands = take_operands(ctx, 4)
    triples = zip(*(singles(ctx, half, x, "ftz" in options) for x in operands), strict=True)
    write(ctx, d, half.bits, joined(ctx, [_finish(ctx, half, odd_sum(ctx, *x), options) for x in triples]))


@lowers_half("neg", "abs")
def _sign(ctx: Context) -> None:
    half, options = half_of(ctx), ctx.instruction.modifiers[:-1]
    check_modifiers(ctx, set() if half.brain else {"ftz"}, options)
    d, a = take_operands(ctx, 2)
    if "ftz" in options:
        value = joined(ctx, [narrowed(ctx, half, x) for x in singles(ctx, half, a, True)])
    else:
        value = ctx.value(a, half.bits, f"b{half.bits}")
    name, mask = ("xor", _SIGNS) if ctx.instruction.base == "neg" else ("and", _MAGNITUDES)
    write(ctx, d, half.bits, op(ctx, name, value, Imm(mask)))


@lowers_half("min", "max")
def _min_max(ctx: Context) -> None:
    half, options = half_of(ctx), ctx.instruction.modifiers[:-1]
    check_modifiers(ctx, {"NaN", "xorsign", "abs"} if half.brain else {"NaN", "xorsign", "abs", "ftz"}, options)
    if ("xorsign" in options) != ("abs" in options):
        raise ctx.error(f"{ctx.instruction.base} is not supported in this form", ".xorsign.abs")
    d, *operands = take_operands(ctx, 3)
    pairs = zip(*(singles(ctx, half, x, "ftz" in options) for x in operands), strict=True)
    signs = None
    if "xorsign" in options:
        signs = op(ctx, "xor", *(ctx.value(x, half.bits, f"b{half.bits}") for x in operands))
    write(ctx, d, half.bits, joined(ctx, [_extreme(ctx, half, pair, signs, k) for k, pair in enumerate(pairs)]))


def _extreme(ctx: Context, half: Half, pair: tuple[Use, ...], signs: Use | None, number: int) -> Use:
    """Return the minimum or maximum of two f32 in 16 bits.

    With ``.xorsign.abs``, which gives `signs`, it is the one of the magnitudes, with the sign of a product.
    """
    if signs is not None:
        pair = tuple(op(ctx, "fabs", x) for x in pair)
    result = op(ctx, f"f{ctx.instruction.base}", *pair)
    if "NaN" in ctx.instruction.modifiers:
        result = op(ctx, "sel", Imm(_NAN), result, test(ctx, "fsetp.nan", *pair))
    bits = narrowed(ctx, half, result)
    if signs is None:
        return bits
    sign = op(ctx, "and", op(ctx, "shr.u", signs, Imm(16)) if number else signs, Imm(0x8000))
    return op(ctx, "sel", bits, op(ctx, "or", bits, sign), test(ctx, "fsetp.nan", result, result))


@lowers_half("ex2")
def _exponential(ctx: Context) -> None:
    half, options = half_of(ctx), ctx.instruction.modifiers[:-1]
    if options != (["approx", "ftz"] if half.brain else ["approx"]):
        raise ctx.error("ex2 is not supported in this form", "ex2.approx of f16, ex2.approx.ftz of bf16")
    d, a = take_operands(ctx, 2)
    values = [op(ctx, "mufu.ex2", x) for x in singles(ctx, half, a)]
    if half.brain:
        values = [op(ctx, "fftz", x) for x in values]
    write(ctx, d, half.bits, joined(ctx, [rounded(ctx, half, x) for x in values]))


@lowers_half("tanh")
def _tangent(ctx: Context) -> None:
    half = half_of(ctx)
    d, a = _tangent_operands(ctx)
    write(ctx, d, half.bits, joined(ctx, [rounded(ctx, half, _tanh(ctx, x)) for x in singles(ctx, half, a)]))


@lowers_f32("tanh")
def _tangent_f32(ctx: Context) -> None:
    d, a = _tangent_operands(ctx)
    ctx.emit("mov", (ctx.dest(d, 32),), (_tanh(ctx, ctx.number(a, "f32")),))


def _tangent_operands(ctx: Context) -> tuple[Operand, ...]:
    if ctx.instruction.modifiers[:-1] != ["approx"]:
        raise ctx.error("tanh is not supported in this form", "tanh.approx")
    return take_operands(ctx, 2)


_TWICE_LOG2_E, _TWO, _ONE, _HALF = 0x4038_AA3B, 0x4000_0000, 0x3F80_0000, 0x3F00_0000
_SERIES = (0xBD5D_0DD1, 0x3E08_8889, 0xBEAA_AAAB)
"""-17/315, 2/15, -1/3: coefficients of the series of tanh."""


def _tanh(ctx: Context, value: Use) -> Use:
    """Use the series to the seventh power below 1/2, whose error is below 2^-13; else 1 - 2 / (e^2x + 1)."""
    size = op(ctx, "fabs", value)
    grown = op(ctx, "mufu.ex2", op(ctx, "fmul.rn", size, Imm(_TWICE_LOG2_E)))
    inverse = op(ctx, "mufu.rcp", op(ctx, "fadd.rn", grown, Imm(_ONE)))
    large = op(ctx, "fsub.rn", Imm(_ONE), op(ctx, "fmul.rn", inverse, Imm(_TWO)))
    square, series = op(ctx, "fmul.rn", size, size), op(ctx, "mov", Imm(_SERIES[0]))
    for coefficient in _SERIES[1:]:
        series = op(ctx, "ffma.rn", series, square, Imm(coefficient))
    small = op(ctx, "ffma.rn", op(ctx, "fmul.rn", series, square), size, size)
    chosen = op(ctx, "sel", small, large, test(ctx, "fsetp.lt", size, Imm(_HALF)))
    signed = op(ctx, "or", chosen, op(ctx, "and", value, Imm(0x8000_0000)))
    return op(ctx, "fadd.rn", signed, Imm(0x8000_0000))  # a NaN is 0x7fffffff

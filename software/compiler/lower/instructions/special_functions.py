"""Lowering of the approximations of the special-function unit (PTX ISA 9.7.3).

They are ``rcp``, ``rsqrt``, ``sqrt``, ``ex2``, ``lg2``, ``sin``, ``cos`` and ``div`` with ``.approx``. Their errors are
those of the unit (`hw.core.units.sfu`).
"""

from __future__ import annotations

from ...ir.kernel import Imm, Pred
from ..context import Context
from ..registry import check_modifiers, lowers_f32, lowers_f64, take_operands

__all__: list[str] = []

_LEAST_NORMAL, _ONE, _TWO_TO_24 = 0x0080_0000, 0x3F80_0000, 0x4B80_0000
"""Numbers of f32, by their bits."""
_NAMES = {"rcp": "rcp", "rsqrt": "rsq", "sqrt": "sqrt", "ex2": "ex2", "lg2": "lg2", "sin": "sin", "cos": "cos"}


def _approximate(ctx: Context, required: set[str]) -> bool:
    """Check for ``.approx`` and return whether there is ``.ftz``."""
    base, modifiers = ctx.instruction.base, ctx.instruction.modifiers[:-1]
    rounded = {"div": "div.rn, div.full, ", "rcp": "rcp.rn, ", "sqrt": "sqrt.rn, "}.get(base, "")
    if not required <= set(modifiers):
        shown = f"{base}.{'.'.join(sorted(required))}"
        raise ctx.error(f"{base} is not supported in this form", f"{rounded}{shown}")
    check_modifiers(ctx, {"approx", "ftz"}, modifiers)
    return "ftz" in modifiers


@lowers_f32(*_NAMES)
def _function(ctx: Context) -> None:
    flush = _approximate(ctx, {"approx"})
    d, a = take_operands(ctx, 2)
    name, value, dest = f"mufu.{_NAMES[ctx.instruction.base]}", ctx.number(a, "f32", flush), ctx.dest(d, 32)
    if flush and ctx.instruction.base != "lg2":  # a logarithm is never subnormal
        result = ctx.r()
        ctx.emit(name, (result,), (value,))
        ctx.emit("fftz", (dest,), (result,))
    else:
        ctx.emit(name, (dest,), (value,))


@lowers_f32("div")
def _quotient(ctx: Context) -> None:
    """Multiply the dividend by the approximate reciprocal of the divisor.

    The reciprocal of a subnormal divisor may not exist, so the divisor is scaled before, and the quotient after. A
    subnormal reciprocal counts as zero, as PTX says.
    """
    flush = _approximate(ctx, {"approx"})
    d, a, b = take_operands(ctx, 3)
    dividend, divisor = (ctx.number(x, "f32", flush) for x in (a, b))
    dest, inverse, result = ctx.dest(d, 32), ctx.r(), ctx.r()
    if flush:
        ctx.emit("mufu.rcp", (inverse,), (divisor,))
        ctx.emit("fmul.rn", (result,), (dividend, ctx.flushed(inverse)))
        ctx.emit("fftz", (dest,), (result,))
    else:
        magnitude, small, scale, scaled = ctx.r(), ctx.p(), ctx.r(), ctx.r()
        ctx.emit("shl", (magnitude,), (divisor, Imm(1)))
        ctx.emit("setp.lt.u", (small,), (magnitude, Imm(_LEAST_NORMAL << 1)))
        ctx.emit("sel", (scale,), (Imm(_TWO_TO_24), Imm(_ONE), Pred(small)))
        ctx.emit("fmul.rn", (scaled,), (divisor, scale))
        ctx.emit("mufu.rcp", (inverse,), (scaled,))
        ctx.emit("fmul.rn", (result,), (dividend, ctx.flushed(inverse)))
        ctx.emit("fmul.rn", (dest,), (result, scale))


@lowers_f64("rcp", "rsqrt", "sqrt", "div")
def _high_word(ctx: Context) -> None:
    """Compute the upper word of the result from the upper word of the operand; the lower one is zero."""
    if ctx.instruction.base in ("sqrt", "div"):
        raise ctx.error(f"{ctx.instruction.base} is not supported in this form", f"{ctx.instruction.base}.rn.f64")
    _approximate(ctx, {"approx", "ftz"})
    d, a = take_operands(ctx, 2)
    high, result = ctx.r(), ctx.r()
    ctx.emit("hi.64", (high,), (ctx.value(a, 64),))
    ctx.emit(f"mufu.{_NAMES[ctx.instruction.base]}64h", (result,), (high,))
    ctx.emit("pack.64", (ctx.dest(d, 64),), (Imm(0), result))

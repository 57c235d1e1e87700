"""Lowering of f32 arithmetic (PTX ISA 9.7.3): each instruction becomes the operation of its name, never a fused one.

Rounding is to nearest even where the instruction names none. Not supported: ``.ftz``, since the core computes with
subnormals; ``.xorsign.abs``; division, roots and the approximations.
"""

from __future__ import annotations

from ...ir.kernel import Imm, Pred
from ..types import ROUNDINGS
from .context import Context
from .registry import check_modifiers, lowers_f32, take_operands

__all__: list[str] = []

_SIGN = 0x8000_0000
_NAN = 0x7FFF_FFFF


def _rounding(ctx: Context, required: bool = False) -> tuple[str, bool]:
    """Return the rounding mode and whether the result saturates, from the modifiers before the type."""
    modifiers = ctx.instruction.modifiers[:-1]
    check_modifiers(ctx, {*ROUNDINGS, "sat"}, modifiers)
    modes = [m for m in modifiers if m in ROUNDINGS]
    if len(modes) > 1 or (required and not modes):
        raise ctx.error("one rounding modifier belongs here", "." + ", .".join(ROUNDINGS))
    return modes[0] if modes else "rn", "sat" in modifiers


def _arithmetic(ctx: Context, name: str, sources: int, required: bool = False) -> None:
    mode, saturate = _rounding(ctx, required)
    d, *operands = take_operands(ctx, sources + 1)
    uses = tuple(ctx.value(x, 32) for x in operands)
    dest = ctx.dest(d, 32)
    result = ctx.r() if saturate else dest
    ctx.emit(f"{name}.{mode}", (result,), uses)
    if saturate:
        ctx.emit("fsat", (dest,), (result,))


@lowers_f32("add", "sub", "mul")
def _binary(ctx: Context) -> None:
    _arithmetic(ctx, f"f{ctx.instruction.base}", 2)


@lowers_f32("fma", "mad")
def _fma(ctx: Context) -> None:
    """``mad.f32`` is ``fma.f32`` (PTX ISA 9.7.3.7)."""
    _arithmetic(ctx, "ffma", 3, required=True)


@lowers_f32("neg", "abs")
def _sign(ctx: Context) -> None:
    check_modifiers(ctx, set(), ctx.instruction.modifiers[:-1])
    d, a = take_operands(ctx, 2)
    ctx.emit(f"f{ctx.instruction.base}", (ctx.dest(d, 32),), (ctx.value(a, 32),))


@lowers_f32("copysign")
def _copysign(ctx: Context) -> None:
    """The sign comes from the first source, the magnitude from the second."""
    check_modifiers(ctx, set(), ctx.instruction.modifiers[:-1])
    d, a, b = take_operands(ctx, 3)
    sign, magnitude = ctx.r(), ctx.r()
    ctx.emit("and", (sign,), (ctx.value(a, 32), Imm(_SIGN)))
    ctx.emit("and", (magnitude,), (ctx.value(b, 32), Imm(_SIGN - 1)))
    ctx.emit("or", (ctx.dest(d, 32),), (sign, magnitude))


@lowers_f32("min", "max")
def _min_max(ctx: Context) -> None:
    modifiers = ctx.instruction.modifiers[:-1]
    check_modifiers(ctx, {"NaN"}, modifiers)
    d, a, b = take_operands(ctx, 3)
    uses = (ctx.value(a, 32), ctx.value(b, 32))
    dest = ctx.dest(d, 32)
    if not modifiers:
        ctx.emit(f"f{ctx.instruction.base}", (dest,), uses)
        return
    unordered, result = ctx.p(), ctx.r()
    ctx.emit("fsetp.nan", (unordered,), uses)
    ctx.emit(f"f{ctx.instruction.base}", (result,), uses)
    ctx.emit("sel", (dest,), (Imm(_NAN), result, Pred(unordered)))

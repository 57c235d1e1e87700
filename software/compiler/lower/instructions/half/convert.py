"""Lowering of conversions from and to f16 and bf16 (PTX ISA 9.7.9.21).

Conversions from f32 round once. From f64 and from integers, an f32 rounded to odd is the intermediate (`values`).
"""

from __future__ import annotations

from ....ir.kernel import Imm, Pred, Reg, Use
from ....ptx.syntax import Operand
from ....ptx.types import ROUNDINGS, width_of
from ...context import Context
from ...registry import lowers_half, take_operands
from .. import convert
from .values import HALVES, Half, joined, narrowed, op, rounded, singles, test, write

__all__: list[str] = []

_INTEGRAL = tuple(f"{mode}i" for mode in ROUNDINGS)
_SUPPORTED = ("cvt between .f16, .bf16, .f32, .f64 and integers with their rounding modifier, .f16x2 and .bf16x2 from "
              "two .f32; .sat with .f16, .relu and .satfinite from .f32")


@lowers_half("cvt")
def _convert(ctx: Context) -> None:
    if len(ctx.instruction.modifiers) < 2:
        raise ctx.error("conversion is not supported", _SUPPORTED)
    *options, to, source = ctx.instruction.modifiers
    modes = [m for m in options if m in (*ROUNDINGS, *_INTEGRAL)]
    others = {m for m in options if m not in modes}
    if len(modes) > 1 or len({*options}) != len(options) or not _legal(to, source, modes, others):
        raise ctx.error("conversion is not supported", _SUPPORTED)
    mode = modes[0] if modes else ""
    if to in HALVES and HALVES[to].count == 2:
        d, high, low = take_operands(ctx, 3)
        values = [_limited(ctx, HALVES[to], ctx.number(x, "f32"), others) for x in (low, high)]
        write(ctx, d, 32, joined(ctx, [rounded(ctx, HALVES[to], x, mode) for x in values]))
        return
    d, a = take_operands(ctx, 2)
    if to in HALVES:
        write(ctx, d, 16, _to_half(ctx, HALVES[to], a, source, mode, others))
    else:
        _from_half(ctx, d, singles(ctx, HALVES[source], a)[0], to, mode, others)


def _legal(to: str, source: str, modes: list[str], others: set[str]) -> bool:
    """Return whether there is such a conversion; from a type to itself it must round to an integral value."""
    mode = modes[0] if modes else ""
    paired = "x2" in to
    if "x2" in source or paired and source != "f32":
        return False
    if to not in HALVES:
        if to == "f32":
            return not mode and others <= {"ftz", "sat"}
        return not mode and others <= {"sat"} if to == "f64" else \
            to in convert.INTEGERS and mode in _INTEGRAL and others <= {"sat"}
    if source == to:
        return mode in ("", *_INTEGRAL) and others <= ({"sat"} if to == "f16" else set())
    if mode not in (("rn", "rz") if paired else ROUNDINGS):
        return False
    allowed = {"ftz", "relu", "satfinite"} if source == "f32" else set()
    if to == "f16" and not others & {"relu", "satfinite"}:
        allowed |= {"sat"}
    return others <= allowed and source in (*HALVES, "f32", "f64", *convert.INTEGERS)


def _to_half(ctx: Context, half: Half, a: Operand, source: str, mode: str, others: set[str]) -> Use:
    if source in HALVES:
        value = singles(ctx, HALVES[source], a)[0]
        if HALVES[source] == half:
            value = op(ctx, f"frnd.{mode[:2]}", value) if mode else op(ctx, "fadd.rn", value, Imm(0x8000_0000))
            return narrowed(ctx, half, op(ctx, "fsat", value) if "sat" in others else value)
        return rounded(ctx, half, _limited(ctx, half, value, others), mode)
    value = convert.source_operand(ctx, a, source)
    if source == "f64":
        value = _odd_double(ctx, value)
    elif source != "f32":
        value = _integer(ctx, value, source)
    return rounded(ctx, half, _limited(ctx, half, value, others), mode)


def _limited(ctx: Context, half: Half, value: Use, others: set[str]) -> Use:
    """Return an f32 after ``.ftz``, ``.sat``, ``.relu`` and ``.satfinite``, which act before rounding."""
    if "ftz" in others:
        value = ctx.flushed(value)
    if "sat" in others:
        value = op(ctx, "fsat", value)
    if "satfinite" in others:
        least = op(ctx, "fmax", value, Imm(half.most | 0x8000_0000))
        value = op(ctx, "sel", value, op(ctx, "fmin", least, Imm(half.most)), test(ctx, "fsetp.nan", value, value))
    if "relu" in others:
        value = op(ctx, "imax.s", op(ctx, "fadd.rn", value, Imm(0x8000_0000)), Imm(0))
    return value


def _odd_double(ctx: Context, value: Use) -> Use:
    """Return an f64 as f32, rounded to odd."""
    cut, back = op(ctx, "d2f.rz", value), ctx.w()
    ctx.emit("f2d", (back,), (cut,))
    return _odd(ctx, cut, test(ctx, "dsetp.ne", back, value))


def _integer(ctx: Context, value: Use, type: str) -> Use:
    """Return an integer as f32, rounded to odd if it has more than 24 bits."""
    wide, sign = width_of(type) == 64, type[0]
    cut = op(ctx, f"{'l' if wide else 'i'}2f.{sign}.rz", value)
    if width_of(type) < 32:
        return cut
    back = ctx.w() if wide else ctx.r()
    ctx.emit(f"f2{'l' if wide else 'i'}.{sign}.rz", (back,), (cut,))
    return _odd(ctx, cut, test(ctx, "setp.ne.64" if wide else "setp.ne", back, value))


def _odd(ctx: Context, cut: Reg, inexact: Pred) -> Use:
    return op(ctx, "sel", op(ctx, "or", cut, Imm(1)), cut, inexact)


def _from_half(ctx: Context, d: Operand, value: Use, to: str, mode: str, others: set[str]) -> None:
    """Write a number of 16 bits, as f32, as another type."""
    dest, _ = convert.destination(ctx, d, to)
    if to != "f32":
        value = convert.converted(ctx, value, to, "f32", mode[:2])
    if to in ("f32", "f64") and "sat" in others:
        value = convert.unit_interval(ctx, value, to)
    if isinstance(value, Reg) and value.kind == "w":
        ctx.emit("mov.64", (dest,), (value,))
    else:
        convert.write(ctx, dest, value, to[0] == "s")

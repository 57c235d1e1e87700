"""Lowering of conversions between integers, and between integers and f32 (PTX ISA 9.7.9, ``cvt``)."""

from __future__ import annotations

from ...ir.kernel import Imm, Reg, Use
from ...ptx.syntax import Name, Operand
from ..types import ROUNDINGS, WIDTHS, width_of
from .context import Context
from .registry import check_modifiers, lowers, lowers_f32, take_operands

__all__: list[str] = []

_NARROW = ("s8", "u8", "s16", "u16", "s32", "u32")
_INTEGRAL = {f"{mode}i": mode for mode in ROUNDINGS}
_SUPPORTED = ("cvt between integer types without saturation, and between f32 and f32, "
              f"{', '.join(_NARROW)} with its rounding modifier")


@lowers("cvt")
def _integers(ctx: Context) -> None:
    modifiers = ctx.instruction.modifiers
    if len(modifiers) != 2 or any(m not in WIDTHS for m in modifiers):
        raise ctx.error("conversion is not supported", _SUPPORTED)
    to, source = modifiers
    d, a = take_operands(ctx, 2)
    dest, dest_bits = _destination(ctx, d, to)
    value, bits, signed = _source(ctx, a, source)
    to_bits, to_signed = width_of(to), to[0] == "s"
    if to_bits == 64:
        _widen(ctx, dest, value, bits, signed)
        return
    value = _low(ctx, value)
    if bits < to_bits:
        value = ctx.extend(value, bits, signed)
    if to_bits < dest_bits:
        value = ctx.extend(value, to_bits, to_signed)
    _write(ctx, dest, value, to_signed)


@lowers_f32("cvt")
def _f32(ctx: Context) -> None:
    *options, to, source = ctx.instruction.modifiers
    if not {to, source} <= {*_NARROW, "f32"}:
        raise ctx.error("conversion is not supported", _SUPPORTED)
    to_float, from_float = to == "f32", source == "f32"
    modes = _INTEGRAL if from_float else {mode: mode for mode in ROUNDINGS}
    check_modifiers(ctx, {*modes, "sat"}, options)
    chosen = [modes[m] for m in options if m in modes]
    if len(chosen) > 1 or (not chosen and not (to_float and from_float)):
        raise ctx.error("one rounding modifier belongs here", "." + ", .".join(modes))
    d, a = take_operands(ctx, 2)
    dest, _ = _destination(ctx, d, to)
    value, bits, signed = _source(ctx, a, source)
    value = _low(ctx, value)
    if not from_float:
        value = _operation(ctx, f"i2f.{'s' if signed else 'u'}.{chosen[0]}", ctx.extend(value, bits, signed))
    elif not to_float:
        value = _to_integer(ctx, value, to, chosen[0])
    elif chosen:
        value = _operation(ctx, f"frnd.{chosen[0]}", value)
    if to_float and "sat" in options:
        value = _operation(ctx, "fsat", value)
    _write(ctx, dest, value, to[0] == "s")


def _to_integer(ctx: Context, value: Use, to: str, mode: str) -> Use:
    """Return the value as an integer of type `to`, clamped to its range and extended to 32 bits; of a NaN 0."""
    bits, letter = width_of(to), to[0]
    value = _operation(ctx, f"f2i.{letter}.{mode}", value)
    if bits < 32:
        value = _operation(ctx, f"imin.{letter}", value, Imm((1 << bits - (letter == "s")) - 1))
        if letter == "s":
            value = _operation(ctx, "imax.s", value, Imm(-(1 << bits - 1) & 0xFFFF_FFFF))
    return value


def _operation(ctx: Context, name: str, *uses: Use) -> Reg:
    result = ctx.r()
    ctx.emit(name, (result,), uses)
    return result


def _destination(ctx: Context, d: Operand, type: str) -> tuple[Reg, int]:
    """Return the destination register and its bits, which are at least those of `type`."""
    if not isinstance(d, Name):
        raise ctx.error("the destination must be a register")
    dest, bits = ctx.register(d.text), ctx.bits_of(d.text)
    if bits < width_of(type) or bits == 1:
        raise ctx.error(f"{d.text} has {bits} bits, the instruction needs {width_of(type)}")
    ctx.check_kind(d.text, type)
    return dest, bits


def _low(ctx: Context, value: Use) -> Use:
    if isinstance(value, Imm):
        return Imm(value.value & 0xFFFF_FFFF)
    if value.kind == "w":
        return _operation(ctx, "lo.64", value)
    return value


def _source(ctx: Context, a: Operand, type: str) -> tuple[Use, int, bool]:
    """Return the source as a value, the bits of it that count, and whether it is signed."""
    bits, signed = width_of(type), type[0] == "s"
    if not isinstance(a, Name) or ctx.type_of(a.text) is None:
        return ctx.value(a, max(bits, 16)), bits, signed
    declared = ctx.bits_of(a.text)
    if declared < bits:
        raise ctx.error(f"{a.text} has {declared} bits, the instruction needs {bits}")
    return ctx.value(a, declared), bits, signed


def _write(ctx: Context, dest: Reg, value: Use, signed: bool) -> None:
    """Write a 32-bit value to `dest`, extended if that has 64 bits."""
    if dest.kind == "w":
        _widen(ctx, dest, value, 32, signed)
    else:
        ctx.emit("mov", (dest,), (value,))


def _widen(ctx: Context, dest: Reg, value: Use, bits: int, signed: bool) -> None:
    if bits == 64:
        ctx.emit("mov.64", (dest,), (value,))
        return
    value = ctx.extend(_low(ctx, value), bits, signed)
    if signed:
        ctx.emit("sext.64", (dest,), (value,))
    else:
        ctx.emit("pack.64", (dest,), (value, Imm(0)))

"""Lowering of conversions between integers, f32 and f64 (PTX ISA 9.7.9, ``cvt``)."""

from __future__ import annotations

from ...ir.kernel import Imm, Pred, Reg, Use
from ...ptx.syntax import Name, Operand
from ...ptx.types import ROUNDINGS, WIDTHS, width_of
from ..context import Context
from ..registry import check_modifiers, lowers, lowers_f32, lowers_f64, take_operands
from . import packed

__all__ = ["INTEGERS", "converted", "destination", "source_operand", "unit_interval", "write"]

INTEGERS = tuple(f"{letter}{bits}" for bits in (8, 16, 32, 64) for letter in "su")
_FLOATS = {"f32": "f", "f64": "d"}
_INTEGRAL = {f"{mode}i": mode for mode in ROUNDINGS}
_SUPPORTED = ("cvt between integer types, and between f32, f64 and "
              f"{', '.join(INTEGERS)} with its rounding modifier; .sat; .ftz with f32")


@lowers("cvt")
def _integers(ctx: Context) -> None:
    modifiers = ctx.instruction.modifiers
    if modifiers[:1] == ["pack"]:
        packed.convert(ctx)
        return
    options, types = modifiers[:-2], modifiers[-2:]
    if len(types) != 2 or any(m not in WIDTHS for m in types) or options not in ([], ["sat"]):
        raise ctx.error("conversion is not supported", _SUPPORTED)
    to, source = types
    d, a = take_operands(ctx, 2)
    dest, dest_bits = destination(ctx, d, to)
    value, bits, signed = _source(ctx, a, source)
    if options:
        value, bits, signed = _saturated(ctx, value, source, to), width_of(to), to[0] == "s"
    to_bits, to_signed = width_of(to), to[0] == "s"
    if to_bits == 64:
        _widen(ctx, dest, value, bits, signed)
        return
    value = _low(ctx, value)
    if bits < to_bits:
        value = ctx.extend(value, bits, signed)
    if to_bits < dest_bits:
        value = ctx.extend(value, to_bits, to_signed)
    write(ctx, dest, value, to_signed)


def _saturated(ctx: Context, value: Use, source: str, to: str) -> Use:
    """Return an integer of type `source` clamped to the range of type `to`, in the words of the wider type."""
    bits, wide = width_of(to), max(width_of(source), width_of(to)) == 64
    signed = source[0] == "s"
    if wide and not (isinstance(value, Reg) and value.kind == "w" and width_of(source) == 64):
        whole = ctx.w()
        _widen(ctx, whole, value, width_of(source), signed)
        value = whole
    elif not wide:
        value = ctx.extend(_low(ctx, value), width_of(source), signed)
    least = -(1 << bits - 1) if to[0] == "s" else 0
    most = (1 << bits - (to[0] == "s")) - 1
    full = 64 if wide else 32
    lowest, highest = (-(1 << full - 1), (1 << full - 1) - 1) if signed else (0, (1 << full) - 1)
    for name, limit, needed in (("max", least, least > lowest), ("min", most, most < highest)):
        if needed:
            result = ctx.w() if wide else ctx.r()
            operation = f"{name}.{source[0]}.64" if wide else f"i{name}.{source[0]}"
            ctx.emit(operation, (result,), (value, Imm(limit & (1 << full) - 1)))
            value = result
    return value if bits == 64 else _low(ctx, value)


@lowers_f32("cvt")
@lowers_f64("cvt")
def _floating(ctx: Context) -> None:
    options, types = ctx.instruction.modifiers[:-2], ctx.instruction.modifiers[-2:]
    if len(types) != 2 or not {*types} <= {*INTEGERS, *_FLOATS}:
        raise ctx.error("conversion is not supported", _SUPPORTED)
    to, source = types
    to_float, from_float = to in _FLOATS, source in _FLOATS
    modes = _INTEGRAL if from_float and (to == source or not to_float) else {mode: mode for mode in ROUNDINGS}
    if (to, source) == ("f64", "f32"):
        modes = {}
    check_modifiers(ctx, {*modes, "sat"} | ({"ftz"} if "f32" in (to, source) else set()), options)
    chosen = [modes[m] for m in options if m in modes]
    if len(chosen) > 1 or (not chosen and modes and to != source):
        raise ctx.error("one rounding modifier belongs here", "." + ", .".join(modes))
    d, a = take_operands(ctx, 2)
    dest, _ = destination(ctx, d, to)
    value = source_operand(ctx, a, source)
    flush, mode = "ftz" in options, chosen[0] if chosen else ""
    if flush and source == "f32":
        value = ctx.flushed(value)
    value = converted(ctx, value, to, source, mode)
    if to == "f32" and flush and source == "f64":
        value = ctx.flushed(value)
    if to_float and "sat" in options:
        value = unit_interval(ctx, value, to)
    if isinstance(value, Reg) and value.kind == "w":
        ctx.emit("mov.64", (dest,), (value,))
    else:
        write(ctx, dest, value, to[0] == "s")


def source_operand(ctx: Context, a: Operand, type: str) -> Use:
    """Return the source in a register of its own width; integers below 32 bits are extended."""
    value, bits, signed = _source(ctx, a, type)
    if bits == 64:
        return ctx.number(a, type) if type == "f64" else _wide(ctx, value)
    value = _low(ctx, value)
    return value if type == "f32" else ctx.extend(value, bits, signed)


def _wide(ctx: Context, value: Use) -> Reg:
    """Return a 64-bit value in a register."""
    if isinstance(value, Reg) and value.kind == "w":
        return value
    constant = ctx.w()
    ctx.emit("mov.64", (constant,), (value,))
    return constant


def converted(ctx: Context, value: Use, to: str, source: str, mode: str) -> Use:
    """Return the value converted; an integer is clamped to the range of its type.

    A NaN becomes 0. If one of the types has 64 bits, it becomes the least value of a signed type of that width.
    """
    letter, wide = _FLOATS.get(source), width_of(to) == 64
    if to in _FLOATS and source in _FLOATS:
        if to == source:
            return _operation(ctx, f"{letter}rnd.{mode}", value, wide=wide) if mode else value
        return _operation(ctx, "f2d" if to == "f64" else f"d2f.{mode}", value, wide=wide)
    if letter is None:
        sign, words = source[0], "l" if width_of(source) == 64 else "i"
        rounding = "" if (words, to) == ("i", "f64") else f".{mode}"  # every such integer is an f64
        return _operation(ctx, f"{words}2{_FLOATS[to]}.{sign}{rounding}", value, wide=wide)
    bits, sign = width_of(to), to[0]
    result = _operation(ctx, f"{letter}2{'l' if wide else 'i'}.{sign}.{mode}", value, wide=wide)
    if bits < 32:
        result = _operation(ctx, f"imin.{sign}", result, Imm((1 << bits - (sign == "s")) - 1))
        if sign == "s":
            result = _operation(ctx, "imax.s", result, Imm(-(1 << bits - 1) & 0xFFFF_FFFF))
    if source == "f32" and not wide:
        return result
    unordered, least = ctx.p(), Imm((-(1 << bits - 1) if sign == "s" else 1 << bits - 1) & (1 << max(bits, 32)) - 1)
    ctx.emit(f"{letter}setp.nan", (unordered,), (value, value))
    return _operation(ctx, "sel.64" if wide else "sel", least, result, Pred(unordered), wide=wide)


def unit_interval(ctx: Context, value: Use, type: str) -> Use:
    """Return a floating-point value clamped to 0 .. 1, a NaN as +0."""
    if type == "f32":
        return _operation(ctx, "fsat", value)
    zero, one = (_wide(ctx, Imm(x)) for x in (0, 0x3FF0_0000_0000_0000))
    return _operation(ctx, "dmin", _operation(ctx, "dmax", value, zero, wide=True), one, wide=True)


def _operation(ctx: Context, name: str, *uses: Use, wide: bool = False) -> Reg:
    result = ctx.w() if wide else ctx.r()
    ctx.emit(name, (result,), uses)
    return result


def destination(ctx: Context, d: Operand, type: str) -> tuple[Reg, int]:
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
    """Return the source as a value, the number of its bits that count, and whether it is signed."""
    bits, signed = width_of(type), type[0] == "s"
    if not isinstance(a, Name) or ctx.type_of(a.text) is None:
        return ctx.value(a, max(bits, 16)), bits, signed
    declared = ctx.bits_of(a.text)
    if declared < bits:
        raise ctx.error(f"{a.text} has {declared} bits, the instruction needs {bits}")
    return ctx.value(a, declared), bits, signed


def write(ctx: Context, dest: Reg, value: Use, signed: bool) -> None:
    """Write a 32-bit value to `dest`, extended if `dest` has 64 bits."""
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

"""Lowering of moves, packing, conversions and address conversions (PTX ISA 9.7.9)."""

from __future__ import annotations

from ...ir.kernel import TRUE, Imm, Reg
from ...ptx.syntax import Name, Vector
from ..types import WIDTHS, width_of
from .context import Context
from .registry import check_modifiers, integer_type, lowers

__all__: list[str] = []


@lowers("mov")
def _mov(ctx: Context) -> None:
    modifiers, operands = ctx.instruction.modifiers, ctx.instruction.operands
    if len(operands) != 2:
        raise ctx.error(f"{len(operands)} operands where 2 belong")
    d, a = operands
    if modifiers == ["pred"]:
        ctx.emit("pand", (ctx.dest(d, 1),), (ctx.pred(a), TRUE))
        return
    check_modifiers(ctx, set(), modifiers[:-1])
    bits = width_of(integer_type(ctx, (16, 32, 64)))
    if isinstance(d, Vector):
        _unpack(ctx, bits, d, a)
    elif isinstance(a, Vector):
        _pack(ctx, bits, d, a)
    else:
        if isinstance(a, Name) and a.text in ctx.parameters:
            raise ctx.error("the address of a parameter is not supported", "ld.param at a constant offset")
        ctx.emit("mov.64" if bits == 64 else "mov", (ctx.dest(d, bits),), (ctx.value(a, bits),))


def _pack(ctx: Context, bits: int, d, a: Vector) -> None:
    if len(a.items) != 2 or bits == 16:
        raise ctx.error("packing of other than two halves", "mov.b32 of two .b16, mov.b64 of two .b32")
    low, high = (ctx.value(x, bits // 2) for x in a.items)
    if bits == 64:
        ctx.emit("pack.64", (ctx.dest(d, 64),), (low, high))
        return
    up = ctx.r()
    ctx.emit("shl", (up,), (high, Imm(16)))
    ctx.emit("or", (ctx.dest(d, 32),), (ctx.extend(low, 16, False), up))


def _unpack(ctx: Context, bits: int, d: Vector, a) -> None:
    if len(d.items) != 2 or bits == 16:
        raise ctx.error("unpacking to other than two halves", "mov.b32 to two .b16, mov.b64 to two .b32")
    source = ctx.value(a, bits)
    first, second = (None if x == Name("_") else ctx.dest(x, bits // 2) for x in d.items)
    copy = ctx.w() if bits == 64 else ctx.r()  # the source may be one of the destinations
    ctx.emit("mov.64" if bits == 64 else "mov", (copy,), (source,))
    if first is not None:
        ctx.emit("lo.64" if bits == 64 else "mov", (first,), (copy,))
    if second is not None:
        ctx.emit("hi.64" if bits == 64 else "shr.u", (second,), (copy,) if bits == 64 else (copy, Imm(16)))


@lowers("cvta")
def _cvta(ctx: Context) -> None:
    modifiers, operands = ctx.instruction.modifiers, ctx.instruction.operands
    if modifiers not in (["to", "global", "u64"], ["global", "u64"]) or len(operands) != 2:
        raise ctx.error("address conversion is not supported", "cvta.to.global.u64, cvta.global.u64")
    ctx.emit("mov.64", (ctx.dest(operands[0], 64),), (ctx.value(operands[1], 64),))


@lowers("cvt")
def _cvt(ctx: Context) -> None:
    modifiers, operands = ctx.instruction.modifiers, ctx.instruction.operands
    if len(modifiers) != 2 or any(m not in WIDTHS for m in modifiers) or len(operands) != 2:
        raise ctx.error("conversion is not supported", "cvt between integer types, without saturation")
    to, source = modifiers
    d, a = operands
    if not isinstance(d, Name):
        raise ctx.error("the destination must be a register")
    dest, dest_bits = ctx.register(d.text), ctx.bits_of(d.text)
    if dest_bits < width_of(to) or dest_bits == 1:
        raise ctx.error(f"{d.text} has {dest_bits} bits, the instruction needs {width_of(to)}")
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
    if dest_bits == 64:
        _widen(ctx, dest, value, 32, to_signed)
    else:
        ctx.emit("mov", (dest,), (value,))


def _low(ctx: Context, value):
    if isinstance(value, Imm):
        return Imm(value.value & 0xFFFF_FFFF)
    if value.kind == "w":
        low = ctx.r()
        ctx.emit("lo.64", (low,), (value,))
        return low
    return value


def _source(ctx: Context, a, type: str):
    """Return the source as a value, the bits of it that count, and whether it is signed."""
    bits, signed = width_of(type), type[0] == "s"
    if not isinstance(a, Name) or ctx.type_of(a.text) is None:
        return ctx.value(a, max(bits, 16)), bits, signed
    declared = ctx.bits_of(a.text)
    if declared < bits:
        raise ctx.error(f"{a.text} has {declared} bits, the instruction needs {bits}")
    value = ctx.value(a, declared)
    return value, bits, signed


def _widen(ctx: Context, dest: Reg, value, bits: int, signed: bool) -> None:
    if bits == 64:
        ctx.emit("mov.64", (dest,), (value,))
        return
    value = ctx.extend(_low(ctx, value), bits, signed)
    if signed:
        ctx.emit("sext.64", (dest,), (value,))
    else:
        ctx.emit("pack.64", (dest,), (value, Imm(0)))

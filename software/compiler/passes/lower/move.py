"""Lowering of moves, packing and address conversions (PTX ISA 9.7.9)."""

from __future__ import annotations

from ...ir.kernel import TRUE, Imm
from ...ptx.syntax import Name, Vector
from ..types import width_of
from .context import Context
from .registry import check_modifiers, data_type, lowers, take_operands

__all__: list[str] = []


@lowers("mov")
def _mov(ctx: Context) -> None:
    modifiers = ctx.instruction.modifiers
    d, a = take_operands(ctx, 2)
    if modifiers == ["pred"]:
        ctx.emit("pand", (ctx.dest(d, 1),), (ctx.pred(a), TRUE))
        return
    check_modifiers(ctx, set(), modifiers[:-1])
    bits = width_of(data_type(ctx, (16, 32, 64)))
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

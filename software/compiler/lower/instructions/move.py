"""Lowering of moves, packing and address conversions (PTX ISA 9.7.9)."""

from __future__ import annotations

from ...ir.kernel import TRUE, Imm, Use
from ...ptx.syntax import Name, Vector
from ...ptx.types import width_of
from ..context import Context
from ..registry import check_modifiers, data_type, lowers, take_operands

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
        ctx.emit("mov.64" if bits == 64 else "mov", (ctx.dest(d, bits),), (ctx.value(a, bits),))


def _pack(ctx: Context, bits: int, d, a: Vector) -> None:
    """Pack items into a register, the first one lowest."""
    parts = _part_bits(ctx, bits, a)
    dest = ctx.dest(d, bits)
    if parts == 32:
        ctx.emit("pack.64", (dest,), tuple(ctx.value(x, 32) for x in a.items))
        return
    values = [ctx.value(x, parts) for x in a.items]
    words = [_joined(ctx, values[k:k + 32 // parts], parts) for k in range(0, len(values), 32 // parts)]
    if bits == 64:
        ctx.emit("pack.64", (dest,), tuple(words))
    else:
        ctx.emit("mov", (dest,), (words[0],))


def _joined(ctx: Context, values: list[Use], bits: int) -> Use:
    """Return a word of values of 8 or 16 bits."""
    word = ctx.extend(values[0], bits, False)
    for k, value in enumerate(values[1:], 1):
        up, joined = ctx.r(), ctx.r()
        ctx.emit("shl", (up,), (ctx.extend(value, bits, False) if (k + 1) * bits < 32 else value, Imm(k * bits)))
        ctx.emit("or", (joined,), (word, up))
        word = joined
    return word


def _part_bits(ctx: Context, bits: int, vector: Vector) -> int:
    """Return the bits of each item of a vector."""
    if (bits, len(vector.items)) not in ((16, 2), (32, 2), (32, 4), (64, 2), (64, 4)):
        raise ctx.error(f"{len(vector.items)} parts of {bits} bits", "mov.b16 of two .b8; mov.b32 of two .b16 or four "
                        ".b8; mov.b64 of two .b32 or four .b16")
    return bits // len(vector.items)


def _unpack(ctx: Context, bits: int, d: Vector, a) -> None:
    parts = _part_bits(ctx, bits, d)
    source = ctx.value(a, bits)
    dests = [None if x == Name("_") else ctx.dest(x, parts) for x in d.items]
    copy = ctx.w() if bits == 64 else ctx.r()  # the source may be one of the destinations
    ctx.emit("mov.64" if bits == 64 else "mov", (copy,), (source,))
    words = [copy]
    if bits == 64:
        words = [ctx.r(), ctx.r()]
        for name, word in zip(("lo.64", "hi.64"), words, strict=True):
            ctx.emit(name, (word,), (copy,))
    each = max(32 // parts, 1) if bits >= 32 else 2
    for k, dest in enumerate(dests):
        if dest is not None:
            word, shift = words[k // each], k % each * parts
            ctx.emit("shr.u" if shift else "mov", (dest,), (word, Imm(shift)) if shift else (word,))

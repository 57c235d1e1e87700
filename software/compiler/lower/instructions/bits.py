"""Lowering of bit fields, bit counts, byte permutation and the like (PTX ISA 9.7.1, 9.7.9 ``prmt``)."""

from __future__ import annotations

from ...ir.kernel import Imm, Reg, Use
from ...ptx.syntax import Operand
from ...ptx.types import width_of
from ..context import Context
from ..registry import check_modifiers, integer_type, lowers, take_operands

__all__: list[str] = []

_ONES = {32: 0xFFFF_FFFF, 64: 0xFFFF_FFFF_FFFF_FFFF}
_PERMUTATIONS = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543), "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333), "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210), "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}
"""Selector of each mode of ``prmt`` for bits 1..0 of its third operand."""


def _halves(ctx: Context, value: Use) -> tuple[Reg, Reg]:
    return ctx.op("lo.64", value), ctx.op("hi.64", value)


@lowers("brev")
def _reverse(ctx: Context) -> None:
    check_modifiers(ctx, set(), ctx.instruction.modifiers[:-1])
    bits = width_of(integer_type(ctx, (32, 64)))
    d, a = take_operands(ctx, 2)
    dest, value = ctx.dest(d, bits), ctx.value(a, bits)
    if bits == 32:
        ctx.emit("brev", (dest,), (value,))
    else:
        low, high = _halves(ctx, value)
        ctx.emit("pack.64", (dest,), (ctx.op("brev", high), ctx.op("brev", low)))


def _leading_zeros(ctx: Context, value: Use, bits: int) -> Reg:
    if bits == 32:
        return ctx.op("clz", value)
    low, high = _halves(ctx, value)
    below = ctx.op("iadd", ctx.op("clz", low), Imm(32))
    return ctx.op("sel", below, ctx.op("clz", high), ctx.test("setp.eq", high, Imm(0)))


@lowers("clz", "popc")
def _count(ctx: Context) -> None:
    """Lower a count of bits; its result has 32 bits for every operand."""
    check_modifiers(ctx, set(), ctx.instruction.modifiers[:-1])
    bits = width_of(integer_type(ctx, (32, 64)))
    d, a = take_operands(ctx, 2)
    dest, value = ctx.dest(d, 32), ctx.value(a, bits)
    if ctx.instruction.base == "clz":
        ctx.emit("mov", (dest,), (_leading_zeros(ctx, value, bits),))
    elif bits == 32:
        ctx.emit("popc", (dest,), (value,))
    else:
        ctx.emit("iadd", (dest,), tuple(ctx.op("popc", word) for word in _halves(ctx, value)))


@lowers("bfind")
def _find(ctx: Context) -> None:
    """Find the highest bit that is not the sign (if unsigned: not zero); all ones if there is none."""
    modifiers = ctx.instruction.modifiers
    check_modifiers(ctx, {"shiftamt"}, modifiers[:-1])
    type = integer_type(ctx, (32, 64))
    bits, wide = width_of(type), width_of(type) == 64
    d, a = take_operands(ctx, 2)
    dest, value = ctx.dest(d, 32), ctx.value(a, bits)
    if type[0] == "s":
        sign = ctx.op("shr.s.64" if wide else "shr.s", value, Imm(bits - 1))
        value = ctx.op("xor.64" if wide else "xor", value, sign)
    zeros = _leading_zeros(ctx, value, bits)
    if "shiftamt" in modifiers:
        none = ctx.test("setp.eq", zeros, Imm(bits))
        ctx.emit("sel", (dest,), (Imm(_ONES[32]), zeros, none))
    else:
        ctx.emit("isub", (dest,), (Imm(bits - 1), zeros))


def _low_byte(ctx: Context, operand: Operand) -> Use:
    """Return bits 7..0 of a 32-bit operand, and ignore the others."""
    value = ctx.value(operand, 32, "u32")
    return Imm(value.value & 255) if isinstance(value, Imm) else ctx.op("and", value, Imm(255))


def _field(ctx: Context, first: Operand, length: Operand) -> Use:
    """Return the operand of ``bfe`` and ``bfi`` that names a bit field."""
    position, count = (ctx.value(x, 32, "u32") for x in (first, length))
    if isinstance(count, Imm):
        high = (count.value & 255) << 8
        if isinstance(position, Imm):
            return Imm(position.value & 255 | high)
        return ctx.op("or", ctx.op("and", position, Imm(255)), Imm(high))
    return ctx.op("bfi", count, Imm(8 << 8 | 8), position)


@lowers("bfe")
def _extract(ctx: Context) -> None:
    """Extract a bit field. 64 bits are shifted to the top, then to the bottom; a shift by 64 leaves nothing."""
    check_modifiers(ctx, set(), ctx.instruction.modifiers[:-1])
    type = integer_type(ctx, (32, 64))
    sign = "s" if type[0] == "s" else "u"
    d, a, b, c = take_operands(ctx, 4)
    if width_of(type) == 32:
        ctx.emit(f"bfe.{sign}", (ctx.dest(d, 32),), (ctx.value(a, 32), _field(ctx, b, c)))
        return
    dest, value, first, length = ctx.dest(d, 64), ctx.value(a, 64), _low_byte(ctx, b), _low_byte(ctx, c)
    if isinstance(length, Imm):
        unused: Use = Imm(64 - min(length.value, 64))
    else:
        unused = ctx.op("isub", Imm(64), ctx.op("imin.u", length, Imm(64)))
    moved = ctx.op(f"shr.{sign}.64", value, first)
    ctx.emit(f"shr.{sign}.64", (dest,), (ctx.op("shl.64", moved, unused), unused))


@lowers("bfi")
def _insert(ctx: Context) -> None:
    check_modifiers(ctx, set(), ctx.instruction.modifiers[:-1])
    bits = width_of(integer_type(ctx, (32, 64)))
    d, a, b, c, n = take_operands(ctx, 5)
    dest, value, into = ctx.dest(d, bits), ctx.value(a, bits), ctx.value(b, bits)
    if bits == 32:
        ctx.emit("bfi", (dest,), (value, _field(ctx, c, n), into))
        return
    first, length = _low_byte(ctx, c), _low_byte(ctx, n)
    field = ctx.op("not.64", ctx.op("shl.64", Imm(_ONES[64]), length))
    mask = ctx.op("shl.64", field, first)
    inserted = ctx.op("and.64", ctx.op("shl.64", value, first), mask)
    ctx.emit("or.64", (dest,), (ctx.op("and.64", into, ctx.op("not.64", mask)), inserted))


@lowers("prmt")
def _permute(ctx: Context) -> None:
    modifiers = ctx.instruction.modifiers
    if modifiers[-1:] != ["b32"] or len(modifiers) > 2 or not {*modifiers[:-1]} <= {*_PERMUTATIONS}:
        raise ctx.error("not a known permutation", "prmt.b32 alone or with ." + ", .".join(_PERMUTATIONS))
    d, a, b, c = take_operands(ctx, 4)
    dest = ctx.dest(d, 32)
    low, high, selector = (ctx.value(x, 32, "b32") for x in (a, b, c))
    if modifiers[:-1]:
        selector = _selector(ctx, _PERMUTATIONS[modifiers[0]], selector)
    ctx.emit("prmt", (dest,), (low, high, selector))


def _selector(ctx: Context, table: tuple[int, ...], choice: Use) -> Use:
    """Return the entry of `table` that bits 1..0 of `choice` name; bits above bit 15 do not count."""
    if isinstance(choice, Imm):
        return Imm(table[choice.value & 3])
    upper = ctx.test("setp.ne", ctx.op("and", choice, Imm(2)), Imm(0))
    pair = ctx.op("sel", Imm(table[2] | table[3] << 16), Imm(table[0] | table[1] << 16), upper)
    odd = ctx.op("and", choice, Imm(1))
    return ctx.op("shr.u", pair, ctx.op("shl", odd, Imm(4)))


@lowers("sad")
def _absolute_difference(ctx: Context) -> None:
    check_modifiers(ctx, set(), ctx.instruction.modifiers[:-1])
    type = integer_type(ctx, (16, 32, 64))
    bits, sign = width_of(type), "s" if type[0] == "s" else "u"
    d, a, b, c = take_operands(ctx, 4)
    dest, addend = ctx.dest(d, bits), ctx.value(c, bits)
    if bits == 64:
        pair = ctx.value(a, 64), ctx.value(b, 64)
        high, low = (ctx.op(f"{name}.{sign}.64", *pair) for name in ("max", "min"))
        ctx.emit("add.64", (dest,), (ctx.op("sub.64", high, low), addend))
    else:
        pair = ctx.extended(a, type), ctx.extended(b, type)
        high, low = (ctx.op(f"i{name}.{sign}", *pair) for name in ("max", "min"))
        ctx.emit("iadd", (dest,), (ctx.op("isub", high, low), addend))


@lowers("lop3")
def _logic(ctx: Context) -> None:
    """Lower any function of three bits, given as its value for each of the eight combinations."""
    if ctx.instruction.modifiers != ["b32"]:
        raise ctx.error("not a known logic operation", "lop3.b32")
    d, a, b, c, table = take_operands(ctx, 5)
    uses = [ctx.value(x, 32) for x in (a, b, c)]
    chosen = ctx.value(table, 32)
    if not isinstance(chosen, Imm):
        raise ctx.error("the table of lop3 must be a constant", "0 to 255")
    ctx.emit("mov", (ctx.dest(d, 32),), (_function(ctx, chosen.value & 255, uses),))


def _function(ctx: Context, table: int, inputs: list[Use]) -> Use:
    """Return the function of `inputs` with 2**n values in `table`; the first input is the highest bit of the index."""
    size = 1 << len(inputs)
    if table in (0, (1 << size) - 1):
        return Imm(_ONES[32] if table else 0)
    first, *rest = inputs
    half = size // 2
    low, high = table & (1 << half) - 1, table >> half
    if low == high:
        return _function(ctx, low, rest)
    if low == high ^ (1 << half) - 1:
        return ctx.op("xor", first, _function(ctx, low, rest))
    # the value for 1 where the first input is 1, elsewhere the value for 0
    differs = ctx.op("and", first, _function(ctx, low ^ high, rest))
    return ctx.op("xor", _function(ctx, low, rest), differs)

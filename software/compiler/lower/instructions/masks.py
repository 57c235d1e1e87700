"""Lowering of instructions on bit masks (PTX ISA 9.7.1 ``fns``, ``bmsk``, ``szext``)."""

from __future__ import annotations

from ...ir.kernel import Imm, Reg, Use
from ..context import Context
from ..registry import lowers, take_operands

__all__: list[str] = []

_ONES = Imm(0xFFFF_FFFF)


def _bounded(ctx: Context, value: Use, mode: str) -> Reg:
    """Return a number of bits: with ``.clamp`` at most 32, with ``.wrap`` modulo 32."""
    return ctx.op("imin.u", value, Imm(32)) if mode == "clamp" else ctx.op("and", value, Imm(31))


@lowers("bmsk")
def _mask(ctx: Context) -> None:
    """Make ``b`` ones from bit ``a`` on; bits beyond 31 are dropped. A shift by more than 31 leaves nothing."""
    modifiers = ctx.instruction.modifiers
    if modifiers not in (["clamp", "b32"], ["wrap", "b32"]):
        raise ctx.error("not a known mask", "bmsk.clamp.b32, bmsk.wrap.b32")
    d, a, b = take_operands(ctx, 3)
    first, count = ctx.value(a, 32), _bounded(ctx, ctx.value(b, 32), modifiers[0])
    if modifiers[0] == "wrap":
        first = _bounded(ctx, first, "wrap")
    above = ctx.op("shl", _ONES, ctx.op("iadd", first, count))
    ctx.emit("and", (ctx.dest(d, 32),), (ctx.op("shl", _ONES, first), ctx.op("not", above)))


@lowers("szext")
def _extend(ctx: Context) -> None:
    """Extend the low ``b`` bits of ``a``, a bit field from bit 0 on."""
    modifiers = ctx.instruction.modifiers
    if len(modifiers) != 2 or modifiers[0] not in ("clamp", "wrap") or modifiers[1] not in ("u32", "s32"):
        raise ctx.error("not a known extension", "szext.clamp, szext.wrap with .u32, .s32")
    d, a, b = take_operands(ctx, 3)
    field = ctx.op("shl", _bounded(ctx, ctx.value(b, 32, "u32"), modifiers[0]), Imm(8))
    ctx.emit(f"bfe.{modifiers[1][0]}", (ctx.dest(d, 32),), (ctx.value(a, 32), field))


@lowers("fns")
def _nth_set(ctx: Context) -> None:
    """Find the n-th bit set from a base on, downwards if n is negative; for n = 0 the base, if its bit is set.

    Downwards is upwards in the reversed mask. A binary search finds the n-th bit above the base: if the lower half of
    the remaining bits has fewer, it is shifted out.
    """
    if ctx.instruction.modifiers != ["b32"]:
        raise ctx.error("not a known search", "fns.b32")
    d, a, b, n = take_operands(ctx, 4)
    dest, offset = ctx.dest(d, 32), ctx.value(n, 32, "s32")
    down, none = ctx.test("setp.lt.s", offset, Imm(0)), ctx.test("setp.eq", offset, Imm(0))
    mask, base = ctx.value(a, 32), ctx.value(b, 32, "b32")
    start = ctx.op("sel", ctx.op("isub", Imm(31), base), base, down)
    left: Use = ctx.op("shr.u", ctx.op("sel", ctx.op("brev", mask), mask, down), start)
    left = ctx.op("sel", ctx.op("and", left, Imm(1)), left, none)
    wanted: Use = ctx.op("sel", Imm(1), ctx.op("iabs", offset), none)
    place: Use = start
    for width in (16, 8, 4, 2, 1):
        count = ctx.op("popc", ctx.op("and", left, Imm((1 << width) - 1)))
        above = ctx.test("setp.gt.u", wanted, count)
        wanted = ctx.op("sel", ctx.op("isub", wanted, count), wanted, above)
        left = ctx.op("sel", ctx.op("shr.u", left, Imm(width)), left, above)
        place = ctx.op("sel", ctx.op("iadd", place, Imm(width)), place, above)
    found = ctx.op("and", left, ctx.op("sel", Imm(1), Imm(0), ctx.test("setp.eq", wanted, Imm(1))))
    place = ctx.op("sel", ctx.op("isub", Imm(31), place), place, down)
    ctx.emit("sel", (dest,), (place, _ONES, ctx.test("setp.ne", ctx.op("and", found, Imm(1)), Imm(0))))

"""Lowering of extended-precision arithmetic, whose instructions pass on a carry (PTX ISA 9.7.2).

``CC.CF`` is the carry out of the adder for every instruction. A difference is the sum a + ~b + 1, or a + ~b + flag in
``subc``: the flag is clear if it borrows. So any instruction that takes the flag can follow any that gives it.
"""

from __future__ import annotations

from ...ir.kernel import FALSE, TRUE, Pred, Reg, Use
from ...ptx.types import width_of
from ..context import Context
from ..registry import check_modifiers, integer_type, lowers, take_operands

__all__ = ["add", "multiply_add"]


@lowers("addc", "subc")
def add(ctx: Context) -> None:
    """Lower ``add.cc``, ``sub.cc``, ``addc`` and ``subc``."""
    check_modifiers(ctx, {"cc"}, ctx.instruction.modifiers[:-1])
    bits = width_of(integer_type(ctx, (32, 64)))
    d, a, b = take_operands(ctx, 3)
    dest, uses = ctx.dest(d, bits), [ctx.value(x, bits) for x in (a, b)]
    _sum(ctx, dest, *uses, subtracts=ctx.instruction.base.startswith("sub"))


@lowers("madc")
def multiply_add(ctx: Context) -> None:
    """Lower ``mad.cc`` and ``madc``: half of a product and an addend."""
    modifiers = ctx.instruction.modifiers
    half = modifiers[0] if modifiers else ""
    if half not in ("lo", "hi") or modifiers[1:-1] not in ([], ["cc"]):
        raise ctx.error("not a multiplication with carry", "mad.lo.cc, mad.hi.cc, madc.lo, madc.hi with or without .cc")
    type = integer_type(ctx, (32, 64))
    bits, sign = width_of(type), "s" if type[0] == "s" else "u"
    d, a, b, c = take_operands(ctx, 4)
    dest, factors, addend = ctx.dest(d, bits), (ctx.value(a, bits), ctx.value(b, bits)), ctx.value(c, bits)
    if bits == 64:
        product = ctx.w()
        ctx.emit("mul.64" if half == "lo" else f"mulhi.{sign}.64", (product,), factors)
    else:
        product = ctx.r()
        ctx.emit("imul.lo" if half == "lo" else f"imul.hi.{sign}", (product,), factors)
    _sum(ctx, dest, product, addend, subtracts=False)


def _sum(ctx: Context, dest: Reg, a: Use, b: Use, subtracts: bool) -> None:
    """Write the sum or difference; the instruction says whether it takes and gives the adder's carry."""
    takes, gives = ctx.instruction.base.endswith("c"), "cc" in ctx.instruction.modifiers
    name = "isubc" if subtracts else "iaddc"
    carry = Pred(ctx.carry_flag) if takes else TRUE if subtracts else FALSE
    if dest.kind == "w":
        low, carry = _word(ctx, name, _half(ctx, "lo.64", a), _half(ctx, "lo.64", b), carry)
        high, carry = _word(ctx, name, _half(ctx, "hi.64", a), _half(ctx, "hi.64", b), carry)
        ctx.emit("pack.64", (dest,), (low, high))
    else:
        low, carry = _word(ctx, name, a, b, carry)
        ctx.emit("mov", (dest,), (low,))
    if gives:
        ctx.emit("pand", (ctx.carry_flag,), (carry, TRUE))


def _word(ctx: Context, name: str, a: Use, b: Use, carry: Pred) -> tuple[Reg, Pred]:
    result, out = ctx.r(), ctx.p()
    ctx.emit(name, (result, out), (a, b, carry))
    return result, Pred(out)


def _half(ctx: Context, name: str, value: Use) -> Reg:
    word = ctx.r()
    ctx.emit(name, (word,), (value,))
    return word

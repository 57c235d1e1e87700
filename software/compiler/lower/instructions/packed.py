"""Lowering of integer instructions on parts of 32-bit words.

They are ``dp4a`` and ``dp2a``, ``add``, ``min`` and ``max`` of ``.u16x2`` and ``.s16x2`` (PTX ISA 9.7.1), and
``cvt.pack`` (9.7.9).
"""

from __future__ import annotations

from ...ir.kernel import Imm, Reg, Use
from ..context import Context
from ..registry import lowers, take_operands

__all__ = ["PAIRS", "convert", "pairs", "part"]

PAIRS = ("u16x2", "s16x2")
"""Types of two half-words in a word."""
_SIGNS = {"u32": "u", "s32": "s"}
_RANGES = {f"{sign}{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) if sign == "s" else (0, (1 << bits) - 1)
           for sign in "su" for bits in (2, 4, 8, 16)}


def part(ctx: Context, value: Use, first: int, bits: int, sign: str) -> Use:
    """Return `bits` bits of a word from bit `first` on, extended with `sign` ``s`` or ``u``."""
    return value if bits == 32 else ctx.op(f"bfe.{sign}", value, Imm(first | bits << 8))


@lowers("dp4a", "dp2a")
def _dot_product(ctx: Context) -> None:
    """Add to c all products of bytes of a (``dp2a``: half-words) with bytes of b, modulo 2**32."""
    modifiers, four = ctx.instruction.modifiers, ctx.instruction.base == "dp4a"
    half = [] if four else modifiers[:1]
    types = modifiers[len(half):]
    if not {*half} <= {"lo", "hi"} or len(types) != 2 or not {*types} <= {*_SIGNS}:
        raise ctx.error("not a known dot product", "dp4a, dp2a.lo and dp2a.hi with .u32 or .s32 for each of a and b")
    d, a, b, c = take_operands(ctx, 4)
    first, second, total = ctx.value(a, 32, types[0]), ctx.value(b, 32, types[1]), ctx.value(c, 32, "b32")
    step, from_byte = (8, 0) if four else (16, 2 * (half == ["hi"]))
    for k in range(4 if four else 2):
        factors = (part(ctx, first, k * step, step, _SIGNS[types[0]]),
                   part(ctx, second, 8 * (from_byte + k), 8, _SIGNS[types[1]]))
        total = ctx.op("imad.lo", *factors, total)
    ctx.emit("mov", (ctx.dest(d, 32),), (total,))


def _clamped(ctx: Context, value: Use, low: int, high: int) -> Reg:
    return ctx.op("imin.s", ctx.op("imax.s", value, Imm(low & 0xFFFF_FFFF)), Imm(high))


def convert(ctx: Context) -> None:
    """Lower ``cvt.pack``: a above b, both clamped; above them the low bits of c, if there is one."""
    modifiers = ctx.instruction.modifiers
    to = modifiers[2] if len(modifiers) > 2 else ""
    bits = int(to[1:]) if to in _RANGES else 0
    if not bits or modifiers != ["pack", "sat", to, "s32", *(["b32"] if bits < 16 else [])]:
        raise ctx.error("conversion is not supported", "cvt.pack.sat with .u16.s32 or .s16.s32; with "
                        ".u8, .s8, .u4, .s4, .u2 or .s2 and .s32.b32")
    d, a, b, *c = take_operands(ctx, 3 if bits == 16 else 4)
    high, low = (_clamped(ctx, ctx.value(x, 32, "s32"), *_RANGES[to]) for x in (a, b))
    rest: Use = ctx.op("bfi", high, Imm(bits | bits << 8), ctx.op("shl", ctx.value(c[0], 32), Imm(2 * bits)) if c
                       else Imm(0))
    ctx.emit("bfi", (ctx.dest(d, 32),), (low, Imm(bits << 8), rest))


def pairs(ctx: Context) -> None:
    """Lower ``add``, ``min`` and ``max`` of two half-words; ``.relu`` makes negative results zero."""
    base, modifiers = ctx.instruction.base, ctx.instruction.modifiers
    type = modifiers[-1]
    relu = modifiers == ["relu", "s16x2"] and base != "add"
    if modifiers != [type] and not relu:
        raise ctx.error("not a known form", f"{base}.u16x2, {base}.s16x2" + ("" if base == "add" else
                                                                           f", {base}.relu.s16x2"))
    d, a, b = take_operands(ctx, 3)
    words = [ctx.value(x, 32, "b32") for x in (a, b)]
    halves = []
    for k in (0, 16):
        parts = [part(ctx, word, k, 16, type[0]) for word in words]
        half = ctx.op("iadd" if base == "add" else f"i{base}.{type[0]}", *parts)
        halves.append(ctx.op("imax.s", half, Imm(0)) if relu else half)
    ctx.emit("bfi", (ctx.dest(d, 32),), (halves[1], Imm(16 | 16 << 8), ctx.op("and", halves[0], Imm(0xFFFF))))

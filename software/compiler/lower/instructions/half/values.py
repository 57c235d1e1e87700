"""Numbers of 16 bits, f16 and bf16, alone or two in a word, as f32 values (PTX ISA 5.2.3).

Every one of them is an f32. Sums, differences and products of two are rounded to f32 first, then to 16 bits, to nearest
even. The result is the same as with one rounding:

1. f32 has 24 bits, f16 11 and bf16 8. Two roundings of a sum or a product are one if the first has at least
   2 p + 2 bits (Figueroa, When is double rounding innocuous?, 1995): 24 and 18.
2. Where the result is subnormal in its own format, sums are exact. Products of f16 have 22 bits and are exact. Products
   of bf16 have 16 bits, and are exact from 2^-134 up. A smaller product becomes at most 2^-134, which is rounded to
   zero.

For a product and a sum rounded once (`fma`) this fails: 3 * 1366 + 2^-24 in f16 would become the midpoint 4098. So the
f32 result is *rounded to odd*: if it is not exact, it is the neighbour with an odd last bit. With two more bits than
the result, every later rounding is right (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008).
"""

from __future__ import annotations

from dataclasses import dataclass

from ....ir.kernel import Imm, Pred, Reg, Use
from ....ptx.syntax import Name, Operand
from ...context import Context

__all__ = ["HALVES", "Half", "flushed", "half_of", "joined", "narrowed", "op", "odd_sum", "rounded", "singles",
           "singles_of", "test", "write"]

_SIGN, _MAGNITUDE = 0x8000_0000, 0x7FFF_FFFF
_UP, _DOWN = Imm(0x7780_0000), Imm(0x0780_0000)
"""2^112 and 2^-112: the difference of the exponents' biases of f32 and f16, as factors."""
_LEAST_NORMAL = 0x3880_0000
"""2^-14 as f32: the least normal f16."""
_TO_INTEGER = 0x06C0_0000
"""Offset that turns the bits of 2^e into 1.5 * 2^(e + 13), whose last bit is that of an f16 with exponent e."""
_EXPONENT, _INFINITY = 0x7F80_0000, 0x7C00_0000
_NAN = 0x7FFF
"""NaN, in both formats."""


@dataclass(frozen=True)
class Half:
    """A type: ``f16``, ``bf16``, or a pair of them in a word.

    Attributes
    ----------
    brain : bool
        Whether it is bf16.
    count : int
        Numbers in a register.
    one, most : int
        Bits of 1, and bits, as f32, of the greatest number.
    """

    brain: bool
    count: int
    one: int
    most: int

    @property
    def bits(self) -> int:
        """Number of bits in a register."""
        return 16 * self.count


HALVES = {"f16": Half(False, 1, 0x3C00, 0x477F_E000), "f16x2": Half(False, 2, 0x3C00, 0x477F_E000),
          "bf16": Half(True, 1, 0x3F80, 0x7F7F_0000), "bf16x2": Half(True, 2, 0x3F80, 0x7F7F_0000)}


def op(ctx: Context, name: str, *uses: Use) -> Reg:
    """Emit an operation with a 32-bit result; return the result."""
    result = ctx.r()
    ctx.emit(name, (result,), uses)
    return result


def test(ctx: Context, name: str, *uses: Use) -> Pred:
    """Emit an operation with a predicate result; return the result."""
    result = ctx.p()
    ctx.emit(name, (result,), uses)
    return Pred(result)


def half_of(ctx: Context, position: int = -1) -> Half:
    """Return the type that a modifier names."""
    modifiers = ctx.instruction.modifiers
    type = modifiers[position] if len(modifiers) >= -position else ""
    if type not in HALVES:
        raise ctx.error(f"type .{type} is not supported", "types ." + ", .".join(HALVES))
    return HALVES[type]


def write(ctx: Context, operand: Operand, bits: int, value: Use, type: str = "") -> None:
    """Move a result of 16 or 32 bits to the destination, which must have that width and suit `type`."""
    if not isinstance(operand, Name):
        raise ctx.error("the destination must be a register")
    dest = ctx.register(operand.text)
    if ctx.bits_of(operand.text) != bits:
        raise ctx.error(f"{operand.text} is declared .{ctx.type_of(operand.text)}, the instruction needs {bits} bits")
    ctx.check_kind(operand.text, type)
    ctx.emit("mov", (dest,), (value,))


def singles(ctx: Context, half: Half, operand: Operand, flush: bool = False) -> list[Use]:
    """Return the numbers in an operand as f32, the low one first; subnormal f16 as zeros if `flush`."""
    found = singles_of(ctx, half, ctx.value(operand, half.bits, f"b{half.bits}"))
    return [flushed(ctx, x) for x in found] if flush else found


def singles_of(ctx: Context, half: Half, value: Use) -> list[Use]:
    """Return the numbers in a register as f32, the low one first."""
    return [(_from_brain if half.brain else _from_f16)(ctx, value, high) for high in range(half.count)]


def _from_brain(ctx: Context, word: Use, high: int) -> Use:
    return op(ctx, "and", word, Imm(0xFFFF_0000)) if high else op(ctx, "shl", word, Imm(16))


def _from_f16(ctx: Context, word: Use, high: int) -> Use:
    """Return an f16 as f32.

    The bits below the sign go to their places in an f32. A factor corrects the exponent, of subnormals as well.
    Infinity and NaN have the highest exponent before.
    """
    top = word if high and not isinstance(word, Imm) else op(ctx, "shl", word, Imm(0)) if high else op(
        ctx, "shl", word, Imm(16))
    placed = op(ctx, "and", op(ctx, "shr.s", top, Imm(3)), Imm(0x8FFF_E000))
    special = test(ctx, "setp.eq", op(ctx, "and", top, Imm(_INFINITY)), Imm(_INFINITY))
    placed = op(ctx, "sel", op(ctx, "or", placed, Imm(_EXPONENT)), placed, special)
    return op(ctx, "fmul.rn", placed, _UP)


def flushed(ctx: Context, value: Use) -> Use:
    """Return an f32 that is an f16; a subnormal one becomes zero of its sign."""
    small = test(ctx, "setp.lt.u", op(ctx, "and", value, Imm(_MAGNITUDE)), Imm(_LEAST_NORMAL))
    return op(ctx, "sel", op(ctx, "and", value, Imm(_SIGN)), value, small)


def rounded(ctx: Context, half: Half, value: Use, mode: str = "rn", flush: bool = False) -> Use:
    """Return an f32 rounded to 16 bits, in the low half of a word; the high half is undefined."""
    if half.brain:
        return _to_brain(ctx, value, mode)
    result = _to_f16(ctx, value, mode)
    if flush:
        small = test(ctx, "setp.eq", op(ctx, "and", result, Imm(0x7C00)), Imm(0))
        result = op(ctx, "sel", op(ctx, "and", result, Imm(0x8000)), result, small)
    return result


def _to_brain(ctx: Context, value: Use, mode: str) -> Use:
    """Add a value that makes truncation of the low half round; the exponent takes the carry."""
    if mode == "rn":
        odd = op(ctx, "bfe.u", value, Imm(1 << 8 | 16))
        moved = op(ctx, "iadd", op(ctx, "iadd", value, Imm(0x7FFF)), odd)
    elif mode == "rz":
        moved = value
    else:
        negative = op(ctx, "shr.s", value, Imm(31))
        away = negative if mode == "rm" else op(ctx, "not", negative)
        moved = op(ctx, "iadd", value, op(ctx, "and", away, Imm(0xFFFF)))
    return op(ctx, "sel", Imm(_NAN), op(ctx, "shr.u", moved, Imm(16)), test(ctx, "fsetp.nan", value, value))


def _to_f16(ctx: Context, value: Use, mode: str) -> Use:
    """Round by a sum whose last bit is that of the result. Values too large have overflowed before, in a product."""
    scaled = op(ctx, f"fmul.{mode}", value, _UP)
    whole = op(ctx, "fmul.rn", scaled, _DOWN)
    exponent = op(ctx, "imax.u", op(ctx, "and", whole, Imm(_EXPONENT)), Imm(_LEAST_NORMAL))
    bias = op(ctx, "iadd", exponent, Imm(_TO_INTEGER))
    if mode == "rz":
        whole, mode = op(ctx, "and", whole, Imm(_MAGNITUDE)), "rm"
    result = op(ctx, "fsub.rn", op(ctx, f"fadd.{mode}", whole, bias), bias)
    return _packed_f16(ctx, result, scaled)


def _packed_f16(ctx: Context, value: Use, sign: Use) -> Use:
    """Return the bits of an f16 with the magnitude of one f32 and the sign of another."""
    magnitude = op(ctx, "shr.u", op(ctx, "fmul.rn", value, _DOWN), Imm(13))
    return op(ctx, "bfi", magnitude, Imm(15 << 8), op(ctx, "shr.u", sign, Imm(16)))


def narrowed(ctx: Context, half: Half, value: Use) -> Use:
    """Return an f32 that is a number of 16 bits, or a NaN from arithmetic, in the low half of a word."""
    return op(ctx, "shr.u", value, Imm(16)) if half.brain else _packed_f16(ctx, value, value)


def odd_sum(ctx: Context, a: Use, b: Use, c: Use) -> Use:
    """Return a * b + c of f32, rounded to odd: the odd one of the two f32 around it, which are one if it is exact."""
    below, above = op(ctx, "ffma.rm", a, b, c), op(ctx, "ffma.rp", a, b, c)
    return op(ctx, "sel", below, above, test(ctx, "setp.ne", op(ctx, "and", below, Imm(1)), Imm(0)))


def joined(ctx: Context, values: list[Use]) -> Use:
    """Return one or two results of 16 bits in a word, the first in the low half."""
    if len(values) == 1:
        return values[0]
    low = op(ctx, "and", values[0], Imm(0xFFFF))
    return op(ctx, "or", low, op(ctx, "shl", values[1], Imm(16)))

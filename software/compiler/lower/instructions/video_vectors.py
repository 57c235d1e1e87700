"""Lowering of the video instructions on two half-words or four bytes at once (PTX ISA 9.7.18.2)."""

from __future__ import annotations

from ...ir.kernel import Imm, Reg, Use
from ...ptx.syntax import Name, Operand, Part
from ..context import Context
from ..registry import lowers, take_operands
from .packed import part
from .video import TESTS, TYPES

__all__: list[str] = []

_OPERATIONS = ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")
_SUPPORTED = ("three types .u32 or .s32 (vset2, vset4: two and a comparison), .sat or .add; elements as in r.h10, "
              "r.h32 (of four bytes r.b3210, r.b7654), elements of the destination as in r.h1, r.b20")


@lowers(*(f"{name}{count}" for name in (*_OPERATIONS, "vset") for count in (2, 4)))
def _vector(ctx: Context) -> None:
    """Replace each element that the destination names in c, or with ``.add`` add to it."""
    ins, modifiers = ctx.instruction, ctx.instruction.modifiers
    base, count = ins.base[:-1], int(ins.base[-1])
    compares = base == "vset"
    types, options = modifiers[:3 - compares], modifiers[3 - compares:]
    test = options.pop(0) if compares and options else ""
    if len(types) != 3 - compares or not {*types} <= {*TYPES} or compares and test not in TESTS \
            or options not in ([], ["add"], *([] if compares else [["sat"]])):
        raise ctx.error("not a known video instruction", _SUPPORTED)
    d, a, b, c = take_operands(ctx, 4)
    bits = 32 // count
    letter = "h" if count == 2 else "b"
    name, chosen = _elements(ctx, d, letter, range(count)[::-1], ordered=True)
    dest, into = ctx.dest(name, 32), ctx.value(c, 32, "b32")
    words = [ctx.value(Name(x.name) if isinstance(x, Part) else x, 32, "b32") for x in (a, b)]
    operands = []
    for k, (x, type) in enumerate(zip((a, b), types[-2:], strict=True)):
        _, wanted = _elements(ctx, x, letter, range(k * count, (k + 1) * count)[::-1])
        if len(wanted) != count:
            raise ctx.error("not a known video instruction", _SUPPORTED)
        operands.append([part(ctx, words[n // count], n % count * bits, bits, type[0]) for n in wanted[::-1]])
    result: Use = into
    for k in sorted(chosen):
        value = _element(ctx, base, test, operands[0][k], operands[1][k])
        if options == ["add"]:
            result = ctx.op("iadd", result, value)
            continue
        if options == ["sat"]:
            value = _clamped(ctx, value, bits, types[0][0])
        result = ctx.op("bfi", value, Imm(k * bits | bits << 8), result)
    ctx.emit("mov", (dest,), (result,))


def _elements(ctx: Context, operand: Operand, letter: str, default: range,
              ordered: bool = False) -> tuple[Operand, list[int]]:
    """Return the register of an operand, and the numbers of its elements, the highest place first."""
    if not isinstance(operand, Part):
        return operand, [*default]
    numbers = [int(x) for x in operand.selector[1:]]
    most = len(default) * (1 if ordered else 2)
    if operand.negated or operand.selector[:1] != letter or max(numbers) >= most \
            or ordered and numbers != sorted({*numbers}, reverse=True):
        raise ctx.error("not a known video instruction", _SUPPORTED)
    return Name(operand.name), numbers


def _element(ctx: Context, base: str, test: str, a: Use, b: Use) -> Reg:
    """Return an operation on elements extended to 32 bits, which cannot overflow."""
    if base == "vset":
        name = f"setp.{test}" if test in ("eq", "ne") else f"setp.{test}.s"
        return ctx.op("sel", Imm(1), Imm(0), ctx.test(name, a, b))
    if base == "vavrg":  # halves are rounded away from zero, those below it up
        total = ctx.op("iadd", a, b)
        return ctx.op("shr.s", ctx.op("iadd", ctx.op("iadd", total, Imm(1)), ctx.op("shr.s", total, Imm(31))), Imm(1))
    if base == "vabsdiff":
        return ctx.op("iabs", ctx.op("isub", a, b))
    return ctx.op({"vadd": "iadd", "vsub": "isub", "vmin": "imin.s", "vmax": "imax.s"}[base], a, b)


def _clamped(ctx: Context, value: Use, bits: int, sign: str) -> Reg:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if sign == "s" else (0, (1 << bits) - 1)
    return ctx.op("imin.s", ctx.op("imax.s", value, Imm(low & 0xFFFF_FFFF)), Imm(high))

"""Lowering of the scalar video instructions (PTX ISA 9.7.18.1): arithmetic on bytes, half-words or words of registers.

An intermediate result is exact: it is computed in 64 bits, or in 96 for ``vmad``. Then it is clamped (``.sat``) and
combined with c (``.add``, ``.min``, ``.max``), or its low bits replace a part of c (``d.b0``).
"""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.kernel import FALSE, TRUE, Imm, Pred, Reg, Use
from ...ptx.syntax import Name, Operand, Part
from ..context import Context
from ..registry import lowers, take_operands
from .packed import part

__all__ = ["TYPES", "Sources", "TESTS"]

TYPES = ("u32", "s32")
TESTS = ("eq", "ne", "lt", "le", "gt", "ge")
_OPTIONS = ("sat", "add", "min", "max")
_ARITHMETIC = ("vadd", "vsub", "vabsdiff", "vmin", "vmax")
_SUPPORTED = ("three types .u32 or .s32 (vset: two and a comparison), .sat, and one of .add, .min, .max or a part of "
              "the destination, each with a last operand; parts .b0 to .b3, .h0, .h1")


@dataclass(frozen=True)
class Sources:
    """The parts of an instruction.

    Attributes
    ----------
    types : tuple of str
        Signs of the result and the first two sources, ``"u"`` or ``"s"``; a comparison has the result ``"u"``.
    options : set of str
        Other modifiers.
    operands : tuple of Operand
        Operands behind the destination.
    """

    types: tuple[str, ...]
    options: set[str]
    operands: tuple[Operand, ...]


def _field(ctx: Context, selector: str) -> tuple[int, int]:
    """Return the first bit and the number of bits of a part of a register."""
    bits = {"b": 8, "h": 16}.get(selector[:1], 32)
    place = int(selector[1:] or 0) if len(selector) < 3 else 4
    if bits * (place + 1) > 32:
        raise ctx.error(f".{selector} is no part of a register here", "parts .b0 to .b3, .h0, .h1")
    return bits * place, bits


def _source(ctx: Context, operand: Operand, sign: str, negatable: bool = False) -> tuple[Use, bool]:
    """Return a source as 32 bits, and whether it is negated."""
    selector, negated = "", False
    if isinstance(operand, Part):
        selector, negated, operand = operand.selector, operand.negated, Name(operand.name)
    if negated and not negatable:
        raise ctx.error("only vmad takes a negated register", "the register without the sign")
    return part(ctx, ctx.value(operand, 32, f"{sign}32"), *_field(ctx, selector), sign), negated


def _wide(ctx: Context, value: Use, sign: str) -> Reg:
    return ctx.op("sext.64", value) if sign == "s" else ctx.op("pack.64", value, Imm(0))


def _read(ctx: Context, options: tuple[str, ...], comparison: bool = False) -> Sources:
    """Return the parts of the instruction, its modifiers checked."""
    modifiers = list(ctx.instruction.modifiers)
    types, rest = modifiers[:3 - comparison], modifiers[3 - comparison:]
    wrong = not {*types} <= {*TYPES} or not {*rest} <= {*options} or len({*rest}) < len(rest)
    if wrong or len(types) != 3 - comparison:
        raise ctx.error("not a known video instruction", _SUPPORTED)
    signs = tuple(type[0] for type in types)
    return Sources(("u", *signs) if comparison else signs, {*rest}, ctx.instruction.operands[1:])


def _finish(ctx: Context, sources: Sources, exact: Reg, unsigned: bool = False) -> None:
    """Clamp an intermediate result of 64 bits, `unsigned` or not, and combine it with c."""
    d, *operands = ctx.instruction.operands
    selector, name = (d.selector, Name(d.name)) if isinstance(d, Part) else ("", d)
    first, bits = _field(ctx, selector)
    second = [x for x in ("add", "min", "max") if x in sources.options]
    take_operands(ctx, 4 if second or selector else 3)
    if len(second) > 1 or second and selector:
        raise ctx.error("not a known video instruction", _SUPPORTED)
    sign, dest = sources.types[0], ctx.dest(name, 32)
    if "sat" in sources.options:
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if sign == "s" else (0, (1 << bits) - 1)
        if unsigned:
            exact = ctx.op("min.u.64", exact, Imm(high))
        else:
            exact = ctx.op("min.s.64", ctx.op("max.s.64", exact, Imm(low & (1 << 64) - 1)), Imm(high))
    elif unsigned and second:  # as a number with a sign; only the comparison with c may see the difference
        exact = ctx.op("sel.64", exact, Imm((1 << 63) - 1), ctx.test("setp.ge.s.64", exact, Imm(0))) \
            if second != ["add"] else exact
    result = ctx.op("lo.64", exact)
    if second or selector:
        c = ctx.value(operands[2], 32, f"{sign}32")
        if second == ["add"]:
            result = ctx.op("iadd", result, c)
        elif second:
            result = ctx.op("lo.64", ctx.op(f"{second[0]}.s.64", exact, _wide(ctx, c, sign)))
        else:
            result = ctx.op("bfi", result, Imm(first | bits << 8), c)
    ctx.emit("mov", (dest,), (result,))


def _two(ctx: Context, sources: Sources) -> tuple[Use, Use]:
    if len(sources.operands) < 2:
        raise ctx.error("not a known video instruction", _SUPPORTED)
    a, b = (_source(ctx, x, sign)[0] for x, sign in zip(sources.operands[:2], sources.types[1:], strict=True))
    return a, b


@lowers(*_ARITHMETIC)
def _arithmetic(ctx: Context) -> None:
    sources = _read(ctx, _OPTIONS)
    a, b = (_wide(ctx, x, sign) for x, sign in zip(_two(ctx, sources), sources.types[1:], strict=True))
    base = ctx.instruction.base[1:]
    name = {"absdiff": "sub.64", "min": "min.s.64", "max": "max.s.64"}.get(base, f"{base}.64")
    exact = ctx.op(name, a, b)
    _finish(ctx, sources, ctx.op("abs.64", exact) if base == "absdiff" else exact)


@lowers("vset")
def _compare(ctx: Context) -> None:
    sources = _read(ctx, (*TESTS, "add", "min", "max"), comparison=True)
    tests = [x for x in TESTS if x in sources.options]
    if len(tests) != 1:
        raise ctx.error("not a known video instruction", _SUPPORTED)
    a, b = (_wide(ctx, x, sign) for x, sign in zip(_two(ctx, sources), sources.types[1:], strict=True))
    test = tests[0] if tests[0] in ("eq", "ne") else f"{tests[0]}.s"
    holds = ctx.test(f"setp.{test}.64", a, b)
    _finish(ctx, sources, ctx.op("sel.64", Imm(1), Imm(0), holds))


@lowers("vshl", "vshr")
def _shift(ctx: Context) -> None:
    sources = _read(ctx, (*_OPTIONS, "clamp", "wrap"))
    modes = {"clamp", "wrap"} & sources.options
    if len(modes) != 1 or sources.types[2] != "u":
        raise ctx.error("not a known video instruction", f"{_SUPPORTED}; .clamp or .wrap, an amount of type .u32")
    value, amount = _two(ctx, sources)
    amount = ctx.op("imin.u", amount, Imm(32)) if "clamp" in modes else ctx.op("and", amount, Imm(31))
    sign, left = sources.types[1], ctx.instruction.base == "vshl"
    exact = ctx.op("shl.64" if left else "shr.s.64", _wide(ctx, value, sign), amount)
    _finish(ctx, sources, exact, unsigned=left and sign == "u")


@lowers("vmad")
def _multiply_add(ctx: Context) -> None:
    """Lower a * b + c, or with a negated product or c; ``.po`` adds one more. c has the sign of the product."""
    sources = _read(ctx, ("sat", "po", "shr7", "shr15"))
    d, *operands = take_operands(ctx, 4)
    signs = sources.types[1:]
    (a, minus_a), (b, minus_b) = (_source(ctx, x, sign, True) for x, sign in zip(operands[:2], signs, strict=True))
    negated = minus_a != minus_b
    signed = negated or "s" in signs
    c, minus_c = _source(ctx, operands[2], "s" if signed else "u", True)
    shifts = {"shr7", "shr15"} & sources.options
    if len(shifts) > 1 or negated and minus_c or "po" in sources.options and (minus_a or minus_b or minus_c):
        raise ctx.error("not a known video instruction", "vmad with one of .shr7, .shr15; a negative of the product or "
                        "of c, but not with .po")
    words = _product(ctx, a, b, signs)
    top = ctx.op("shr.s", c, Imm(31)) if signed else Imm(0)
    addend: list[Use] = [c, top, top]
    if negated:
        words = [ctx.op("not", word) for word in words]
    if minus_c:
        addend = [ctx.op("not", word) for word in addend]
    carry = TRUE if negated or minus_c or "po" in sources.options else FALSE
    words = _chain(ctx, "iaddc", words, addend, carry)
    for shift in shifts:
        amount = Imm(int(shift[3:]))
        words = [ctx.op("shf.r", words[0], words[1], amount), ctx.op("shf.r", words[1], words[2], amount),
                 ctx.op("shr.s", words[2], amount)]
    result = words[0]
    if "sat" in sources.options:
        result = _saturated(ctx, words, signed or minus_c)
    ctx.emit("mov", (ctx.dest(d, 32),), (result,))


def _chain(ctx: Context, name: str, a: list[Use], b: list[Use], carry: Pred) -> list[Use]:
    """Add or subtract numbers of several words."""
    results: list[Use] = []
    for x, y in zip(a, b, strict=True):
        result, out = ctx.r(), ctx.p()
        ctx.emit(name, (result, out), (x, y, carry))
        carry = Pred(out)
        results.append(result)
    return results


def _product(ctx: Context, a: Use, b: Use, signs: tuple[str, ...]) -> list[Use]:
    """Return the three words of a product.

    The product of the unsigned numbers has 2**32 times b too much if a is below zero, and 2**32 times a too much if b
    is. It has 2**64 too little if both are.
    """
    words: list[Use] = [ctx.op("imul.lo", a, b), ctx.op("imul.hi.u", a, b), Imm(0)]
    masks = [ctx.op("shr.s", x, Imm(31)) if sign == "s" else None for x, sign in zip((a, b), signs, strict=True)]
    for mask, other in zip(masks, (b, a), strict=True):
        if mask is not None:
            words[1:] = _chain(ctx, "isubc", words[1:], [ctx.op("and", mask, other), Imm(0)], TRUE)
    if masks[0] is not None and masks[1] is not None:
        words[2] = ctx.op("isub", words[2], ctx.op("and", masks[0], masks[1]))
    return words


def _saturated(ctx: Context, words: list[Use], signed: bool) -> Reg:
    """Return a number of three words clamped to 32 bits, with or without a sign."""
    if not signed:
        return ctx.op("sel", Imm(0xFFFF_FFFF), words[0], ctx.test("setp.ne", ctx.op("or", *words[1:]), Imm(0)))
    sign = ctx.op("shr.s", words[0], Imm(31))
    other = ctx.op("or", *(ctx.op("xor", word, sign) for word in words[1:]))
    bound = ctx.op("xor", ctx.op("shr.s", words[2], Imm(31)), Imm(0x7FFF_FFFF))
    return ctx.op("sel", bound, words[0], ctx.test("setp.ne", other, Imm(0)))

"""Lowering of integer arithmetic, logic and shifts (PTX ISA 9.7.1, 9.7.7, 9.7.8)."""

from __future__ import annotations

from ...ir.kernel import TRUE, Imm, Pred, Reg, Use
from ...ptx.syntax import Operand
from ...ptx.types import width_of
from ..context import Context
from ..registry import check_modifiers, integer_type, lowers, take_operands
from . import carry, packed

__all__: list[str] = []


@lowers("add", "sub")
def _add_sub(ctx: Context) -> None:
    if "cc" in ctx.instruction.modifiers:
        carry.add(ctx)
        return
    if ctx.instruction.base == "add" and ctx.instruction.modifiers[-1:] in ([x] for x in packed.PAIRS):
        packed.pairs(ctx)
        return
    *modifiers, type = ["", *ctx.instruction.modifiers]
    check_modifiers(ctx, {"sat"} if type == "s32" else set(), modifiers[1:])
    bits = width_of(integer_type(ctx, (16, 32, 64)))
    d, a, b = take_operands(ctx, 3)
    uses = (ctx.value(a, bits), ctx.value(b, bits))
    base = ctx.instruction.base
    if "sat" in modifiers:
        _saturating(ctx, base, ctx.dest(d, 32), *uses)
        return
    ctx.emit(f"{base}.64" if bits == 64 else f"i{base}", (ctx.dest(d, bits),), uses)


def _saturating(ctx: Context, base: str, dest: Reg, a: Use, b: Use) -> None:
    """Add or subtract; an overflowed result becomes the greatest or least number, with the sign of a."""
    result, signs, other, wrong, bound, over = *(ctx.r() for _ in range(5)), ctx.p()
    ctx.emit(f"i{base}", (result,), (a, b))
    ctx.emit("xor", (signs,), (a, result))
    ctx.emit("xor", (other,), (a, b))
    if base == "add":  # overflow: both operands have one sign, the result has the other
        inverted = ctx.r()
        ctx.emit("not", (inverted,), (other,))
        other = inverted
    ctx.emit("and", (wrong,), (signs, other))
    ctx.emit("setp.lt.s", (over,), (wrong, Imm(0)))
    ctx.emit("shr.s", (bound,), (a, Imm(31)))
    most = ctx.r()
    ctx.emit("xor", (most,), (bound, Imm(0x7FFF_FFFF)))
    ctx.emit("sel", (dest,), (most, result, Pred(over)))


@lowers("mul")
def _mul(ctx: Context) -> None:
    mode, type = _mode(ctx)
    d, a, b = take_operands(ctx, 3)
    _multiply(ctx, mode, type, a, b, ctx.dest(d, _result_bits(mode, type)))


@lowers("mad")
def _mad(ctx: Context) -> None:
    if "cc" in ctx.instruction.modifiers:
        carry.multiply_add(ctx)
        return
    saturates = ctx.instruction.modifiers == ["hi", "sat", "s32"]
    mode, type = ("hi", "s32") if saturates else _mode(ctx)
    d, a, b, c = take_operands(ctx, 4)
    bits = _result_bits(mode, type)
    dest, addend = ctx.dest(d, bits), ctx.value(c, bits)
    if mode == "lo" and bits < 64:
        ctx.emit("imad.lo", (dest,), (ctx.value(a, bits), ctx.value(b, bits), addend))
        return
    product = ctx.w() if bits == 64 else ctx.r()
    _multiply(ctx, mode, type, a, b, product)
    if saturates:
        _saturating(ctx, "add", dest, product, addend)
        return
    ctx.emit("add.64" if bits == 64 else "iadd", (dest,), (product, addend))


@lowers("mul24", "mad24")
def _mul24(ctx: Context) -> None:
    """Bits 31..0 or 47..16 of a product of 24-bit numbers."""
    *modes, type = ["", *ctx.instruction.modifiers]
    if modes not in (["", "lo"], ["", "hi"]):
        raise ctx.error("not a 24-bit multiplication", "modifiers .lo, .hi with .s32 or .u32")
    integer_type(ctx, (32,))
    d, a, b, *c = take_operands(ctx, 3 if ctx.instruction.base == "mul24" else 4)
    sign = "s" if type == "s32" else "u"
    factors = tuple(_extended24(ctx, operand, sign) for operand in (a, b))
    dest, product = ctx.dest(d, 32), ctx.r()
    if c and modes[1] == "lo":
        ctx.emit("imad.lo", (dest,), (*factors, ctx.value(c[0], 32)))
        return
    ctx.emit("imul.lo", (product,), factors)
    if modes[1] == "hi":
        high, middle = ctx.r(), ctx.r()
        ctx.emit(f"imul.hi.{sign}", (high,), factors)
        ctx.emit("shf.r", (middle,), (product, high, Imm(16)))
        product = middle
    ctx.emit("iadd" if c else "mov", (dest,), (product, ctx.value(c[0], 32)) if c else (product,))


def _extended24(ctx: Context, operand: Operand, sign: str) -> Reg:
    up, value = ctx.r(), ctx.r()
    ctx.emit("shl", (up,), (ctx.value(operand, 32), Imm(8)))
    ctx.emit(f"shr.{sign}", (value,), (up, Imm(8)))
    return value


def _mode(ctx: Context) -> tuple[str, str]:
    modifiers = ctx.instruction.modifiers
    mode = modifiers[0] if modifiers else ""
    if mode not in ("lo", "hi", "wide") or len(modifiers) != 2:
        raise ctx.error("not an integer multiplication", "modifiers .lo, .hi, .wide with an integer type; type .f32")
    return mode, integer_type(ctx, (16, 32) if mode == "wide" else (16, 32, 64))


def _result_bits(mode: str, type: str) -> int:
    return width_of(type) * (2 if mode == "wide" else 1)


def _multiply(ctx: Context, mode: str, type: str, a, b, dest) -> None:
    bits, sign = width_of(type), "s" if type[0] == "s" else "u"
    if mode == "lo":
        ctx.emit("mul.64" if bits == 64 else "imul.lo", (dest,), (ctx.value(a, bits), ctx.value(b, bits)))
    elif bits == 16:
        product = dest if mode == "wide" else ctx.r()
        ctx.emit("imul.lo", (product,), (ctx.extended(a, type), ctx.extended(b, type)))
        if mode == "hi":
            ctx.emit("shr.u", (dest,), (product, Imm(16)))
    elif mode == "wide":
        ctx.emit(f"mulwide.{sign}.64", (dest,), (ctx.value(a, 32), ctx.value(b, 32)))
    else:
        name = f"mulhi.{sign}.64" if bits == 64 else f"imul.hi.{sign}"
        ctx.emit(name, (dest,), (ctx.value(a, bits), ctx.value(b, bits)))


@lowers("and", "or", "xor")
def _logic(ctx: Context) -> None:
    modifiers, base = ctx.instruction.modifiers, ctx.instruction.base
    d, a, b = take_operands(ctx, 3)
    if modifiers == ["pred"]:
        ctx.emit(f"p{base}", (ctx.dest(d, 1),), (ctx.pred(a), ctx.pred(b)))
        return
    check_modifiers(ctx, set(), modifiers[:-1])
    bits = width_of(integer_type(ctx, (16, 32, 64)))
    name = f"{base}.64" if bits == 64 else base
    ctx.emit(name, (ctx.dest(d, bits),), (ctx.value(a, bits), ctx.value(b, bits)))


@lowers("not", "neg", "abs", "cnot")
def _unary(ctx: Context) -> None:
    modifiers, base = ctx.instruction.modifiers, ctx.instruction.base
    d, a = take_operands(ctx, 2)
    if base == "not" and modifiers == ["pred"]:
        ctx.emit("pand", (ctx.dest(d, 1),), (ctx.pred(a).inverted(), TRUE))
        return
    check_modifiers(ctx, set(), modifiers[:-1])
    type = integer_type(ctx, (16, 32, 64))
    bits = width_of(type)
    dest = ctx.dest(d, bits)
    if base == "cnot":
        zero, test = Imm(0), ctx.p()
        value = ctx.value(a, bits) if bits == 64 else ctx.extended(a, f"u{bits}")
        ctx.emit("setp.eq.64" if bits == 64 else "setp.eq", (test,), (value, zero))
        ctx.emit("sel.64" if bits == 64 else "sel", (dest,), (Imm(1), zero, Pred(test)))
    elif bits == 64:
        ctx.emit(f"{base}.64", (dest,), (ctx.value(a, 64),))
    elif base == "not":
        ctx.emit("not", (dest,), (ctx.value(a, bits),))
    elif base == "neg":
        ctx.emit("isub", (dest,), (Imm(0), ctx.value(a, bits)))
    else:
        ctx.emit("iabs", (dest,), (ctx.extended(a, type),))


@lowers("min", "max")
def _min_max(ctx: Context) -> None:
    modifiers = ctx.instruction.modifiers
    if modifiers[-1:] in ([x] for x in packed.PAIRS):
        packed.pairs(ctx)
        return
    check_modifiers(ctx, {"relu"} if modifiers[-1:] == ["s32"] else set(), modifiers[:-1])
    type, base = integer_type(ctx, (16, 32, 64)), ctx.instruction.base
    bits, sign = width_of(type), "s" if type[0] == "s" else "u"
    d, a, b = take_operands(ctx, 3)
    if bits == 64:
        ctx.emit(f"{base}.{sign}.64", (ctx.dest(d, 64),), (ctx.value(a, 64), ctx.value(b, 64)))
    elif "relu" in modifiers:
        extreme = ctx.op(f"i{base}.s", ctx.value(a, 32), ctx.value(b, 32))
        ctx.emit("imax.s", (ctx.dest(d, 32),), (extreme, Imm(0)))
    else:
        ctx.emit(f"i{base}.{sign}", (ctx.dest(d, bits),), (ctx.extended(a, type), ctx.extended(b, type)))


@lowers("shl", "shr")
def _shift(ctx: Context) -> None:
    check_modifiers(ctx, set(), ctx.instruction.modifiers[:-1])
    type, base = integer_type(ctx, (16, 32, 64)), ctx.instruction.base
    bits = width_of(type)
    name = base if base == "shl" else "shr.s" if type[0] == "s" else "shr.u"
    d, a, b = take_operands(ctx, 3)
    amount = ctx.value(b, 32)
    if bits == 64:
        ctx.emit(f"{name}.64", (ctx.dest(d, 64),), (ctx.value(a, 64), amount))
    else:
        value = ctx.extended(a, type) if base == "shr" else ctx.value(a, bits)
        ctx.emit(name, (ctx.dest(d, bits),), (value, amount))


@lowers("shf")
def _funnel(ctx: Context) -> None:
    modifiers = ctx.instruction.modifiers
    if len(modifiers) != 3 or modifiers[0] not in "lr" or modifiers[1] not in ("wrap", "clamp") \
            or modifiers[2] != "b32":
        raise ctx.error("not a known funnel shift", "shf.l, shf.r with .wrap or .clamp and .b32")
    d, a, b, c = take_operands(ctx, 4)
    low, high, amount = (ctx.value(x, 32) for x in (a, b, c))
    name, dest = f"shf.{modifiers[0]}", ctx.dest(d, 32)
    if modifiers[1] == "wrap":
        ctx.emit(name, (dest,), (low, high, amount))
        return
    shifted, over = ctx.r(), ctx.p()
    ctx.emit(name, (shifted,), (low, high, amount))
    ctx.emit("setp.gt.u", (over,), (amount, Imm(31)))
    ctx.emit("sel", (dest,), (low if modifiers[0] == "l" else high, shifted, Pred(over)))

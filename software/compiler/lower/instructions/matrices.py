"""Lowering of ``ldmatrix``, ``stmatrix`` and ``movmatrix`` for 8 x 8 matrices of 16 bits (PTX ISA 9.7.14.5).

Each lane fetches the addresses of rows, or other lanes' words, by shuffles.

Lane i has elements 2 (i mod 4) and the next of row i / 4 of a matrix; with ``.trans`` of column i / 4. The address of
row r of matrix m comes from lane 8 m + r.
"""

from __future__ import annotations

from ...ir.kernel import Imm, Reg, Use
from ...ir.spaces import WINDOWS
from ...ptx.syntax import Address, Vector, left_out
from ..context import Context
from ..registry import check_modifiers, lowers, take_operands
from ..special_registers import read_predefined
from .memory import address_base

__all__ = ["operation", "shared_address"]

_LAST_LANE = Imm(31)


def operation(ctx: Context, name: str, *uses: Use) -> Reg:
    """Emit an operation with a 32-bit result; return the result."""
    result = ctx.r()
    ctx.emit(name, (result,), uses)
    return result


def shared_address(ctx: Context, operand, what: str) -> tuple[Use, int]:
    """Return base and offset of an operand in shared memory; without ``.shared`` it is a generic address."""
    if not isinstance(operand, Address):
        raise ctx.error(f"{what} wants an address", "[register + constant], [variable + constant]")
    if any(m in ("shared", "shared::cta") for m in ctx.instruction.modifiers):
        return address_base(ctx, "shared", operand)
    base, offset = address_base(ctx, "", operand)
    return base, (offset - WINDOWS["shared"]) & 0xFFFF_FFFF


def _fetched(ctx: Context, value: Use, lane: Use) -> Reg:
    """Return `value` of another lane."""
    result = ctx.r()
    ctx.emit("shfl.idx", (result, None), (value, lane, _LAST_LANE))
    return result


def _lane(ctx: Context) -> tuple[Reg, Reg]:
    """Return the quotient and the remainder of the lane's number by four."""
    lane = read_predefined(ctx, "%laneid", 32)
    return operation(ctx, "shr.u", lane, Imm(2)), operation(ctx, "and", lane, Imm(3))


def _shape(ctx: Context) -> tuple[int, bool]:
    """Return the number of matrices, and whether they are transposed."""
    modifiers = ctx.instruction.modifiers
    counts = [m for m in modifiers if m in ("x1", "x2", "x4")]
    if modifiers[-1:] != ["b16"] or "m8n8" not in modifiers or len(counts) != 1 or "sync" not in modifiers:
        raise ctx.error("not a known matrix access", f"{ctx.instruction.base}.sync.aligned.m8n8 with .x1, .x2 or .x4, "
                        ".trans, .shared and .b16")
    check_modifiers(ctx, {"sync", "aligned", "m8n8", *counts, "trans", "shared", "shared::cta"}, modifiers[:-1])
    return int(counts[0][1]), "trans" in modifiers


def _places(ctx: Context, address, count: int, transposed: bool) -> list[list[Reg]]:
    """Return, for each matrix, the address of the lane's word, or the addresses of its two elements."""
    base, offset = shared_address(ctx, address, ctx.instruction.base)
    if isinstance(base, Reg) and base.kind == "w":
        base = operation(ctx, "lo.64", base)
    own = operation(ctx, "iadd", base, Imm(offset)) if isinstance(base, Reg) else operation(
        ctx, "mov", Imm((base.value + offset) & 0xFFFF_FFFF))
    quotient, remainder = _lane(ctx)
    if transposed:
        rows = [operation(ctx, "shl", remainder, Imm(1))]
        rows.append(operation(ctx, "iadd", rows[0], Imm(1)))
        within = operation(ctx, "shl", quotient, Imm(1))
    else:
        rows, within = [quotient], operation(ctx, "shl", remainder, Imm(2))
    return [[operation(ctx, "iadd", _fetched(ctx, own, operation(ctx, "iadd", row, Imm(8 * m))), within)
             for row in rows] for m in range(count)]


def _items(ctx: Context, operand, count: int) -> tuple:
    if not isinstance(operand, Vector) or len(operand.items) != count:
        raise ctx.error(f"{count} registers in braces belong here")
    return operand.items


@lowers("ldmatrix")
def _load(ctx: Context) -> None:
    count, transposed = _shape(ctx)
    data, address = take_operands(ctx, 2)
    items = _items(ctx, data, count)
    places = _places(ctx, address, count, transposed)
    for item, where in zip(items, places, strict=True):
        if left_out(item, items):
            continue
        dest = ctx.dest(item, 32)
        if not transposed:
            ctx.emit("ld.shared.b32", (dest,), (where[0],))
            continue
        low, high = ctx.r(), ctx.r()
        for half, place in zip((low, high), where, strict=True):
            ctx.emit("ld.shared.u16", (half,), (place,))
        ctx.emit("or", (dest,), (low, operation(ctx, "shl", high, Imm(16))))


@lowers("stmatrix")
def _store(ctx: Context) -> None:
    count, transposed = _shape(ctx)
    address, data = take_operands(ctx, 2)
    values = [ctx.value(item, 32) for item in _items(ctx, data, count)]
    for value, where in zip(values, _places(ctx, address, count, transposed), strict=True):
        if not transposed:
            ctx.emit("st.shared.b32", (), (where[0], value))
            continue
        for half, place in zip((value, operation(ctx, "shr.u", value, Imm(16))), where, strict=True):
            ctx.emit("st.shared.b16", (), (place, half))


@lowers("movmatrix")
def _move(ctx: Context) -> None:
    """Transpose: elements r and r + 1 of column c are in lane 4 r + c / 2 and the fourth behind, half c mod 2."""
    if {*ctx.instruction.modifiers} != {"sync", "aligned", "m8n8", "trans", "b16"}:
        raise ctx.error("not a known matrix move", "movmatrix.sync.aligned.m8n8.trans.b16")
    d, a = take_operands(ctx, 2)
    dest, value = ctx.dest(d, 32), ctx.value(a, 32)
    column, remainder = _lane(ctx)
    first = operation(ctx, "iadd", operation(ctx, "shl", remainder, Imm(3)), operation(ctx, "shr.u", column, Imm(1)))
    shift = operation(ctx, "shl", operation(ctx, "and", column, Imm(1)), Imm(4))
    words = [_fetched(ctx, value, lane) for lane in (first, operation(ctx, "iadd", first, Imm(4)))]
    low, high = (operation(ctx, "shr.u", word, shift) for word in words)
    ctx.emit("or", (dest,), (operation(ctx, "and", low, Imm(0xFFFF)), operation(ctx, "shl", high, Imm(16))))

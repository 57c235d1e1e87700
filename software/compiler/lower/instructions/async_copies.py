"""Lowering of asynchronous copies (PTX ISA 9.7.9.25, ``cp.async``): done at once, so that groups have no effect.

Bytes beyond the source size, or disabled by the predicate, are not read, and become zero in shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.kernel import Imm, Pred, Reg, Terminator, Use
from ...ptx.syntax import Address, Name, Negated, Number, Operand
from ..context import Context
from ..registry import check_modifiers, lowers, take_operands
from ..spaces import conjunction
from . import mbarriers
from .matrices import operation, shared_address
from .memory import address_base

__all__: list[str] = []

_SUPPORTED = ("cp.async.ca and .cg from .global to .shared of 4, 8 or 16 bytes, with a source size or a predicate; "
              "cp.async.commit_group, .wait_group, .wait_all, .mbarrier.arrive")
_HINTS = {"L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"}


@lowers("cp")
def _copy(ctx: Context) -> None:
    modifiers = ctx.instruction.modifiers
    if modifiers in (["async", "commit_group"], ["async", "wait_all"]):
        take_operands(ctx, 0)
    elif modifiers == ["async", "wait_group"]:
        _constant(ctx, take_operands(ctx, 1)[0], range(1 << 31), "the number of groups")
    elif modifiers[:3] == ["async", "mbarrier", "arrive"]:
        mbarriers.arrive_for_copies(ctx)
    elif modifiers[:2] in (["async", "ca"], ["async", "cg"]) and "global" in modifiers:
        check_modifiers(ctx, {"shared", "shared::cta", "global", *_HINTS}, modifiers[2:])
        _asynchronous(ctx)
    else:
        raise ctx.error("not a known copy", _SUPPORTED)


def _constant(ctx: Context, operand: Operand, known: Sequence[int], what: str) -> int:
    value = operand.value if isinstance(operand, Number) else None
    if value is None or value not in known:
        raise ctx.error(f"{what} must be a constant from {known[0]} to {known[-1]}", _SUPPORTED)
    return value


def _asynchronous(ctx: Context) -> None:
    operands = list(ctx.instruction.operands)
    if "L2::cache_hint" in ctx.instruction.modifiers and operands:
        operands.pop()
    if len(operands) not in (3, 4) or not isinstance(operands[1], Address):
        raise ctx.error("not a known copy", _SUPPORTED)
    size = _constant(ctx, operands[2], (16,) if "cg" in ctx.instruction.modifiers else (4, 8, 16), "the size")
    to = shared_address(ctx, operands[0], "cp.async")
    base, offset = address_base(ctx, "global", operands[1])
    words = [ctx.merged("r") for _ in range(size // 4)]
    limit = operands[3] if len(operands) == 4 else None
    if isinstance(limit, Number):
        _load_constant(ctx, base, offset, words, _constant(ctx, limit, range(size + 1), "the source size"))
    elif limit is None or _is_predicate(ctx, limit):
        outer = ctx.guard
        if limit is not None:
            ctx.guard = conjunction(ctx, outer, ctx.pred(limit).inverted())
        _load(ctx, base, offset, words)
        ctx.guard = outer
    else:
        _load_counted(ctx, base, offset, words, ctx.value(limit, 32, "u32"))
    ctx.emit(f"st.shared.b{8 * size}", (), (to[0], *words), to[1])


def _is_predicate(ctx: Context, operand: Operand) -> bool:
    return isinstance(operand, Negated) or isinstance(operand, Name) and ctx.type_of(operand.text) == "pred"


def _load(ctx: Context, base: Use, offset: int, words: list[Reg]) -> None:
    ctx.emit(f"ld.global.b{32 * len(words)}", tuple(words), (base,), offset)


def _load_constant(ctx: Context, base: Use, offset: int, words: list[Reg], count: int) -> None:
    """Load the first `count` bytes."""
    if count == 4 * len(words):
        _load(ctx, base, offset, words)
        return
    for k in range(count // 4):
        ctx.emit("ld.global.b32", (words[k],), (base,), offset + 4 * k & 0xFFFF_FFFF)
    for byte in range(count & ~3, count):
        word, value = words[byte // 4], ctx.r()
        ctx.emit("ld.global.u8", (value,), (base,), offset + byte & 0xFFFF_FFFF)
        ctx.emit("or", (word,), (word, operation(ctx, "shl", value, Imm(8 * (byte & 3)))))


def _load_counted(ctx: Context, base: Use, offset: int, words: list[Reg], count: Use) -> None:
    """Load as many bytes as a register says: all at once, or, behind a branch, word by word and then the last bytes."""
    outer, whole, some, done = ctx.guard, ctx.p(), ctx.p(), ctx.fresh_label("copied")
    size, line = 4 * len(words), ctx.instruction.line
    ctx.emit("setp.ge.u", (whole,), (count, Imm(size)))
    ctx.emit("setp.ne", (some,), (count, Imm(0)))
    ctx.guard = conjunction(ctx, outer, Pred(whole))
    _load(ctx, base, offset, words)
    ctx.guard = None
    part = conjunction(ctx, conjunction(ctx, outer, Pred(whole, True)), Pred(some))
    ctx.close_block(Terminator((done, ""), part.inverted(), line))
    for k, word in enumerate(words[:-1]):
        ctx.guard = Pred(_test(ctx, "setp.ge.u", count, Imm(4 * k + 4)))
        ctx.emit("ld.global.b32", (word,), (base,), offset + 4 * k & 0xFFFF_FFFF)
        ctx.guard = None
    low = base
    if isinstance(base, Reg) and base.kind == "w":
        low = operation(ctx, "lo.64", base)
    start = operation(ctx, "iadd", operation(ctx, "and", count, Imm(0xFFFF_FFFC)), low)
    left, tail = operation(ctx, "and", count, Imm(3)), ctx.merged("r")
    for byte in range(3):
        value = ctx.merged("r")
        ctx.guard = Pred(_test(ctx, "setp.gt.u", left, Imm(byte)))
        ctx.emit("ld.global.u8", (value,), (start,), offset + byte & 0xFFFF_FFFF)
        ctx.guard = None
        ctx.emit("or", (tail,), (tail, operation(ctx, "shl", value, Imm(8 * byte))))
    index = operation(ctx, "shr.u", count, Imm(2))
    for k, word in enumerate(words):
        ctx.emit("sel", (word,), (tail, word, Pred(_test(ctx, "setp.eq", index, Imm(k)))))
    ctx.open_block(done)
    ctx.guard = outer


def _test(ctx: Context, name: str, *uses: Use) -> Reg:
    result = ctx.p()
    ctx.emit(name, (result,), uses)
    return result

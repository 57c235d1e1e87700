"""Lowering of comparisons of f16 and bf16, and of comparisons with such a result (PTX ISA 9.7.6)."""

from __future__ import annotations

from ....ir.kernel import TRUE, Imm, Pred, Use
from ....ptx.syntax import Name, Pair
from ...context import Context
from ...registry import lowers_half, take_operands
from ..compare import COMBINE, FLOAT_TESTS, comparison, modifiers_of
from .values import HALVES, joined, op, singles, test, write

__all__: list[str] = []


def _outcomes(ctx: Context, types: int) -> tuple[list[Pred], tuple]:
    """Return the outcome for each number of the operands, combined with a predicate if there is one, and operands."""
    *modifiers, type = ctx.instruction.modifiers
    half = HALVES[type]
    options = modifiers if types == 1 else modifiers[:-1]
    flush = "ftz" in options and not half.brain
    name, *others = [m for m in options if m != "ftz" or half.brain] or [""]
    if name not in FLOAT_TESTS or len(others) > 1 or any(x not in COMBINE for x in others):
        raise ctx.error(f"not a comparison of .{type}", f".{', .'.join(FLOAT_TESTS)}, with .and, .or or .xor")
    operands = take_operands(ctx, 4 if others else 3)
    pairs = zip(*(singles(ctx, half, x, flush) for x in operands[1:3]), strict=True)
    found = [test(ctx, f"fsetp.{name}", a, b) for a, b in pairs]
    if others:
        found = [test(ctx, f"p{others[0]}", x, ctx.pred(operands[3])) for x in found]
    return found, operands


@lowers_half("setp")
def _setp(ctx: Context) -> None:
    """Lower ``setp``; the two predicates of a pair belong to its two numbers."""
    found, operands = _outcomes(ctx, 1)
    d = operands[0]
    names = [d.first, d.second] if isinstance(d, Pair) else [d.text if isinstance(d, Name) else ""]
    if len(names) > len(found):
        raise ctx.error("a comparison of single numbers has one predicate", "p")
    for name, outcome in zip(names, found, strict=False):
        if name != "_":
            ctx.emit("pand", (ctx.dest(Name(name), 1),), (outcome, TRUE))


@lowers_half("set")
def _set(ctx: Context) -> None:
    """Lower ``set``: all ones or 1.0 where the comparison holds; a pair has a result for each of its numbers."""
    to, source = ctx.instruction.modifiers[-2:]
    if source in HALVES:
        found, operands = _outcomes(ctx, 2)
    else:
        name, combine = modifiers_of(ctx, 2)
        operands = take_operands(ctx, 4 if combine else 3)
        outcome = test(ctx, *_with(comparison(ctx, name, operands[1:3])))
        found = [test(ctx, f"p{combine}", outcome, ctx.pred(operands[3])) if combine else outcome]
    paired = len(found) == 2
    results = {"u16": (16, 0xFFFF), "s16": (16, 0xFFFF), "u32": (32, 0xFFFF_FFFF), "s32": (32, 0xFFFF_FFFF)}
    results |= {type: (half.bits, half.one) for type, half in HALVES.items() if (half.count == 2) == paired}
    if to not in results or paired and results[to][0] != 32:
        raise ctx.error(f"result type .{to} is not supported", "types ." + ", .".join(results))
    bits, true = results[to]
    values: list[Use] = [op(ctx, "sel", Imm(true & 0xFFFF if paired else true), Imm(0), x) for x in found]
    write(ctx, operands[0], bits, joined(ctx, values), to)


def _with(compared: tuple[str, tuple[Use, ...]]) -> tuple:
    return compared[0], *compared[1]

"""Lowering of atomics on numbers of 16 bits, and of compare-and-swap of 16 bits (PTX ISA 9.7.13.5, 9.7.13.6).

The machine swaps words. Each atomic is a loop of compare-and-swaps on the word around the number, until no other write
came in between. The elements of a vector are taken one after the other, as PTX allows.
"""

from __future__ import annotations

from collections.abc import Callable

from ....ir.kernel import Imm, Pred, Reg, Terminator, Use
from ....ptx.syntax import Address, Name, Operand, Vector
from ...context import Context
from ...registry import CACHE_HINT, check_modifiers, lowers_half, take_operands
from ...spaces import SPACES, each_space
from ..memory import address_base
from .values import Half, half_of, joined, narrowed, op, rounded, singles, singles_of, test, write

__all__ = ["compare_and_swap_16"]

_ORDERS = ("relaxed", "acquire", "release", "acq_rel")
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
_OPERATIONS = {"add": "fadd.rn", "min": "fmin", "max": "fmax"}
_SUPPORTED = ("atom and red of .global, .shared and generic addresses with .add.noftz of .f16, .f16x2, .bf16, .bf16x2; "
              "vectors of them also with .min and .max; atom.cas.b16")


@lowers_half("atom", "red")
def _atomic(ctx: Context) -> None:
    """Lower ``add`` of one number or pair, and ``add``, ``min`` and ``max`` of vectors."""
    order, space, operation, count = _modifiers(ctx)
    half, returns = half_of(ctx), ctx.instruction.base == "atom"
    *operands, data = take_operands(ctx, 2 + returns)
    address = operands[-1]
    if not isinstance(address, Address):
        raise ctx.error("not a known atomic", _SUPPORTED)
    values, results = _items(ctx, data, count), _items(ctx, operands[0], count) if returns else ()
    if order in ("release", "acq_rel"):
        ctx.emit("membar")
    olds = []
    for k, item in enumerate(values):
        place = Address(address.base, address.offset + k * half.bits // 8)
        added = singles(ctx, half, item)
        olds.append(_swapped(ctx, space, place, half.bits, _change(ctx, half, added, _OPERATIONS[operation])))
    for item, old in zip(results, olds, strict=False):
        if item != Name("_"):
            write(ctx, item, half.bits, old)
    if order in ("acquire", "acq_rel"):
        ctx.emit("membar")


def _modifiers(ctx: Context) -> tuple[str, str, str, int]:
    """Return order, space ("" if generic), operation and elements of a vector."""
    modifiers = ctx.instruction.modifiers[:-1]
    check_modifiers(ctx, {*_ORDERS, "cta", "cluster", "gpu", "sys", "global", "shared", "shared::cta", *_VECTORS,
                          *_OPERATIONS, "noftz", CACHE_HINT}, modifiers)
    vectors, operations = [m for m in modifiers if m in _VECTORS], [m for m in modifiers if m in _OPERATIONS]
    if len(vectors) > 1 or len(operations) != 1 or "noftz" not in modifiers or operations != ["add"] and not vectors:
        raise ctx.error("operation is not supported", _SUPPORTED)
    space = next((SPACES[m] for m in modifiers if m in SPACES), "")
    order = next((m for m in modifiers if m in _ORDERS), "")
    return order, space, operations[0], _VECTORS[vectors[0]] if vectors else 1


def _items(ctx: Context, operand: Operand, count: int) -> tuple[Operand, ...]:
    items = operand.items if isinstance(operand, Vector) else (operand,)
    if len(items) != count:
        raise ctx.error(f"{len(items)} data operands where {count} belong")
    return items


def _change(ctx: Context, half: Half, added: list[Use], name: str) -> Callable[[Use], tuple[Use, None]]:
    """Return the function that computes the new bits from old ones."""
    def changed(old: Use) -> tuple[Use, None]:
        results = [op(ctx, name, x, y) for x, y in zip(singles_of(ctx, half, old), added, strict=True)]
        finish = rounded if name == "fadd.rn" else narrowed
        return joined(ctx, [finish(ctx, half, x) for x in results]), None
    return changed


def compare_and_swap_16(ctx: Context, space: str) -> None:
    """Lower ``atom.cas.b16``; a number that differs is left alone."""
    d, address, expected, new = take_operands(ctx, 4)
    if not isinstance(address, Address):
        raise ctx.error("not a known atomic", _SUPPORTED)
    wanted = op(ctx, "and", ctx.value(expected, 16, "b16"), Imm(0xFFFF))
    value = ctx.value(new, 16, "b16")

    def changed(old: Use) -> tuple[Use, Pred]:
        return value, test(ctx, "setp.ne", old, wanted)
    old = _swapped(ctx, space, address, 16, changed)
    if d != Name("_"):
        write(ctx, d, 16, old)


def _swapped(ctx: Context, space: str, address: Address, bits: int,
             change: Callable[[Use], tuple[Use, Pred | None]]) -> Reg:
    """Change 16 or 32 bits at an address in one step; return the old bits.

    `change` returns the new bits, and a predicate of lanes that need no change.
    """
    base, offset = address_base(ctx, space, address)
    result = ctx.merged("r")

    def access(space: str, base: Use, offset: int) -> None:
        if space in ("global", "shared"):
            _loop(ctx, space, base, offset, bits, change, result)
        else:
            ctx.emit("trap")
    if space:
        access(space, base, offset)
    else:
        each_space(ctx, address, base, offset, access)
    return result


def _loop(ctx: Context, space: str, base: Use, offset: int, bits: int,
          change: Callable[[Use], tuple[Use, Pred | None]], result: Reg) -> None:
    """Emit the loop; lanes outside the guard skip it."""
    guard, ctx.guard = ctx.guard, None
    line, done, again = ctx.instruction.line, ctx.fresh_label("swapped"), ctx.fresh_label("again")
    if guard is not None:
        ctx.close_block(Terminator((done, ""), guard.inverted(), line))
    shift = None
    if bits == 16:
        low = op(ctx, "lo.64", base) if isinstance(base, Reg) and base.kind == "w" else base
        place = op(ctx, "iadd", low, Imm(offset))
        shift = op(ctx, "shl", op(ctx, "and", place, Imm(2)), Imm(3))
        base, offset = op(ctx, "and", place, Imm(0xFFFF_FFFC)), 0
    found, expected, zero = ctx.r(), ctx.r(), op(ctx, "mov", Imm(0))
    ctx.emit(f"atom.{space}.or.b32", (found,), (base, zero), offset)
    ctx.open_block(again)
    ctx.emit("mov", (expected,), (found,))
    old = expected if shift is None else op(ctx, "and", op(ctx, "shr.u", expected, shift), Imm(0xFFFF))
    ctx.emit("mov", (result,), (old,))
    new, finished = change(old)
    if finished is not None:
        ctx.close_block(Terminator((done, ""), finished, line))
    if shift is not None:
        kept = op(ctx, "and", expected, op(ctx, "not", op(ctx, "shl", Imm(0xFFFF), shift)))
        new = op(ctx, "or", kept, op(ctx, "shl", op(ctx, "and", new, Imm(0xFFFF)), shift))
    ctx.emit(f"atom.{space}.cas.b32", (found,), (base, expected, new), offset)
    ctx.close_block(Terminator((again, ""), test(ctx, "setp.ne", found, expected), line))
    ctx.open_block(done)
    ctx.guard = guard

"""Lowering of atomics and fences (PTX ISA 9.7.12.13 to 9.7.12.15, 9.7.12.4).

An operation with ``.release`` has a `membar` before it, one with ``.acquire`` one after it, whatever the scope: a
`membar` waits for all memory requests of the warp. ``atom.add.f64`` is a loop of compare-and-swaps.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.kernel import Imm, Pred, Reg, Terminator
from ...ptx.syntax import Address, Name
from ...ptx.types import width_of
from ..context import Context
from ..registry import CACHE_HINT, check_modifiers, lowers, take_operands
from ..spaces import SPACES, each_space
from .half.atomics import compare_and_swap_16
from .memory import address_base

__all__: list[str] = []

_ORDERS = ("relaxed", "acquire", "release", "acq_rel")
_SCOPES = ("cta", "cluster", "gpu", "sys")
_SAME = {"b32", "u32", "s32", "b64", "u64", "s64"}
_OPERATIONS: dict[str, tuple[set[str], str]] = {
    "add": ({"u32", "s32", "u64", "s64", "f32", "f64"}, "add"), "min": ({"u32", "s32", "u64", "s64"}, "min"),
    "max": ({"u32", "s32", "u64", "s64"}, "max"), "and": (_SAME, "and"), "or": (_SAME, "or"), "xor": (_SAME, "xor"),
    "exch": (_SAME, "exch"), "cas": ({*_SAME, "b16"}, "cas"), "inc": ({"u32"}, "inc"),
    "dec": ({"u32"}, "dec"),
}
"""PTX operation to its types, and to the stem of the machine's name."""
_SUPPORTED = ("atom and red of .global, .shared and generic addresses with .add (32 and 64 bits, .f32, .f64), .min, "
              ".max, .and, .or, .xor, .exch, .cas (32 and 64 bits, .cas of 16), .inc, .dec (.u32)")


@lowers("atom", "red")
def _atomic(ctx: Context) -> None:
    ins = ctx.instruction
    space, order, operation, type = _modifiers(ctx)
    if type == "b16":
        _in_order(ctx, order, lambda: compare_and_swap_16(ctx, space))
        return
    returns = ins.base == "atom"
    operands = list(take_operands(ctx, (2 if operation == "cas" else 1) + 1 + returns))
    dest = operands.pop(0) if returns else None
    address, *values = operands
    if not isinstance(address, Address):
        raise ctx.error("not a known atomic", _SUPPORTED)
    bits = width_of(type)
    result = None if dest is None or dest == Name("_") else ctx.dest(dest, bits)
    sources = [_source(ctx, value, bits, type) for value in values]
    base, offset = address_base(ctx, space, address)
    if space:
        _in_order(ctx, order, lambda: _in_space(ctx, space, base, offset, operation, type, result, sources))
    else:
        _in_order(ctx, order, lambda: _generic(ctx, address, base, offset, operation, type, result, sources))


def _in_order(ctx: Context, order: str, access: Callable[[], None]) -> None:
    """Emit an access, with the fences of its order around it."""
    if order in ("release", "acq_rel"):
        ctx.emit("membar")
    access()
    if order in ("acquire", "acq_rel"):
        ctx.emit("membar")


def _modifiers(ctx: Context) -> tuple[str, str, str, str]:
    """Return space ("" if generic), order, operation and type."""
    found = {"space": "", "order": "", "operation": "", "scope": ""}
    *modifiers, type = ctx.instruction.modifiers or [""]
    for modifier in modifiers:
        if modifier == CACHE_HINT:
            continue
        kind = ("order" if modifier in _ORDERS else "scope" if modifier in _SCOPES else
                "space" if modifier in SPACES else "operation" if modifier in _OPERATIONS else "")
        if not kind or found[kind]:
            raise ctx.error(f"modifier .{modifier} is not supported here", _SUPPORTED)
        found[kind] = SPACES.get(modifier, modifier)
    operation = found["operation"]
    if not operation or (ctx.instruction.base == "red" and operation in ("exch", "cas")):
        raise ctx.error("operation is not supported" if operation else "the operation is missing", _SUPPORTED)
    types, _ = _OPERATIONS[operation]
    if type not in types:
        raise ctx.error(f"type .{type} is not supported", "types " + ", ".join(f".{t}" for t in sorted(types)))
    if found["space"] not in ("", "global", "shared"):
        raise ctx.error(f"atomics on .{found['space']} memory are not supported", _SUPPORTED)
    return found["space"], found["order"], operation, type


def _source(ctx: Context, operand, bits: int, type: str):
    """Return an operand; a 64-bit constant in a register."""
    value = ctx.value(operand, bits, type)
    if bits == 64 and isinstance(value, Imm):
        wide = ctx.w()
        ctx.emit("mov.64", (wide,), (value,))
        return wide
    return value


def _name(space: str, operation: str, type: str, returns: bool) -> str:
    """Return the machine operation; if there is no other, it is one that always returns."""
    stem, bits = _OPERATIONS[operation][1], width_of(type)
    if operation in ("min", "max"):
        stem += f".{type[0]}"
    elif operation == "add" and type == "f32":
        stem = "fadd"
    base = "atom" if returns or operation in ("exch", "cas") else "red"
    return f"{base}.{space}.{stem}.b{bits}"


def _in_space(ctx: Context, space: str, base, offset: int, operation: str, type: str, result: Reg | None,
              sources: list) -> None:
    """Lower an atomic of one space. Local memory, the thread's own, needs no atomic; constants cannot be changed."""
    if space not in ("global", "shared"):
        ctx.emit("trap")
    elif operation == "add" and type == "f64":
        _add_f64(ctx, space, base, offset, result, sources[0])
    else:
        name = _name(space, operation, type, result is not None)
        defs = () if name.startswith("red.") else (result or ctx.kernel.fresh("w" if width_of(type) == 64 else "r"),)
        ctx.emit(name, defs, (base, *sources), offset)


def _generic(ctx: Context, address: Address, base, offset: int, operation: str, type: str, result: Reg | None,
             sources: list) -> None:
    """Lower an atomic of a generic address; if it can be in several spaces, each fills its lanes of a result's copy."""
    def access(space: str, base, offset: int) -> None:
        _in_space(ctx, space, base, offset, operation, type, copy, sources)

    copy = result
    if result is not None and len(ctx.provenance.spaces(address.base)) > 1:
        copy = ctx.merged(result.kind)
    each_space(ctx, address, base, offset, access)
    if result is not None and copy is not result:
        ctx.emit("mov.64" if result.kind == "w" else "mov", (result,), (copy,))


def _add_f64(ctx: Context, space: str, base, offset: int, result: Reg | None, value: Reg) -> None:
    """Compare and swap until no other write came in between; lanes outside the guard skip the loop.

    The first load is an atomic too, so that only the order of atomics decides how often the loop runs.
    """
    guard, ctx.guard = ctx.guard, None
    line = ctx.instruction.line
    done, again = ctx.fresh_label("added"), ctx.fresh_label("again")
    if guard is not None:
        ctx.close_block(Terminator((done, ""), guard.inverted(), line))
    found, expected, total, differs, nothing = ctx.w(), ctx.w(), ctx.w(), ctx.p(), ctx.w()
    ctx.emit("mov.64", (nothing,), (Imm(0),))
    ctx.emit(f"atom.{space}.or.b64", (found,), (base, nothing), offset)
    ctx.open_block(again)
    ctx.emit("mov.64", (expected,), (found,))
    ctx.emit("dadd.rn", (total,), (expected, value))
    ctx.emit(f"atom.{space}.cas.b64", (found,), (base, expected, total), offset)
    ctx.emit("setp.ne.64", (differs,), (found, expected))
    ctx.close_block(Terminator((again, ""), Pred(differs), line))
    if result is not None:
        ctx.emit("mov.64", (result,), (found,))
    ctx.open_block(done)
    ctx.guard = guard


@lowers("membar", "fence")
def _fence(ctx: Context) -> None:
    check_modifiers(ctx, {"cta", "cluster", "gl", "gpu", "sys", "sc", "acq_rel", "acquire", "release", "proxy", "async",
                          "mbarrier_init", "global", "shared::cta"}, ctx.instruction.modifiers)
    take_operands(ctx, 0)
    ctx.emit("membar")

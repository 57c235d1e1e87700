"""Lowering of votes, matches and shuffles between the lanes of a warp (PTX ISA 9.7.9 ``shfl``, 9.7.13).

An instruction executes in the lanes of the warp's active mask that its guard enables. A result covers those of them
that the lane's own member mask names. It does not wait for lanes of a member mask that run elsewhere: lanes meet where
the control-flow graph has their branches reconverge.
"""

from __future__ import annotations

from ...ir.kernel import TRUE, Imm, Pred, Reg, Use
from ...ptx.syntax import Name, Operand, Pair
from ...ptx.types import width_of
from ..context import Context
from ..registry import lowers, take_operands

__all__: list[str] = []

_ALL = Imm(0xFFFF_FFFF)
_SHUFFLES = ("up", "down", "bfly", "idx")


def _gather(ctx: Context, name: str, *uses: Use) -> Reg:
    """Emit an operation over the lanes that execute the instruction; return its result, 0 in the others."""
    result = ctx.r()
    if ctx.guard is not None:
        guard, ctx.guard = ctx.guard, None
        ctx.emit("mov", (result,), (Imm(0),))
        ctx.guard = guard
    ctx.emit(name, (result,), uses)
    return result


def _among(ctx: Context, lanes: Reg, members: Use) -> Reg:
    """Return the members among `lanes`."""
    if members == _ALL:
        return lanes
    result = ctx.r()
    ctx.emit("and", (result,), (lanes, members))
    return result


def _synchronous(ctx: Context, count: int) -> tuple[list[str], tuple[Operand, ...], Use]:
    """Return the modifiers without ``.sync``, `count` operands, and the member mask (all lanes without ``.sync``).

    ``.sync`` stands before the mode, as in the PTX ISA, or behind it, as CUB writes it and ptxas takes it.
    """
    modifiers = ctx.instruction.modifiers
    if "sync" not in modifiers[:2]:
        return modifiers, take_operands(ctx, count), _ALL
    *operands, members = take_operands(ctx, count + 1)
    modifiers.remove("sync")
    return modifiers, tuple(operands), ctx.value(members, 32, "b32")


@lowers("activemask")
def _active(ctx: Context) -> None:
    if ctx.instruction.modifiers != ["b32"]:
        raise ctx.error("not a known form", "activemask.b32")
    d, = take_operands(ctx, 1)
    ctx.emit("mov", (ctx.dest(d, 32),), (_gather(ctx, "ballot", TRUE),))


@lowers("vote")
def _vote(ctx: Context) -> None:
    modifiers, (d, a), members = _synchronous(ctx, 2)
    if modifiers == ["ballot", "b32"]:
        ctx.emit("mov", (ctx.dest(d, 32),), (_among(ctx, _gather(ctx, "ballot", ctx.pred(a)), members),))
        return
    if modifiers not in (["any", "pred"], ["all", "pred"], ["uni", "pred"]):
        raise ctx.error("not a known vote", "vote and vote.sync with .any.pred, .all.pred, .uni.pred, .ballot.b32")
    dest, predicate, kind = ctx.dest(d, 1), ctx.pred(a), modifiers[0]
    nobody = []
    for condition in (predicate, predicate.inverted()):  # where it holds; where it does not
        lanes, none = _among(ctx, _gather(ctx, "ballot", condition), members), ctx.p()
        ctx.emit("setp.eq", (none,), (lanes, Imm(0)))
        nobody.append(Pred(none))
    if kind == "uni":
        ctx.emit("por", (dest,), tuple(nobody))
    else:
        ctx.emit("pand", (dest,), (nobody[0].inverted() if kind == "any" else nobody[1], TRUE))


@lowers("match")
def _match(ctx: Context) -> None:
    modifiers = ctx.instruction.modifiers
    kind = next((x for x in modifiers[:2] if x != "sync"), "")
    if len(modifiers) != 3 or {*modifiers[:2]} not in ({"any", "sync"}, {"all", "sync"}) \
            or modifiers[2] not in ("b32", "b64"):
        raise ctx.error("not a known match", "match.any.sync and match.all.sync with .b32, .b64")
    d, a, mask = take_operands(ctx, 3)
    members, bits = ctx.value(mask, 32, "b32"), width_of(modifiers[2])
    value = ctx.value(a, bits)
    if bits == 64:
        equal = ctx.r()
        words = (ctx.r(), ctx.r())
        for name, word in zip(("lo.64", "hi.64"), words, strict=True):
            ctx.emit(name, (word,), (value,))
        ctx.emit("and", (equal,), tuple(_gather(ctx, "match", word) for word in words))
    else:
        equal = _gather(ctx, "match", value)
    equal = _among(ctx, equal, members)
    first, second = (d.first, d.second) if isinstance(d, Pair) else (d.text if isinstance(d, Name) else "", None)
    dest = ctx.dest(Name(first), 32)
    if kind == "any":
        if second is not None:
            raise ctx.error("match.any has no predicate", "match.all with one")
        ctx.emit("mov", (dest,), (equal,))
        return
    everyone, same = _among(ctx, _gather(ctx, "ballot", TRUE), members), ctx.p()
    ctx.emit("setp.eq", (same,), (equal, everyone))
    ctx.emit("sel", (dest,), (everyone, Imm(0), Pred(same)))
    if second is not None:
        ctx.emit("pand", (ctx.dest(Name(second), 1),), (Pred(same), TRUE))


@lowers("shfl")
def _shuffle(ctx: Context) -> None:
    """Lower shuffles. Their member mask has no effect: PTX requires that it names the executing lanes."""
    modifiers, (d, a, b, c), _ = _synchronous(ctx, 4)
    if len(modifiers) != 2 or modifiers[0] not in _SHUFFLES or modifiers[1] != "b32":
        raise ctx.error("not a known shuffle", "shfl and shfl.sync with .up, .down, .bfly, .idx and .b32")
    uses = tuple(ctx.value(x, 32) for x in (a, b, c))
    first, second = (d.first, d.second) if isinstance(d, Pair) else (d.text if isinstance(d, Name) else "", "_")
    dest = ctx.dest(Name(first), 32)
    inside = None if second == "_" else ctx.dest(Name(second), 1)
    ctx.emit(f"shfl.{modifiers[0]}", (dest, inside), uses)

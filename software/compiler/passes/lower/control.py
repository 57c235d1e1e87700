"""Lowering of branches, barriers and the end of threads (PTX ISA 9.7.12, 9.7.13)."""

from __future__ import annotations

from ...ir.kernel import Terminator
from ...ptx.syntax import Name, Number
from .context import Context
from .registry import check_modifiers, lowers

__all__: list[str] = []


@lowers("bra")
def _bra(ctx: Context) -> None:
    ins = ctx.instruction
    check_modifiers(ctx, {"uni"}, ins.modifiers)
    if len(ins.operands) != 1 or not isinstance(ins.operands[0], Name):
        raise ctx.error("a branch has one label")
    label = ctx.label(ins.operands[0].text)
    if ctx.guard is None:
        ctx.close_block(Terminator((label,), None, ins.line))
    else:
        ctx.close_block(Terminator((label, ""), ctx.guard, ins.line))


@lowers("ret", "exit")
def _exit(ctx: Context) -> None:
    check_modifiers(ctx, {"uni"}, ctx.instruction.modifiers)
    if ctx.guard is None:
        ctx.close_block(Terminator(line=ctx.instruction.line))
    else:
        ctx.emit("exit")


@lowers("bar", "barrier")
def _barrier(ctx: Context) -> None:
    ins = ctx.instruction
    known = "bar.sync and barrier.sync with a constant id 0 to 15, bar.warp.sync"
    modifiers = [m for m in ins.modifiers if m not in ("cta", "aligned")]
    if modifiers == ["warp", "sync"]:
        return  # the lanes of a warp run in lockstep
    if modifiers != ["sync"]:
        raise ctx.error("barrier operation is not supported", known)
    if len(ins.operands) != 1:
        raise ctx.error("a barrier for part of the thread block is not supported", known)
    number = ins.operands[0]
    if not isinstance(number, Number) or number.value is None or not 0 <= number.value < 16:
        raise ctx.error("the barrier id must be a constant from 0 to 15", known)
    name = f"bar.pp.{number.value}"
    if ctx.guard is None:
        ctx.emit(name)
        return
    # The instruction has no guard: branch around it. (PTX wants the guard to be the same in all lanes.)
    guard, ctx.guard = ctx.guard, None
    skip = ctx.kernel.fresh_label("skip")
    ctx.close_block(Terminator((skip, ""), guard.inverted(), ins.line))
    ctx.emit(name)
    ctx.open_block(skip)


@lowers("trap")
def _trap(ctx: Context) -> None:
    ctx.emit("trap")


@lowers("nanosleep", "pmevent", "prefetch", "prefetchu")
def _nothing(ctx: Context) -> None:
    """Hints: no effect on results."""

"""Lowering of branches, barriers and the end of threads (PTX ISA 9.7.12, 9.7.13)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from caesura.hw.arch.geometry import MAX_BLOCK_THREADS

from ...ir.kernel import Imm, Pred, Terminator
from ...ptx.inline import CALL, ENTER, RETURN, YIELD
from ...ptx.syntax import Address, Name, Number, Operand
from ..context import Context
from ..registry import check_modifiers, lowers
from ..special_registers import read_predefined
from ..variables import REDUCTION
from .memory import address_base

__all__: list[str] = []

_BARRIERS = ("bar.sync, barrier.sync and their .red.popc.u32, .red.and.pred, .red.or.pred with a constant id 0 to 15 "
             "and all threads of the block, bar.warp.sync")
_WARP = 32
"""Threads of a warp of PTX; the count of a barrier is a multiple of them."""


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


@lowers("brx")
def _indexed(ctx: Context) -> None:
    """Lower a branch to one of a list of labels: successive comparisons; an index beyond takes the last label."""
    ins = ctx.instruction
    if ins.modifiers not in (["idx"], ["idx", "uni"]) or len(ins.operands) != 2:
        raise ctx.error("not a known branch", "brx.idx index, list")
    index, name = ctx.value(ins.operands[0], 32, "u32"), ins.operands[1]
    labels = ctx.targets.get(name.text, []) if isinstance(name, Name) else []
    if not labels:
        raise ctx.error("a list of labels is wanted", "the name of a .branchtargets of this kernel")
    guard, ctx.guard = ctx.guard, None
    after = ctx.fresh_label("skip")
    if guard is not None:
        ctx.close_block(Terminator((after, ""), guard.inverted(), ins.line))
    for k, label in enumerate(labels[:-1]):
        here = ctx.p()
        ctx.emit("setp.eq", (here,), (index, Imm(k)))
        ctx.close_block(Terminator((ctx.label(label), ""), Pred(here), ins.line))
    ctx.close_block(Terminator((ctx.label(labels[-1]),), None, ins.line))
    if guard is not None:
        ctx.open_block(after)


@lowers("ret", "exit")
def _exit(ctx: Context) -> None:
    check_modifiers(ctx, {"uni"}, ctx.instruction.modifiers)
    if ctx.guard is None:
        ctx.close_block(Terminator(line=ctx.instruction.line))
    else:
        ctx.emit("exit")


@lowers(CALL)
def _call(ctx: Context) -> None:
    name, *registers = (operand.text for operand in _names(ctx))
    number, routine = ctx.routine(name)
    words = [ctx.register(text) for text in registers]
    count = 0
    while sum(1 + (reg.kind == "w") for reg in words[:count]) < len(routine.results):
        count += 1
    ctx.emit("routine", tuple(words[:count]), tuple(words[count:]), number)


@lowers(ENTER)
def _enter(ctx: Context) -> None:
    ctx.emit("enter", tuple(ctx.register(operand.text) for operand in _names(ctx)))


@lowers(RETURN)
def _return(ctx: Context) -> None:
    ctx.emit("bru", (), tuple(ctx.register(operand.text) for operand in _names(ctx)))


def _names(ctx: Context) -> list[Name]:
    return [operand for operand in ctx.instruction.operands if isinstance(operand, Name)]


@lowers("bar", "barrier")
def _barrier(ctx: Context) -> None:
    ins = ctx.instruction
    modifiers = [m for m in ins.modifiers if m not in ("cta", "aligned")]
    if modifiers == ["warp", "sync"]:
        ctx.emit("nop")  # lanes run in lockstep; it tells `preemption.idempotence` that they may exchange memory
        return
    if modifiers[:1] == ["red"] and modifiers[1:] in (["popc", "u32"], ["and", "pred"], ["or", "pred"]):
        _reduction(ctx, modifiers[1])
        return
    if modifiers != ["sync"]:
        raise ctx.error("barrier operation is not supported", _BARRIERS)
    if len(ins.operands) not in (1, 2):
        raise ctx.error(f"{len(ins.operands)} operands where 1 or 2 belong", _BARRIERS)
    name = _barrier_name(ctx, ins.operands[0])
    with _in_all_lanes(ctx):
        _check_count(ctx, ins.operands[1:])
        ctx.emit(name)


def _rounded(threads: int) -> int:
    return -(-threads // _WARP) * _WARP


def _check_count(ctx: Context, count: Sequence[Operand]) -> None:
    """Check that a barrier's count of threads, if it has one, is the whole thread block.

    A constant is checked here if the kernel declares the size of its blocks, else at launch. A register is checked by a
    trap when it executes.
    """
    kernel = ctx.kernel
    for operand in count:
        if not isinstance(operand, Number):
            sizes = [read_predefined(ctx, f"%ntid.{axis}", 32) for axis in "xyz"]
            threads = ctx.op("imul.lo", ctx.op("imul.lo", sizes[0], sizes[1]), sizes[2])
            above = [ctx.op("iadd", x, Imm(_WARP - 1)) for x in (threads, ctx.value(operand, 32, "u32"))]
            ctx.guard = ctx.test("setp.gt.u", ctx.op("xor", *above), Imm(_WARP - 1))
            ctx.emit("trap")
            ctx.guard = None
            continue
        threads = _rounded(ctx.constant(operand))
        wanted = _rounded(math.prod(kernel.required_block)) if kernel.required_block else kernel.barrier_threads
        if threads != (wanted or threads) or not 0 < threads <= MAX_BLOCK_THREADS:
            raise ctx.error("a barrier for part of the thread block is not supported",
                            f"a count of {wanted}, all threads of the block" if wanted else _BARRIERS)
        kernel.barrier_threads = threads


def _barrier_name(ctx: Context, number: Operand) -> str:
    if not isinstance(number, Number) or number.value is None or not 0 <= number.value < 16:
        raise ctx.error("the barrier id must be a constant from 0 to 15", _BARRIERS)
    return f"bar.pp.{number.value}"


@contextmanager
def _in_all_lanes(ctx: Context) -> Iterator[None]:
    """Emit without a guard, which barriers lack, behind a branch around. (PTX wants the guard equal in all lanes.)"""
    guard, ctx.guard = ctx.guard, None
    skip = ctx.fresh_label("skip")
    if guard is not None:
        ctx.close_block(Terminator((skip, ""), guard.inverted(), ctx.instruction.line))
    yield
    if guard is not None:
        ctx.open_block(skip)


def _reduction(ctx: Context, kind: str) -> None:
    """Count the threads whose predicate holds (or does not), in a word of shared memory, between three barriers.

    The first barrier protects threads that still read the word of the last reduction.
    """
    operands = ctx.instruction.operands
    if len(operands) not in (3, 4):
        raise ctx.error(f"{len(operands)} operands where 3 or 4 belong", _BARRIERS)
    dest, barrier = ctx.dest(operands[0], 32 if kind == "popc" else 1), _barrier_name(ctx, operands[1])
    predicate = ctx.pred(operands[-1])
    where, zero, one, count = Imm(ctx.symbols[REDUCTION]), ctx.r(), ctx.r(), ctx.r()
    with _in_all_lanes(ctx):
        _check_count(ctx, operands[2:-1])
        ctx.emit("mov", (zero,), (Imm(0),))
        ctx.emit("mov", (one,), (Imm(1),))
        ctx.emit(barrier)
        ctx.emit("st.shared.b32", (), (where, zero))
        ctx.emit(barrier)
        ctx.guard = predicate.inverted() if kind == "and" else predicate
        ctx.emit("red.shared.add.b32", (), (where, one))
        ctx.guard = None
        ctx.emit(barrier)
        ctx.emit("ld.shared.b32", (count,), (where,))
        if kind == "popc":
            ctx.emit("mov", (dest,), (count,))
        else:
            ctx.emit("setp.eq" if kind == "and" else "setp.ne", (dest,), (count, Imm(0)))


@lowers(YIELD)
def _yield(ctx: Context) -> None:
    """Watch the word at the address and compare it, unless the address is zero; then wait, perhaps away from the SM."""
    address, expected = _names(ctx)
    base, offset = address_base(ctx, "global", Address(address.text))
    wanted, found, some, other = ctx.register(expected.text), ctx.named("r"), ctx.p(), ctx.p()
    ctx.emit("setp.ne.64", (some,), (ctx.register(address.text), Imm(0)))
    ctx.emit("mov", (found,), (wanted,))
    ctx.guard = Pred(some)
    ctx.emit("ld.watch.b32", (found,), (base,), offset, True)
    ctx.guard = None
    ctx.emit("setp.ne", (other,), (found, wanted))
    ctx.guard = Pred(other)
    ctx.emit("unwatch")
    ctx.guard = None
    ctx.emit("bar.yield")


@lowers("trap", "brkpt")
def _trap(ctx: Context) -> None:
    """Lower traps; ``brkpt`` traps too, since no debugger would resume a suspended thread."""
    check_modifiers(ctx, set(), ctx.instruction.modifiers)
    ctx.emit("trap")


@lowers("nanosleep", "pmevent", "prefetch", "prefetchu", "discard", "applypriority")
def _nothing(ctx: Context) -> None:
    """Lower hints, which do not affect results. ``discard`` allows any contents until a write; they stay."""


@lowers("createpolicy")
def _policy(ctx: Context) -> None:
    """Lower the creation of a cache policy, a number that only hints take."""
    modifiers = ctx.instruction.modifiers
    if modifiers[:1] not in (["fractional"], ["range"], ["cvt"]) or modifiers[-1] != "b64":
        raise ctx.error("not a known cache policy", "createpolicy.fractional, .range, .cvt with .b64")
    ctx.emit("mov.64", (ctx.dest(ctx.instruction.operands[0], 64),), (Imm(0),))

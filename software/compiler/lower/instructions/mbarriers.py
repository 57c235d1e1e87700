"""Lowering of barriers in shared memory (PTX ISA 9.7.13.15, ``mbarrier``), among the threads of one thread block.

The 64 bits of a barrier are

=========  =============================================================================
bits       meaning
=========  =============================================================================
0 to 19    arrivals that the phase waits for
20         parity of the phase
22 to 41   arrivals that the next phase will wait for
43 to 63   bytes that are expected and have not come, signed
=========  =============================================================================

A phase ends when it waits for no arrival and no byte. Every change is a loop of compare-and-swaps, so that the end of a
phase and the beginning of the next are one step. An arrival returns the barrier before it as the state.
"""

from __future__ import annotations

from ...ir.kernel import Imm, Pred, Reg, Terminator, Use
from ...ptx.syntax import Name, Operand
from ..context import Context
from ..registry import check_modifiers, lowers, take_operands
from .matrices import operation, shared_address

__all__ = ["arrive_for_copies"]

_COUNT, _PARITY, _NEXT, _BYTES = 0xF_FFFF, 20, 22, 43
_SPACES = {"shared", "shared::cta"}
_SCOPES = {"cta", "cluster"}
_SUPPORTED = ("mbarrier.init, .inval, .arrive, .arrive_drop, .expect_tx, .complete_tx, .test_wait, .try_wait, "
              ".pending_count of .b64 in .shared")


def _wide(ctx: Context, name: str, *uses: Use) -> Reg:
    result = ctx.w()
    ctx.emit(name, (result,), uses)
    return result


@lowers("mbarrier")
def _mbarrier(ctx: Context) -> None:
    kind = (ctx.instruction.modifiers or [""])[0]
    handlers = {"init": _init, "inval": _invalidate, "arrive": _arrive, "arrive_drop": _arrive, "expect_tx": _bytes,
                "complete_tx": _bytes, "test_wait": _wait, "try_wait": _wait, "pending_count": _pending}
    if kind not in handlers or ctx.instruction.modifiers[-1] != "b64":
        raise ctx.error("not a known operation on a barrier", _SUPPORTED)
    handlers[kind](ctx)


def _options(ctx: Context, *allowed: str) -> list[str]:
    """Return the modifiers between the operation and the type, which must be `allowed` or name the space."""
    options = ctx.instruction.modifiers[1:-1]
    check_modifiers(ctx, {*allowed, *_SPACES}, options)
    return options


def _init(ctx: Context) -> None:
    _options(ctx)
    address, count = take_operands(ctx, 2)
    base, offset = shared_address(ctx, address, "mbarrier")
    pending = _counted(ctx, count)
    ctx.emit("st.shared.b64", (), (base, _wide(ctx, "or.64", pending, _wide(ctx, "shl.64", pending, Imm(_NEXT)))),
             offset)


def _invalidate(ctx: Context) -> None:
    """Free the memory for another use; this takes no code."""
    _options(ctx)
    shared_address(ctx, take_operands(ctx, 1)[0], "mbarrier")


def _counted(ctx: Context, operand: Operand) -> Reg:
    """Return a 32-bit operand in 64 bits."""
    return _wide(ctx, "pack.64", ctx.value(operand, 32, "u32"), Imm(0))


def _moved(ctx: Context, value: Reg, shift: int) -> Reg:
    return _wide(ctx, "shl.64", value, Imm(shift))


def _arrive(ctx: Context) -> None:
    """Lower ``arrive`` and ``arrive_drop``: one arrival, or as the last operand says, or with expected bytes."""
    dropping = ctx.instruction.modifiers[0] == "arrive_drop"
    options = _options(ctx, "release", "relaxed", *_SCOPES, "noComplete", "expect_tx")
    expecting = "expect_tx" in options
    operands = ctx.instruction.operands
    d, address, *last = take_operands(ctx, 3 if expecting or "noComplete" in options or len(operands) > 2 else 2)
    one = _wide(ctx, "mov.64", Imm(1))
    count = _counted(ctx, last[0]) if last and not expecting else one
    change = _wide(ctx, "neg.64", count)
    if dropping:
        change = _wide(ctx, "sub.64", change, _moved(ctx, count, _NEXT))
    if expecting:
        change = _wide(ctx, "add.64", change, _moved(ctx, _counted(ctx, last[0]), _BYTES))
    if "relaxed" not in options:
        ctx.emit("membar")
    _update(ctx, address, change, None if d == Name("_") else ctx.dest(d, 64))


def arrive_for_copies(ctx: Context) -> None:
    """Lower ``cp.async.mbarrier.arrive``.

    Copies are done already. With ``.noinc`` it is one arrival. Without it the instruction raises the count by one
    first, so it does nothing.
    """
    options = ctx.instruction.modifiers[3:-1]
    check_modifiers(ctx, {"noinc", *_SPACES}, options)
    address, = take_operands(ctx, 1)
    if "noinc" in options:
        ctx.emit("membar")
        _update(ctx, address, _wide(ctx, "mov.64", Imm((1 << 64) - 1)), None)


def _bytes(ctx: Context) -> None:
    """Lower ``expect_tx`` and ``complete_tx``."""
    _options(ctx, "relaxed", *_SCOPES)
    address, count = take_operands(ctx, 2)
    change = _moved(ctx, _counted(ctx, count), _BYTES)
    if ctx.instruction.modifiers[0] == "complete_tx":
        change = _wide(ctx, "neg.64", change)
    _update(ctx, address, change, None)


def _update(ctx: Context, address: Operand, change: Reg, state: Reg | None) -> None:
    """Add to a barrier, end a phase that waits for nothing more, and return the barrier before.

    This is a loop until no other write came in between; lanes outside the guard skip it.
    """
    base, offset = shared_address(ctx, address, "mbarrier")
    guard, ctx.guard = ctx.guard, None
    line, done, again = ctx.instruction.line, ctx.fresh_label("arrived"), ctx.fresh_label("again")
    if guard is not None:
        ctx.close_block(Terminator((done, ""), guard.inverted(), line))
    nothing = _wide(ctx, "mov.64", Imm(0))
    found, expected, differs = ctx.w(), ctx.w(), ctx.p()
    ctx.emit("atom.shared.or.b64", (found,), (base, nothing), offset)
    ctx.open_block(again)
    ctx.emit("mov.64", (expected,), (found,))
    new = _finished(ctx, _wide(ctx, "add.64", expected, change))
    ctx.emit("atom.shared.cas.b64", (found,), (base, expected, new), offset)
    ctx.emit("setp.ne.64", (differs,), (found, expected))
    ctx.close_block(Terminator((again, ""), Pred(differs), line))
    if state is not None:
        ctx.emit("mov.64", (state,), (found,))
    ctx.open_block(done)
    ctx.guard = guard


def _finished(ctx: Context, barrier: Reg) -> Reg:
    """Return a barrier in its next phase if it waits for nothing, else as it is."""
    low, high = operation(ctx, "lo.64", barrier), operation(ctx, "hi.64", barrier)
    left = operation(ctx, "or", operation(ctx, "and", low, Imm(_COUNT)),
                     operation(ctx, "shr.u", high, Imm(_BYTES - 32)))
    following = operation(ctx, "and", operation(ctx, "shf.r", low, high, Imm(_NEXT)), Imm(_COUNT))
    flipped = operation(ctx, "or", operation(ctx, "xor", low, Imm(1 << _PARITY)), following)
    ended = ctx.p()
    ctx.emit("setp.eq", (ended,), (left, Imm(0)))
    return _wide(ctx, "pack.64", operation(ctx, "sel", flipped, low, Pred(ended)), high)


def _wait(ctx: Context) -> None:
    """Lower ``test_wait`` and ``try_wait``: whether the phase of a state, or of a parity, has ended.

    ``try_wait`` does not wait either; its time limit has no effect.
    """
    options = _options(ctx, "acquire", "relaxed", *_SCOPES, "parity")
    hinted = ctx.instruction.modifiers[0] == "try_wait" and len(ctx.instruction.operands) == 4
    d, address, which, *hint = take_operands(ctx, 4 if hinted else 3)
    for operand in hint:
        ctx.value(operand, 32, "u32")
    base, offset = shared_address(ctx, address, "mbarrier")
    dest, word = ctx.dest(d, 1), ctx.named("r")
    if "parity" in options:
        parity = operation(ctx, "and", ctx.value(which, 32, "u32"), Imm(1))
    else:
        state = operation(ctx, "lo.64", ctx.value(which, 64, "b64"))
        parity = operation(ctx, "bfe.u", state, Imm(1 << 8 | _PARITY))
    ctx.emit("ld.shared.b32", (word,), (base,), offset, True)
    if "relaxed" not in options:
        ctx.emit("membar")
    ctx.emit("setp.ne", (dest,), (operation(ctx, "bfe.u", word, Imm(1 << 8 | _PARITY)), parity))


def _pending(ctx: Context) -> None:
    check_modifiers(ctx, set(), ctx.instruction.modifiers[1:-1])
    d, state = take_operands(ctx, 2)
    low = operation(ctx, "lo.64", ctx.value(state, 64, "b64"))
    ctx.emit("and", (ctx.dest(d, 32),), (low, Imm(_COUNT)))

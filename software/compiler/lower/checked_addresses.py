"""Checks of the upper words of 64-bit addresses, which the machine's 32-bit addresses otherwise drop."""

from __future__ import annotations

from ..ir.kernel import Imm, Pred, Reg
from ..ir.spaces import HIGH_WORD
from .context import Context

__all__ = ["checked_base"]


def checked_base(ctx: Context, base: Reg, offset: int) -> tuple[Reg, int]:
    """Return base and offset of an access; a 64-bit address with an upper word is redirected to `HIGH_WORD`.

    Parameters
    ----------
    ctx : Context
    base : Reg
        Base register of kind ``w``.
    offset : int
        Signed 32-bit offset, as in PTX.
    """
    address, high, right, chosen = ctx.w(), ctx.r(), ctx.p(), ctx.w()
    ctx.emit("add.64", (address,), (base, Imm((offset - ((offset & 1 << 31) << 1)) & (1 << 64) - 1)))
    ctx.emit("hi.64", (high,), (address,))
    ctx.emit("setp.eq", (right,), (high, Imm(0)))
    ctx.emit("sel.64", (chosen,), (address, Imm(HIGH_WORD), Pred(right)))
    return chosen, 0

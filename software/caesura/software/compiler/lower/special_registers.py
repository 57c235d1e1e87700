"""Reading of special registers (PTX ISA 10) and other predefined names (PTX ISA 4.4.3)."""

from __future__ import annotations

from caesura.hw.arch.isa import Special

from ..ir.kernel import Imm, Reg, Use
from .builder import Builder

__all__ = ["PREDEFINED", "read_predefined"]

_SPECIAL: dict[str, Special] = {
    **{f"%{name}.{axis}": Special[f"{name.upper()}_{axis.upper()}"]
       for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"},
    "%laneid": Special.LANEID, "%warpid": Special.WARPID, "%smid": Special.SMID,
    "%nsmid": Special.NSMID,
    "%clock": Special.CLOCK, "%clock64": Special.CLOCK,
}
"""PTX name to special register; ``%clock64`` reads the 32-bit counter, zero-extended (so ``%clock_hi`` is 0)."""
_LANE_MASKS = tuple(f"%lanemask_{name}" for name in ("eq", "lt", "le", "ge", "gt"))
"""Special registers that are computed from ``%laneid``."""
_CONSTANTS = {"%clock_hi": 0, "WARP_SZ": 32}
PREDEFINED = (*_SPECIAL, *_LANE_MASKS, *_CONSTANTS)
"""Names that `read_predefined` knows."""


def read_predefined(builder: Builder, name: str, bits: int) -> Use:
    """Return the value of one of `PREDEFINED`, as a ``w`` for 64 bits where it is no constant."""
    if name in _CONSTANTS:
        return Imm(_CONSTANTS[name])
    return _read(builder, name, bits) if name in _SPECIAL else _lane_mask(builder, name)


def _read(builder: Builder, name: str, bits: int) -> Reg:
    low = builder.r()
    builder.emit("s2r", (low,), (), imm=int(_SPECIAL[name]))
    if bits != 64:
        return low
    wide = builder.w()
    builder.emit("pack.64", (wide,), (low, Imm(0)))
    return wide


def _lane_mask(builder: Builder, name: str) -> Reg:
    """Return the lanes that are equal to the own one, below, at most, above or at least it."""
    lane, own, result = _read(builder, "%laneid", 32), builder.r(), builder.r()
    builder.emit("shl", (own,), (Imm(1), lane))
    if name == "%lanemask_eq":
        return own
    if name in ("%lanemask_lt", "%lanemask_ge"):
        builder.emit("iadd", (result,), (own, Imm(0xFFFF_FFFF)))
    else:  # the own bit and all below
        below = builder.r()
        builder.emit("iadd", (below,), (own, Imm(0xFFFF_FFFF)))
        builder.emit("or", (result,), (own, below))
    if name in ("%lanemask_lt", "%lanemask_le"):
        return result
    inverted = builder.r()
    builder.emit("not", (inverted,), (result,))
    return inverted

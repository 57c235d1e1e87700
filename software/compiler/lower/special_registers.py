"""Reading of special registers (PTX ISA 10) and other predefined names (PTX ISA 4.4.3)."""

from __future__ import annotations

from collections.abc import Callable

from caesura.hw.arch.isa.opcodes import Special

from ..ir.kernel import Imm, Reg, Use
from .builder import Builder

__all__ = ["OF_LAUNCH", "PREDEFINED", "read_of_launch", "read_predefined"]

_SPECIAL: dict[str, Special] = {
    **{f"%{name}.{axis}": Special[f"{name.upper()}_{axis.upper()}"]
       for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"},
    "%laneid": Special.LANEID, "%warpid": Special.WARPID, "%smid": Special.SMID,
    "%nsmid": Special.NSMID, "%clock": Special.CLOCK, "%clock_hi": Special.CLOCK_HIGH,
}
"""PTX name to special register."""
_LANE_MASKS = tuple(f"%lanemask_{name}" for name in ("eq", "lt", "le", "ge", "gt"))
"""Special registers that are computed from ``%laneid``."""
_CONSTANTS = {"WARP_SZ": 32}
_LAUNCH_WORDS = {"%dynamic_smem_size": 0, "%total_smem_size": 1, "%aggr_smem_size": 1, "%nwarpid": 2, "%gridid": 3}
_NANOSECONDS = 5
OF_LAUNCH = (*_LAUNCH_WORDS, "%globaltimer", "%globaltimer_lo", "%globaltimer_hi")
"""Names that `read_of_launch` knows."""
PREDEFINED = (*_SPECIAL, "%clock64", *_LANE_MASKS, *_CONSTANTS)
"""Names that `read_predefined` knows."""


def read_predefined(builder: Builder, name: str, bits: int) -> Use:
    """Return the value of one of `PREDEFINED`; 64 bits give a ``w``, unless it is a constant."""
    if name in _CONSTANTS:
        return Imm(_CONSTANTS[name])
    if name == "%clock64":
        return _clock(builder) if bits == 64 else _word(builder, Special.CLOCK)
    return _read(builder, name, bits) if name in _SPECIAL else _lane_mask(builder, name)


def read_of_launch(builder: Builder, name: str, bits: int, word: Callable[[int], Reg]) -> Reg:
    """Return a special register that depends on the launch; 64 bits give a ``w``.

    Parameters
    ----------
    builder : Builder
    name : str
        One of `OF_LAUNCH`.
    bits : int
    word : callable
        Returns a word of the `ir.variables.LAUNCH` binding.
    """
    if name in _LAUNCH_WORDS:
        first = _LAUNCH_WORDS[name]
        if bits != 64:
            return word(first)
        return builder.op("pack.64", word(first), word(first + 1) if name == "%gridid" else Imm(0))
    nanoseconds, cycles = builder.op("pack.64", word(_NANOSECONDS), word(_NANOSECONDS + 1)), _clock(builder)
    low = builder.op("hi.64", builder.op("mul.64", cycles, nanoseconds))  # bits 63 .. 32 of the product
    high = builder.op("lo.64", builder.op("mulhi.u.64", cycles, nanoseconds))
    if bits != 64:
        return high if name == "%globaltimer_hi" else low
    whole = name == "%globaltimer"
    return builder.op("pack.64", high if name == "%globaltimer_hi" else low, high if whole else Imm(0))


def _clock(builder: Builder) -> Reg:
    """Return the clock, a ``w``, at a moment between the first read and the last.

    If the upper word has changed between two reads of it, at some moment in between it was the second value and the
    lower word 0. This holds even if the warp was away meanwhile.
    """
    before, low, after = (_word(builder, x) for x in (Special.CLOCK_HIGH, Special.CLOCK, Special.CLOCK_HIGH))
    low = builder.op("sel", low, Imm(0), builder.test("setp.eq", before, after))
    return builder.op("pack.64", low, after)


def _word(builder: Builder, special: Special) -> Reg:
    """Return a special register; one that changes is read in program order."""
    word = builder.r()
    builder.emit("s2r", (word,), (), imm=int(special), volatile=special in (Special.CLOCK, Special.CLOCK_HIGH))
    return word


def _read(builder: Builder, name: str, bits: int) -> Reg:
    low = _word(builder, _SPECIAL[name])
    if bits != 64:
        return low
    wide = builder.w()
    builder.emit("pack.64", (wide,), (low, Imm(0)))
    return wide


def _lane_mask(builder: Builder, name: str) -> Reg:
    """Return the lanes that are equal to, below, at most, above or at least the lane itself."""
    lane, own, result = _read(builder, "%laneid", 32), builder.r(), builder.r()
    builder.emit("shl", (own,), (Imm(1), lane))
    if name == "%lanemask_eq":
        return own
    if name in ("%lanemask_lt", "%lanemask_ge"):
        builder.emit("iadd", (result,), (own, Imm(0xFFFF_FFFF)))
    else:  # the lane's bit and all below
        below = builder.r()
        builder.emit("iadd", (below,), (own, Imm(0xFFFF_FFFF)))
        builder.emit("or", (result,), (own, below))
    if name in ("%lanemask_lt", "%lanemask_le"):
        return result
    inverted = builder.r()
    builder.emit("not", (inverted,), (result,))
    return inverted

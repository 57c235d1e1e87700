"""How far results are from the exact ones: what the unit promises."""

from __future__ import annotations

from typing import NamedTuple

from ....arch.isa.opcodes import SfuOp

__all__ = ["Error", "ERRORS"]


class Error(NamedTuple):
    """Largest errors of an operation.

    A unit in the last place (ulp) is that of the exact result's binade, 2**-149 for subnormal
    numbers. Where both are given, `absolute` holds for results of magnitude below 1 and `ulps` for
    the others.
    """

    ulps: float | None = None
    absolute: float | None = None
    relative: float | None = None


ERRORS: dict[SfuOp, Error] = {
    SfuOp.RCP: Error(ulps=0.67),
    SfuOp.RSQ: Error(ulps=0.65),
    SfuOp.SQRT: Error(ulps=0.55),
    SfuOp.EX2: Error(ulps=0.91),
    SfuOp.LG2: Error(ulps=0.56, absolute=2.0**-24.7),
    SfuOp.SIN: Error(absolute=2.0**-23.9),
    SfuOp.COS: Error(absolute=2.0**-23.9),
    SfuOp.RCP64H: Error(relative=2.0**-20.9),
    SfuOp.RSQ64H: Error(relative=2.0**-20.9),
}
"""Over all finite operands; sines and cosines over all finite angles, since these are reduced
exactly.

A sine below 2**-8 is its angle, which is right to 2**-18 of it; above, the relative error of a sine
or cosine near zero is what the absolute one makes of it. Logarithms near 1 likewise. `RCP64H` and
`RSQ64H` take subnormal operands as zero and have no subnormal results.
"""

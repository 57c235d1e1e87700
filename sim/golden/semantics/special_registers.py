"""Special registers."""

from __future__ import annotations

import numpy as np

from caesura.hw.arch.isa.opcodes import Special

from ..state.sm import Sm
from ..state.thread_block import Warp

__all__ = ["special_register"]


def special_register(warp: Warp, number: int, sm: Sm) -> np.ndarray:
    """Return special register `number` of all lanes; unknown ones read 0."""
    kernel, size = warp.tb.kernel, sm.g.warp_size
    lane = np.arange(size, dtype=np.uint32)
    if number == Special.LANEID:
        return lane
    if Special.TID_X <= number <= Special.TID_Z:
        x, y, _ = kernel.block
        linear = lane + np.uint32(warp.index * size)
        return (linear % x, linear // x % y, linear // (x * y))[number - Special.TID_X].astype(np.uint32)
    values = {Special.WARPID: warp.index, Special.SMID: sm.number, Special.NSMID: sm.g.sms,
              Special.CLOCK: sm.cycle & 0xFFFF_FFFF, Special.CLOCK_HIGH: sm.cycle >> 32 & 0xFFFF_FFFF}
    for first, triple in ((Special.NTID_X, kernel.block), (Special.CTAID_X, warp.tb.ctaid),
                          (Special.NCTAID_X, kernel.grid)):
        values |= {first + axis: value for axis, value in enumerate(triple)}
    return np.full(size, values.get(number, 0), np.uint32)

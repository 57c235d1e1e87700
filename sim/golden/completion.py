"""The second image of a thread block (TB): what stayed of it on the SM, when that is evicted
(`hw.arch.image.context`, What stays)."""

from __future__ import annotations

import numpy as np

from caesura.hw.arch.geometry import PC_NONE
from caesura.hw.arch.image.context import Capability
from caesura.hw.arch.image.image_writer import record_words

from .state.staying import Staying
from .stream_writer import SavedBlock, StreamWriter

__all__ = ["completion"]


def completion(row: Staying) -> SavedBlock:
    """Return the image that completes the one that its TB was saved with."""
    tb, live_only = row.tb, row.mechanism.has(Capability.SAVES_LIVE_ONLY)
    all_lanes = (1 << tb.g.warp_size) - 1
    writer = StreamWriter(tb.kernel, row.mechanism)
    for warp, mask in row.masks.items():
        record = record_words(warp, all_lanes, all_lanes, None, {}, {}, [(0, all_lanes, PC_NONE)])
        saved = [r for r in range(tb.kernel.registers) if not live_only or row.scramble or mask >> r & 1]
        saved = saved if row.stay.registers else []
        values = tb.warps[warp].registers[saved]
        values[[not mask >> r & 1 for r in saved]] = np.uint32(0)
        writer.warp(warp, record, saved, values, all_lanes)
    valid = tb.lines_valid if live_only else -1
    lines = [k for k in range(tb.kernel.lines) if valid >> k & 1]
    writer.shared(tb, lines if row.stay.lines else [])
    return writer.seal(row.stay, incremental=0)

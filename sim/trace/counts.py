"""The counts of `RtlTransport.count`: the activity of SMs and their kernels, cycle by cycle."""

from __future__ import annotations

import numpy as np

from caesura.hw.interfaces.observation import CACHES, WARP_STATES

__all__ = ["COUNTED", "WHOLE"]

WHOLE = 255
"""`slot` of the row of an SM as a whole."""

COUNTED = np.dtype([
    ("code", "<u8"), ("cycles", "<u8"), ("busy_cycles", "<u8"), ("tb_cycles", "<u8"), ("warp_cycles", "<u8"),
    ("active_cycles", "<u8"), ("instructions", "<u8"), ("lanes", "<u8"), ("states", "<u8", (len(WARP_STATES),)),
    ("lookups", "<u8", (len(CACHES),)), ("misses", "<u8", (len(CACHES),)), ("sm", "<u4"), ("slot", "<u4")])
"""numpy dtype of the counts of an SM, or of a kernel in a `slot` of it whose code lies at `code`.

`cycles` are those that were counted, of a kernel those in which it had warps; `busy_cycles` those with warps;
`tb_cycles` and `warp_cycles` sums over the cycles of TBs and warps resident (TBs of an SM only), `active_cycles` of
warps that have started and neither ended nor been killed; `lanes` the threads that `instructions` were executed for.
`states` (`hw.interfaces.observation.WARP_STATES`) add up to `active_cycles`, and are 0, as lookups and misses of caches
are, unless the simulator is `observed`. Of warps that came before counting began only the SM's row says something."""

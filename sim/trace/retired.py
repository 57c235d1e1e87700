"""The retire trace: one record format for the RTL and the golden model, compared in lockstep tests."""

from __future__ import annotations

import numpy as np

__all__ = ["TRACE", "RETIRE", "WRITE", "PREDICATE", "UNIFORM", "ATOMIC"]

RETIRE = 0
"""An instruction retired: `pc`, `mask` (lanes whose guard held, 0 if none)."""
WRITE = 1
"""A vector register was written: `register`, `mask`, `data`. A load that needs several segments gives several
records; only the last has `last` set. Lanes outside `mask` have data 0."""
PREDICATE = 2
"""A predicate was written: `register` is its number, `mask`, and ``data[0]`` the values, one bit per lane."""
UNIFORM = 3
"""A uniform register was written: `register`, and ``data[0]`` the value; `mask` is 1."""
ATOMIC = 4
"""One lane of an atomic changed memory: `register` is 0 for global and 1 for shared memory, `pc`, `mask` with the bit
of the lane, and what was there before in ``data[0]`` and, of 64 bits, ``data[1]``. Records of one memory stand in the
order in which it changed."""

TRACE = np.dtype([
    ("cycle", "<u8"), ("kind", "u1"), ("kernel", "u1"), ("warp", "u1"), ("register", "u1"), ("last", "u1"),
    ("sm", "u1"), ("pad", "u1", (2,)), ("launch", "<u4"), ("pc", "<u4"), ("mask", "<u4"), ("data", "<u4", (32,)),
])
"""numpy dtype of a record; `sm` is the number of the SM, `warp` the warp of the TB, `launch` the TB's launch id. `pp`,
`pp.div` and `nop` that do nothing are not recorded; `bar.pp`, `bra`, `exit`, `membar` are. Records of one warp are in
program order by kind; writes of one register are in program order."""

"""Barrier unit: releases the warps of a thread block (TB) that all wait at the same barrier."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import BARRIERS, Geometry
from ...lib.bits import encode, lowest, spread

__all__ = ["BarrierUnit", "BARRIER_PLANES"]

BARRIER_PLANES = (BARRIERS - 1).bit_length()
"""Bits of a barrier id, each kept as a vector of one bit per warp."""


class BarrierUnit(wiring.Component):
    """Finds full barriers, all TBs at once; combinational.

    Only the `active` warps of a TB count. Its barrier is full when each of them waits, none has
    faulted and no preempt is pending for them. If all wait at the same barrier they are released,
    else it is a mismatch. Where warps can yield, those of a TB that all came by a ``bar.yield`` are
    released unless they are to be held.

    Attributes
    ----------
    members : list of Signal(warps), in
        Warps of each TB slot.
    active : Signal(warps), in
        Warps of a started TB that have neither exited nor been killed.
    waiting, faulted, pending : Signal(warps), in
    barriers : list of Signal(warps), in
        Bit planes of the barrier id each warp waits at.
    yields : Signal(warps), in; held : Signal(tb_slots), in; yielding : Signal(tb_slots), out
        Vectors: warps that came by a ``bar.yield``; TBs that are not released; TBs whose barrier is
        full of such warps. `held` may depend on `yielding`. All exist only with `Geometry.watches`.
    release : Signal(warps), out
        Warps that stop waiting.
    mismatch : Signal(warps), out
        A waiting warp of one TB whose warps wait at different barriers, one-hot.
    mismatch_index : Signal, out
        The same as a number.
    """

    members: list[Signal]
    active: Signal
    waiting: Signal
    faulted: Signal
    pending: Signal
    barriers: list[Signal]
    yields: Signal
    held: Signal
    yielding: Signal
    release: Signal
    mismatch: Signal
    mismatch_index: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "members": In(g.warps).array(g.tb_slots), "active": In(g.warps), "waiting": In(g.warps),
            "faulted": In(g.warps), "pending": In(g.warps),
            "barriers": In(g.warps).array(BARRIER_PLANES),
            **({"yields": In(g.warps), "held": In(g.tb_slots), "yielding": Out(g.tb_slots)}
               if g.watches else {}),
            "release": Out(g.warps), "mismatch": Out(g.warps),
            "mismatch_index": Out(range(max(2, g.warps))),
        })

    def elaborate(self, platform: Any):
        m = Module()
        warps = self.geometry.warps
        blocked = Signal(warps)
        m.d.comb += blocked.eq(~self.waiting | self.faulted | self.pending)
        released, mismatched = [], []
        for t in range(self.geometry.tb_slots):
            group = Signal(warps, name=f"group{t}")
            full = Signal(name=f"full{t}")
            mixed = Signal(name=f"mixed{t}")
            planes = self.barriers
            different = [(group & planes[p]).any() & (group & ~planes[p]).any()
                         for p in range(BARRIER_PLANES)]
            m.d.comb += [
                group.eq(self.members[t] & self.active),
                full.eq(group.any() & ~(group & blocked).any()),
                mixed.eq(different[0] | different[1] | different[2] | different[3]),
            ]
            passes = full & ~mixed
            if self.geometry.watches:
                m.d.comb += self.yielding[t].eq(passes & ~(group & ~self.yields).any())
                passes = passes & ~(self.yielding[t] & self.held[t])
            released.append(group & spread(passes, warps))
            mismatched.append(group & spread(full & mixed, warps))
        m.d.comb += [
            self.release.eq(_union(released)), self.mismatch.eq(lowest(_union(mismatched))),
            self.mismatch_index.eq(encode(self.mismatch)),
        ]
        return m


def _union(vectors: Sequence[Value]):
    result = vectors[0]
    for vector in vectors[1:]:
        result = result | vector
    return result

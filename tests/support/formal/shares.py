"""The guaranteed share of a bus, of any beats that count."""

from __future__ import annotations

from amaranth.hdl import Mux, Signal

from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.memory import guaranteed_share
from caesura.hw.memory.guaranteed_share import PERIOD, GuaranteedShare

from .faults import Fault
from .harness import Harness
from .property import Property

__all__ = ["LastHasItsShare", "PROPERTIES"]


class LastHasItsShare(Harness):
    """An arbiter that obeys `urgent` and is free otherwise, and the beats of a window that may begin in any cycle: if
    they are `PERIOD` or more, the last port has its share.

    The invariant for induction: the debt is at least the sum that the beats of the window have added.
    """

    def __init__(self, g: Geometry, share: int):
        super().__init__()
        self.geometry, self.share = g, share

    def state(self, m):
        most = self.geometry.burst_beats
        m.submodules.dut = dut = GuaranteedShare(self.geometry)
        offered, last, waits, begins = (self.anything(m, 1) for _ in range(4))
        granted = Signal()
        beats = Signal(range(most + 1))
        total = Signal(range(PERIOD + most))  # beats of the window that count
        own = Signal(range(PERIOD + most))  # those of the last port
        m.d.comb += [
            granted.eq(offered & Mux(last, waits, ~(dut.urgent & waits))), dut.extra_beats.eq(
                self.anything(m, range(most))), beats.eq(dut.extra_beats + 1),
            dut.share.eq(self.share), dut.waits.eq(waits), dut.granted.eq(granted), dut.last.eq(last)]
        with m.If(begins | (total >= PERIOD)):
            m.d.sync += [total.eq(0), own.eq(0)]
        with m.Elif(granted & waits):
            m.d.sync += [total.eq(total + beats), own.eq(own + beats * last)]
        self.claim(
            m, the_last_has_its_share=(total < PERIOD) | (own >= self.share),
            debt_is_bounded=dut.debt <= PERIOD * most, window=(total < PERIOD + most) & (own <= total),
            debt_counts_the_window=(self.share + most) * total <= PERIOD * own + dut.debt)


_CLAIM = ("Of any 256 beats that are granted while the last port waits, its share (the machine starts with 32, an "
          "eighth) is its own, if the arbiter obeys `urgent`")
_FAULTS = (
    Fault(guaranteed_share, "owed.eq(self.debt + rate * beats)", "owed.eq(self.debt + rate)"),
    Fault(guaranteed_share, "(self.debt + rate * most > limit)", "(self.debt > limit)"),
)

PROPERTIES = tuple(
    Property(f"share/{name}-{share}", _CLAIM, lambda name=name, share=share: LastHasItsShare(preset(name), share),
             faults=_FAULTS if (name, share) == ("tiny", 32) else (),
             fault_depth=30) for name in ("tiny", "gtx480") for share in (1, 32, 127))

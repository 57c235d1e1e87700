"""Which of two TBs that follow each other still has jobs in a block."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["TbsUnderWay"]


class TbsUnderWay(wiring.Component):
    """Counts the jobs of both banks that a block has taken and not finished.

    In each cycle one job may begin and one may end; `pending` shows it in the next.

    Parameters
    ----------
    jobs : int
        Most jobs that can be under way.

    Attributes
    ----------
    begins, begun : Signal, in
        A job of bank `begun` is taken in this cycle.
    ends, ended : Signal, in
        One of bank `ended` is finished in this cycle.
    pending : Signal(2), out
        Banks with a job under way; follows by one cycle.
    """

    begins: Signal
    begun: Signal
    ends: Signal
    ended: Signal
    pending: Signal

    def __init__(self, jobs: int):
        self.jobs = jobs
        super().__init__({"begins": In(1), "begun": In(1), "ends": In(1), "ended": In(1),
                          "pending": Out(2)})

    def elaborate(self, platform: Any):
        m = Module()
        for bank in range(2):
            count = Signal(range(self.jobs + 1), name=f"count_{bank}")
            m.d.sync += count.eq(count + (self.begins & (self.begun == bank))
                                 - (self.ends & (self.ended == bank)))
            m.d.comb += self.pending[bank].eq(count != 0)
        return m

"""Queue wait: what the next packet of one queue waits for, and why the queue has failed."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...arch.packets import QueueError
from ...lib.bits import lowest_number
from .queue_ports import Wait, packet_verdict

__all__ = ["TRIES", "QueueWait"]

TRIES = 8
"""Successive looks at the signals of a barrier that memory may refuse before its queue stops."""


class QueueWait(wiring.Component):
    """Remembers the verdicts on the packets of one queue.

    Parameters
    ----------
    g : Geometry
        Geometry with `queues`.

    Attributes
    ----------
    verdict : packet_verdict, in
        Verdict on a packet of this queue.
    enable : Signal(1), in
        Software has enabled the queue.
    lost : Signal(queue_capacity), in
        Vector: kernels that could not be brought back.
    served : Signal(1), in
        The packet has been begun.
    empty : Signal(1), in
        No kernel of the queue is in flight.
    retry : Signal(1), in
        A packet that waits for `Wait.LATER` is looked at again.
    waits : struct, out
        A bit for each `Wait`.
    error : QueueError, out; of : Signal(3), out
        Fields of register ``status``.
    """

    verdict: View
    enable: Signal
    lost: Signal
    served: Signal
    empty: Signal
    retry: Signal
    waits: View
    error: Signal
    of: Signal

    def __init__(self, g: Geometry):
        super().__init__({
            "verdict": In(packet_verdict(g)), "enable": In(1), "lost": In(g.queue_capacity),
            "served": In(1), "empty": In(1), "retry": In(1),
            "waits": Out(data.StructLayout({why.name.lower(): 1 for why in Wait})),
            "error": Out(QueueError), "of": Out(3)})

    def elaborate(self, platform: Any):
        m = Module()
        verdict, waits = self.verdict, self.waits
        tries = Signal(range(TRIES))
        with m.If(verdict.valid):
            m.d.sync += tries.eq(Mux(verdict.fails, tries + 1, 0))
            with m.If(verdict.fails & (tries == TRIES - 1)):
                m.d.sync += [self.error.eq(QueueError.BUS_ERROR), self.of.eq(0), tries.eq(0)]
            with m.Elif(verdict.waits):
                for why in Wait:
                    with m.If(verdict.why == why):
                        m.d.sync += waits[why.name.lower()].eq(1)
            with m.Else():
                m.d.sync += waits.room.eq(0)
                with m.If(verdict.error != QueueError.NONE):
                    m.d.sync += [self.error.eq(verdict.error), self.of.eq(verdict.of)]
        # A kernel that could not be brought back goes before any verdict on a packet.
        with m.If(self.lost.any()):
            m.d.sync += [self.error.eq(QueueError.BAD_CONTEXT),
                         self.of.eq(lowest_number(self.lost) + 1)]
        # Software clears an error by disabling the queue.
        with m.If(~self.enable):
            m.d.sync += [waits.room.eq(0), self.error.eq(QueueError.NONE), tries.eq(0)]
        with m.If(self.served):
            m.d.sync += tries.eq(0)
        # The barrier bit has nothing to wait for once no kernel is in flight.
        with m.If(~self.enable | self.empty):
            m.d.sync += waits.drain.eq(0)
        with m.If(self.retry):
            m.d.sync += waits.later.eq(0)
        return m

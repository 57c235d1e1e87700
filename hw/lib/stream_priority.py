"""Merges two streams by priority."""

from typing import Any

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["StreamPriority"]


class StreamPriority(wiring.Component):
    """Merges two streams; `first` goes before `second`, but never interrupts an offered transfer.

    Combinational; a payload that has been offered stays until it is transferred.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.

    Attributes
    ----------
    first, second : stream, in
    merged : stream, out
    """

    first: stream.Interface
    second: stream.Interface
    merged: stream.Interface

    def __init__(self, shape: ShapeLike):
        signature = stream.Signature(shape)
        super().__init__({"first": In(signature), "second": In(signature),
                          "merged": Out(signature)})

    def elaborate(self, platform: Any):
        m = Module()
        held = Signal()
        take_second = self.second.valid & (held | ~self.first.valid)
        m.d.sync += held.eq(take_second & ~self.merged.ready)
        with m.If(take_second):
            m.d.comb += [self.merged.valid.eq(1), self.merged.payload.eq(self.second.payload),
                         self.second.ready.eq(self.merged.ready)]
        with m.Else():
            m.d.comb += [self.merged.valid.eq(self.first.valid),
                         self.merged.payload.eq(self.first.payload),
                         self.first.ready.eq(self.merged.ready)]
        return m

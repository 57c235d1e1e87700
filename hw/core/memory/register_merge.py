"""Two writers of registers share one stream."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...interfaces.payloads import register_write, tagged

__all__ = ["RegisterMerge"]


class RegisterMerge(wiring.Component):
    """Passes whole registers, `first` before `second`; interrupts no register and no offered beat.

    Attributes
    ----------
    first, second : stream of tagged register_write, in
    merged : stream of tagged register_write, out
        Combinational.
    """

    first: stream.Interface
    second: stream.Interface
    merged: stream.Interface

    def __init__(self, g: Geometry):
        signature = stream.Signature(tagged(register_write(g)))
        super().__init__({"first": In(signature), "second": In(signature),
                          "merged": Out(signature)})

    def elaborate(self, platform: Any):
        m = Module()
        bound = Signal()
        owner = Signal()
        chosen = Signal()
        merged = self.merged
        m.d.comb += [
            chosen.eq(Mux(bound, owner, ~self.first.valid)),
            merged.valid.eq(Mux(chosen, self.second.valid, self.first.valid)),
            self.first.ready.eq(merged.ready & ~chosen),
            self.second.ready.eq(merged.ready & chosen),
        ]
        with m.If(chosen):
            m.d.comb += merged.payload.eq(self.second.payload)
        with m.Else():
            m.d.comb += merged.payload.eq(self.first.payload)
        with m.If(merged.valid):
            m.d.sync += [owner.eq(chosen), bound.eq(~(merged.ready & merged.payload.last))]
        return m

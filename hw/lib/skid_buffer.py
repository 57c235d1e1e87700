"""A two-entry buffer that cuts a stream: no path within a cycle leads from one side to the other.

::

    input --+-----------> output register --> output
            +--> spare --^
"""

from typing import Any

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SkidBuffer"]


class SkidBuffer(wiring.Component):
    """Passes a payload in each cycle, one cycle later; all its outputs come from registers.

    ``input.ready`` is the inverse of one register, "the spare entry is full". A payload can come in
    the cycle in which the output begins to wait; then the spare entry takes it.

    Parameters
    ----------
    shape : ShapeLike
        Payload of both streams.

    Attributes
    ----------
    input, output : stream
    """

    input: stream.Interface
    output: stream.Interface

    def __init__(self, shape: ShapeLike):
        super().__init__({"input": In(stream.Signature(shape)),
                          "output": Out(stream.Signature(shape))})

    def elaborate(self, platform: Any):
        m = Module()
        given, shown = (Value.cast(port.payload) for port in (self.input, self.output))
        spare = Signal(len(given), reset_less=True)
        full = Signal()
        m.d.comb += self.input.ready.eq(~full)
        with m.If(~full):
            m.d.sync += spare.eq(given)
        with m.If(self.output.ready | ~self.output.valid):
            m.d.sync += [shown.eq(Mux(full, spare, given)), full.eq(0),
                         self.output.valid.eq(full | self.input.valid)]
        with m.Else():
            m.d.sync += full.eq(full | self.input.valid)
        return m

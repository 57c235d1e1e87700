"""Uniform registers of the warp before, which a warp record may repeat (`arch.tb_history`)."""

from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import UNIFORMS

__all__ = ["KeptUniforms"]


class KeptUniforms(wiring.Component):
    """A value for each uniform register, read and written by pairs; reading is combinational.

    Timing
    ------
    A pair is read and a pair written in each cycle; what is written is read from the next one on.

    Attributes
    ----------
    select : Signal, in; values : array of words, out
        The pair that is read.
    pair : Signal, in; write : Signal(2), in; new : array of words, in
        The pair of which those with a bit are written in this cycle.
    """

    select: Signal
    values: data.View
    pair: Signal
    write: Signal
    new: data.View

    def __init__(self):
        words = data.ArrayLayout(32, 2)
        super().__init__({"select": In(range(UNIFORMS // 2)), "values": Out(words),
                          "pair": In(range(UNIFORMS // 2)), "write": In(2), "new": In(words)})

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.rows = rows = Memory(shape=self.new.shape(), depth=UNIFORMS // 2, init=[])
        write = rows.write_port(granularity=1)
        read = rows.read_port(domain="comb")
        m.d.comb += [
            read.addr.eq(self.select), Value.cast(self.values).eq(Value.cast(read.data)),
            write.addr.eq(self.pair), write.en.eq(self.write),
            Value.cast(write.data).eq(Value.cast(self.new)),
        ]
        return m

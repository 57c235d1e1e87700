"""Pair writer: 64-bit words to memory, one at a time."""

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.geometry import ADDRESS_BITS, Geometry
from .ports import WriteInterface, WritePort

__all__ = ["PairWriter", "pair"]

PAIR_BYTES = 8


def pair() -> data.StructLayout:
    """A word and where it goes, a multiple of 8."""
    return data.StructLayout({"address": ADDRESS_BITS, "data": 64})


class PairWriter(wiring.Component):
    """Writes a word and waits until memory has it; in one beat, unless the bus is narrower.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    pair : stream of pair, in
        Taken when the one before is done.
    done : Signal, out; error : Signal, out
        Memory has acknowledged it, for one cycle; it was refused.
    port : WritePort, out
    """

    pair: stream.Interface
    done: Signal
    error: Signal
    port: WriteInterface

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({"pair": In(stream.Signature(pair())), "done": Out(1), "error": Out(1),
                          "port": Out(WritePort(g))})

    def elaborate(self, platform: Any):
        m = Module()
        g, port = self.geometry, self.port
        held = Signal(pair())
        busy = Signal()
        asking = Signal()
        sending = Signal()
        upper = Signal()  # the second beat of a narrow bus
        low = exact_log2(g.bus_bytes)
        narrow = g.bus_bytes < PAIR_BYTES
        beat = port.beat.payload
        m.d.comb += [
            self.pair.ready.eq(~busy), port.request.valid.eq(asking),
            port.request.payload.address.eq(held.address[low:] << low),
            port.request.payload.extra_beats.eq(int(narrow)), port.beat.valid.eq(sending),
            port.ack.ready.eq(busy), self.done.eq(busy & port.ack.valid),
            self.error.eq(port.ack.payload.error),
        ]
        if narrow:
            m.d.comb += [beat.data.eq(Mux(upper, held.data[32:], held.data[:32])),
                         beat.strobe.eq(~0), beat.last.eq(upper)]
        else:
            place = held.address[exact_log2(PAIR_BYTES):low] if g.bus_bytes > PAIR_BYTES else None
            m.d.comb += [beat.data.eq(held.data.replicate(g.bus_bytes // PAIR_BYTES)),
                         beat.last.eq(1), beat.strobe.eq(
                             0xFF if place is None else Const(0xFF, g.bus_bytes)
                             << (place << exact_log2(PAIR_BYTES)))]
        with m.If(self.pair.valid & self.pair.ready):
            m.d.sync += [held.eq(self.pair.payload), busy.eq(1), asking.eq(1), sending.eq(1),
                         upper.eq(0)]
        with m.If(asking & port.request.ready):
            m.d.sync += asking.eq(0)
        with m.If(sending & port.beat.ready):
            m.d.sync += [upper.eq(1), sending.eq(~beat.last)]
        with m.If(self.done):
            m.d.sync += busy.eq(0)
        return m

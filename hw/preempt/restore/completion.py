"""Completion: reports a TB when the last of it has been written, while the next one is parsed."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...interfaces.payloads import below
from .jobs import restored

__all__ = ["parsed", "Completion"]


def parsed(g: Geometry) -> data.StructLayout:
    """All words of the TB of `entry` are taken; it may be known to be `bad`.

    `bank` is that of what is still to be written, `stream_crc` the checksum that its stream has to
    have; `base` and `increment` as in `restore_job`.
    """
    return data.StructLayout({"entry": below(g.context_entries), "bank": 1, "bad": 1,
                              "stream_crc": 32, "base": 1, "increment": 1})


class Completion(wiring.Component):
    """Holds one TB until nothing of its bank is pending and its checksum is there.

    A TB takes two cycles at least.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    parsed : stream, in
        Ready while nothing is held.
    pending : Signal(2), in
        Banks of which something is still to be written.
    crc : stream, in
        The checksum of each stream, from a `StreamChecker`.
    failed : Signal, in
        The words cannot be trusted.
    done : out
        The TB that is in place; comes from the second cycle after `parsed` on.
    """

    parsed: stream.Interface
    pending: Signal
    crc: stream.Interface
    failed: Signal
    done: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({"parsed": In(stream.Signature(parsed(g))), "pending": In(2),
                          "crc": In(stream.Signature(32)), "failed": In(1),
                          "done": Out(restored(g))})

    def elaborate(self, platform: Any):
        m = Module()
        held = Signal()
        tb = Signal(parsed(self.geometry))
        m.d.comb += [
            self.parsed.ready.eq(~held),
            self.crc.ready.eq(held & ~self.pending.bit_select(tb.bank, 1)),
            self.done.valid.eq(self.crc.valid & self.crc.ready), self.done.entry.eq(tb.entry),
            self.done.base.eq(tb.base), self.done.clean.eq(~tb.increment),
            self.done.bad.eq(tb.bad | self.failed | (self.crc.payload != tb.stream_crc)),
        ]
        with m.If(self.done.valid):
            m.d.sync += held.eq(0)
        with m.If(self.parsed.valid & self.parsed.ready):
            m.d.sync += [held.eq(1), tb.eq(self.parsed.payload)]
        return m

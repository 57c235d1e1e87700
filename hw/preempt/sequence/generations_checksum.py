"""The checksum of the generations of a kernel's saved entries, which its record holds."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...interfaces.payloads import below
from ..formats.checksum import Checksum

__all__ = ["GenerationsChecksum"]


class GenerationsChecksum(wiring.Component):
    """Computes `arch.context.generations_crc` of the saved entries, one entry per cycle.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    start : Signal, in
        Begin, from the next cycle on.
    saved : Signal(context_entries), in
        Vector: entries that count; another one counts as generation 0.
    number : Signal, out; generation : Signal(32), in
        An entry, and its generation in the same cycle.
    done : Signal, out
        All entries are in, until the next `start`: `context_entries` + 1 cycles after it.
    crc : Signal(32), out
        The checksum, right while `done`.
    """

    start: Signal
    saved: Signal
    number: Signal
    generation: Signal
    done: Signal
    crc: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({"start": In(1), "saved": In(g.context_entries),
                          "number": Out(below(g.context_entries)), "generation": In(32),
                          "done": Out(1), "crc": Out(32)})

    def elaborate(self, platform: Any):
        m = Module()
        entries = self.geometry.context_entries
        m.submodules.checksum = checksum = Checksum(1)
        count = Signal(range(entries + 1), init=entries)
        m.d.comb += [
            self.done.eq(count == entries), self.number.eq(count), checksum.start.eq(self.start),
            checksum.valid.eq(~self.done & ~self.start),
            checksum.data.eq(Mux(self.saved.bit_select(self.number, 1), self.generation, 0)),
            self.crc.eq(checksum.crc),
        ]
        with m.If(self.start):
            m.d.sync += count.eq(0)
        with m.Elif(~self.done):
            m.d.sync += count.eq(count + 1)
        return m

"""The transfer of a request: registers that states of the host bridge share, and their verbs."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.utils import exact_log2

from ..arch.board_protocol import MAX_DATA
from ..arch.geometry import SEGMENT_BYTES, Geometry
from ..interfaces.port import Port

__all__ = ["Transfer"]


class Transfer:
    """How far the request in hand is. A part of the bridge's module; its states are the bridge's.

    Parameters
    ----------
    g : Geometry
        Geometry that gives the width of the bus.
    buffer : BufferPort
        The data of the request, or of its answer.
    bus_patience : int
        Cycles that the bus is given for a burst or a register.

    Attributes
    ----------
    buffer : BufferPort
        Its `index` is the next byte.
    index : Signal
        Next byte of the buffer.
    address : Signal(32)
        Next byte of memory; of a wait, cycles that are left.
    remaining : Signal(16)
        Bytes that are still to be moved.
    status : Signal(8)
        `Status` of the answer.
    read_size : Signal
        Bytes of data in the answer.
    bus_cycles : Signal
        Cycles since the bus was asked.
    """

    def __init__(self, g: Geometry, buffer: Port, bus_patience: int):
        self.geometry, self.buffer, self.bus_patience = g, buffer, bus_patience
        self.index = Signal.like(buffer.index, name="index")
        self.address = Signal(32, name="address")
        self.remaining = Signal(16, name="remaining")
        self.status = Signal(8, name="status")
        self.read_size = Signal(range(MAX_DATA + 1), name="read_size")
        self.bus_cycles = Signal(range(bus_patience), name="bus_cycles")

    def advance(self, m: Module) -> None:
        """Go to the next byte."""
        m.d.sync += [self.address.eq(self.address + 1), self.remaining.eq(self.remaining - 1),
                     self.index.eq(self.index + 1)]

    def go(self, m: Module, state: str) -> None:
        """Go to a state that may wait for the bus."""
        m.d.sync += self.bus_cycles.eq(0)
        m.next = state

    def watch_bus(self, m: Module) -> None:
        """Give the bus up when its time is over."""
        with m.If(self.bus_cycles == self.bus_patience - 1):
            m.next = "LOST"

    def burst(self, m: Module, request: stream.Interface, lane: Signal, strobe: Signal,
              beats: Signal, then: str) -> None:
        """Ask for what remains within this segment, and remember how many beats these are."""
        shift = exact_log2(self.geometry.bus_bytes)
        offset = self.address[:exact_log2(SEGMENT_BYTES)]
        end = offset + self.remaining
        capped = Mux(end > SEGMENT_BYTES, SEGMENT_BYTES, end)
        extra_beats = ((capped - 1) >> shift) - (offset >> shift)
        m.d.comb += [request.valid.eq(1), request.payload.extra_beats.eq(extra_beats),
                     request.payload.address.eq(self.address >> shift << shift)]
        self.watch_bus(m)
        with m.If(request.ready):
            m.d.sync += [beats.eq(extra_beats), lane.eq(self.address[:shift]), strobe.eq(0)]
            self.go(m, then)

"""Memory on the chip, behind AXI4.

::

    AR --> [burst] --address--> Memory --data--> R      AW, W --> [burst] --> Memory; B
"""

from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory, ReadPort, WritePort
from amaranth.lib.wiring import In
from amaranth.utils import exact_log2

from ..arch.geometry import Geometry
from ..interfaces.port import Port
from ..memory.axi import OKAY, Axi4

__all__ = ["BlockMemory", "DECODE_ERROR"]

DECODE_ERROR = 0b11
"""AXI4 response where there is nothing at an address (A3.4.4)."""


class BlockMemory(wiring.Component):
    """A memory from address 0 on; reads and writes do not wait for each other.

    The first beat of a read comes two cycles after its address has been taken, then one beat per
    cycle. The next address is taken with the last beat. A write takes one beat per cycle, from the
    cycle after its address on. It is acknowledged a cycle after its last beat; any later request
    reads the new data. Beyond the memory reads give 0, and writes have no effect. A burst that
    touches that range is answered with `DECODE_ERROR`, a read beat by beat.

    Bursts are incrementing, of whole beats. Beats of bursts are in the order of the addresses.

    Parameters
    ----------
    g : Geometry
        Geometry that gives the width of the bus.
    size : int
        Bytes, a multiple of the bus's width.
    id_bits : int

    Attributes
    ----------
    axi : Axi4, in

    Raises
    ------
    ValueError
        If the size is no multiple of the width, or 0.
    """

    axi: Port

    def __init__(self, g: Geometry, size: int, id_bits: int):
        if size <= 0 or size % g.bus_bytes:
            raise ValueError(f"size must be a positive multiple of {g.bus_bytes}, not {size}")
        self.geometry, self.depth = g, size // g.bus_bytes
        super().__init__({"axi": In(Axi4(g, id_bits))})

    def elaborate(self, platform: Any):
        m = Module()
        width = 8 * self.geometry.bus_bytes
        m.submodules.memory = memory = Memory(shape=width, depth=self.depth, init=[])
        load = memory.read_port()
        store = memory.write_port(granularity=8)
        self._read(m, load)
        self._write(m, store)
        return m

    def _place(self, address: Value):
        """Return the number of a beat from its address."""
        return address >> exact_log2(self.geometry.bus_bytes)

    def _read(self, m: Module, port: ReadPort) -> None:
        """Issue a read of the memory a cycle; its data stays at the port until the next one."""
        bus = self.axi
        place = Signal(len(bus.araddr))
        beats_remaining = Signal(8)
        active = Signal()
        moves = Signal()
        inside = Signal()
        answered = Signal()
        number = Signal.like(bus.arid)
        m.d.comb += [
            inside.eq(place < self.depth), moves.eq(active & (~bus.rvalid | bus.rready)),
            bus.arready.eq(~active | moves & (beats_remaining == 0)),
            port.addr.eq(place), port.en.eq(moves & inside),
            bus.rdata.eq(port.data & answered.replicate(len(port.data)))]
        with m.If(bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        with m.If(moves):
            m.d.sync += [bus.rvalid.eq(1), bus.rlast.eq(beats_remaining == 0), answered.eq(inside),
                         bus.rid.eq(number), bus.rresp.eq(OKAY), place.eq(place + 1),
                         beats_remaining.eq(beats_remaining - 1), active.eq(beats_remaining != 0)]
            with m.If(~inside):
                m.d.sync += bus.rresp.eq(DECODE_ERROR)
        with m.If(bus.arvalid & bus.arready):
            m.d.sync += [place.eq(self._place(bus.araddr)), beats_remaining.eq(bus.arlen),
                         active.eq(1), number.eq(bus.arid)]

    def _write(self, m: Module, port: WritePort) -> None:
        """Take one beat per cycle."""
        bus = self.axi
        place = Signal(len(bus.awaddr))
        active = Signal()
        outside = Signal()
        beat_accepted = Signal()
        inside = Signal()
        m.d.comb += [
            inside.eq(place < self.depth), bus.awready.eq(~active & ~bus.bvalid),
            bus.wready.eq(active), beat_accepted.eq(active & bus.wvalid), port.addr.eq(place),
            port.data.eq(bus.wdata), port.en.eq(bus.wstrb & (beat_accepted & inside).replicate(
                len(bus.wstrb)))]
        with m.If(bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        with m.If(bus.awvalid & bus.awready):
            m.d.sync += [place.eq(self._place(bus.awaddr)), active.eq(1), outside.eq(0),
                         bus.bid.eq(bus.awid)]
        with m.If(beat_accepted):
            m.d.sync += [place.eq(place + 1), outside.eq(outside | ~inside)]
            with m.If(bus.wlast):
                m.d.sync += [active.eq(0), bus.bvalid.eq(1), bus.bresp.eq(OKAY)]
                with m.If(outside | ~inside):
                    m.d.sync += bus.bresp.eq(DECODE_ERROR)

"""AXI4-Lite access to the register map, for the bus of a system on chip.

::

    AW, W --> a buffer each --+-> one access per cycle -> HostPort --> register block
    AR -----> a buffer -------+            |                               |
    B <------ a buffer <-------------------+                               |
    R <------ a queue <----------------------------------------------------+
"""

import enum
from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.registers import ADDRESS_BITS
from ..interfaces.core_ports import HostPort
from ..interfaces.port import Port
from ..lib.skid_buffer import SkidBuffer
from ..lib.stream_queue import StreamQueue

__all__ = ["Response", "AxiLitePort", "AxiLiteHost"]


class Response(enum.IntEnum):
    """`bresp` and `rresp` (AXI4, A3.4.4)."""

    OKAY = 0
    SLVERR = 2


class AxiLitePort(wiring.Signature):
    """An AXI4-Lite interface of 32 bits. Directions are the master's, names those of the standard.

    Parameters
    ----------
    address_bits : int
        Address bits of an SM's registers, or of a device's.

    Attributes
    ----------
    awaddr, araddr : Signal(address_bits), out
        Byte address of a register; the two low bits are ignored.
    awprot, arprot : Signal(3), out
        Ignored.
    wdata : Signal(32), out
    wstrb : Signal(4), out
        All bytes of a register, or none of it.
    rdata : Signal(32), in
    bresp, rresp : Signal(2), in
        `Response`.
    awvalid, wvalid, arvalid, bready, rready : Signal(1), out
    awready, wready, arready, bvalid, rvalid : Signal(1), in
    """

    def __init__(self, address_bits: int = ADDRESS_BITS):
        super().__init__({
            "awaddr": Out(address_bits), "awprot": Out(3), "awvalid": Out(1), "awready": In(1),
            "wdata": Out(32), "wstrb": Out(4), "wvalid": Out(1), "wready": In(1),
            "bresp": In(2), "bvalid": In(1), "bready": Out(1),
            "araddr": Out(address_bits), "arprot": Out(3), "arvalid": Out(1), "arready": In(1),
            "rdata": In(32), "rresp": In(2), "rvalid": In(1), "rready": Out(1),
        })


READS_HELD = 3
"""Words that wait to be taken, with the one that is being read. A word can come in each cycle, but
a place is free only in the cycle after its word has gone. So three places are needed."""


class AxiLiteHost(wiring.Component):
    """Carries out one access per cycle; each channel passes a buffer.

    A write has its effect one cycle after the later of its address and data is taken, a read one
    cycle after its address. The response to a write can be taken one cycle later, what is read two
    cycles later. No output of the bus follows an input within a cycle, nor does the host's port.

    A read and a write that could both be carried out take turns. Registers are written as a whole.
    A write of some bytes of a register has no effect and is answered with `Response.SLVERR`. A
    write of no byte has no effect either, and is answered with `Response.OKAY`. An address without
    a register reads 0.

    Parameters
    ----------
    address_bits : int
        Address bits of an SM's registers, or of a device's.

    Attributes
    ----------
    axi : AxiLitePort, in
    host : HostPort, out
    read : Signal, out
        The register at ``host.address`` is read in this cycle.
    interrupt : Signal, out
        Interrupt of the register map, level-sensitive.
    """

    axi: Port
    host: Port
    read: Signal
    interrupt: Signal

    def __init__(self, address_bits: int = ADDRESS_BITS):
        super().__init__({"axi": In(AxiLitePort(address_bits)), "host": Out(HostPort(address_bits)),
                          "read": Out(1), "interrupt": Out(1)})

    def elaborate(self, platform: Any):
        m = Module()
        host = self.host
        addresses = self._requests(m, "aw", "addr")
        words = self._requests(m, "w", "data", "strb")
        reads = self._requests(m, "ar", "addr")
        answers, found = self._responses(m)
        may_write = Signal()  # one is there, and its response has a place
        may_read = Signal()
        write = Signal()  # it is carried out in this cycle
        read = self.read
        turn = Signal()  # a read goes first
        fresh = Signal()  # the register block says what was read
        strobes = words.payload.strb
        m.d.comb += [
            may_write.eq(addresses.valid & words.valid & answers.ready),
            may_read.eq(reads.valid & (found.level + fresh < READS_HELD)),
            write.eq(may_write & ~(may_read & turn)), read.eq(may_read & ~write),
            addresses.ready.eq(write), words.ready.eq(write), reads.ready.eq(read),
            host.address.eq(Mux(write, addresses.payload.addr, reads.payload.addr)),
            host.write_data.eq(words.payload.data), host.write.eq(write & strobes.all()),
            answers.valid.eq(write), answers.payload.eq(
                Mux(strobes.all() | ~strobes.any(), Response.OKAY, Response.SLVERR)),
            found.input.valid.eq(fresh), found.input.payload.eq(host.read_data),
            self.interrupt.eq(host.interrupt),
        ]
        m.d.sync += fresh.eq(read)
        # The other kind goes first next time, so neither a run of reads nor of writes starves it.
        with m.If(write | read):
            m.d.sync += turn.eq(write)
        return m

    def _requests(self, m: Module, channel: str, *names: str):
        """Return what a channel brings, behind a buffer, as a stream."""
        axi = self.axi
        fields = {name: getattr(axi, channel + name) for name in names}
        buffer = SkidBuffer(data.StructLayout({name: len(value) for name, value in fields.items()}))
        m.submodules[channel] = buffer
        m.d.comb += [buffer.input.valid.eq(getattr(axi, f"{channel}valid")),
                     getattr(axi, f"{channel}ready").eq(buffer.input.ready),
                     *(buffer.input.payload[name].eq(value) for name, value in fields.items())]
        return buffer.output

    def _responses(self, m: Module):
        """Return where responses go: the stream of those to writes, and the queue of what is
        read."""
        axi = self.axi
        m.submodules.b = b = SkidBuffer(len(axi.bresp))
        m.submodules.r = r = StreamQueue(len(axi.rdata), READS_HELD)
        m.d.comb += [
            axi.bvalid.eq(b.output.valid), b.output.ready.eq(axi.bready),
            axi.bresp.eq(b.output.payload), axi.rvalid.eq(r.output.valid),
            r.output.ready.eq(axi.rready), axi.rdata.eq(r.output.payload),
            axi.rresp.eq(Response.OKAY),
        ]
        return b.input, r

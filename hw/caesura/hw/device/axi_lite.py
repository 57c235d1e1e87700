"""AXI4-Lite access to the register map: what a bus of a system on chip connects to.

::

    AW, W --> [write accepted] --> HostPort --+--> register block
    AR -----> [read accepted ] --> HostPort --+
    B, R <--- [response held until it is taken]
"""

import enum

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.registers import ADDRESS_BITS
from ..interfaces.core_ports import HostPort
from ..interfaces.port import Port

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
        Those of an SM's registers, or of a device's.

    Attributes
    ----------
    awaddr, araddr : Signal(address_bits), out
        Byte address of a register; the two low bits are ignored.
    awprot, arprot : Signal(3), out
        Not looked at.
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


class AxiLiteHost(wiring.Component):
    """Carries out one access a cycle; a response comes one cycle later and is held until taken.

    Address and data of a write are taken together, in the cycle in which the write has its effect.
    Reads and writes that come in the same cycle take turns. A write of some bytes of a register has
    no effect and is answered with `Response.SLVERR`, since registers are written as a whole; one of
    no byte at all has none either, and is fine. An address without a register reads 0.

    Parameters
    ----------
    address_bits : int
        Those of an SM's registers, or of a device's.

    Attributes
    ----------
    axi : AxiLitePort, in
    host : HostPort, out
    read : Signal, out
        Its ``read_data`` is wanted of its ``address``.
    interrupt : Signal, out
        That of the register map, level-sensitive.
    """

    axi: Port
    host: Port
    read: Signal
    interrupt: Signal

    def __init__(self, address_bits: int = ADDRESS_BITS):
        super().__init__({"axi": In(AxiLitePort(address_bits)), "host": Out(HostPort(address_bits)),
                          "read": Out(1), "interrupt": Out(1)})

    def elaborate(self, platform):
        m = Module()
        axi, host = self.axi, self.host
        may_write = Signal()  # one is there, and its response has a place
        may_read = Signal()
        write = Signal()  # it is carried out in this cycle
        read = self.read
        turn = Signal()  # a read goes first
        held = Signal(32)  # what was read, once a cycle has passed
        fresh = Signal()  # it was read in the last cycle
        m.d.comb += [
            may_write.eq(axi.awvalid & axi.wvalid & (~axi.bvalid | axi.bready)),
            may_read.eq(axi.arvalid & (~axi.rvalid | axi.rready)),
            write.eq(may_write & ~(may_read & turn)), read.eq(may_read & ~write),
            axi.awready.eq(write), axi.wready.eq(write), axi.arready.eq(read),
            host.address.eq(Mux(write, axi.awaddr, axi.araddr)), host.write_data.eq(axi.wdata),
            host.write.eq(write & axi.wstrb.all()),
            axi.rdata.eq(Mux(fresh, host.read_data, held)), axi.rresp.eq(Response.OKAY),
            self.interrupt.eq(host.interrupt),
        ]
        with m.If(axi.bready):
            m.d.sync += axi.bvalid.eq(0)
        with m.If(axi.rready):
            m.d.sync += axi.rvalid.eq(0)
        with m.If(fresh):
            m.d.sync += held.eq(host.read_data)
        m.d.sync += fresh.eq(read)
        with m.If(write):
            m.d.sync += [turn.eq(1), axi.bvalid.eq(1), axi.bresp.eq(
                Mux(axi.wstrb.all() | ~axi.wstrb.any(), Response.OKAY, Response.SLVERR))]
        with m.If(read):
            m.d.sync += [turn.eq(0), axi.rvalid.eq(1)]
        return m

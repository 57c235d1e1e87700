"""The host bridge: requests of a serial line, carried out on AXI4 and AXI4-Lite.

::

    received --> HostLine --frame--> RequestCheck --> [carry out] --answer--> HostLine --> sent
                     |                                 |  |   |
                     +------------- buffer <-----------+  |   +-- AXI4-Lite
                                                          +------ AxiMaster

A request is carried out once all of it has come and its CRC is right. So a request that is cut off
or damaged has no effect.
"""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..arch.board_protocol import READS, Request, Status
from ..arch.geometry import Geometry
from ..arch.registers import ADDRESS_BITS
from ..control.axi_lite import AxiLitePort, Response
from ..interfaces.port import Port
from ..lib.resets import ResetInserter
from ..memory.axi import ID_BITS, Axi4, AxiMaster
from .host_line import HostLine
from .memory_states import MemoryStates
from .request_check import RequestCheck
from .transfer import Transfer

__all__ = ["HostBridge"]

BUS_PATIENCE = 1 << 16
"""Cycles that the bus is given for a burst or a register."""
RESET_CYCLES = 16
CYCLE_BITS = 48
"""Width of the cycle counter."""
WORD_BYTES = 4


class HostBridge(wiring.Component):
    """Carries out what a host asks for (`hw.arch.board_protocol`), one request after the other.

    Memory is read and written in bursts within a segment, one byte every two cycles. So a line of
    10 or more cycles per byte never waits. Bytes that are not written keep their value. If memory
    or a register does not answer for `bus_patience` cycles, the request ends. Later requests that
    need the bus end too, until the next `Request.RESET`.

    Parameters
    ----------
    g : Geometry
        Geometry that gives the width of the bus.
    identity : bytes
        Bytes that `Request.IDENTIFY` reads; zeros follow them.
    patience : int
        Cycles without a byte after which a frame that has begun is given up.
    address_bits : int
        Address bits of the registers.
    bus_patience : int

    Attributes
    ----------
    received : stream of 8, in
        Bytes from the line; always taken.
    sent : stream of 8, out
    registers : AxiLitePort, out
    axi : Axi4, out
        Memory; id 0.
    interrupt : Signal(1), in
    reset : Signal(1), out
        High for `RESET_CYCLES` cycles: for all that is asked by these buses, and for those between.
    """

    received: stream.Interface
    sent: stream.Interface
    registers: Port
    axi: Port
    interrupt: Signal
    reset: Signal

    def __init__(self, g: Geometry, identity: bytes, patience: int,
                 address_bits: int = ADDRESS_BITS, bus_patience: int = BUS_PATIENCE):
        self.geometry, self.identity, self.patience = g, identity, patience
        self.address_bits, self.bus_patience = address_bits, bus_patience
        super().__init__({
            "received": In(stream.Signature(8)), "sent": Out(stream.Signature(8)),
            "registers": Out(AxiLitePort(address_bits)), "axi": Out(Axi4(g, ID_BITS)),
            "interrupt": In(1), "reset": Out(1)})

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.line = line = HostLine(self.patience)
        m.submodules.check = check = RequestCheck(self.address_bits)
        m.submodules.bus = bus = ResetInserter(self.reset)(AxiMaster(self.geometry, 1, 1))
        self._connect(m, line, bus)
        transfer = Transfer(self.geometry, line.buffer, self.bus_patience)
        memory_states = MemoryStates(transfer)
        header = Signal.like(line.frame.payload.header)
        stored = Signal.like(line.frame.payload.stored)
        bus_lost = Signal()
        cycle = Signal(CYCLE_BITS)
        stamp = Signal(CYCLE_BITS)
        interrupt_level = Signal()
        word_bytes = Signal(range(WORD_BYTES))  # bytes of a register's word that have been moved
        m.d.sync += [cycle.eq(Mux(self.reset, 0, cycle + 1)),
                     transfer.bus_cycles.eq(transfer.bus_cycles + 1)]
        m.d.comb += [line.buffer.index.eq(transfer.index), check.header.eq(header),
                     check.stored.eq(stored), check.bus_lost.eq(bus_lost),
                     check.status.eq(transfer.status)]
        with m.FSM(name="bridge"):
            with m.State("IDLE"):
                frame = line.frame.payload
                with m.If(line.frame.valid):
                    m.d.sync += [header.eq(frame.header), transfer.index.eq(0),
                                 stored.eq(frame.stored), transfer.status.eq(frame.status),
                                 transfer.read_size.eq(0)]
                    m.next = "JUDGE"
            with m.State("JUDGE"):
                m.d.sync += [transfer.address.eq(header.address),
                             transfer.remaining.eq(header.size)]
                with m.If(transfer.status != Status.DONE):
                    m.next = "ANSWER"
                with m.Elif(check.repeated):
                    m.d.sync += transfer.status.eq(check.last_status)
                    m.next = "ANSWER"
                with m.Elif(check.verdict != Status.DONE):
                    m.d.sync += transfer.status.eq(check.verdict)
                    m.next = "RECORD"
                with m.Else():
                    m.d.sync += word_bytes.eq(0)
                    self._begin(m, transfer, header.request, header.size)
            self._identify(m, transfer)
            memory_states.write(m, bus.writers[0])
            memory_states.read(m, bus.readers[0])
            self._registers(m, transfer, word_bytes)
            self._wait(m, transfer, line.byte_pending | self.interrupt & header.size[0], bus_lost)
            with m.State("LOST"):
                m.d.sync += [transfer.status.eq(Status.NO_ANSWER), bus_lost.eq(1),
                             transfer.read_size.eq(0)]
                m.next = "RECORD"
            with m.State("RECORD"):
                m.d.comb += check.record.eq(1)
                m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.sync += [stamp.eq(cycle), interrupt_level.eq(self.interrupt)]
                m.next = "SEND"
            with m.State("SEND"):
                answer = line.answer
                m.d.comb += [
                    answer.valid.eq(1), answer.payload.size.eq(transfer.read_size),
                    answer.payload.header.eq(Cat(header.sequence, transfer.status[:7],
                                                 interrupt_level, stamp))]
                with m.If(answer.ready):  # until now the buffer was this request's
                    m.d.comb += line.frame.ready.eq(1)
                    m.next = "IDLE"
        return m

    def _connect(self, m: Module, line: HostLine, bus: AxiMaster) -> None:
        """Connect the line and the bus."""
        wiring.connect(m, wiring.flipped(self.received), line.received)
        wiring.connect(m, line.sent, wiring.flipped(self.sent))
        for name, member in Axi4(self.geometry).members.items():
            inner, outer = getattr(bus.axi, name), getattr(self.axi, name)
            m.d.comb += outer.eq(inner) if member.flow is Out else inner.eq(outer)

    def _begin(self, m: Module, transfer: Transfer, request: Value, size: Value) -> None:
        """Begin what a request asks for."""
        with m.Switch(request):
            for each, state in (
                    (Request.IDENTIFY, "ROM"), (Request.READ_MEMORY, "READ"),
                    (Request.WRITE_MEMORY, "WRITE"), (Request.READ_REGISTER, "LOAD"),
                    (Request.WRITE_REGISTER, "VALUE"), (Request.WAIT, "WAIT"),
                    (Request.RESET, "RESET")):
                with m.Case(each):
                    transfer.go(m, state)
                    if each in (Request.IDENTIFY, Request.READ_MEMORY, Request.WRITE_MEMORY):
                        with m.If(size == 0):
                            m.next = "RECORD"
                    if each in READS:
                        m.d.sync += transfer.read_size.eq(size)

    def _identify(self, m: Module, transfer: Transfer) -> None:
        """Copy bytes of the identity into the buffer."""
        depth = 1 << max(len(self.identity) - 1, 1).bit_length()
        m.submodules.identity = identity = Memory(shape=8, depth=depth, init=self.identity)
        load = identity.read_port()
        m.d.comb += load.addr.eq(transfer.address[:len(load.addr)])
        with m.State("ROM"):
            m.next = "COPY"
        with m.State("COPY"):
            beyond = transfer.address >= depth
            m.d.comb += [transfer.buffer.write.eq(1),
                         transfer.buffer.write_byte.eq(Mux(beyond, 0, load.data))]
            transfer.advance(m)
            m.next = "ROM"
            with m.If(transfer.remaining == 1):
                m.next = "RECORD"

    def _registers(self, m: Module, transfer: Transfer, word_bytes: Signal) -> None:
        """Access a register."""
        port, buffer, index = self.registers, transfer.buffer, transfer.index
        word = Signal(32)
        last_byte = word_bytes == WORD_BYTES - 1
        m.d.comb += [port.awaddr.eq(transfer.address), port.araddr.eq(transfer.address),
                     port.wdata.eq(word), port.wstrb.eq(0b1111)]
        with m.State("VALUE"):  # the four bytes of the buffer
            m.next = "GATHER"
        with m.State("GATHER"):
            m.d.sync += [word.eq(Cat(word[8:], buffer.byte)), index.eq(index + 1),
                         word_bytes.eq(word_bytes + 1)]
            transfer.go(m, "VALUE")
            with m.If(last_byte):
                m.d.sync += [port.awvalid.eq(1), port.wvalid.eq(1)]
                transfer.go(m, "SET")
        with m.State("SET"):
            m.d.comb += port.bready.eq(1)
            transfer.watch_bus(m)
            with m.If(port.awready):
                m.d.sync += port.awvalid.eq(0)
            with m.If(port.wready):
                m.d.sync += port.wvalid.eq(0)
            with m.If(port.bvalid):
                with m.If(port.bresp != Response.OKAY):
                    m.d.sync += transfer.status.eq(Status.BUS_ERROR)
                m.next = "RECORD"
        with m.State("LOAD"):
            m.d.sync += port.arvalid.eq(1)
            transfer.go(m, "LOADED")
        with m.State("LOADED"):
            m.d.comb += port.rready.eq(1)
            transfer.watch_bus(m)
            with m.If(port.arready):
                m.d.sync += port.arvalid.eq(0)
            with m.If(port.rvalid):
                m.d.sync += word.eq(port.rdata)
                with m.If(port.rresp != Response.OKAY):
                    m.d.sync += transfer.status.eq(Status.BUS_ERROR)
                m.next = "SPLIT"
        with m.State("SPLIT"):
            m.d.comb += [buffer.write.eq(1), buffer.write_byte.eq(word[:8])]
            m.d.sync += [word.eq(word >> 8), index.eq(index + 1), word_bytes.eq(word_bytes + 1)]
            with m.If(last_byte):
                m.next = "RECORD"

    def _wait(self, m: Module, transfer: Transfer, wakes: Value, bus_lost: Signal) -> None:
        """Let cycles pass, until something `wakes` the host; reset."""
        with m.State("WAIT"):
            m.d.sync += transfer.address.eq(transfer.address - 1)
            with m.If((transfer.address == 0) | wakes):
                m.next = "RECORD"
        with m.State("RESET"):
            m.d.comb += self.reset.eq(1)
            m.d.sync += bus_lost.eq(0)
            m.d.sync += [getattr(self.registers, f"{channel}valid").eq(0)
                         for channel in ("aw", "w", "ar")]  # what was not answered is forgotten
            with m.If(transfer.bus_cycles == RESET_CYCLES - 1):
                m.next = "RECORD"

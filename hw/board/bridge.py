"""The host bridge: requests of a serial line, carried out on AXI4 and AXI4-Lite.

::

    received --> queue --> FrameReceiver --frame--> [carry out] --answer--> FrameSender --> sent
                                 |                   |  |   |                   |
                                 +------> buffer <---+  |   +-- AXI4-Lite       |
                                           |            +------ AxiMaster       |
                                           +------------------------------------+

A request is carried out once all of it has come and its CRC is right, so that what is cut off or
damaged has no effect.
"""

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.board_protocol import CRC_BYTES, MAX_DATA, READS, Request, Status
from ..arch.geometry import SEGMENT_BYTES, Geometry
from ..arch.registers import ADDRESS_BITS
from ..control.axi_lite import AxiLitePort, Response
from ..interfaces.port import Port
from ..lib.resets import ResetInserter
from ..lib.stream_queue import StreamQueue
from ..memory.axi import ID_BITS, Axi4, AxiMaster
from .frames import FrameReceiver, FrameSender

__all__ = ["HostBridge"]

WAITING = 64
"""Bytes of the line that wait while a request is carried out; those beyond are lost."""
BUS_PATIENCE = 1 << 16
"""Cycles that the bus is given for a burst or a register."""
RESET_CYCLES = 16
CYCLE_BITS = 48
"""Of the cycle counter."""
WORD_BYTES = 4


class HostBridge(wiring.Component):
    """Carries out what a host asks for (`hw.arch.board_protocol`), one request after the other.

    Memory is read and written in bursts within a segment, a byte every two cycles: a line of 10
    cycles a byte or more is never waited for. Bytes that are not written keep their value. A burst,
    or a register, that is not answered for `bus_patience` cycles ends the request, and all that
    need the bus until the next `Request.RESET`.

    Parameters
    ----------
    g : Geometry
        For the width of the bus.
    identity : bytes
        What `Request.IDENTIFY` reads; zeros behind it.
    patience : int
        Cycles without a byte after which a frame that has begun is given up.
    address_bits : int
        Of the registers.
    bus_patience : int

    Attributes
    ----------
    received : stream of 8, in
        From the line; always taken.
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
        self._parts(m)
        self._state(m)
        header = self._header
        with m.FSM(name="bridge"):
            with m.State("IDLE"):
                with m.If(self._frame.valid):
                    m.d.sync += [self._header.eq(self._frame.payload.header), self._index.eq(0),
                                 self._stored.eq(self._frame.payload.stored),
                                 self._status.eq(self._frame.payload.status),
                                 self._read_size.eq(0)]
                    m.next = "JUDGE"
            with m.State("JUDGE"):
                m.d.sync += [self._address.eq(header.address), self._left.eq(header.size)]
                with m.If(self._status != Status.DONE):
                    m.next = "ANSWER"
                with m.Elif(self._repeated):
                    m.d.sync += self._status.eq(self._last_status)
                    m.next = "ANSWER"
                with m.Elif(self._wrong != Status.DONE):
                    m.d.sync += self._status.eq(self._wrong)
                    m.next = "RECORD"
                with m.Else():
                    self._begin(m)
            self._identify(m)
            self._write_memory(m)
            self._read_memory(m)
            self._registers(m)
            self._wait(m)
            with m.State("LOST"):
                m.d.sync += [self._status.eq(Status.NO_ANSWER), self._stuck.eq(1),
                             self._read_size.eq(0)]
                m.next = "RECORD"
            with m.State("RECORD"):
                m.d.sync += [self._last_status.eq(self._status),
                             self._last_sequence.eq(header.sequence),
                             self._last_valid.eq(header.request != Request.IDENTIFY)]
                m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.sync += [self._stamp.eq(self._cycle), self._level.eq(self.interrupt)]
                m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += [self._answer.valid.eq(1), self._answer.payload.size.eq(
                    self._read_size), self._answer.payload.header.eq(Cat(
                        header.sequence, self._status[:7], self._level, self._stamp))]
                with m.If(self._answer.ready):  # until now the buffer was this request's
                    m.d.comb += self._frame.ready.eq(1)
                    m.next = "IDLE"
        return m

    def _parts(self, m: Module) -> None:
        """Make the line's two sides, the buffer, the identity and the bus."""
        g = self.geometry
        m.submodules.queue = queue = StreamQueue(8, WAITING)
        m.submodules.receiver = receiver = FrameReceiver(self.patience)
        m.submodules.sender = sender = FrameSender()
        m.submodules.buffer = buffer = Memory(shape=8, depth=MAX_DATA + CRC_BYTES, init=[])
        depth = 1 << max(len(self.identity) - 1, 1).bit_length()
        m.submodules.identity = identity = Memory(shape=8, depth=depth, init=self.identity)
        m.submodules.bus = bus = ResetInserter(self.reset)(AxiMaster(g, 1, 1))
        self._rom = identity.read_port()
        self._rom_depth = depth
        self._bytes = buffer.read_port()
        store = buffer.write_port()
        m.d.comb += [queue.input.payload.eq(self.received.payload),
                     queue.input.valid.eq(self.received.valid), self.received.ready.eq(1)]
        wiring.connect(m, queue.output, receiver.bytes)
        wiring.connect(m, sender.bytes, wiring.flipped(self.sent))
        for name, member in Axi4(g).members.items():
            inner, outer = getattr(bus.axi, name), getattr(self.axi, name)
            m.d.comb += outer.eq(inner) if member.flow is Out else inner.eq(outer)
        self._frame, self._answer = receiver.frame, sender.answer
        self._comes = queue.output.valid
        self._reader, self._writer = bus.readers[0], bus.writers[0]
        self._index = Signal(range(MAX_DATA + CRC_BYTES))
        self._put = Signal()
        self._put_byte = Signal(8)
        m.d.comb += [
            self._bytes.addr.eq(Mux(sender.answer.valid, sender.fetch.index, self._index)),
            sender.fetch.byte.eq(self._bytes.data),
            store.en.eq(receiver.store.valid | self._put),
            store.addr.eq(Mux(self._put, self._index, receiver.store.index)),
            store.data.eq(Mux(self._put, self._put_byte, receiver.store.byte))]

    def _state(self, m: Module) -> None:
        """Make the registers of a request, and what is judged of them."""
        bus_bytes = self.geometry.bus_bytes
        self._header = header = Signal.like(self._frame.payload.header)
        self._stored = stored = Signal.like(self._frame.payload.stored)
        self._status = Signal(8)
        self._read_size = Signal(range(MAX_DATA + 1))
        self._last_status = Signal(8)
        self._last_sequence = Signal(8)
        self._last_valid = Signal()
        self._address = Signal(32)
        self._left = Signal(16)
        self._cycle = Signal(CYCLE_BITS)
        self._stamp = Signal(CYCLE_BITS)
        self._stuck = Signal()
        self._level = Signal()
        self._lane = Signal(range(bus_bytes))
        self._word = Signal(8 * bus_bytes)
        self._strobe = Signal(bus_bytes)
        self._beats = Signal(range(self.geometry.burst_beats))
        self._value = Signal(32)
        self._count = Signal(range(WORD_BYTES))
        self._spent = Signal(range(self.bus_patience))
        m.d.sync += [self._cycle.eq(Mux(self.reset, 0, self._cycle + 1)),
                     self._spent.eq(self._spent + 1)]
        request, size = header.request, header.size
        is_register = (request == Request.READ_REGISTER) | (request == Request.WRITE_REGISTER)
        writes = (request == Request.WRITE_MEMORY) | (request == Request.WRITE_REGISTER)
        needs_bus = is_register | (request == Request.READ_MEMORY) | (
            request == Request.WRITE_MEMORY)
        reads = Cat(request == each for each in READS).any()
        self._repeated = (self._last_valid & (self._last_sequence == header.sequence) & ~reads)
        odd = (size > MAX_DATA) | (stored != Mux(writes, size, 0)) | is_register & (
            size != WORD_BYTES)
        far = is_register & (header.address[:2].any()
                             | header.address[self.address_bits:].any())
        known = (request >= min(Request)) & (request <= max(Request))
        self._wrong = Mux(~known, Status.UNKNOWN, Mux(odd, Status.BAD_SIZE, Mux(
            far, Status.BAD_ADDRESS, Mux(needs_bus & self._stuck, Status.NO_ANSWER, Status.DONE))))

    def _begin(self, m: Module) -> None:
        """Begin what a request asks for."""
        m.d.sync += self._count.eq(0)
        nothing = self._header.size == 0
        with m.Switch(self._header.request):
            for request, state in (
                    (Request.IDENTIFY, "ROM"), (Request.READ_MEMORY, "READ"),
                    (Request.WRITE_MEMORY, "WRITE"), (Request.READ_REGISTER, "LOAD"),
                    (Request.WRITE_REGISTER, "VALUE"), (Request.WAIT, "WAIT"),
                    (Request.RESET, "RESET")):
                with m.Case(request):
                    self._go(m, state)
                    if request in (Request.IDENTIFY, Request.READ_MEMORY, Request.WRITE_MEMORY):
                        with m.If(nothing):
                            m.next = "RECORD"
                    if request in READS:
                        m.d.sync += self._read_size.eq(self._header.size)

    def _go(self, m: Module, state: str) -> None:
        """Go to a state that may wait for the bus."""
        m.d.sync += self._spent.eq(0)
        m.next = state

    def _overdue(self, m: Module) -> None:
        """Give the bus up when its time is over."""
        with m.If(self._spent == self.bus_patience - 1):
            m.next = "LOST"

    def _identify(self, m: Module) -> None:
        """Copy bytes of the identity into the buffer."""
        m.d.comb += self._rom.addr.eq(self._address[:len(self._rom.addr)])
        with m.State("ROM"):
            m.next = "COPY"
        with m.State("COPY"):
            beyond = self._address >= self._rom_depth
            m.d.comb += [self._put.eq(1), self._put_byte.eq(Mux(beyond, 0, self._rom.data))]
            self._advance(m)
            m.next = "ROM"
            with m.If(self._left == 1):
                m.next = "RECORD"

    def _advance(self, m: Module) -> None:
        """Go to the next byte."""
        m.d.sync += [self._address.eq(self._address + 1), self._left.eq(self._left - 1),
                     self._index.eq(self._index + 1)]

    def _burst(self, m: Module, request: stream.Interface, then: str) -> None:
        """Ask for what is left of this segment, and remember how many beats these are."""
        shift = exact_log2(self.geometry.bus_bytes)
        offset = self._address[:exact_log2(SEGMENT_BYTES)]
        end = offset + self._left
        capped = Mux(end > SEGMENT_BYTES, SEGMENT_BYTES, end)
        beats = ((capped - 1) >> shift) - (offset >> shift)
        m.d.comb += [request.valid.eq(1), request.payload.extra_beats.eq(beats),
                     request.payload.address.eq(self._address >> shift << shift)]
        self._overdue(m)
        with m.If(request.ready):
            m.d.sync += [self._beats.eq(beats), self._lane.eq(self._address[:shift]),
                         self._strobe.eq(0)]
            self._go(m, then)

    def _write_memory(self, m: Module) -> None:
        """Put bytes of the buffer together to beats."""
        beat, ack = self._writer.beat, self._writer.ack
        with m.State("WRITE"):
            self._burst(m, self._writer.request, "TAKE")
        with m.State("TAKE"):
            m.next = "FILL"
        with m.State("FILL"):
            lanes = Array(self._word[8 * k:8 * k + 8] for k in range(self.geometry.bus_bytes))
            m.d.sync += [lanes[self._lane].eq(self._bytes.data), self._lane.eq(self._lane + 1),
                         self._strobe.bit_select(self._lane, 1).eq(1)]
            self._advance(m)
            self._go(m, "TAKE")
            with m.If((self._lane == self.geometry.bus_bytes - 1) | (self._left == 1)):
                self._go(m, "BEAT")
        with m.State("BEAT"):
            m.d.comb += [beat.valid.eq(1), beat.payload.data.eq(self._word),
                         beat.payload.strobe.eq(self._strobe),
                         beat.payload.last.eq(self._beats == 0)]
            self._overdue(m)
            with m.If(beat.ready):
                m.d.sync += [self._beats.eq(self._beats - 1), self._strobe.eq(0),
                             self._lane.eq(0)]
                self._go(m, "TAKE")
                with m.If(self._beats == 0):
                    self._go(m, "ACK")
        with m.State("ACK"):
            m.d.comb += ack.ready.eq(1)
            self._overdue(m)
            with m.If(ack.valid):
                with m.If(ack.payload.error):
                    m.d.sync += self._status.eq(Status.BUS_ERROR)
                self._go(m, "WRITE")
                with m.If(self._left == 0):
                    m.next = "RECORD"

    def _read_memory(self, m: Module) -> None:
        """Take beats apart into the buffer."""
        beat = self._reader.beat
        last = Signal()
        with m.State("READ"):
            self._burst(m, self._reader.request, "GET")
        with m.State("GET"):
            m.d.comb += beat.ready.eq(1)
            self._overdue(m)
            with m.If(beat.valid):
                m.d.sync += [self._word.eq(beat.payload.data), last.eq(beat.payload.last)]
                with m.If(beat.payload.error):
                    m.d.sync += self._status.eq(Status.BUS_ERROR)
                m.next = "UNPACK"
        with m.State("UNPACK"):
            m.d.comb += [self._put.eq(1), self._put_byte.eq(self._word.word_select(self._lane, 8))]
            m.d.sync += self._lane.eq(self._lane + 1)
            self._advance(m)
            with m.If((self._lane == self.geometry.bus_bytes - 1) | (self._left == 1)):
                m.d.sync += self._lane.eq(0)
                self._go(m, "GET")
                with m.If(last):
                    self._go(m, "READ")
                    with m.If(self._left == 1):
                        m.next = "RECORD"

    def _registers(self, m: Module) -> None:
        """Access a register."""
        port = self.registers
        m.d.comb += [port.awaddr.eq(self._address), port.araddr.eq(self._address),
                     port.wdata.eq(self._value), port.wstrb.eq(0b1111)]
        with m.State("VALUE"):  # the four bytes of the buffer
            m.next = "GATHER"
        with m.State("GATHER"):
            m.d.sync += [self._value.eq(Cat(self._value[8:], self._bytes.data)),
                         self._index.eq(self._index + 1), self._count.eq(self._count + 1)]
            self._go(m, "VALUE")
            with m.If(self._count == WORD_BYTES - 1):
                m.d.sync += [port.awvalid.eq(1), port.wvalid.eq(1)]
                self._go(m, "SET")
        with m.State("SET"):
            m.d.comb += port.bready.eq(1)
            self._overdue(m)
            with m.If(port.awready):
                m.d.sync += port.awvalid.eq(0)
            with m.If(port.wready):
                m.d.sync += port.wvalid.eq(0)
            with m.If(port.bvalid):
                with m.If(port.bresp != Response.OKAY):
                    m.d.sync += self._status.eq(Status.BUS_ERROR)
                m.next = "RECORD"
        with m.State("LOAD"):
            m.d.sync += port.arvalid.eq(1)
            self._go(m, "LOADED")
        with m.State("LOADED"):
            m.d.comb += port.rready.eq(1)
            self._overdue(m)
            with m.If(port.arready):
                m.d.sync += port.arvalid.eq(0)
            with m.If(port.rvalid):
                m.d.sync += self._value.eq(port.rdata)
                with m.If(port.rresp != Response.OKAY):
                    m.d.sync += self._status.eq(Status.BUS_ERROR)
                m.next = "SPLIT"
        with m.State("SPLIT"):
            m.d.comb += [self._put.eq(1), self._put_byte.eq(self._value[:8])]
            m.d.sync += [self._value.eq(self._value >> 8), self._index.eq(self._index + 1),
                         self._count.eq(self._count + 1)]
            with m.If(self._count == WORD_BYTES - 1):
                m.next = "RECORD"

    def _wait(self, m: Module) -> None:
        """Let cycles pass; reset."""
        with m.State("WAIT"):
            m.d.sync += self._address.eq(self._address - 1)
            with m.If((self._address == 0) | self._comes
                      | self.interrupt & self._header.size[0]):
                m.next = "RECORD"
        with m.State("RESET"):
            m.d.comb += self.reset.eq(1)
            m.d.sync += self._stuck.eq(0)
            m.d.sync += [getattr(self.registers, f"{channel}valid").eq(0)
                         for channel in ("aw", "w", "ar")]  # what was not answered is forgotten
            with m.If(self._spent == RESET_CYCLES - 1):
                m.next = "RECORD"

"""Memory behind a native port of LiteDRAM.

::

    AR --> cmd, one a beat;   rdata --> queue --> R
    AW, W --> queue --> wdata;   cmd, one a beat that is in the queue;   B once all have been taken
"""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.geometry import Geometry
from ..interfaces.port import Port
from ..lib.stream_queue import StreamQueue
from ..memory.axi import OKAY, Axi4
from .block_memory import DECODE_ERROR

__all__ = ["LiteDramMemory", "NativePort"]

_PAGE = 4096
_COUNT_BITS = 10
"""Bits of the number of words under way; these are at most the words of a few bursts."""


class NativePort(wiring.Signature):
    """Native port of LiteDRAM in both directions (``LiteDRAMNativePort``), without ``flush`` and
    ``lock``. Directions are those of the port's user.

    Commands that concern the same word are carried out in their order; ``wdata`` and ``rdata`` are
    in the order of the commands. The memory waits for neither. Data to be written must be there
    when its command is taken; data read must be taken when it comes. The data of a write is taken
    after its command.

    Parameters
    ----------
    address_bits : int
        Bits of the number of a word of `data_bits`.
    data_bits : int

    Attributes
    ----------
    cmd_valid, cmd_we : Signal(1), out; cmd_addr : Signal(address_bits), out
    cmd_ready : Signal(1), in
    wdata_valid : Signal(1), out; wdata_data : Signal(data_bits), out
    wdata_we : Signal(data_bits // 8), out
        A bit of each byte that is written.
    wdata_ready : Signal(1), in
    rdata_valid : Signal(1), in; rdata_data : Signal(data_bits), in
    rdata_ready : Signal(1), out
        Always high.
    """

    def __init__(self, address_bits: int, data_bits: int):
        super().__init__({
            "cmd_valid": Out(1), "cmd_ready": In(1), "cmd_we": Out(1),
            "cmd_addr": Out(address_bits), "wdata_valid": Out(1), "wdata_ready": In(1),
            "wdata_data": Out(data_bits), "wdata_we": Out(data_bits // 8),
            "rdata_valid": In(1), "rdata_ready": Out(1), "rdata_data": In(data_bits)})


class _Burst:
    """Registers of the burst that is carried out.

    Attributes
    ----------
    place : Signal
        Word of the port that is asked for next.
    number : Signal
        Id of the burst.
    beyond : Signal(1)
        The address is beyond the memory.
    beats_remaining, commands_due : Signal(9)
        Beats that the bus has not had yet; beats that the port is still to be asked for.
    """

    def __init__(self, place_bits: int, id_bits: int):
        self.place = Signal(place_bits, name="place")
        self.number = Signal(id_bits, name="number")
        self.beyond = Signal(name="beyond")
        self.beats_remaining = Signal(9, name="beats_remaining")
        self.commands_due = Signal(9, name="commands_due")


class LiteDramMemory(wiring.Component):
    """A memory from address 0 on that is behind a native port as wide as the bus.

    Bursts go one at a time; a read and a write that wait at the same time take turns. A read
    requests one beat per cycle, from the cycle after its address on, and gives one beat per cycle
    once the data has come. A write takes one beat per cycle, and requests each a cycle later. It is
    acknowledged two cycles after the port has taken the last beat; any later request comes behind
    the write.

    Beyond the memory nothing is asked for: reads give 0, and a burst there is answered with
    `DECODE_ERROR`. A burst stays within a segment, so none begins inside and ends outside.

    A reset of this block leaves the memory behind the port as it is, which goes on. What it still
    gives of reads from before is dropped; what it still takes of writes writes no byte.

    Parameters
    ----------
    g : Geometry
        Geometry that gives the width of the bus.
    size : int
        Bytes, a multiple of 4096.
    id_bits : int

    Attributes
    ----------
    axi : Axi4, in
    port : NativePort, out

    Raises
    ------
    ValueError
        If the size is no multiple of 4096, or 0.
    """

    axi: Port
    port: Port

    def __init__(self, g: Geometry, size: int, id_bits: int):
        if size <= 0 or size % _PAGE:
            raise ValueError(f"size must be a positive multiple of {_PAGE}, not {size}")
        self.geometry, self.size = g, size
        words = size // g.bus_bytes
        super().__init__({"axi": In(Axi4(g, id_bits)), "port": Out(NativePort(
            (words - 1).bit_length(), 8 * g.bus_bytes))})

    def elaborate(self, platform: Any):
        m = Module()
        bus, port = self.axi, self.port
        burst = _Burst(len(port.cmd_addr), len(bus.arid))
        reads_next = Signal()
        reads = Signal()
        command_accepted = Signal()
        m.d.comb += [command_accepted.eq(port.cmd_valid & port.cmd_ready),
                     reads.eq(bus.arvalid & (reads_next | ~bus.awvalid)),
                     bus.rid.eq(burst.number), bus.bid.eq(burst.number),
                     port.cmd_addr.eq(burst.place)]
        with m.If(command_accepted):
            m.d.sync += burst.place.eq(burst.place + 1)
        with m.FSM(name="memory"):
            with m.State("IDLE"):
                with m.If(reads):
                    self._begin(m, burst, "ar")
                    m.d.sync += [reads_next.eq(0), burst.commands_due.eq(bus.arlen + 1)]
                    m.next = "READ"
                with m.Elif(bus.awvalid):
                    self._begin(m, burst, "aw")
                    m.d.sync += [reads_next.eq(1), burst.commands_due.eq(0)]
                    m.next = "WRITE"
            self._read(m, burst, command_accepted)
            self._write(m, burst, command_accepted)
        return m

    def _owed(self, m: Module, begins: Value, ends: Value) -> Signal:
        """Return whether the next word that is given, or taken, belongs to a command from before a
        reset. A reset clears one of two counts of words under way; while they differ, old words are
        left."""
        old = Signal()
        all_words = Signal(_COUNT_BITS, reset_less=True)
        own = Signal(_COUNT_BITS)
        m.d.comb += old.eq(all_words != own)
        m.d.sync += [all_words.eq(all_words + begins - ends), own.eq(own + begins - (ends & ~old))]
        return old

    def _begin(self, m: Module, burst: _Burst, channel: str) -> None:
        """Take an address."""
        bus = self.axi
        address, length = getattr(bus, f"{channel}addr"), getattr(bus, f"{channel}len")
        m.d.comb += getattr(bus, f"{channel}ready").eq(1)
        m.d.sync += [burst.place.eq(address >> exact_log2(self.geometry.bus_bytes)),
                     burst.beyond.eq(address >= self.size), burst.beats_remaining.eq(length + 1),
                     burst.number.eq(getattr(bus, f"{channel}id"))]

    def _read(self, m: Module, burst: _Burst, command_accepted: Value) -> None:
        """Ask for all beats of a burst, for which there is room, and give them."""
        bus, port = self.axi, self.port
        m.submodules.read = queue = StreamQueue(len(port.rdata_data), self.geometry.burst_beats)
        old = self._owed(m, command_accepted & ~port.cmd_we, port.rdata_valid)
        m.d.comb += [port.rdata_ready.eq(1), queue.input.valid.eq(port.rdata_valid & ~old),
                     queue.input.payload.eq(port.rdata_data)]
        with m.State("READ"):
            m.d.comb += [
                port.cmd_valid.eq((burst.commands_due != 0) & ~burst.beyond),
                bus.rvalid.eq(queue.output.valid | burst.beyond),
                bus.rlast.eq(burst.beats_remaining == 1),
                queue.output.ready.eq(bus.rready & ~burst.beyond),
                bus.rdata.eq(queue.output.payload & (~burst.beyond).replicate(len(bus.rdata)))]
            with m.If(burst.beyond):
                m.d.comb += bus.rresp.eq(DECODE_ERROR)
            with m.If(command_accepted):
                m.d.sync += burst.commands_due.eq(burst.commands_due - 1)
            with m.If(bus.rvalid & bus.rready):
                m.d.sync += burst.beats_remaining.eq(burst.beats_remaining - 1)
                with m.If(burst.beats_remaining == 1):
                    m.next = "IDLE"

    def _write(self, m: Module, burst: _Burst, command_accepted: Value) -> None:
        """Ask for a beat once its data is in the queue."""
        bus, port = self.axi, self.port
        m.submodules.written = queue = StreamQueue(len(bus.wdata) + len(bus.wstrb),
                                                   self.geometry.burst_beats)
        beat = queue.output.payload
        comes = Signal()
        old = self._owed(m, command_accepted & port.cmd_we, port.wdata_valid & port.wdata_ready)
        m.d.comb += [
            queue.input.payload.eq(Cat(bus.wdata, bus.wstrb)),
            port.wdata_we.eq(beat[len(bus.wdata):] & (~old).replicate(len(bus.wstrb))),
            port.wdata_data.eq(beat[:len(bus.wdata)]),
            port.wdata_valid.eq(queue.output.valid | old),
            queue.output.ready.eq(port.wdata_ready & ~old)]
        with m.State("WRITE"):
            m.d.comb += [
                bus.wready.eq((burst.beats_remaining != 0) & queue.input.ready),
                comes.eq(bus.wvalid & bus.wready), queue.input.valid.eq(comes & ~burst.beyond),
                port.cmd_we.eq(1), port.cmd_valid.eq(burst.commands_due != 0)]
            m.d.sync += [burst.commands_due.eq(burst.commands_due + (comes & ~burst.beyond)
                                               - command_accepted),
                         burst.beats_remaining.eq(burst.beats_remaining - comes)]
            with m.If((burst.beats_remaining == 0) & (burst.commands_due == 0)
                      & ~queue.output.valid):
                m.next = "ANSWER"
        with m.State("ANSWER"):
            m.d.comb += [bus.bvalid.eq(1), bus.bresp.eq(OKAY)]
            with m.If(burst.beyond):
                m.d.comb += bus.bresp.eq(DECODE_ERROR)
            with m.If(bus.bready):
                m.next = "IDLE"

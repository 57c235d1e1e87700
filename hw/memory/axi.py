"""AXI4: the bus signature, and the adapter that merges the SM's internal ports into one AXI4
master.

::

    readers[p].request --+                        readers[p].beat <--+
    readers[q].request --+--> ar register --> AR  readers[q].beat <--+-- by rid -- buffer <-- R

    writers[p].request --+--> aw register --> AW  writers[p].ack <---+-- by bid -- buffer <-- B
                         |
                         +--> order (a port a burst) --> picks writers[.].beat --> w register --> W
"""

from collections.abc import Sequence
from typing import Any, Protocol

from amaranth.hdl import Array, Cat, Module, Mux, Signal, ValueLike
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.geometry import ADDRESS_BITS, Geometry
from ..lib.skid_buffer import SkidBuffer
from .guaranteed_share import SHARE_BITS, GuaranteedShare
from .ports import ReadInterface, ReadPort, WriteInterface, WritePort

__all__ = ["ID_BITS", "Axi4", "AxiInterface", "AxiMaster", "buffered_responses"]

ID_BITS = 3
INCREMENTING = 0b01
"""AXI4 burst type INCR (AMBA AXI specification, A3.4.1)."""
OKAY = 0b00
"""AXI4 response of a successful transfer (A3.4.4)."""
RESPONSES = {"r": ("id", "data", "resp", "last"), "b": ("id", "resp")}
"""Fields of the channels that a slave drives."""
BURSTS_WAITING = 8
"""Write bursts that can be requested before their beats have passed."""


class Axi4(wiring.Signature):
    """AXI4 master with the usual signal names, lower case.

    Parameters
    ----------
    g : Geometry
        Geometry that gives the width of the bus.
    id_bits : int

    Attributes
    ----------
    awid, awaddr, awlen, awsize, awburst, awvalid : out; awready : in
        Write addresses.
    wdata, wstrb, wlast, wvalid : out; wready : in
        Write data, in the order of the addresses.
    bid, bresp, bvalid : in; bready : out
        Write responses.
    arid, araddr, arlen, arsize, arburst, arvalid : out; arready : in
        Read addresses.
    rid, rdata, rresp, rlast, rvalid : in; rready : out
        Read data.
    """

    def __init__(self, g: Geometry, id_bits: int = ID_BITS):
        address = {"id": Out(id_bits), "addr": Out(ADDRESS_BITS),
                   "len": Out(8), "size": Out(3), "burst": Out(2),
                   "valid": Out(1), "ready": In(1)}
        super().__init__({
            **{"aw" + name: flow for name, flow in address.items()},
            "wdata": Out(8 * g.bus_bytes), "wstrb": Out(g.bus_bytes), "wlast": Out(1),
            "wvalid": Out(1), "wready": In(1),
            "bid": In(id_bits), "bresp": In(2), "bvalid": In(1), "bready": Out(1),
            **{"ar" + name: flow for name, flow in address.items()},
            "rid": In(id_bits), "rdata": In(8 * g.bus_bytes), "rresp": In(2),
            "rlast": In(1), "rvalid": In(1), "rready": Out(1),
        })


class AxiInterface(Protocol):
    """Type of the interfaces of `Axi4`."""

    awid: Signal
    awaddr: Signal
    awlen: Signal
    awsize: Signal
    awburst: Signal
    awvalid: Signal
    awready: Signal
    wdata: Signal
    wstrb: Signal
    wlast: Signal
    wvalid: Signal
    wready: Signal
    bid: Signal
    bresp: Signal
    bvalid: Signal
    bready: Signal
    arid: Signal
    araddr: Signal
    arlen: Signal
    arsize: Signal
    arburst: Signal
    arvalid: Signal
    arready: Signal
    rid: Signal
    rdata: Signal
    rresp: Signal
    rlast: Signal
    rvalid: Signal
    rready: Signal

    @property
    def signature(self) -> wiring.Signature:
        """The `Axi4`, or the same flipped."""
        ...


def buffered_responses(m: Module, bus: AxiInterface) -> dict[str, stream.Interface]:
    """Return the response channels of a bus behind a `SkidBuffer` each, as streams ``r`` and ``b``.

    ``rready`` and ``bready`` come from registers then, and so does all that follows a response.
    AXI wants no path within a cycle from an input to an output (AMBA AXI specification, A3.1.1).

    Parameters
    ----------
    m : Module
        Gets the buffers, as ``r_buffer`` and ``b_buffer``.
    bus : Axi4
        Bus of a master.
    """
    found = {}
    for channel, fields in RESPONSES.items():
        signals = {name: getattr(bus, channel + name) for name in fields}
        buffer = SkidBuffer(data.StructLayout({name: len(signal)
                                               for name, signal in signals.items()}))
        m.submodules[f"{channel}_buffer"] = buffer
        m.d.comb += [buffer.input.valid.eq(getattr(bus, f"{channel}valid")),
                     getattr(bus, f"{channel}ready").eq(buffer.input.ready),
                     *(buffer.input.payload[name].eq(signal) for name, signal in signals.items())]
        found[channel] = buffer.output
    return found


class AxiMaster(wiring.Component):
    """Merges internal ports, earlier ones first, into one AXI4 master; the id is the port's number.

    The last reader and the last writer are guaranteed a share of the beats of their channel
    (`GuaranteedShare`): now and then they go first.

    Requests and write beats pass a register each; read beats and acknowledgements pass a two-entry
    buffer. Each takes one cycle, and passes one burst or beat per cycle. No output of the bus
    follows an input within a cycle; no answer of an inner port follows the bus. Addresses, data and
    strobes stay stable from ``valid`` to ``ready``. Write data comes in the order of the write
    addresses, and may run before them or behind them. A response other than OKAY sets `error`. A
    response whose id belongs to no port is taken and dropped.

    Parameters
    ----------
    g : Geometry
        Geometry that gives the width of the bus.
    readers, writers : int
        Ports of each kind, 1 to 8.
    first_reader, first_writer : int
        Ids of the first ones, if not 0.

    Attributes
    ----------
    readers : list of ReadPort, in; writers : list of WritePort, in
        Ports in order of priority.
    share : Signal(SHARE_BITS), in
        Beats of 256 that the last port of each kind gets, at least, while it waits.
    axi : Axi4, out

    Raises
    ------
    ValueError
        If a number of ports cannot be told apart by `ID_BITS` bits, or is 0.
    """

    readers: list[ReadInterface]
    writers: list[WriteInterface]
    share: Signal
    axi: AxiInterface

    def __init__(self, g: Geometry, readers: int, writers: int, first_reader: int = 0,
                 first_writer: int = 0):
        for kind, count, first in (("readers", readers, first_reader),
                                   ("writers", writers, first_writer)):
            if not 1 <= count <= (1 << ID_BITS) - first:
                raise ValueError(f"{kind} must be 1 to {(1 << ID_BITS) - first}, not {count}")
        self.geometry = g
        self.first_reader, self.first_writer = first_reader, first_writer
        super().__init__({
            "readers": In(ReadPort(g)).array(readers),
            "writers": In(WritePort(g)).array(writers),
            "share": In(SHARE_BITS), "axi": Out(Axi4(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        self._requests(m, "ar", self.readers, 1, self.first_reader)

        m.submodules.order = order = fifo.SyncFIFO(width=ID_BITS, depth=BURSTS_WAITING)
        accepted = self._requests(m, "aw", self.writers, order.w_rdy, self.first_writer)
        m.d.comb += [order.w_data.eq(accepted.port), order.w_en.eq(accepted.valid)]
        self._write_data(m, order)

        responses = buffered_responses(m, self.axi)
        read, written = responses["r"], responses["b"]
        for beat in self._by_id(m, read, self.first_reader, [port.beat for port in self.readers]):
            m.d.comb += [beat.payload.data.eq(read.payload.data),
                         beat.payload.last.eq(read.payload.last),
                         beat.payload.error.eq(read.payload.resp != OKAY)]
        for ack in self._by_id(m, written, self.first_writer, [port.ack for port in self.writers]):
            m.d.comb += ack.payload.error.eq(written.payload.resp != OKAY)
        return m

    def _requests(self, m: Module, channel: str, ports: Sequence[ReadInterface | WriteInterface],
                  allowed: ValueLike, first_id: int):
        """Put the first port's request into the address register of `channel` when that is free,
        or the last port's if that is urgent."""
        bus = {name: getattr(self.axi, channel + name) for name in
               ("id", "addr", "len", "size", "burst", "valid", "ready")}
        accepted = _AcceptedRequest(channel, self.geometry)
        free = Signal(name=f"{channel}_free")
        m.d.comb += [free.eq((~bus["valid"] | bus["ready"]) & allowed),
                     bus["size"].eq(exact_log2(self.geometry.bus_bytes)),
                     bus["burst"].eq(INCREMENTING)]
        with m.If(bus["ready"]):
            m.d.sync += bus["valid"].eq(0)
        guaranteed = GuaranteedShare(self.geometry)
        m.submodules[f"{channel}_share"] = guaranteed
        final = ports[-1].request
        urgent = guaranteed.urgent & final.valid
        m.d.comb += [
            guaranteed.share.eq(self.share), guaranteed.waits.eq(final.valid),
            guaranteed.granted.eq(accepted.valid),
            guaranteed.last.eq(accepted.port == len(ports) - 1),
            guaranteed.extra_beats.eq(accepted.extra_beats),
        ]
        for number, port in reversed(list(enumerate(ports))):
            request = port.request
            earlier = Cat(other.request.valid for other in ports[:number]).any()
            first = ~earlier | urgent if number == len(ports) - 1 else ~earlier & ~urgent
            m.d.comb += request.ready.eq(free & first)
            with m.If(request.valid & request.ready):
                m.d.comb += [accepted.valid.eq(1), accepted.port.eq(number),
                             accepted.extra_beats.eq(request.payload.extra_beats)]
                m.d.sync += [bus["id"].eq(first_id + number),
                             bus["addr"].eq(request.payload.address),
                             bus["len"].eq(request.payload.extra_beats), bus["valid"].eq(1)]
        return accepted

    def _write_data(self, m: Module, order: fifo.SyncFIFO):
        """Pass the beats of the port whose burst is first in `order` through the data register."""
        bus, beats = self.axi, [port.beat for port in self.writers]
        free = Signal()
        m.d.comb += free.eq(~bus.wvalid | bus.wready)
        with m.If(bus.wready):
            m.d.sync += bus.wvalid.eq(0)
        for number, beat in enumerate(beats):
            m.d.comb += beat.ready.eq(free & order.r_rdy & (order.r_data == number))
            with m.If(beat.valid & beat.ready):
                m.d.comb += order.r_en.eq(beat.payload.last)
                m.d.sync += [bus.wdata.eq(beat.payload.data), bus.wstrb.eq(beat.payload.strobe),
                             bus.wlast.eq(beat.payload.last), bus.wvalid.eq(1)]

    def _by_id(self, m: Module, response: stream.Interface, first: int,
               streams: Sequence[stream.Interface]):
        """Connect a response channel to the stream that its id names, that of the `first` one or a
        later one; return the streams."""
        number = response.payload.id
        for position, one in enumerate(streams):
            m.d.comb += one.valid.eq(response.valid & (number == first + position))
        known, place = number < first + len(streams), number
        if first:
            known, place = known & (number >= first), (number - first)[:ID_BITS]
        m.d.comb += response.ready.eq(Mux(known, Array(one.ready for one in streams)[place], 1))
        return streams


class _AcceptedRequest:
    """The request that is accepted in this cycle."""

    def __init__(self, channel: str, g: Geometry):
        self.valid = Signal(name=f"{channel}_accepted")
        self.port = Signal(ID_BITS, name=f"{channel}_port")
        self.extra_beats = Signal(range(g.burst_beats), name=f"{channel}_extra_beats")

"""AXI join: several AXI4 masters on one port.

::

    masters[0].ar --+                           masters[0].r <--+
    masters[1].ar --+--> ar register --> AR     masters[1].r <--+-- by rid -- R

    masters[0].aw --+--> aw register --> AW     masters[0].b <--+
    masters[1].aw --+                           masters[1].b <--+-- by bid -- B
                    +--> order (a master a burst) --> picks masters[.].w --> w register --> W

R and B pass a two-entry buffer each where the port is that of a device.
"""

from collections.abc import Iterable
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..arch.geometry import Geometry
from ..lib.bits import encode, lowest, select
from ..lib.vectors import RoundRobin
from .axi import BURSTS_WAITING, RESPONSES, Axi4, AxiInterface, buffered_responses
from .guaranteed_share import SHARE_BITS, GuaranteedShare

__all__ = ["AxiJoin", "FairJoin", "PriorityJoin"]


class AxiJoin(wiring.Component):
    """Merges AXI4 masters into one; the number of a master is put in front of its ids.

    Requests and write beats pass a register each: this takes one cycle, with one burst and one beat
    per cycle. Read beats and acknowledgements go straight to the master that their id names, or
    pass a two-entry buffer first (one cycle; see `buffered_responses`). Write data comes in the
    order of the write addresses. A response that names no master is taken and dropped.

    Parameters
    ----------
    g : Geometry
        Geometry that gives the width of the bus.
    masters : int
    id_bits : int
        Id bits of each master.
    number_bits : int, optional
        Bits of the number of a master in front of its ids; as few as possible unless given.
    buffered : bool
        Responses pass buffers, for a port that leads out of the device.

    Attributes
    ----------
    masters : list of Axi4, in
    share : Signal(SHARE_BITS), in
        Beats of 256 that the last master gets, at least, while it waits: of a `PriorityJoin`.
    axi : Axi4, out
    """

    masters: list[AxiInterface]
    share: Signal
    axi: AxiInterface

    def __init__(self, g: Geometry, masters: int, id_bits: int, number_bits: int | None = None, *,
                 buffered: bool = False):
        if masters < 1:
            raise ValueError(f"masters must be 1 or more, not {masters}")
        self.geometry, self.id_bits, self.buffered = g, id_bits, buffered
        self.number_bits = ceil_log2(masters) if number_bits is None else number_bits
        super().__init__({"masters": In(Axi4(g, id_bits)).array(masters), "share": In(SHARE_BITS),
                          "axi": Out(Axi4(g, id_bits + self.number_bits))})

    def elaborate(self, platform: Any):
        m = Module()
        bus, masters = self.axi, self.masters
        self._requests(m, "ar", 1)
        m.submodules.order = order = fifo.SyncFIFO(width=max(1, ceil_log2(len(masters))),
                                                   depth=BURSTS_WAITING)
        chosen = self._requests(m, "aw", order.w_rdy)
        m.d.comb += [order.w_data.eq(encode(chosen)), order.w_en.eq(chosen.any())]
        self._write_data(m, order)
        responses = buffered_responses(m, bus) if self.buffered else {}
        for channel, fields in RESPONSES.items():
            self._responses(m, channel, fields, responses.get(channel))
        return m

    def _responses(self, m: Module, channel: str, fields: Iterable[str],
                   buffer: stream.Interface | None):
        """Connect a response channel, behind its `buffer` if it has one, to the master that the id
        names."""
        if buffer is None:
            valid, ready = (getattr(self.axi, channel + name) for name in ("valid", "ready"))
            given = {name: getattr(self.axi, channel + name) for name in fields}
        else:
            valid, ready = buffer.valid, buffer.ready
            given = {name: buffer.payload[name] for name in fields}
        number = given["id"]
        named = number[self.id_bits:]
        given["id"] = number[:self.id_bits]
        readies = []
        for n, master in enumerate(self.masters):
            m.d.comb += [getattr(master, f"{channel}valid").eq(valid & (named == n)),
                         *(getattr(master, channel + name).eq(value)
                           for name, value in given.items())]
            readies.append((named == n) & getattr(master, f"{channel}ready"))
        m.d.comb += ready.eq(Cat(readies).any() | (named >= len(self.masters)))

    def _requests(self, m: Module, channel: str, allowed: ValueLike):
        """Put a master's request into the address register of `channel` when that is free; return
        the vector of the one whose request is taken."""
        names = ("addr", "len", "size", "burst")
        bus, masters = self.axi, self.masters
        valid, ready = (getattr(bus, channel + name) for name in ("valid", "ready"))
        requests = Signal(len(masters), name=f"{channel}_requests")
        chosen = Signal(len(masters), name=f"{channel}_chosen")
        free = Signal(name=f"{channel}_free")
        m.d.comb += [free.eq((~valid | ready) & allowed), requests.eq(Mux(free, Cat(
            getattr(master, f"{channel}valid") for master in masters), 0))]
        beats = select(chosen, [getattr(master, f"{channel}len") for master in masters])
        m.d.comb += chosen.eq(self._choose(m, channel, requests, chosen, beats))
        with m.If(ready):
            m.d.sync += valid.eq(0)
        for n, master in enumerate(masters):
            m.d.comb += getattr(master, f"{channel}ready").eq(chosen[n])
            with m.If(chosen[n]):
                number = Const(n, self.number_bits)
                m.d.sync += [getattr(bus, f"{channel}id").eq(
                    Cat(getattr(master, f"{channel}id"), number)), valid.eq(1)]
                m.d.sync += [getattr(bus, channel + name).eq(getattr(master, channel + name))
                             for name in names]
        return chosen

    def _choose(self, m: Module, channel: str, requests: Value, chosen: Value, beats: Value):
        """Return a vector of one of the masters that have `requests`."""
        raise NotImplementedError

    def _write_data(self, m: Module, order: fifo.SyncFIFO):
        """Pass the beats of the master whose burst is first in `order` through a register."""
        bus = self.axi
        free = Signal()
        m.d.comb += free.eq(~bus.wvalid | bus.wready)
        with m.If(bus.wready):
            m.d.sync += bus.wvalid.eq(0)
        for n, master in enumerate(self.masters):
            m.d.comb += master.wready.eq(free & order.r_rdy & (order.r_data == n))
            with m.If(master.wvalid & master.wready):
                m.d.comb += order.r_en.eq(master.wlast)
                m.d.sync += [bus.wdata.eq(master.wdata), bus.wstrb.eq(master.wstrb),
                             bus.wlast.eq(master.wlast), bus.wvalid.eq(1)]


class FairJoin(AxiJoin):
    """Masters take turns, a burst each."""

    def _choose(self, m: Module, channel: str, requests: Value, chosen: Value, beats: Value):
        m.submodules[f"{channel}_turns"] = turns = RoundRobin(len(self.masters))
        m.d.comb += turns.requests.eq(requests)
        return turns.grant


class PriorityJoin(AxiJoin):
    """Earlier masters go first, but for the `share` that the last one is guaranteed
    (`GuaranteedShare`)."""

    def _choose(self, m: Module, channel: str, requests: Value, chosen: Value, beats: Value):
        m.submodules[f"{channel}_share"] = guaranteed = GuaranteedShare(self.geometry)
        last = getattr(self.masters[-1], f"{channel}valid")
        m.d.comb += [guaranteed.share.eq(self.share), guaranteed.waits.eq(last),
                     guaranteed.granted.eq(chosen.any()), guaranteed.last.eq(chosen[-1]),
                     guaranteed.extra_beats.eq(beats)]
        return Mux(guaranteed.urgent & requests[-1], 1 << len(self.masters) - 1, lowest(requests))

"""Rules of AXI4, checked on a port between any master and any slave.

Sections are those of the AMBA AXI and ACE protocol specification (ARM IHI 0022).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Assert, Assume, Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.geometry import Geometry
from ..memory.axi import INCREMENTING, Axi4, AxiInterface

__all__ = ["AxiRules", "WriteOrder", "bursts_fit", "stays"]

OUTSTANDING_BITS = 8
"""Width of a count of outstanding bursts; one id has fewer than 256 at a time."""
_REQUEST = ("id", "addr", "len", "size", "burst")
_CHANNELS = {"aw": _REQUEST, "w": ("data", "strb", "last"), "ar": _REQUEST,
             "b": ("id", "resp"), "r": ("id", "data", "resp", "last")}
_Rule = Callable[[Value, str], Any]


def stays(m: Module, valid: Value, ready: Value, payload: Value) -> Value:
    """Return whether an offer of the last cycle that was not taken still holds (A3.2.1)."""
    waits = Signal()
    before = Signal(len(payload))
    m.d.sync += [waits.eq(valid & ~ready), before.eq(payload)]
    return ~waits | valid & (payload == before)


def bursts_fit(g: Geometry, bus: Any, channel: str) -> Value:
    """Return whether an address channel offers nothing, or a legal burst (A3.4.1).

    A legal burst is incrementing, has whole beats, and is not longer than a segment.
    """
    length, size, kind = (getattr(bus, channel + name) for name in ("len", "size", "burst"))
    return ~getattr(bus, f"{channel}valid") | (
        (length < g.burst_beats) & (size == exact_log2(g.bus_bytes)) & (kind == INCREMENTING))


class _Watcher(wiring.Component):
    """Observes a port through an input for each of its signals."""

    wlast: Signal
    arid: Signal
    arlen: Signal
    awlen: Signal
    rid: Signal
    rlast: Signal
    rvalid: Signal

    def __init__(self, g: Geometry, id_bits: int, more: dict):
        self.geometry = g
        port: Any = Axi4(g, id_bits)
        flat = {name: In(member.shape) for name, member in port.members.items()}
        super().__init__({**flat, **more})
        self._names = tuple(flat)

    def look_at(self, m: Module, bus: AxiInterface) -> None:
        """Connect it to a port."""
        m.d.comb += [getattr(self, name).eq(getattr(bus, name)) for name in self._names]

    def taken(self, channel: str) -> Value:
        """Return whether a transfer takes place on a channel."""
        return getattr(self, f"{channel}valid") & getattr(self, f"{channel}ready")


class AxiRules(_Watcher):
    """Asserts or assumes the duties of a master and of a slave.

    The master keeps an offer until it is taken (A3.2.1). Its bursts are incrementing, have whole
    beats, and stay in a segment, so they never cross 4 KB (A3.4.1). The slave keeps an offer too.
    It answers only requests, for any one id. It marks the last beat of a read, and no other
    (A3.4.1).

    Parameters
    ----------
    g : Geometry
    id_bits : int
    requests, answers : Assert or Assume
        Treatment of the master's rules, and of the slave's.

    Attributes
    ----------
    one : Signal(id_bits), in
        Id whose answers are counted; constant.
    follow : Signal, in
        Count the beats of a requested read of this id, unless another one's are being counted.
    reads, writes : Signal(8), out
        Outstanding bursts of this id.
    """

    one: Signal
    follow: Signal
    reads: Signal
    writes: Signal

    def __init__(self, g: Geometry, id_bits: int, requests: _Rule = Assert,
                 answers: _Rule = Assume):
        self.requests, self.answers = requests, answers
        count = Out(OUTSTANDING_BITS)
        super().__init__(g, id_bits, {"one": In(id_bits), "follow": In(1), "reads": count,
                                      "writes": count})

    def elaborate(self, platform: Any):
        m = Module()
        for channel, fields in _CHANNELS.items():
            rule = self.answers if channel in "br" else self.requests
            payload = Cat(getattr(self, channel + name) for name in fields)
            offered = stays(m, getattr(self, f"{channel}valid"), getattr(self, f"{channel}ready"),
                            payload)
            m.d.comb += rule(offered, f"{channel} stays until it is taken")
        for channel in ("aw", "ar"):
            m.d.comb += self.requests(bursts_fit(self.geometry, self, channel),
                                      f"{channel} is a burst of a segment")
        self._count(m, "ar", "r", self.reads, self.rlast)
        self._count(m, "aw", "b", self.writes, 1)
        self._beats(m)
        return m

    def _count(self, m: Module, asks: str, answers: str, outstanding: Signal, last: Any) -> None:
        """Count outstanding bursts of the id; answers must belong to one of them."""
        more = Signal()
        less = Signal()
        mine = getattr(self, f"{answers}valid") & (getattr(self, f"{answers}id") == self.one)
        m.d.comb += [more.eq(self.taken(asks) & (getattr(self, f"{asks}id") == self.one)),
                     less.eq(mine & getattr(self, f"{answers}ready") & last)]
        m.d.sync += outstanding.eq(outstanding + more - less)
        m.d.comb += [self.answers(~mine | outstanding.any(), f"{answers} answers a request"),
                     Assume(~outstanding.all(), f"{asks} has fewer than 256 outstanding")]

    def _beats(self, m: Module) -> None:
        """Follow one read to its last beat."""
        followed = Signal()
        ahead = Signal(OUTSTANDING_BITS)  # reads whose answers come before
        left = Signal(8)  # beats after the next
        mine = Signal()
        m.d.comb += mine.eq(self.taken("r") & (self.rid == self.one))
        at = followed & (ahead == 0)
        with m.If(followed & mine):
            m.d.sync += [ahead.eq(ahead - (self.rlast & (ahead != 0))),
                         left.eq(left - (ahead == 0)), followed.eq(~(self.rlast & (ahead == 0)))]
        with m.Elif(~followed & self.follow & self.taken("ar") & (self.arid == self.one)):
            m.d.sync += [followed.eq(1), left.eq(self.arlen),
                         ahead.eq(self.reads - (mine & self.rlast))]
        m.d.comb += self.answers(
            ~(at & self.rvalid & (self.rid == self.one)) | (self.rlast == (left == 0)),
            "r has as many beats as were asked for")


class WriteOrder(_Watcher):
    """Asserts that write data comes in the order of the addresses.

    Each burst has as many beats as its address says, and its last beat is marked (A3.4.1, A5.3.3).
    Data may come before addresses.

    Parameters
    ----------
    g : Geometry
    id_bits : int

    Attributes
    ----------
    number : Signal(4), in
        Index of the observed burst, counted from reset; constant, at most 15.
    """

    number: Signal

    def __init__(self, g: Geometry, id_bits: int):
        super().__init__(g, id_bits, {"number": In(4)})

    def elaborate(self, platform: Any):
        m = Module()
        bursts = Signal(4)  # that have passed
        datas = Signal(4)
        length = Signal(8)
        beats = Signal(8)
        m.d.sync += [bursts.eq(bursts + self.taken("aw")),
                     datas.eq(datas + (self.taken("w") & self.wlast))]
        with m.If(self.taken("aw") & (bursts == self.number)):
            m.d.sync += length.eq(self.awlen)
        here = self.taken("w") & (datas == self.number)
        with m.If(here):
            m.d.sync += beats.eq(beats + 1)
        asked = bursts > self.number  # both before this cycle
        m.d.comb += [
            Assume(~(bursts.all() | datas.all()), "fewer than 15 bursts"),
            Assert(~(asked & (datas > self.number)) | (beats == length + 1),
                   "w has as many beats as aw says"),
            Assert(~(asked & (datas == self.number)) | (beats <= length),
                   "w marks its last beat"),
        ]
        return m

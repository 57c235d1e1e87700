"""Rules of the buses, on every AXI port that a machine has: `AxiMaster`, the joins, and the AXI4-Lite port."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.control import axi_lite
from caesura.hw.control.axi_lite import READS_HELD, AxiLiteHost
from caesura.hw.formal.axi_rules import AxiRules, WriteOrder, bursts_fit, stays
from caesura.hw.formal.opened import Opened, free
from caesura.hw.memory import axi, axi_join
from caesura.hw.memory.axi import ID_BITS, RESPONSES, AxiMaster
from caesura.hw.memory.axi_join import AxiJoin, FairJoin, PriorityJoin

from .buffers import entries
from .faults import Fault
from .harness import Harness, assume
from .property import Property

__all__ = ["MasterKeepsRules", "MasterOrdersWrites", "JoinKeepsRules", "JoinOrdersWrites", "LiteKeepsRules",
           "PROPERTIES"]

_OWED_BITS = 9


def _owed(m: Module, more: Value, less: Value, name: str) -> Signal:
    """Return how many answers are outstanding."""
    owed = Signal(_OWED_BITS, name=name)
    m.d.sync += owed.eq(owed + more - less)
    return owed


class MasterKeepsRules(Harness):
    """A bus master keeps the rules of a master, whatever its inner ports do; and whatever a slave does that keeps its
    own, an inner port gets no more answers than it has asked for, and those of its own requests."""

    def __init__(self, g: Geometry, readers: int, writers: int, first_reader: int = 0, first_writer: int = 0):
        super().__init__()
        self.parameters = g, readers, writers, first_reader, first_writer

    def state(self, m):
        g, readers, writers, first_reader, first_writer = self.parameters
        m.submodules.dut = opened = Opened(AxiMaster(*self.parameters))
        dut = opened.component
        m.submodules.rules = rules = AxiRules(g, ID_BITS)
        free(m, dut)
        rules.look_at(m, dut.axi)
        one = self.something(m, ID_BITS)
        m.d.comb += [rules.one.eq(one), rules.follow.eq(self.anything(m, 1))]
        for kind, channel, ports, first, outstanding in (
                ("read", "ar", dut.readers, first_reader, rules.reads),
                ("write", "aw", dut.writers, first_writer, rules.writes)):
            answers = [getattr(port, "beat" if kind == "read" else "ack") for port in ports]
            asks = Cat((one == first + k) & port.request.valid & port.request.ready for k, port in enumerate(ports))
            gets = Cat((one == first + k) & answer.valid for k, answer in enumerate(answers)).any()
            done = Cat((one == first + k) & answer.valid & answer.ready
                       & (answer.payload.last if kind == "read" else 1) for k, answer in enumerate(answers))
            owed = _owed(m, asks.any(), done.any(), f"{kind}s_owed")
            valid, number = getattr(dut.axi, f"{channel}valid"), getattr(dut.axi, f"{channel}id")
            buffered, whole = self._buffered(m, opened, kind, one, outstanding)
            self.claim(m, **{
                f"nothing_is_{kind}_for_nobody": (one >= first) & (one < first + len(ports))
                | ~outstanding.any() & ~buffered,
                f"a_{kind}_is_answered_once": ~gets | owed.any(),
                f"a_{kind}_names_its_port": ~valid | (number >= first) & (number < first + len(ports)),
                f"{kind}s_are_owed_that_are_under_way":
                    owed == outstanding + (valid & (number == one)) + whole[0] + whole[1]})

    def _buffered(self, m: Module, opened: Opened, kind: str, one: Value, outstanding: Value):
        """Return whether the buffer of a response channel has something of the id, and for each entry whether that
        ends a burst; claim that what ends no burst is followed by something that does, here or outside."""
        channel = "r" if kind == "read" else "b"
        fields = data.StructLayout({name: len(getattr(opened.component.axi, channel + name))
                                    for name in RESPONSES[channel]})
        (shown, first), (full, second) = entries(opened, f"{channel}_buffer")
        older, newer = fields(first), fields(second)
        held = [shown & (older.id == one), full & (newer.id == one)]
        lasts = [older.last, newer.last] if kind == "read" else [Const(1), Const(1)]
        self.claim(m, **{
            f"the_older_{kind}_is_shown": ~full | shown,
            f"the_newer_{kind}_is_not_all": ~held[1] | lasts[1] | outstanding.any(),
            f"the_older_{kind}_is_not_all": ~held[0] | lasts[0] | held[1] | outstanding.any()})
        return held[0] | held[1], [here & last for here, last in zip(held, lasts, strict=True)]


class _Lengths:
    """Bursts of a port, all equally long: it marks the last beat of each."""

    def __init__(self, m: Module, beats: int, goes: Value, last: Value, valid: Value):
        self.length = Harness.something(m, range(beats))  # less one
        count = Signal(range(beats))
        with m.If(goes):
            m.d.sync += count.eq(Mux(last, 0, count + 1))
        m.d.comb += assume(~valid | (last == (count == self.length)))


class MasterOrdersWrites(Harness):
    """Write data leaves a bus master in the order of the addresses, each burst with its own number of beats.

    Given: bursts of one port are equally long, and it marks the last beat of each.
    """

    def __init__(self, g: Geometry, writers: int):
        super().__init__()
        self.geometry, self.writers = g, writers

    def state(self, m):
        g = self.geometry
        m.submodules.dut = dut = AxiMaster(g, 1, self.writers)
        m.submodules.order = order = WriteOrder(g, ID_BITS)
        free(m, dut)
        order.look_at(m, dut.axi)
        m.d.comb += order.number.eq(self.something(m, 4))
        for port in dut.writers:
            beat = port.beat
            of = _Lengths(m, g.burst_beats, beat.valid & beat.ready, beat.payload.last, beat.valid)
            m.d.comb += assume(~port.request.valid | (port.request.payload.extra_beats == of.length))


class JoinKeepsRules(Harness):
    """A join keeps the rules of a master, and towards one of its masters those of a slave, if its slave does."""

    def __init__(self, g: Geometry, kind: type[AxiJoin], masters: int, number: int):
        super().__init__()
        self.geometry, self.kind, self.masters, self.number = g, kind, masters, number

    def state(self, m):
        g = self.geometry
        m.submodules.dut = dut = self.kind(g, self.masters, ID_BITS)
        bits = ID_BITS + dut.number_bits
        m.submodules.outer = outside = Opened(AxiRules(g, bits))
        m.submodules.inner = inside = Opened(AxiRules(g, ID_BITS, Assume, Assert))
        outer, inner = outside.component, inside.component
        free(m, dut)
        outer.look_at(m, dut.axi)
        inner.look_at(m, dut.masters[self.number])
        one, full = self.something(m, ID_BITS), Signal(bits)
        m.d.comb += [full.eq(one | self.number << ID_BITS), inner.one.eq(one), outer.one.eq(full),
                     inner.follow.eq(self.anything(m, 1))]
        for other in dut.masters:
            self.given(m, bursts_fit=bursts_fit(g, other, "ar") & bursts_fit(g, other, "aw"))
        self._followed(m, dut.axi, inside, outside, full)
        for channel, name in (("ar", "reads"), ("aw", "writes")):
            valid, number = getattr(dut.axi, f"{channel}valid"), getattr(dut.axi, f"{channel}id")
            self.claim(m, **{
                f"{name}_outside_are_those_inside":
                    getattr(inner, name) == getattr(outer, name) + (valid & (number == full)),
                f"{name}_name_a_master": ~valid | (number[ID_BITS:] < self.masters)})

    def _followed(self, m, bus, inside, outside, full):
        """The read that is followed inside is the one that is followed outside, once it is requested there."""
        waits = Signal()  # in the register of the join
        inner, outer = inside.component, outside.component
        of = {name: (inside.signal(name), outside.signal(name)) for name in ("followed", "ahead", "left")}
        begins = inner.follow & inner.taken("ar") & (inner.arid == inner.one) & ~of["followed"][0]
        m.d.comb += outer.follow.eq(waits)
        with m.If(begins):
            m.d.sync += waits.eq(1)
        with m.Elif(bus.arready):
            m.d.sync += waits.eq(0)
        same = Cat(a == b for a, b in (of["ahead"], of["left"])).all()
        self.claim(m, it_is_followed_on_both_sides=of["followed"][0] == (waits | of["followed"][1]),
                   on_one_side_at_first=~(waits & of["followed"][1]),
                   it_waits_in_the_register=~waits | (bus.arvalid & (bus.arid == full) & (of["left"][0] == bus.arlen)
                                                      & (of["ahead"][0] == outer.reads)),
                   then_it_is_the_same=~of["followed"][1] | same)


class JoinOrdersWrites(Harness):
    """Write data leaves a join in the order of the addresses, each burst with its own number of beats.

    Given: bursts of one master are equally long, and it marks the last beat of each.
    """

    def __init__(self, g: Geometry, kind: type[AxiJoin], masters: int):
        super().__init__()
        self.geometry, self.kind, self.masters = g, kind, masters

    def state(self, m):
        g = self.geometry
        m.submodules.dut = dut = self.kind(g, self.masters, ID_BITS)
        m.submodules.order = order = WriteOrder(g, ID_BITS + dut.number_bits)
        free(m, dut)
        order.look_at(m, dut.axi)
        m.d.comb += order.number.eq(self.something(m, 4))
        for master in dut.masters:
            of = _Lengths(m, g.burst_beats, master.wvalid & master.wready, master.wlast, master.wvalid)
            m.d.comb += assume(~master.awvalid | (master.awlen == of.length))


class LiteKeepsRules(Harness):
    """The AXI4-Lite port of the registers: what it answers stays until it is taken, and it answers each access once."""

    def state(self, m):
        m.submodules.dut = opened = Opened(AxiLiteHost())
        dut = opened.component
        free(m, dut)
        port, host = dut.axi, dut.host
        owed = {channel: _owed(m, getattr(port, f"{channel}valid") & getattr(port, f"{channel}ready"),
                               getattr(port, f"{answer}valid") & getattr(port, f"{answer}ready"), channel)
                for channel, answer in (("aw", "b"), ("w", "b"), ("ar", "r"))}
        held = {}
        for channel in ("aw", "w", "ar", "b"):
            (shown, _), (full, _) = entries(opened, channel)
            held[channel] = shown + full
            self.claim(m, **{f"the_older_entry_of_{channel}_is_shown": ~full | shown})
        level, first, next_ = (opened.signal(f"r.fifo.{name}") for name in ("level", "consume", "produce"))
        fresh = opened.signal("fresh")
        self.claim(
            m, a_response_stays=stays(m, port.bvalid, port.bready, port.bresp),
            what_is_read_stays=stays(m, port.rvalid, port.rready, Cat(port.rdata, port.rresp)),
            an_address_is_answered_once=owed["aw"] == held["aw"] + held["b"],
            data_are_answered_once=owed["w"] == held["w"] + held["b"],
            a_read_is_answered_once=owed["ar"] == held["ar"] + fresh + level,
            what_is_read_has_a_place=level + fresh <= READS_HELD,
            the_queue_is_one=(first < READS_HELD) & (next_ < READS_HELD)
            & (Mux(first + level >= READS_HELD, first + level - READS_HELD, first + level) == next_),
            the_host_has_one_access_at_a_time=~(host.write & dut.read))


_RULES = ("What the port offers stays as it is until it is taken; bursts are of one segment; each inner port, or "
          "master, gets the answers to its own requests, no more, and reads of as many beats as asked for")
_ORDER = ("Write data comes in the order of the addresses, each burst with as many beats as its address says, the last "
          "one marked")
_LITE = "What the registers' AXI4-Lite port answers stays as it is until it is taken; each access is answered once"
_MASTER_FAULTS = (
    Fault(axi, "m.d.comb += [free.eq((~bus[\"valid\"] | bus[\"ready\"]) & allowed),",
          "m.d.comb += [free.eq(allowed),"),
    Fault(axi, "m.d.comb += free.eq(~bus.wvalid | bus.wready)", "m.d.comb += free.eq(1)"),
    Fault(axi, "one.valid.eq(response.valid & (number == first + position))", "one.valid.eq(response.valid)"),
    Fault(axi, "with m.If(bus[\"ready\"]):", "with m.If(1):"),
)
_JOIN_FAULTS = (
    Fault(axi_join, "free.eq((~valid | ready) & allowed)", "free.eq(allowed)"),
    Fault(axi_join, 'getattr(master, f"{channel}valid").eq(valid & (named == n))',
          'getattr(master, f"{channel}valid").eq(valid)'),
    Fault(axi_join, "with m.If(bus.wready):", "with m.If(1):"),
)
_ORDER_FAULTS = (
    Fault(axi, "order.r_rdy & (order.r_data == number))", "order.r_rdy)"),
    Fault(axi, "m.d.comb += order.r_en.eq(beat.payload.last)", "m.d.comb += order.r_en.eq(1)"),
)
_JOIN_ORDER_FAULTS = (
    Fault(axi_join, "free & order.r_rdy & (order.r_data == n))", "free & order.r_rdy)"),
    Fault(axi_join, "m.d.comb += order.r_en.eq(master.wlast)", "m.d.comb += order.r_en.eq(1)"),
)
_LITE_FAULTS = (
    Fault(axi_lite, "may_write.eq(addresses.valid & words.valid & answers.ready)",
          "may_write.eq(addresses.valid & words.valid)"),
    Fault(axi_lite, "may_read.eq(reads.valid & (found.level + fresh < READS_HELD))",
          "may_read.eq(reads.valid & (found.level < READS_HELD))"),
    Fault(axi_lite, "addresses.ready.eq(write), words.ready.eq(write)", "addresses.ready.eq(write), words.ready.eq(1)"),
)
_MASTERS = {"tiny": ("tiny", 5, 3), "gtx480": ("gtx480", 5, 3), "contexts": ("tiny", 1, 1, 4, 2)}
_JOINS: dict[str, tuple[type[AxiJoin], int, int]] = {
    "fair-0": (FairJoin, 2, 0), "fair-2": (FairJoin, 3, 2), "priority-0": (PriorityJoin, 2, 0),
    "priority-1": (PriorityJoin, 2, 1)}


def _master(name: str, *rest: int) -> Callable[[], Harness]:
    return lambda: MasterKeepsRules(preset(name), *rest)


def _join(kind: type[AxiJoin], masters: int, number: int) -> Callable[[], Harness]:
    return lambda: JoinKeepsRules(preset("tiny"), kind, masters, number)


PROPERTIES = (
    *(Property(f"axi-master/{name}", _RULES, _master(*of), 2,
               faults=_MASTER_FAULTS if name == "tiny" else ()) for name, of in _MASTERS.items()),
    *(Property(f"axi-join/{name}", _RULES, _join(*of), 2,
               faults=_JOIN_FAULTS if name == "priority-1" else ()) for name, of in _JOINS.items()),
    Property("axi-master/order", _ORDER, lambda: MasterOrdersWrites(preset("tiny").replace(bus_bytes=32), 2), 10,
             bounded=True, faults=_ORDER_FAULTS, fault_depth=10),
    *(Property(f"axi-join/order-{name}", _ORDER, lambda kind=kind: JoinOrdersWrites(
        preset("tiny").replace(bus_bytes=32), kind, 2), 10, bounded=True,
        faults=_JOIN_ORDER_FAULTS if name == "fair" else (), fault_depth=10)
      for name, kind in (("fair", FairJoin), ("priority", PriorityJoin))),
    Property("axi-lite/registers", _LITE, LiteKeepsRules, 2, short=True, faults=_LITE_FAULTS),
)

"""Predicate registers: seven per warp slot, each with one bit per lane."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import PREDICATES, Geometry
from ...arch.isa.opcodes import PT
from ...interfaces.core_ports import PredicatePort
from ...interfaces.payloads import below, predicate_restore, predicate_write, warp_event
from ...interfaces.port import Port
from ...lib.vectors import RoundRobin
from ..execution_units import EXECUTION_UNITS
from .overdue import Overdue
from .writeback import hold_back

__all__ = ["PredicateFile", "PredicateWriteBack", "PREDICATE_WRITERS"]

PREDICATE_WRITERS = (*(row.name for row in EXECUTION_UNITS if row.writes_predicates), "uniform")
"""Units other than the ALU that write predicates; each has a port ``<name>_predicate``."""


def _valid_write(g: Geometry) -> data.StructLayout:
    """A beat of a predicate write, or none."""
    return data.StructLayout({"valid": 1, "write": predicate_write(g)})


def _valid_restore(g: Geometry) -> data.StructLayout:
    """A predicate put back, or none."""
    return data.StructLayout({"valid": 1, "write": predicate_restore(g)})


class PredicateWriteBack(wiring.Component):
    """Chooses one predicate beat, or one restored predicate, to write each cycle; combinational.

    ALU results cannot wait, so they go first. The other units follow in turn, then the preemption
    unit's restores. Restores go before the units once they have waited for `MOST_WAIT` cycles.
    While one of these waits for an ALU result, `throttle` holds back one ALU instruction in two.

    Attributes
    ----------
    result : in
        Beat of an ALU result, taken in the cycle of `valid`.
    f64_predicate, exchange_predicate, uniform_predicate : in stream
        Beats of the `PREDICATE_WRITERS`.
    restore : in stream
        Whole predicates of the preemption unit.
    accepting : Signal(1), in
        The pipeline can take an instruction in this cycle.
    throttle : Signal(1), out
        Issue no ALU instruction in this cycle.
    write, restored : out
        Write to the predicate file: a beat, or a whole predicate; never both.
    """

    result: data.View
    f64_predicate: stream.Interface
    exchange_predicate: stream.Interface
    uniform_predicate: stream.Interface
    restore: stream.Interface
    accepting: Signal
    throttle: Signal
    write: data.View
    restored: data.View

    def __init__(self, g: Geometry):
        super().__init__({
            "result": In(_valid_write(g)), "accepting": In(1),
            "throttle": Out(1), "write": Out(_valid_write(g)),
            "restore": In(stream.Signature(predicate_restore(g))),
            "restored": Out(_valid_restore(g)),
            **{f"{name}_predicate": In(stream.Signature(predicate_write(g)))
               for name in PREDICATE_WRITERS},
        })

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.arbiter = arbiter = RoundRobin(len(PREDICATE_WRITERS))
        streams = [getattr(self, f"{name}_predicate") for name in PREDICATE_WRITERS]
        waiting = Cat(unit.valid for unit in streams)
        m.submodules.overdue = overdue = Overdue()
        restore, restored = self.restore, self.restored
        m.d.comb += [
            overdue.waits.eq(restore.valid & ~restore.ready),
            arbiter.requests.eq(Mux(self.result.valid | restore.valid & overdue.over, 0, waiting)),
            restore.ready.eq(~self.result.valid & ~arbiter.valid), self.write.eq(self.result),
            restored.valid.eq(restore.valid & restore.ready), restored.write.eq(restore.payload),
            self.throttle.eq(hold_back(m, self.result.valid, waiting.any() | restore.valid,
                                       self.accepting))]
        for number, unit in enumerate(streams):
            with m.If(arbiter.grant[number]):
                m.d.comb += [self.write.valid.eq(1),
                             self.write.write.eq(unit.payload), unit.ready.eq(1)]
        return m


class PredicateFile(wiring.Component):
    """Predicates with a "written" bit each; every read is combinational.

    A predicate that was not written since `clear` reads 0; number `PT` reads all ones. The first
    write to an unwritten predicate writes 0 to the lanes outside its mask.

    Attributes
    ----------
    read : PredicatePort, in
        Three predicates of one warp, for the front end.
    write : in
        Beat to be written; visible from the next cycle.
    restore : in
        Whole predicate put back, in a cycle without `write`: the memories have one write port.
    clear : in
        Makes the predicates of a warp unwritten.
    save_warp, save_select, save_value : in, out
        One predicate of a warp, for the preemption unit.
    written : Signal(PREDICATES), out
        Predicates of warp `save_warp` that have been written.
    """

    read: Port
    write: data.View
    restore: data.View
    clear: data.View
    save_warp: Signal
    save_select: Signal
    save_value: Signal
    written: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        warp, number = below(g.warps), range(PREDICATES + 1)
        super().__init__({
            "read": In(PredicatePort(g)),
            "write": In(_valid_write(g)),
            "restore": In(_valid_restore(g)),
            "clear": In(warp_event(g)),
            "save_warp": In(warp), "save_select": In(number), "save_value": Out(g.warp_size),
            "written": Out(PREDICATES),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, write, restore = self.geometry, self.write.write, self.restore
        valid = self.write.valid
        m.submodules.values = values = Memory(shape=g.warp_size, depth=8 * g.warps, init=[])
        # The place that is written in this cycle.
        place = Signal(data.StructLayout({"predicate": len(write.predicate),
                                          "warp": len(write.warp)}))
        m.d.comb += [place[name].eq(Mux(restore.valid, restore.write[name], write[name]))
                     for name in ("predicate", "warp")]
        select_row, save_row, write_row = self._written_rows(m, place)
        m.d.comb += self.written.eq(save_row)

        for name in ("guard", "pa", "pb"):
            self._read(m, values, self.read.select.warp, self.read.select[name], select_row,
                       getattr(self.read, name))
        self._read(m, values, self.save_warp, self.save_select, save_row, self.save_value)
        old = Signal(g.warp_size)
        self._read(m, values, place.warp, place.predicate, write_row, old)

        port = values.write_port(granularity=g.lanes)
        lanes = Signal(g.lanes)
        m.d.comb += [
            lanes.eq(old.word_select(write.beat, g.lanes) & ~write.mask | write.value & write.mask),
            port.addr.eq(place),
            port.data.eq(Mux(restore.valid, restore.write.value, lanes.replicate(g.beats))),
            port.en.eq(Mux(restore.valid, ~0, valid << write.beat if g.beats > 1 else valid)),
        ]
        return m

    def _read(self, m: Module, values: Memory, warp: Value, predicate: Value, row: Value,
              value: Signal):
        """Read one predicate of `warp`, whose written bits are `row`."""
        port = values.read_port(domain="comb")
        m.d.comb += port.addr.eq(Cat(predicate, warp))
        with m.If(predicate == PT):
            m.d.comb += value.eq(~0)
        with m.Else():
            m.d.comb += value.eq(Mux(row.bit_select(predicate, 1), port.data, 0))

    def _written_rows(self, m: Module, place: data.View):
        """Keep the written bits; return those of the selected and saved warp, and of the `place`
        that is written."""
        warps = self.geometry.warps
        finished = self.write.valid & self.write.write.last | self.restore.valid
        fresh = Signal(warps, init=(1 << warps) - 1)
        m.submodules.written = memory = Memory(shape=8, depth=warps, init=[])
        rows = []
        for name, warp in (("select", self.read.select.warp), ("save", self.save_warp),
                           ("write", place.warp)):
            port = memory.read_port(domain="comb")
            row = Signal(8, name=f"{name}_row")
            m.d.comb += [port.addr.eq(warp), row.eq(Mux(fresh.bit_select(warp, 1), 0, port.data))]
            rows.append(row)
        cleared = Signal(warps)
        used = Signal(warps)
        port = memory.write_port()
        m.d.comb += [
            port.addr.eq(place.warp), port.en.eq(finished),
            port.data.eq(rows[2] | (Const(1, 1) << place.predicate)),
            cleared.eq(self.clear.valid << self.clear.warp), used.eq(finished << place.warp)]
        m.d.sync += fresh.eq(fresh & ~used | cleared)
        return rows

"""Predicate registers: seven a warp slot, each a bit a lane."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..arch.geometry import PREDICATES, Geometry
from ..arch.isa import PT
from .interfaces import index

__all__ = ["PredicateFile", "predicate_write"]


def predicate_write(g: Geometry) -> data.StructLayout:
    """One beat of a predicate write; a predicate is written as all its beats in ascending order."""
    return data.StructLayout({"valid": 1, "warp": index(g.warps), "predicate": 3, "beat": index(g.beats), "last": 1,
                              "mask": g.lanes, "value": g.lanes})


class PredicateFile(wiring.Component):
    """Predicates with a "written" bit each; every read is combinational.

    A predicate that was not written since `clear` reads 0; number `PT` reads all ones. The first write to an
    unwritten predicate writes 0 to the lanes outside its mask.

    Attributes
    ----------
    select, guard, pa, pb : in, out
        Three predicates of one warp, for the front end.
    write : in
        Beat written by the ALU; visible from the next cycle.
    restore : in
        Whole predicate written by the preemption unit, to another warp than `write`.
    clear : in
        Makes the predicates of a warp unwritten.
    save_warp, save_select, save_value : in, out
        One predicate of a warp, for the preemption unit.
    written : Signal(PREDICATES), out
        Predicates of warp `save_warp` that have been written.
    """

    select: data.View
    guard: Signal
    pa: Signal
    pb: Signal
    write: data.View
    restore: data.View
    clear: data.View
    save_warp: Signal
    save_select: Signal
    save_value: Signal
    written: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        warp, number = index(g.warps), range(PREDICATES + 1)
        super().__init__({
            "select": In(data.StructLayout({"warp": warp, "guard": 3, "pa": 3, "pb": 3})),
            "guard": Out(g.warp_size), "pa": Out(g.warp_size), "pb": Out(g.warp_size),
            "write": In(predicate_write(g)),
            "restore": In(data.StructLayout({"valid": 1, "warp": warp, "predicate": number, "value": g.warp_size})),
            "clear": In(data.StructLayout({"valid": 1, "warp": warp})),
            "save_warp": In(warp), "save_select": In(number), "save_value": Out(g.warp_size),
            "written": Out(PREDICATES),
        })

    def elaborate(self, platform):
        m = Module()
        g, write = self.geometry, self.write
        m.submodules.values = self.values = Memory(shape=g.warp_size, depth=8 * g.warps, init=[])
        select_row, save_row, write_row, restore_row = self._written_rows(m)
        m.d.comb += self.written.eq(save_row)

        for predicate, value in ((self.select.guard, self.guard), (self.select.pa, self.pa),
                                 (self.select.pb, self.pb)):
            self._read(m, self.select.warp, predicate, select_row, value)
        self._read(m, self.save_warp, self.save_select, save_row, self.save_value)
        old = Signal(g.warp_size)
        self._read(m, write.warp, write.predicate, write_row, old)

        port = self.values.write_port(granularity=g.lanes)
        lanes = Signal(g.lanes)
        m.d.comb += [
            lanes.eq(old.word_select(write.beat, g.lanes) & ~write.mask | write.value & write.mask),
            port.addr.eq(Cat(write.predicate, write.warp)), port.data.eq(lanes.replicate(g.beats)),
            port.en.eq(write.valid << write.beat if g.beats > 1 else write.valid),
        ]
        port = self.values.write_port()
        m.d.comb += [port.addr.eq(Cat(self.restore.predicate, self.restore.warp)),
                     port.data.eq(self.restore.value), port.en.eq(self.restore.valid)]
        return m

    def _read(self, m, warp, predicate, row, value):
        """Read one predicate of `warp`, whose written bits are `row`."""
        port = self.values.read_port(domain="comb")
        m.d.comb += port.addr.eq(Cat(predicate, warp))
        with m.If(predicate == PT):
            m.d.comb += value.eq(~0)
        with m.Else():
            m.d.comb += value.eq(Mux(row.bit_select(predicate, 1), port.data, 0))

    def _written_rows(self, m):
        """Keep the written bits; return those of the selected, saved, written and restored warp."""
        warps, write, restore = self.geometry.warps, self.write, self.restore
        fresh = Signal(warps, init=(1 << warps) - 1)
        m.submodules.written = memory = Memory(shape=8, depth=warps, init=[])
        rows = []
        for name, warp in (("select", self.select.warp), ("save", self.save_warp), ("write", write.warp),
                           ("restore", restore.warp)):
            port = memory.read_port(domain="comb")
            row = Signal(8, name=f"{name}_row")
            m.d.comb += [port.addr.eq(warp), row.eq(Mux(fresh.bit_select(warp, 1), 0, port.data))]
            rows.append(row)
        cleared = Signal(warps)
        used = Signal(warps)
        for source, row, done in ((write, rows[2], write.valid & write.last), (restore, rows[3], restore.valid)):
            port = memory.write_port()
            m.d.comb += [port.addr.eq(source.warp), port.data.eq(row | (Const(1, 1) << source.predicate)),
                         port.en.eq(done)]
        m.d.comb += [cleared.eq(self.clear.valid << self.clear.warp),
                     used.eq((write.valid & write.last) << write.warp | restore.valid << restore.warp)]
        m.d.sync += fresh.eq(fresh & ~used | cleared)
        return rows

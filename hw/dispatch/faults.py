"""Fault handling: the record of the first fault, the end of the TB in which it happened, and the
end of the TBs of a kernel that is killed."""

import functools
import operator
from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..arch.faults import Fault
from ..arch.geometry import ADDRESS_BITS, PC_BITS, Geometry
from ..interfaces.dispatch_ports import FaultEventPort
from ..interfaces.payloads import FAULT_SOURCES, below, fault_report, fault_reports
from ..interfaces.port import Port
from ..interfaces.preemption import resident_tb
from ..lib.bits import lowest, select

__all__ = ["FaultUnit", "fault_record"]


def fault_record(g: Geometry) -> data.StructLayout:
    """A fault as the driver reads it; `warp` is the warp of the TB, `tb` its launch id."""
    return data.StructLayout({"kind": Fault, "kernel": below(g.kernel_slots),
                              "warp": below(g.max_block_warps),
                              "tb": 32, "pc": PC_BITS, "address": ADDRESS_BITS})


class FaultUnit(wiring.Component):
    """Kills the TB of a faulting warp: a fault ends the TB, never the machine
    (docs/sm.md, Faults). Kills the TBs of a kernel on demand.

    Timing
    ------
    Reports of each unit are taken in each cycle.

    Attributes
    ----------
    reports : payloads.fault_reports, in
        Reports of a TB that is being killed already, or of a slot with no TB, have no effect.
    resident : array, in; remove : Signal(tb_slots), in
        The TB table; `remove` ends the kill of a TB.
    init : struct, in
        Warp `block_warp` of a TB takes slot `warp`.
    event : FaultEventPort, out
        The bit of the event register that says that a record is waiting.
    record : fault_record, out
        The first fault while no record was pending; two cycles after its report.
    count : Signal(32), out
        TBs ended by a fault since reset.
    start : Signal(kernel_slots), in
        Vector: the kernel begins anew; its count becomes 0.
    faults : array, out
        TBs of each kernel ended by a fault since its start.
    kill_kernels : Signal(kernel_slots), in
        Vector: the started TBs of these kernels are killed, without a record; those claimed or not
        yet started are if it is still high then.
    claim : Signal(tb_slots), in
        Vector: TBs the engine is saving.
    kill : Signal(warps), out
        Vector: warps of TBs that are ended, from two cycles after the report, or one after
        `kill_kernels`, until the TB is removed.
    killed : Signal(tb_slots), out
        Vector: these TBs.
    forsaken : Signal(tb_slots), out
        Vector: TBs killed with their kernel, from the next cycle until they are removed. They wait
        for no memory, and are not completed.
    """

    reports: data.View
    resident: data.View
    remove: Signal
    init: data.View
    event: Port
    record: data.View
    count: Signal
    start: Signal
    faults: data.View
    kill_kernels: Signal
    claim: Signal
    kill: Signal
    killed: Signal
    forsaken: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "reports": In(fault_reports(g)),
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)),
            "remove": In(g.tb_slots),
            "init": In(data.StructLayout({"valid": 1, "warp": below(g.warps),
                                          "block_warp": below(g.max_block_warps)})),
            "event": Out(FaultEventPort()),
            "record": Out(fault_record(g)),
            "count": Out(32),
            "start": In(g.kernel_slots),
            "faults": Out(data.ArrayLayout(32, g.kernel_slots)),
            "kill_kernels": In(g.kernel_slots), "claim": In(g.tb_slots),
            "kill": Out(g.warps), "killed": Out(g.tb_slots), "forsaken": Out(g.tb_slots),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        rows = [self.resident[t] for t in range(g.tb_slots)]
        killed = self.killed
        struck = Signal(g.tb_slots)
        condemned = Signal(g.tb_slots)  # TBs killed with their kernel in this cycle
        reports = [Signal(fault_report(g), name=f"{source}_fault") for source in FAULT_SOURCES]
        hits = [Signal(g.tb_slots, name=f"hit_{source}") for source in FAULT_SOURCES]
        for report, hit, source in zip(reports, hits, FAULT_SOURCES, strict=True):
            m.d.sync += report.eq(self.reports[source])
            with m.If(report.valid):
                m.d.comb += hit.eq(Cat(row.valid & row.warps.bit_select(report.warp, 1)
                                       for row in rows) & ~killed)
        m.d.comb += struck.eq(functools.reduce(operator.or_, hits))
        added = sum((struck[t] for t in range(g.tb_slots)), Const(0))
        m.d.comb += [self.event.set.eq(struck.any()),
                     self.kill.eq(select(killed, [row.warps for row in rows]))]
        m.d.comb += condemned.eq(Cat(
            row.valid & row.started & self.kill_kernels.bit_select(row.kernel, 1)
            for row in rows) & ~self.claim)
        m.d.sync += [killed.eq((killed | struck | condemned) & ~self.remove),
                     self.forsaken.eq((self.forsaken | condemned) & ~self.remove)]
        with m.If(struck.any()):
            m.d.sync += self.count.eq(self.count + added)
        for k in range(g.kernel_slots):
            more = sum((struck[t] & (rows[t].kernel == k) for t in range(g.tb_slots)), Const(0))
            with m.If(self.start[k]):
                m.d.sync += self.faults[k].eq(0)
            with m.Elif(struck.any()):
                m.d.sync += self.faults[k].eq(self.faults[k] + more)

        first = Signal(len(FAULT_SOURCES))
        m.d.comb += first.eq(lowest(Cat(hit.any() for hit in hits)))
        self._record(m, first, reports, hits, rows)
        return m

    def _record(self, m: Module, first: Value, reports: Sequence[data.View], hits: Sequence[Value],
                rows: Sequence[data.View]):
        """Register the record of the first report, looking up the warp of the TB by its slot."""
        depth = self.geometry.warps
        m.submodules.block_warps = block_warps = memory.Memory(
            shape=below(self.geometry.max_block_warps), depth=1 << ceil_log2(depth), init=[])
        store = block_warps.write_port()
        load = block_warps.read_port(domain="comb")
        report = Signal(fault_report(self.geometry))
        record = self.record
        tb = Signal(len(rows))
        m.d.comb += [
            store.addr.eq(self.init.warp),
            store.data.eq(self.init.block_warp), store.en.eq(self.init.valid),
            report.eq(select(first, reports)),
            tb.eq(select(first, hits)), load.addr.eq(report.warp),
        ]
        with m.If(self.event.set & (~self.event.pending | self.event.clear)):
            m.d.sync += [
                *(record[name].eq(report[name]) for name in ("kind", "pc", "address")),
                record.warp.eq(load.data),
                record.kernel.eq(select(tb, [row.kernel for row in rows])),
                record.tb.eq(select(tb, [row.launch_id for row in rows])),
            ]

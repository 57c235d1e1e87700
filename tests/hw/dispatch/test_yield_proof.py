# amaranth: UnusedElaboratable=no
"""No wake-up is lost: a thread block (TB) whose word is written after it has begun to watch it goes on, or is ready to
come back, whatever else happens; proved by induction for one TB, any other ones beside it."""

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from caesura.hw.arch.geometry import preset
from caesura.hw.dispatch import watch_table, yield_unit
from caesura.hw.export.verilog import ExportError, rtlil_text, run_yosys
from caesura.hw.interfaces.gpu_ports import written_event
from caesura.hw.interfaces.yielding import notice, watch_event
from support.formal.faults import Fault, planted
from support.selection import quick

G = preset("tiny").replace(kernel_slots=2, warps=2, tb_slots=2, watches=2, entries=3)
INDUCTION = ("read_rtlil d.il; hierarchy -top top; proc; memory; flatten; "
             "tee -o proof.txt sat -verify -timeout 500 -tempinduct -maxsteps 2 -set-init-zero "
             "-prove right 1 top")


class Judged(wiring.Component):
    """The two blocks, TB slots of which each has one warp, and an engine, which do anything that they may.

    Of one kernel and entry, which never change, it is followed what its TB watches. `right`: once that has been written
    the TB, if it is on the SM, has a watch that has fired, until it passes its barrier; if it is away it is ready.
    No TB leaves whose watch has fired.
    """

    def __init__(self):
        slots, kernels = range(G.tb_slots), range(G.kernel_slots)
        super().__init__({
            "kernel": In(kernels), "entry": In(range(G.context_entries)),
            "put": In(1), "slot": In(slots), "put_kernel": In(kernels), "put_entry": In(range(G.context_entries)),
            "takes_off": In(1), "off": In(slots), "starts": In(G.tb_slots), "waits": In(G.tb_slots),
            "watch": In(watch_event(G)), "cancel": In(G.warps), "written": In(written_event()), "noticed": In(notice()),
            **dict.fromkeys(("running", "resuming", "leave_pausing"), In(G.kernel_slots)),
            "room_wanted": In(1), "fresh_pending": In(1), "fresh_launched": In(1),
            "wake_taken": In(G.kernel_slots), "forget": In(G.kernel_slots),
            "takes": In(1), "ends": In(1), "right": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.table = table = watch_table.WatchTable(G)
        m.submodules.unit = unit = yield_unit.YieldUnit(G)
        rows = [unit.resident[t] for t in range(G.tb_slots)]
        self._machine(m, table, unit, rows)
        self._judge(m, table, unit, rows)
        return m

    def _machine(self, m, table, unit, rows):
        """TB slots and an engine that has one command at a time."""
        valid, started, busy = Signal(G.tb_slots), Signal(G.tb_slots), Signal()
        kernels = [Signal(1, name=f"kernel_{t}") for t in range(G.tb_slots)]
        entries = [Signal(2, name=f"entry_{t}") for t in range(G.tb_slots)]
        there = Cat(valid[t] & (kernels[t] == self.put_kernel) & (entries[t] == self.put_entry)
                    for t in range(G.tb_slots))
        puts = self.put & ~valid.bit_select(self.slot, 1) & ~there.any() & (self.put_entry < G.context_entries)
        self.insert = Mux(puts, 1 << self.slot, 0)[:G.tb_slots]
        self.waiting = self.waits & valid & started
        # A TB that waits at its barrier does not end: it leaves when the engine has saved it, if it leaves.
        self.remove = Mux(self.takes_off, 1 << self.off, 0)[:G.tb_slots] & valid & ~(self.waiting & ~unit.saving)
        long = Signal(G.tb_slots)  # an access comes cycles after the start
        m.d.sync += [long.eq(started & ~self.remove), valid.eq((valid | self.insert) & ~self.remove),
                     started.eq((started | self.starts & valid) & ~self.remove & ~self.insert)]
        for t, row in enumerate(rows):
            with m.If(self.insert[t]):
                m.d.sync += [kernels[t].eq(self.put_kernel), entries[t].eq(self.put_entry)]
            m.d.comb += [row.valid.eq(valid[t]), row.started.eq(started[t]), row.kernel.eq(kernels[t]),
                         row.entry.eq(entries[t]), row.warps.eq(1 << t), table.resident[t].eq(row)]
        for k in range(G.kernel_slots):
            m.d.comb += unit.started[k].eq(sum((Mux(valid[t] & started[t] & (kernels[t] == k), 1 << entries[t], 0)
                                             for t in range(G.tb_slots)), 0))
        taken = self.takes & unit.leaves.leave.valid & ~busy
        ended = self.ends & busy
        m.d.sync += busy.eq((busy | taken) & ~ended)
        m.d.comb += [
            unit.waits.eq(self.waiting), unit.running.eq(self.running), unit.resuming.eq(self.resuming),
            unit.leaves.leave_pausing.eq(self.leave_pausing), unit.room_wanted.eq(self.room_wanted),
            unit.fresh_pending.eq(self.fresh_pending), unit.fresh_launched.eq(self.fresh_launched),
            unit.leaves.wake_taken.eq(self.wake_taken), unit.insert.eq(self.insert), unit.remove.eq(self.remove),
            unit.forget.eq(self.forget), unit.leaves.leave_taken.eq(taken), unit.leaves.leave_ended.eq(ended),
            table.watch.eq(self.watch), table.watch.valid.eq(
                self.watch.valid & (started & valid & long).bit_select(self.watch.warp, 1)),
            table.cancel.eq(self.cancel & valid), table.written.eq(self.written), table.noticed.eq(self.noticed)]
        wiring.connect(m, table.tbs, unit.watches)
        self.long = long
        self.valid, self.started, self.taken, self.ended, self.busy = valid, started, taken, ended, busy

    def _judge(self, m, table, unit, rows):
        known, kernel, entry = Signal(), Signal(1, name="its_kernel"), Signal(2, name="its_entry")
        m.d.sync += known.eq(1)
        with m.If(~known):
            m.d.sync += [kernel.eq(self.kernel), entry.eq(Mux(self.entry < G.context_entries, self.entry, 0))]
        mine = Cat(row.valid & (row.kernel == kernel) & (row.entry == entry) for row in rows)
        going = Signal(G.tb_slots)  # the TB that the engine saves
        with m.If(self.taken):
            m.d.sync += going.eq(self._chosen(unit, rows))
        with m.Elif(self.ended | (going & self.remove).any()):
            m.d.sync += going.eq(0)
        watches, segment = Signal(), Signal(25)  # what it watches
        due = Signal()  # it has been written since
        away = Signal()
        here = mine.any()
        released = (mine & self.waiting & ~unit.hold).any()
        leaves = (mine & self.remove & going).any()
        # What is brought back and given back again, not started, is still away.
        lost = ((mine & self.remove & ~going).any() & ~away
                | self.forget.bit_select(kernel, 1) & (away | leaves))
        back = away & (mine & self.started).any()
        hit = watches & (self.written.valid & (self.written.segment == segment)
                         | self.noticed.valid & (self.noticed.first <= segment) & (segment <= self.noticed.last))
        begins = table.watch.valid & here & (mine.bit_select(self.watch.warp, 1))
        with m.If(begins & ~watches & ~away):
            m.d.sync += [watches.eq(1), segment.eq(self.watch.segment)]
        m.d.sync += [due.eq(due | hit), away.eq(away | leaves)]
        with m.If(released | lost | back | (self.insert & self._put_mine(kernel, entry)).any() & ~away):
            m.d.sync += [watches.eq(0), due.eq(0)]
        with m.If(lost | back):
            m.d.sync += away.eq(0)

        is_away = unit.watches.away[kernel].bit_select(entry, 1)
        is_ready = unit.ready[kernel].bit_select(entry, 1)
        waits_turn = Mux(kernel, unit.turns[1], unit.turns[0]).bit_select(entry, 1)
        row = Cat(r.valid & (r.kernel == kernel) & (r.entry == entry) & (r.segment == segment) for r in table.rows)
        fires = (mine & table.tbs.fired).any() | (mine & table.fired_before).any()
        on_sm = ~away & here
        right = [
            ~due | watches, ~away | is_away, ~is_away | away, ~(here & ~away) | ~is_away,
            ~on_sm | (watches == (mine & table.tbs.set).any()), ~(due & on_sm) | fires,
            ~(due & away) | is_ready | waits_turn,  # it is to come back
            ~(away & watches & ~is_ready & ~waits_turn) | row.any(),
            ~(on_sm & watches) | Cat(mine[t] & (table.segments[t] == segment) for t in range(G.tb_slots)).any(),
            ~watches | away | here,
            (going & ~unit.saving) == 0, (unit.saving & ~going) == 0, (going & ~self.valid) == 0,
            ~going.any() | self.busy, ~(going[0] & going[1]),
            ~(rows[0].valid & rows[1].valid & (rows[0].kernel == rows[1].kernel) & (rows[0].entry == rows[1].entry)),
            *(~row.valid | (row.entry < G.context_entries) for row in rows), ~is_ready | is_away, ~waits_turn | is_away,
            ~(unit.leaves.leave.valid & (self._chosen(unit, rows) & table.tbs.fired).any()),
            ~(away & (mine & (going | self.long)).any()), (self.long & ~self.started) == 0,
            (table.tbs.set & self.valid & ~self.long) == 0, (self.started & ~self.valid) == 0,
            (entry < G.context_entries) | ~known,
            known | ~(watches | due | away | self.valid.any() | table.tbs.set.any()
                      | unit.watches.away.as_value().any() | Cat(r.valid for r in table.rows).any()),
        ]
        rules = Signal(len(right))
        m.d.comb += [rules.eq(Cat(right)), self.right.eq(rules.all())]

    def _put_mine(self, kernel, entry):
        return Mux((self.put_kernel == kernel) & (self.put_entry == entry), (1 << G.tb_slots) - 1, 0)

    @staticmethod
    def _chosen(unit, rows):
        """The slot of the TB that is taken."""
        leave = unit.leaves.leave
        return Cat(row.valid & (row.kernel == leave.kernel) & (row.entry == leave.entry) for row in rows)


@pytest.mark.full
@pytest.mark.timeout(600)
def test_no_wake_up_is_lost():
    assert "SUCCESS" in run_yosys(rtlil_text(Judged(), reset=False), INDUCTION, "proof.txt")


FAULTS = {
    "the host's writes": (watch_table, "| noticed.valid & (noticed.first <= segment) & (segment <= noticed.last))",
                          "| 0)"),
    "a write while another leaves": (watch_table, "row.valid & self._hit(row.segment) for",
                                     "row.valid & self._hit(row.segment) & ~tbs.leave.valid for"),
    "row in use": (watch_table, "chosen.eq(lowest(free))", "chosen.eq(1)"),
    "another kernel": (watch_table, "(row.kernel == k)", "(row.kernel == 0)"),
    "row dropped": (watch_table, "row.valid & ~hits[i] & away", "row.valid & ~hits[i] & away & ~tbs.clear[0]"),
    "written as it leaves": (yield_unit, "| Mux(fired, new, 0)", ""),
    "leaves although written": (yield_unit, "self.waits & ~watches.fired & ~refused", "self.waits & ~refused"),
    "no row": (yield_unit, "watched.eq(self.watches.leave.valid & ~self.watches.full)",
               "watched.eq(self.watches.leave.valid)"),
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", quick(FAULTS, []))
def test_the_proof_notices(name):
    with planted(Fault(*FAULTS[name])):
        faulty = rtlil_text(Judged(), reset=False)
    with pytest.raises(ExportError, match="proof did fail"):
        run_yosys(faulty, INDUCTION, "proof.txt")

"""The command sequencer answers each command once, and soon, whether it succeeds or not."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.formal.opened import Opened, free
from caesura.hw.preempt.sequence import sequencer
from caesura.hw.preempt.sequence.sequencer import Sequencer

from .faults import Fault
from .harness import Harness, assume
from .property import Property

__all__ = ["EveryCommandEnds", "PROPERTIES"]

SOON = 1
"""Most cycles from a request of the sequencer to the event that it waits for."""


class EveryCommandEnds(Harness):
    """Each command (preempt, resume, adopt, evict, with any parameters) has one result within `LIMIT` cycles, whatever
    fails, is withdrawn or cancelled; a write error of a kernel's record is an error of its command; a resume of a
    kernel begins only when its record is void, if that was to be.

    It assumes that the sequencers below and the writer of records end what they have begun at most `SOON` cycles later.
    Memory settles, and TBs leave, as soon. Only a save drains. A write error stays until the next command. At most one
    row of the staying table is evicted after the first.
    """

    LIMIT = 32

    def state(self, m):
        m.submodules.dut = dut = Opened(Sequencer(preset("tiny")))
        block = dut.component
        dut.cut("bound")
        free(m, block)
        takes, result = block.command.valid & block.command.ready, block.result
        busy, since = Signal(), Signal(6)
        with m.If(takes):
            m.d.sync += [busy.eq(1), since.eq(0)]
        with m.Elif(result.valid):
            m.d.sync += busy.eq(0)
        with m.Elif(busy):
            m.d.sync += since.eq(since + 1)
        self._answers(m, dut, takes)
        cancelled, failed, void, was = Signal(), Signal(), Signal(), Signal()
        m.d.sync += was.eq(block.save.write_error & ~block.state.clear)
        with m.If(takes):
            m.d.sync += [failed.eq(0), void.eq(0)]
        with m.Else():
            writes = dut.at("RECORD") | dut.at("VOID")
            m.d.sync += [failed.eq(failed | writes & block.save.write_error),
                         void.eq((void | block.save.record_void) & ~block.book.record_voided)]
        m.d.sync += cancelled.eq((cancelled | block.intervention.cancel & busy) & ~result.valid)
        self.given(m, it_stays_cancelled=~cancelled | block.intervention.cancel | result.valid,
                   nothing_is_cancelled_at_rest=~block.intervention.cancel | busy,
                   only_a_save_drains=~block.save.draining | block.state.saving,
                   a_write_error_stays_until_the_next_command=~was | block.save.write_error)
        self.claim(
            m, it_has_a_result_soon=~busy | (since < self.LIMIT), one_for_each_command=~result.valid | busy,
            it_takes_one_at_a_time=~block.command.ready | ~busy,
            a_failure_of_the_record_is_said=~(result.valid & failed) | cancelled | (
                result.error == CommandError.BUS_ERROR),
            it_resumes_when_the_record_is_void=(
                ~block.restore.resume.begin | ~(void | block.save.record_void) | block.book.record_voided),
            warps_go_on_afterwards=~block.command.ready | ~(block.save.stop_pending | block.save.stop_now),
            it_flushes_only_what_is_cancelled=~block.state.flush | cancelled)

    def _answers(self, m: Module, dut: Opened, takes: Value) -> None:
        """Assume that the events the sequencer waits for come soon."""
        save, restore, book = dut.component.save, dut.component.restore, dut.component.book
        settled = save.settled & restore.settled
        for name, done in (("SAVE", save.preempt.done.valid), ("RESUME", restore.resume.done.valid),
                           ("ADOPT", restore.adopt.done.valid), ("EVICT", save.evict.done.valid),
                           ("LEAVING", save.kernel_left | save.unspared_left), ("SUM", book.check_done),
                           ("RECORD", ~save.record_busy & settled), ("VOID", ~save.record_busy & settled)):
            self._soon(m, dut.at(name), done, name)
        m.d.comb += assume(~dut.at("FLUSH") | settled)
        evictions = Signal(2)
        with m.If(takes):
            m.d.sync += evictions.eq(0)
        with m.Elif(dut.at("EVICTED") & (evictions != 3)):
            m.d.sync += evictions.eq(evictions + 1)
        m.d.comb += assume(~dut.at("EVICTED") | ~book.rows_stay | (evictions == 0))

    @staticmethod
    def _soon(m: Module, waits: Value, done: Value, name: str) -> None:
        """It is done before it has been waited for longer than that."""
        waited = Signal(range(SOON + 2), name=f"waited_{name}")
        m.d.sync += waited.eq(Mux(waits, waited + 1, 0))
        m.d.comb += assume(~waits | (waited < SOON) | Value.cast(done).any())


_CLAIM = ("Each command has one result, within 32 cycles if what it waits for answers within 2; an error of the "
          "kernel's record is said; warps are let go; a resume does not begin before the record is void")
_FAULTS = (
    Fault(sequencer, "with m.If(save.write_error):\n                m.d.sync += error.eq(CommandError.BUS_ERROR)",
          "with m.If(0):\n                m.d.sync += error.eq(CommandError.BUS_ERROR)"),
    Fault(sequencer, "with m.Elif(save.unspared_left):\n                m.next = \"END\"",
          "with m.Elif(0):\n                m.next = \"END\""),
    Fault(sequencer,
          "with m.Elif(self.state.resume & book.record_stands & ~book.any_saved):\n                m.d.comb += "
          "save.record_void.eq(1)\n                m.next = \"VOID\"",
          "with m.Elif(self.state.resume & book.record_stands & ~book.any_saved):\n                m.d.comb += "
          "[save.record_void.eq(1), restore.resume.begin.eq(1)]\n                m.next = \"RESUME\""),
)

PROPERTIES = (
    Property("sequencer/commands", _CLAIM, EveryCommandEnds, 35, bounded=True, faults=_FAULTS, fault_depth=35,
             timeout=300),
)

"""Command sequencer of the preemption engine:
takes a command, checks the save area, sees it through."""

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.faults import CommandError
from ...arch.geometry import PREDICATES, SEGMENT_BYTES, UNIFORMS, WORD_BYTES, Geometry
from ...arch.image.context import HEADER_WORDS, STACK_WORDS, Capability, lacks
from ...arch.image.encodings import row_words
from ...arch.registers import UNLIMITED_PATIENCE
from ...interfaces.payloads import kernel_info
from ...interfaces.port import Port
from ...interfaces.preemption import command, engine_result
from .ports import BookPort, CommandState, InterventionPort, RestorePort, SavePort

__all__ = ["FLUSH_CYCLES", "area_bound", "Sequencer"]

FLUSH_CYCLES = 8
"""Cycles of a flush at least: more than the core takes to answer a read of registers or of shared
memory, so that no answer comes after it."""


def area_bound(g: Geometry, warps: Value, registers: Value, lines: Value):
    """Return `arch.context.area_bound` as a combinational expression of a kernel's sizes."""
    fixed = (HEADER_WORDS + row_words(registers) + PREDICATES + UNIFORMS
             + STACK_WORDS * g.stack_depth) * WORD_BYTES
    shared = lines * SEGMENT_BYTES + (lines + 31) // 32 * WORD_BYTES
    total = warps * (registers * g.vector_bytes + fixed) + shared
    return (total + SEGMENT_BYTES - 1) // SEGMENT_BYTES * SEGMENT_BYTES


class Sequencer(wiring.Component):
    """Runs one command at a time.

    A preempt raises ``save.stop_pending`` in the cycle after it is taken, and ``save.stop_now``
    with it if it does not wait for points. It checks the save area in the next cycle; the bits drop
    with the result. Each preempt that passes the check has a new generation. When one has ended
    well and its TBs have left (after a checkpoint they stay), the kernel's record is written,
    unless other TBs of the kernel are still there. Before a kernel without a saved entry is
    resumed, its record is made void (`arch.context`).

    TBs that yield are saved and brought back in the same way, but no record is written: their
    kernel runs on.

    With a mechanism that waits for points a preempt waits as long as its patience lasts.
    ``save.stop_now`` rises in the cycle after ``save.draining`` has been high for that many cycles,
    or after `hasten`.

    A preempt that is not in place writes to memory, a row at a time, what has stayed of the
    kernel's TBs on the SM (`StayingTable`). A command `evict` writes one row. The record waits
    until nothing stays.

    A command that is cancelled is dropped, whatever it has come to. ``state.flush`` holds all other
    parts in reset until memory, the core and the dispatcher have answered; then comes a result
    that means nothing.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    command : stream of preemption.command, in
        Ready while idle.
    kernels : array of payloads.kernel_info, in
        The kernel slots.
    result : engine_result, out
        `valid` for one cycle, ends the command.
    intervention : InterventionPort, in
        Interferes with the command in hand.
    state : CommandState, out
        The command in hand.
    save : SavePort, out
        The save side.
    restore : RestorePort, out
        The restore side.
    book : BookPort, out
        The context book.
    """

    command: stream.Interface
    kernels: data.View
    result: data.View
    intervention: Port
    state: Port
    save: Port
    restore: Port
    book: Port

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "command": In(stream.Signature(command(g))),
            "kernels": In(data.ArrayLayout(kernel_info(g), g.kernel_slots)),
            "result": Out(engine_result()), "intervention": In(InterventionPort()),
            "state": Out(CommandState(g)), "save": Out(SavePort(g)),
            "restore": Out(RestorePort(g)), "book": Out(BookPort(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        error = Signal(CommandError)
        tbs_left = Signal()  # saved TBs stay behind
        patience = self._patience(m)
        settled = Signal()
        m.d.comb += [
            settled.eq(self.save.settled & self.restore.settled),
            self.state.withdraw.eq(self.intervention.withdraw),
            self.save.evict_row.eq(self.book.row_select),
            self.book.record_writing.eq(self.save.record_write),
            self.book.record_voiding.eq(self.save.record_void),
            self.book.command_done.eq(self.result.valid),
        ]
        with m.FSM():
            self._take(m, patience)
            self._save(m, error, tbs_left)
            if self.geometry.in_place:
                self._evict(m, error, tbs_left)
            self._record(m, error, tbs_left, settled)
            self._restore(m, error, tbs_left)
            self._end(m, error, tbs_left, settled)
        return m

    def _take(self, m: Module, patience: Signal) -> None:
        """Take a command with what it needs of its kernel, then begin its first step."""
        g, accepted, request = self.geometry, self.state.accepted, self.command.payload
        save, restore, book = self.save, self.restore, self.book
        kernel = Signal(kernel_info(g))
        m.d.comb += kernel.eq(self.kernels[request.kernel])
        m.d.sync += accepted.allocated.eq((Const(1, 1) << accepted.registers) - 1)
        with m.State("IDLE"):
            m.d.comb += self.command.ready.eq(1)
            with m.If(self.command.valid):
                m.d.sync += [
                    patience.eq(request.patience),
                    *(accepted[name].eq(kernel[name])
                      for name in ("ccb_base", "area_bytes", "registers", "warps")),
                    *(accepted[name].eq(request[name])
                      for name in ("kernel", "again", "adopt", "evict")),
                    *(accepted.options[name].eq(request.options[name])
                      for name in accepted.options.shape().members)]
                if g.traps:  # a kernel without routines stops at its points
                    m.d.sync += accepted.options.trap.eq(
                        request.options.trap & kernel.trap_base.any())
                if g.watches:
                    m.d.sync += accepted.yields.eq(request.yields)
                if g.proactive:
                    m.d.sync += [accepted.announced.eq(request.announced),
                                 accepted.hold.eq(request.hold)]
                if g.grace:
                    m.d.sync += accepted.grace_used.eq(request.grace_used)
                m.d.sync += [
                    accepted.lines.eq((kernel.shared_bytes + SEGMENT_BYTES - 1) // SEGMENT_BYTES),
                    accepted.row_words.eq(row_words(kernel.registers)),
                    self.state.resume.eq(request.resume), book.row_select.eq(request.staying)]
                with m.If(~request.resume & ~request.adopt & ~request.evict):
                    m.d.sync += [save.stop_pending.eq(1), save.stop_now.eq(
                        lacks(request.options.mechanism, Capability.STOPS_AT_POINTS)
                        | (request.patience == 0) | request.options.restart)]
                m.next = "BOUND"
        # A cycle for the size of the save area, which `CHECK` compares.
        with m.State("BOUND"):
            m.d.comb += self.state.clear.eq(1)
            m.next = "CHECK"
            with m.If(accepted.adopt):
                m.d.comb += restore.adopt.begin.eq(1)
                m.next = "ADOPT"
            if g.in_place:
                with m.Elif(accepted.evict):
                    m.next = "LOOK"
            with m.Elif(self.state.resume & book.record_stands & ~book.any_saved):
                m.d.comb += save.record_void.eq(1)
                m.next = "VOID"
            with m.Elif(self.state.resume):
                m.d.comb += restore.resume.begin.eq(1)
                m.next = "RESUME"

    def _save(self, m: Module, error: Signal, tbs_left: Signal) -> None:
        """Check the save area, then have the TBs of the kernel saved."""
        g, accepted, save = self.geometry, self.state.accepted, self.save
        bound = Signal(32)
        m.d.sync += bound.eq(area_bound(g, accepted.warps, accepted.registers, accepted.lines))
        # An area that is too small is refused before anything is written.
        with m.State("CHECK"):
            m.d.sync += [error.eq(CommandError.AREA_TOO_SMALL), tbs_left.eq(0)]
            m.next = "END"
            with m.If(accepted.area_bytes >= bound):
                m.d.comb += save.preempt.begin.eq(1)
                m.d.sync += accepted.generation.eq(accepted.generation + 1)
                m.next = "SAVE"
        with m.State("SAVE"):
            m.d.comb += self.state.saving.eq(1)
            m.d.sync += [error.eq(save.preempt.done.error), tbs_left.eq(0)]
            with m.If(save.preempt.done.valid):
                m.next = "END"
                with m.If((save.preempt.done.error == CommandError.NONE)
                          & ~self.intervention.withdraw & ~accepted.options.checkpoint):
                    m.next = "LEAVING"
                    if g.in_place:
                        others_stay = self.book.rows_stay & ~accepted.options.in_place
                        if g.watches:  # and are left alone
                            others_stay = others_stay & ~accepted.yields
                        with m.If(others_stay):
                            m.d.sync += self.book.row_select.eq(self.book.first_row)
                            m.next = "LOOK"
            self._cancel(m)

    def _evict(self, m: Module, error: Signal, tbs_left: Signal) -> None:
        """Write rows of the staying table to memory."""
        save, book, options = self.save, self.book, self.state.accepted.options
        with m.State("LOOK"):
            # Registers and lines are saved as the rest of their TB was, whatever this command says.
            m.d.sync += [options.mechanism.eq(book.row.what.mechanism),
                         options.scramble.eq(book.row.what.scramble),
                         self.state.accepted.evict.eq(1),
                         *(options[name].eq(0)
                           for name in ("restart", "checkpoint", "incremental"))]
            m.next = "OFFER"
        # `accepted` has the mechanism of the row from this cycle on.
        with m.State("OFFER"):
            m.d.comb += save.evict.begin.eq(1)
            m.next = "EVICT"
        with m.State("EVICT"):
            m.d.comb += self.state.evicting.eq(1)
            m.d.sync += [error.eq(save.evict.done.error), tbs_left.eq(0)]
            with m.If(save.evict.done.valid):
                m.next = "END"
                with m.If(save.evict.done.error == CommandError.NONE):
                    m.next = "EVICTED"
            self._cancel(m)
        with m.State("EVICTED"):
            m.d.sync += book.row_select.eq(book.first_row)
            m.next = "LEAVING"
            # A preempt evicts all that stays, a command of its own one row.
            with m.If(save.stop_pending & book.rows_stay):
                m.next = "LOOK"
            with m.Elif(~save.stop_pending & ~save.kernel_left):
                m.next = "END"
            with m.If(self.intervention.withdraw):
                m.next = "END"
            self._cancel(m)

    def _record(self, m: Module, error: Signal, tbs_left: Signal, settled: Signal) -> None:
        """Write the kernel's record, or make it void."""
        save, book = self.save, self.book
        # The record describes a kernel that has left: if spared TBs stay, none is written.
        with m.State("LEAVING"):
            kernel_left = save.kernel_left
            if self.geometry.watches:  # what yields has no record: its kernel runs on
                kernel_left = kernel_left & ~self.state.accepted.yields
            m.d.comb += book.check_begin.eq(kernel_left)
            with m.If(kernel_left):
                m.next = "SUM"
            with m.Elif(save.unspared_left):
                m.next = "END"
            self._cancel(m)
        # The record holds the checksum of the generations: it is computed first.
        with m.State("SUM"):
            m.d.comb += save.record_write.eq(book.check_done)
            with m.If(book.check_done):
                m.next = "RECORD"
            self._cancel(m)
        with m.State("RECORD"):
            with m.If(save.write_error):
                m.d.sync += error.eq(CommandError.BUS_ERROR)
            with m.If(~save.record_busy & settled):
                m.d.comb += book.record_written.eq(~save.write_error)
                m.next = "END"
            self._cancel(m)
        # The old record must be void in memory before a TB of the kernel runs.
        with m.State("VOID"):
            m.d.sync += [error.eq(CommandError.BUS_ERROR), tbs_left.eq(0)]
            with m.If(~save.record_busy & settled):
                m.next = "END"
                with m.If(~save.write_error):
                    m.d.comb += [book.record_voided.eq(1), self.restore.resume.begin.eq(1)]
                    m.next = "RESUME"
            self._cancel(m)

    def _restore(self, m: Module, error: Signal, tbs_left: Signal) -> None:
        """Wait for the end of a resume, or of an adoption."""
        restore, generation = self.restore, self.state.accepted.generation
        with m.State("RESUME"):
            m.d.comb += self.state.resuming.eq(1)
            m.d.sync += [error.eq(restore.resume.done.error),
                         tbs_left.eq(restore.resume.done.left)]
            with m.If(restore.resume.done.valid):
                m.next = "END"
            self._cancel(m)
        with m.State("ADOPT"):
            m.d.comb += self.state.adopting.eq(1)
            m.d.sync += [error.eq(restore.adopt.done.error), tbs_left.eq(0)]
            with m.If(restore.adopted.valid & (restore.record_generation > generation)):
                m.d.sync += generation.eq(restore.record_generation)
            with m.If(restore.adopt.done.valid):
                m.next = "END"
            self._cancel(m)

    def _cancel(self, m: Module) -> None:
        """Leave the state for a flush if the command is cancelled, whatever else happens."""
        with m.If(self.intervention.cancel):
            m.next = "FLUSH"

    def _end(self, m: Module, error: Signal, tbs_left: Signal, settled: Signal) -> None:
        """Hold everything in reset if the command is cancelled; say how the command has ended."""
        save, result = self.save, self.result
        cycles = Signal(range(FLUSH_CYCLES), name="flush_cycles")
        with m.State("FLUSH"):
            m.d.comb += self.state.flush.eq(1)
            m.d.sync += [save.stop_pending.eq(0), save.stop_now.eq(0),
                         cycles.eq(Mux(cycles == FLUSH_CYCLES - 1, cycles, cycles + 1))]
            with m.If(settled & (cycles == FLUSH_CYCLES - 1)):
                m.d.sync += cycles.eq(0)
                m.next = "END"
        with m.State("END"):
            m.d.comb += [result.valid.eq(1), result.error.eq(error), result.left.eq(tbs_left),
                         result.at_once.eq(save.stop_now)]
            m.d.sync += [save.stop_pending.eq(0), save.stop_now.eq(0)]
            m.next = "IDLE"

    def _patience(self, m: Module) -> Signal:
        """Stop the warps at once when the patience is used up; return what is left of it, in
        cycles in which nothing can be saved."""
        save = self.save
        patience = Signal(32)
        with m.If(save.draining & ~save.stop_now & (patience != UNLIMITED_PATIENCE)):
            m.d.sync += [patience.eq(patience - 1), save.stop_now.eq(patience == 1)]
        with m.If(save.stop_pending & self.intervention.hasten):
            m.d.sync += save.stop_now.eq(1)
        return patience

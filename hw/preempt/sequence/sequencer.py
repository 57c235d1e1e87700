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
from ...interfaces.payloads import below, kernel_info
from ...interfaces.preemption import adoption, command, engine_result
from ...interfaces.staying import staying_row
from ..formats.accepted_command import accepted_command

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

    A preempt raises `pending` (and `stop_now` where it does not wait for points) in the cycle after
    it is taken, and checks the save area in the cycle after that; the bits drop with the result.
    Each preempt that passes the check has a new generation. When one has ended well and its TBs
    have left (after a checkpoint they stay), the kernel's record is written, unless others of the
    kernel are still there; before a kernel of which no entry is saved is resumed, it is made void
    (`arch.context`).

    What yields is saved and brought back in the same way, but that no record is written: the kernel
    runs on.

    A preempt waits for points with a mechanism that does, as long as its patience lasts: `stop_now`
    rises in the cycle after `draining` has been high for as many cycles as that, or after `hasten`.

    What has stayed on the SM of TBs of the kernel (`StayingTable`) is written to memory when such a
    preempt is not in place itself, a row at a time; by a command of its own just one row is. The
    record waits until nothing stays.

    A command that is cancelled, whatever it has come to, is dropped: `flush` holds everything else
    in reset until memory has answered what it was asked, and the core and the dispatcher too; then
    comes a result that means nothing.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    command : stream, in
    kernels : in
    accepted : out
        The command in hand, from the cycle after it is taken.
    result : out
        `valid` for one cycle, ends the command.
    pending, stop_now : Signal, out
        The TBs of the kernel stop; they stop at once.
    resume : Signal, out
        The command in hand is a resume.
    clear, begin_save, begin_resume, begin_adopt : Signal, out
        One cycle each: a command was taken; the preempt, resume or adopt sequencer starts.
    begin_evict : Signal, out; evicting : Signal, out; evict_done : engine_result, in
        Likewise the evict sequencer, for row `staying`.
    stays : Signal, in; first_staying : Signal, in
        Something of TBs of the kernel has stayed on the SM; in which row at first.
    staying : Signal, out; row : staying_row, in
        A row of the `StayingTable`.
    saving, resuming, adopting : Signal, out
        Which of them is at work.
    save_done, resume_done, adopt_done : engine_result, in
    adopted : adoption, in; record_generation : Signal(32), in
        A kernel is adopted, whose record has this generation: later ones are above it.
    withdraw, gone, released : Signal, in
        The preempt in hand is withdrawn; no TB of the kernel is on the SM, or none but those that
        are spared.
    saved, stands : Signal, in
        An entry of the kernel is saved; its record may be believed (`SavedEntries`).
    check : Signal, out; checked : Signal, in
        The `GenerationsChecksum`.
    write, void : Signal, out; busy : Signal, in
        The `KernelRecordWriter`.
    written : Signal, out
        The kernel's record is in memory.
    voided : Signal, out
        The kernel's record is void.
    write_error : Signal, in
        A write of the command has failed.
    draining : Signal, in
        Nothing can be saved because warps still run.
    hasten : Signal, in
        The preempt in hand, if there is one, has no patience left.
    cancel : Signal, in
        The command in hand is to be dropped; high until its result.
    flush : Signal, out
        It is: everything that it has begun is forgotten.
    settled : Signal, in
        Nothing is outstanding in memory, and no admission.
    """

    command: stream.Interface
    kernels: data.View
    accepted: data.View
    result: data.View
    pending: Signal
    stop_now: Signal
    resume: Signal
    clear: Signal
    begin_save: Signal
    begin_resume: Signal
    begin_adopt: Signal
    begin_evict: Signal
    evicting: Signal
    evict_done: data.View
    stays: Signal
    first_staying: Signal
    staying: Signal
    row: data.View
    saving: Signal
    resuming: Signal
    adopting: Signal
    save_done: data.View
    resume_done: data.View
    adopt_done: data.View
    adopted: data.View
    record_generation: Signal
    withdraw: Signal
    gone: Signal
    released: Signal
    saved: Signal
    stands: Signal
    check: Signal
    checked: Signal
    write: Signal
    void: Signal
    written: Signal
    busy: Signal
    voided: Signal
    write_error: Signal
    draining: Signal
    hasten: Signal
    cancel: Signal
    flush: Signal
    settled: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        result = engine_result()
        super().__init__({
            "command": In(stream.Signature(command(g))),
            "kernels": In(data.ArrayLayout(kernel_info(g), g.kernel_slots)),
            "accepted": Out(accepted_command(g)), "result": Out(result),
            "pending": Out(1), "stop_now": Out(1), "resume": Out(1),
            "clear": Out(1), "begin_save": Out(1),
            "begin_evict": Out(1), "evicting": Out(1), "evict_done": In(result), "stays": In(1),
            "first_staying": In(below(g.tb_slots)), "staying": Out(below(g.tb_slots)),
            "row": In(staying_row(g)),
            **{f"begin_{name}": Out(1) for name in ("resume", "adopt")},
            **{name: Out(1) for name in ("saving", "resuming", "adopting")},
            **{f"{name}_done": In(result) for name in ("save", "resume", "adopt")},
            "adopted": In(adoption(g)), "record_generation": In(32),
            **{name: In(1) for name in ("withdraw", "gone", "released", "saved", "stands",
                                        "checked", "busy", "write_error")},
            **{name: Out(1) for name in ("check", "write", "void", "written",
                                         "voided")},
            "draining": In(1), "hasten": In(1),
            "cancel": In(1), "flush": Out(1), "settled": In(1),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, s, wanted = self.geometry, self.accepted, self.command.payload
        kernel = Signal(kernel_info(g))
        bound = Signal(32)
        error = Signal(CommandError)
        left = Signal()
        flushed = Signal(range(FLUSH_CYCLES))
        patience = self._patience(m)
        m.d.comb += kernel.eq(self.kernels[wanted.kernel])
        m.d.sync += [s.allocated.eq((Const(1, 1) << s.registers) - 1),
                     bound.eq(area_bound(g, s.warps, s.registers, s.lines))]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.command.ready.eq(1)
                with m.If(self.command.valid):
                    m.d.sync += patience.eq(wanted.patience)
                    m.d.sync += [s[name].eq(kernel[name]) for name in
                                 ("ccb_base", "area_bytes", "registers", "warps")]
                    m.d.sync += [s[name].eq(wanted[name]) for name in (
                        "kernel", "again", "adopt", "evict")]
                    m.d.sync += [s.options[name].eq(wanted.options[name])
                                 for name in s.options.shape().members]
                    if g.traps:  # a kernel without routines stops at its points
                        m.d.sync += s.options.trap.eq(
                            wanted.options.trap & kernel.trap_base.any())
                    if g.watches:
                        m.d.sync += s.yields.eq(wanted.yields)
                    if g.grace:
                        m.d.sync += s.grace_used.eq(wanted.grace_used)
                    m.d.sync += [
                        s.lines.eq((kernel.shared_bytes + SEGMENT_BYTES - 1) // SEGMENT_BYTES),
                        s.row_words.eq(row_words(kernel.registers)), self.resume.eq(wanted.resume)]
                    m.d.sync += self.staying.eq(wanted.staying)
                    with m.If(~wanted.resume & ~wanted.adopt & ~wanted.evict):
                        m.d.sync += [self.pending.eq(1), self.stop_now.eq(
                            lacks(wanted.options.mechanism, Capability.STOPS_AT_POINTS)
                            | (wanted.patience == 0) | wanted.options.restart)]
                    m.next = "BOUND"
            with m.State("BOUND"):
                m.d.comb += self.clear.eq(1)
                m.next = "CHECK"
                with m.If(s.adopt):
                    m.d.comb += self.begin_adopt.eq(1)
                    m.next = "ADOPT"
                if g.in_place:
                    with m.Elif(s.evict):
                        m.next = "LOOK"
                with m.Elif(self.resume & self.stands & ~self.saved):
                    m.d.comb += self.void.eq(1)
                    m.next = "VOID"
                with m.Elif(self.resume):
                    m.d.comb += self.begin_resume.eq(1)
                    m.next = "RESUME"
            with m.State("CHECK"):
                m.d.sync += [error.eq(CommandError.AREA_TOO_SMALL), left.eq(0)]
                m.next = "END"
                with m.If(s.area_bytes >= bound):
                    m.d.comb += self.begin_save.eq(1)
                    m.d.sync += s.generation.eq(s.generation + 1)
                    m.next = "SAVE"
            with m.State("SAVE"):
                m.d.comb += self.saving.eq(1)
                m.d.sync += [error.eq(self.save_done.error), left.eq(0)]
                with m.If(self.save_done.valid):
                    m.next = "END"
                    with m.If((self.save_done.error == CommandError.NONE) & ~self.withdraw
                              & ~s.options.checkpoint):
                        m.next = "LEAVING"
                        if g.in_place:
                            others_stay = self.stays & ~s.options.in_place
                            if g.watches:  # and are left alone
                                others_stay = others_stay & ~s.yields
                            with m.If(others_stay):
                                m.d.sync += self.staying.eq(self.first_staying)
                                m.next = "LOOK"
                with m.If(self.cancel):
                    m.next = "FLUSH"
            if g.in_place:
                self._evict(m, error, left)
            self._record(m, error, left)
            with m.State("RESUME"):
                m.d.comb += self.resuming.eq(1)
                m.d.sync += [error.eq(self.resume_done.error), left.eq(self.resume_done.left)]
                with m.If(self.resume_done.valid):
                    m.next = "END"
                with m.If(self.cancel):
                    m.next = "FLUSH"
            with m.State("ADOPT"):
                m.d.comb += self.adopting.eq(1)
                m.d.sync += [error.eq(self.adopt_done.error), left.eq(0)]
                with m.If(self.adopted.valid & (self.record_generation > s.generation)):
                    m.d.sync += s.generation.eq(self.record_generation)
                with m.If(self.adopt_done.valid):
                    m.next = "END"
                with m.If(self.cancel):
                    m.next = "FLUSH"
            with m.State("FLUSH"):
                m.d.comb += self.flush.eq(1)
                m.d.sync += [self.pending.eq(0), self.stop_now.eq(0)]
                m.d.sync += flushed.eq(Mux(flushed == FLUSH_CYCLES - 1, flushed, flushed + 1))
                with m.If(self.settled & (flushed == FLUSH_CYCLES - 1)):
                    m.d.sync += flushed.eq(0)
                    m.next = "END"
            with m.State("END"):
                m.d.comb += [self.result.valid.eq(1), self.result.error.eq(error),
                             self.result.left.eq(left), self.result.at_once.eq(self.stop_now)]
                m.d.sync += [self.pending.eq(0), self.stop_now.eq(0)]
                m.next = "IDLE"
        return m

    def _evict(self, m: Module, error: Signal, left: Signal) -> None:
        """Write rows of the staying table to memory."""
        s = self.accepted
        with m.State("LOOK"):
            m.d.sync += [s.options.mechanism.eq(self.row.what.mechanism),
                         s.options.scramble.eq(self.row.what.scramble), s.evict.eq(1),
                         *(s.options[name].eq(0)
                           for name in ("restart", "checkpoint", "incremental"))]
            m.next = "OFFER"
        with m.State("OFFER"):
            m.d.comb += self.begin_evict.eq(1)
            m.next = "EVICT"
        with m.State("EVICT"):
            m.d.comb += self.evicting.eq(1)
            m.d.sync += [error.eq(self.evict_done.error), left.eq(0)]
            with m.If(self.evict_done.valid):
                m.next = "END"
                with m.If(self.evict_done.error == CommandError.NONE):
                    m.next = "EVICTED"
            with m.If(self.cancel):
                m.next = "FLUSH"
        with m.State("EVICTED"):
            m.d.sync += self.staying.eq(self.first_staying)
            m.next = "LEAVING"
            with m.If(self.pending & self.stays):  # a preempt evicts all, one of its own this one
                m.next = "LOOK"
            with m.Elif(~self.pending & ~self.gone):
                m.next = "END"
            with m.If(self.withdraw):
                m.next = "END"
            with m.If(self.cancel):
                m.next = "FLUSH"

    def _record(self, m: Module, error: Signal, left: Signal) -> None:
        """Write the kernel's record, or make it void."""
        with m.State("LEAVING"):
            gone = self.gone & ~self.accepted.yields if self.geometry.watches else self.gone
            m.d.comb += self.check.eq(gone)
            with m.If(gone):
                m.next = "SUM"
            with m.Elif(self.released):
                m.next = "END"
            with m.If(self.cancel):
                m.next = "FLUSH"
        with m.State("SUM"):
            m.d.comb += self.write.eq(self.checked)
            with m.If(self.checked):
                m.next = "RECORD"
            with m.If(self.cancel):
                m.next = "FLUSH"
        with m.State("RECORD"):
            with m.If(self.write_error):
                m.d.sync += error.eq(CommandError.BUS_ERROR)
            with m.If(~self.busy & self.settled):
                m.d.comb += self.written.eq(~self.write_error)
                m.next = "END"
            with m.If(self.cancel):
                m.next = "FLUSH"
        with m.State("VOID"):
            m.d.sync += [error.eq(CommandError.BUS_ERROR), left.eq(0)]
            with m.If(~self.busy & self.settled):
                m.next = "END"
                with m.If(~self.write_error):
                    m.d.comb += [self.voided.eq(1), self.begin_resume.eq(1)]
                    m.next = "RESUME"
            with m.If(self.cancel):
                m.next = "FLUSH"

    def _patience(self, m: Module) -> Signal:
        """Stop the warps at once when the patience is used up;
        return what is left of it, in cycles of `draining`."""
        patience = Signal(32)
        with m.If(self.draining & ~self.stop_now & (patience != UNLIMITED_PATIENCE)):
            m.d.sync += [patience.eq(patience - 1), self.stop_now.eq(patience == 1)]
        with m.If(self.pending & self.hasten):
            m.d.sync += self.stop_now.eq(1)
        return patience

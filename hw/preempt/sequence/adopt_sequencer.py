"""Adopt sequencer: a kernel is taken over from the record and the entries that stand in memory."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.faults import CommandError
from ...arch.geometry import Geometry
from ...arch.image.context import CCB_RECORD, ENTRY_BYTES, ENTRY_WORDS, place_of, places
from ...interfaces.preemption import adoption, engine_result, kernel_progress
from ..formats.accepted_command import accepted_command
from ..restore.segment_reader import read_job

__all__ = ["AdoptSequencer"]


class AdoptSequencer(wiring.Component):
    """Reads the record, then all entries; believes them if both are good, and if the generations of
    the entries are those that the record was written with.

    Timing
    ------
    A read is offered in each cycle; besides what memory takes for the record and then for the
    entries, and the `GenerationsChecksum`, a few cycles.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    accepted : in
    begin : Signal, in
        Start, with `accepted` set from this cycle on.
    record_reading : Signal, out
        The words that memory answers are the record's.
    record_full, record_bad : Signal, in; record : in
        The `RecordReader`.
    entries_clear : Signal, out; images_full, entries_full, entries_bad : Signal, in
        The `EntryBuffer`.
    bases_pending : Signal, in
        Some of its entries are increments, once they are all in: their bases are read as well.
    check_begin : Signal, out; check_done : Signal, in; generations : Signal(32), in
        The `GenerationsChecksum`.
    read_error : Signal, in
        An access failed.
    reads_idle : Signal, in
        Nothing is outstanding in memory.
    read_job : stream, out
    done : out
        `valid` for one cycle, with the result.
    adopted : out
        The adoption, `valid` in the cycle of `done` if there is no error.
    """

    accepted: data.View
    begin: Signal
    record_reading: Signal
    record_full: Signal
    record_bad: Signal
    record: data.View
    entries_clear: Signal
    images_full: Signal
    bases_pending: Signal
    entries_full: Signal
    entries_bad: Signal
    check_begin: Signal
    check_done: Signal
    generations: Signal
    read_error: Signal
    reads_idle: Signal
    read_job: stream.Interface
    done: data.View
    adopted: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "accepted": In(accepted_command(g)), "begin": In(1), "record_reading": Out(1),
            "record_full": In(1), "record_bad": In(1), "record": In(CCB_RECORD),
            "entries_clear": Out(1), "entries_full": In(1), "entries_bad": In(1),
            "images_full": In(1),
            "bases_pending": In(1),
            "check_begin": Out(1), "check_done": In(1), "generations": In(32),
            "read_error": In(1), "reads_idle": In(1),
            "read_job": Out(stream.Signature(read_job(g))),
            "done": Out(engine_result()), "adopted": Out(adoption(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, job, record = self.geometry, self.read_job, self.record
        requested = Signal(range(g.context_entries + 1))  # entries requested
        of_base = Signal()  # on the other sides
        side = record.sides.bit_select(requested, 1) ^ of_base
        place = place_of(g, requested, side) if g.checkpoints else requested
        error = Signal(CommandError)
        m.d.comb += [job.payload.words.eq(ENTRY_WORDS), job.payload.address.eq(
            self.accepted.ccb_base + ENTRY_BYTES * Mux(self.record_reading, places(g), place))]
        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.begin):
                    m.next = "ASK"
            # The record comes first: it says on which side each entry stands.
            with m.State("ASK"):
                m.d.comb += [self.record_reading.eq(1), job.valid.eq(1)]
                m.d.sync += [requested.eq(0), of_base.eq(0)]
                with m.If(job.ready):
                    m.next = "RECORD"
            # Wait for the record; no entry is read if it is bad.
            with m.State("RECORD"):
                m.d.comb += self.record_reading.eq(1)
                m.d.sync += error.eq(Mux(self.read_error, CommandError.BUS_ERROR,
                                         CommandError.BAD_IMAGE))
                with m.If(self.record_full):
                    m.d.comb += self.entries_clear.eq(1)
                    m.next = "ENTRIES"
                    with m.If(self.read_error | self.record_bad):
                        m.next = "SETTLE"
            # Read all entries, then all bases if an entry is an increment: only the entries tell.
            with m.State("ENTRIES"):
                m.d.comb += job.valid.eq(requested != g.context_entries)
                with m.If(job.valid & job.ready):
                    m.d.sync += requested.eq(requested + 1)
                m.d.sync += error.eq(Mux(self.read_error, CommandError.BUS_ERROR,
                                         CommandError.BAD_IMAGE))
                with m.If(self.images_full & ~job.valid & ~of_base & self.bases_pending):
                    m.d.sync += [requested.eq(0), of_base.eq(1)]
                with m.Elif(self.entries_full & ~job.valid):
                    m.d.comb += self.check_begin.eq(1)
                    m.next = "GENERATIONS"
                    with m.If(self.read_error | self.entries_bad):
                        m.next = "SETTLE"
            # The entries must be those that the record was written with.
            with m.State("GENERATIONS"):
                with m.If(self.check_done):
                    m.next = "SETTLE"
                    with m.If(self.generations == record.generations):
                        m.d.sync += error.eq(CommandError.NONE)
            # After an error reads may still be outstanding: the next command must not get them.
            with m.State("SETTLE"):
                with m.If(self.reads_idle):
                    m.next = "FINISH"
            with m.State("FINISH"):
                m.d.comb += [self.done.valid.eq(1), self.done.error.eq(error),
                             self.adopted.valid.eq(error == CommandError.NONE)]
                m.next = "IDLE"
        m.d.comb += [self.adopted.kernel.eq(self.accepted.kernel),
                     self.adopted.saved.eq(record.saved[:g.context_entries]),
                     *(self.adopted.progress[name].eq(record[name])
                       for name in kernel_progress().members)]
        return m

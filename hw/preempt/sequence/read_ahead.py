"""Read ahead: asks for all that a resume reads, before it is known which TBs get room.

All entries are read, and right behind them the streams of the saved ones, whose length the machine
remembers (`SavedEntries`). So a resume waits for memory once, not first for the entries and then
for the streams.
"""

from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import ADDRESS_BITS, WORD_BYTES, Geometry
from ...arch.image.context import ENTRY_BYTES, ENTRY_WORDS, area_address, place_of
from ...arch.image.encodings import MAX_ROW_WORDS
from ...interfaces.payloads import below
from ...lib.bits import lowest_number, without_lowest
from ..formats.accepted_command import accepted_command
from ..formats.packer import WORD_COUNT_BITS
from ..formats.stream_extent import stream_extent
from ..restore.segment_reader import read_job

__all__ = ["ReadAhead"]


class ReadAhead(wiring.Component):
    """Asks for the entries of a kernel, then for the streams of the saved ones.

    If some entries are increments or completed, all entries on the other sides are read too. The
    streams come in the order of the entries, each as its encoding table and then the rest. The
    stream of an entry's base, or of the image that completes it, comes before its own.

    A stream is asked for if its TB has room, or may still get it. In the first pass of a resume
    these are all streams. In a later pass room has become free for a TB or two, so one stream more
    is asked for than TBs have room. The taker of the words has to drop words that are not needed.

    Timing
    ------
    A read of an entry is offered in each cycle, then two of a stream in each 4 cycles, in 7 the
    four of a TB that has two images.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    accepted : in
        The command; constant from `begin` on.
    begin : Signal, in
        A pass begins, with `accepted` set from this cycle on.
    restore_pending, tbs_placed : Signal(context_entries), in
        Vectors: entries that are to come back, from the cycle after `begin` on; entries whose TB
        has room.
    sides, increments, completed : Signal(context_entries), in
        Vectors: entries that are on side 1, that are increments, that a second image completes.
    admission_closed : Signal, in
        No further TB gets room.
    discard : Signal, in
        Nothing more is needed; high until `idle`.
    entry_select, entry_select_base : Signal, out; extent : in
        The length of the stream of entry `entry_select`, or with `entry_select_base` of its base.
        Combinational.
    read_job : stream, out
        Jobs for a `SegmentReader`.
    entries_requested : Signal, out
        All entries have been asked for.
    idle : Signal, out
    """

    accepted: data.View
    begin: Signal
    restore_pending: Signal
    tbs_placed: Signal
    sides: Signal
    increments: Signal
    completed: Signal
    admission_closed: Signal
    discard: Signal
    entry_select: Signal
    entry_select_base: Signal
    extent: data.View
    read_job: stream.Interface
    entries_requested: Signal
    idle: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "accepted": In(accepted_command(g)), "begin": In(1),
            "restore_pending": In(g.context_entries),
            "tbs_placed": In(g.context_entries), "sides": In(g.context_entries),
            "increments": In(g.context_entries), "admission_closed": In(1), "discard": In(1),
            "completed": In(g.context_entries),
            "entry_select": Out(below(g.context_entries)), "entry_select_base": Out(1),
            "extent": In(stream_extent(g)),
            "read_job": Out(stream.Signature(read_job(g))), "entries_requested": Out(1),
            "idle": Out(1),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, s, job = self.geometry, self.accepted, self.read_job
        entry = Signal(range(g.context_entries + 1))  # the one to be asked for
        of_base = Signal()  # or that on the other side
        pairs = self.increments | (self.completed if g.in_place else 0)
        others = (self.restore_pending & pairs).any() if g.checkpoints else 0
        streams_left = Signal(g.context_entries)  # entries whose stream has not been asked for
        chosen = Signal(below(g.context_entries))
        stream_wanted = Signal()  # its stream is
        area = Signal(ADDRESS_BITS)  # of the entry selected
        table = Signal(range(MAX_ROW_WORDS * g.max_block_warps + 1))  # words of its encoding table
        words_before = Signal(WORD_COUNT_BITS)  # and of what precedes it
        at = Signal(ADDRESS_BITS)  # address of the table
        skip = Signal(range(g.chunk_words))  # words of the bus beat before it
        m.d.comb += [
            self.entries_requested.eq((entry == g.context_entries) & (of_base | ~others)),
            chosen.eq(lowest_number(streams_left)),
            stream_wanted.eq(streams_left.any()
                             & (self.tbs_placed.bit_select(chosen, 1) | ~self.admission_closed & (
                ~s.again | ~(self.restore_pending & ~streams_left & ~self.tbs_placed).any()))),
            table.eq(self.extent.warps * s.row_words), at.eq(area + words_before * WORD_BYTES),
            skip.eq(at % g.bus_bytes // WORD_BYTES),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.idle.eq(1)
                with m.If(self.begin):
                    m.d.sync += [entry.eq(0), of_base.eq(0)]
                    m.next = "ENTRIES"
            # Entries are needed whichever TBs get room.
            with m.State("ENTRIES"):
                m.d.comb += [job.valid.eq(entry != g.context_entries),
                             job.payload.words.eq(ENTRY_WORDS),
                             job.payload.address.eq(s.ccb_base + ENTRY_BYTES * self._place(
                                 entry, of_base))]
                m.d.sync += streams_left.eq(self.restore_pending)
                with m.If(job.valid & job.ready):
                    m.d.sync += entry.eq(entry + 1)
                with m.Elif((entry == g.context_entries) & ~of_base & others):
                    m.d.sync += [entry.eq(0), of_base.eq(1)]
                with m.If(self.entries_requested):
                    m.next = "CHOOSE"
            # Wait until the next stream is wanted, or nothing more is.
            with m.State("CHOOSE"):
                m.d.sync += [self.entry_select.eq(chosen), self.entry_select_base.eq(
                    pairs.bit_select(chosen, 1) if g.checkpoints else 0)]
                with m.If(stream_wanted & ~self.discard):
                    m.d.sync += streams_left.eq(without_lowest(streams_left))
                    m.next = "FIND"
                with m.Elif(self.discard):
                    m.next = "IDLE"
            # A cycle of its own for the arithmetic of addresses.
            with m.State("FIND"):
                m.d.sync += [area.eq(area_address(g, s.ccb_base, s.area_bytes, self._place(
                                 self.entry_select, self.entry_select_base))),
                             words_before.eq(self.extent.words - table)]
                m.next = "TABLE"
            # The table stands last in a stream, and is needed first.
            with m.State("TABLE"):
                m.d.comb += [job.valid.eq(1), job.payload.address.eq(at - skip * WORD_BYTES),
                             job.payload.words.eq(table + skip), job.payload.skip.eq(skip)]
                with m.If(job.ready):
                    m.next = "STREAM"
            # Then the words before the table; after those of a base, the stream of its increment.
            with m.State("STREAM"):
                m.d.comb += [job.valid.eq(1), job.payload.address.eq(area),
                             job.payload.words.eq(words_before), job.payload.checked.eq(1)]
                with m.If(job.ready):
                    m.d.sync += self.entry_select_base.eq(0)
                    m.next = "CHOOSE"
                    with m.If(self.entry_select_base):
                        m.next = "FIND"
        return m

    def _place(self, entry: Value, of_base: Value):
        """Return the place in the CCB of an entry, or of the entry of its base."""
        if not self.geometry.checkpoints:
            return entry
        return place_of(self.geometry, entry, self.sides.bit_select(entry, 1) ^ of_base)

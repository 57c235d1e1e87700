"""Resume sequencer: reads and checks entries, then gives one TB at a time room, stream and start.

Every TB passes ``tbs_placed`` (it has room), ``parsed`` (all of it is in place, and right) and
``demoted`` (its entry is no longer resumable, acknowledged), and then starts: at once, or with
``options.gang`` when all have got there that have room. What is read is asked for by `ReadAhead`,
entries and streams back to back; TBs are admitted while earlier ones are still being read.
"""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.faults import CommandError
from ...arch.geometry import WORD_BYTES, Geometry
from ...arch.image.context import CCB_ENTRY, State
from ...arch.image.encodings import MAX_ROW_WORDS
from ...interfaces.payloads import below, tb_event
from ...interfaces.preemption import admission, admitted, engine_result, resident_tb
from ...interfaces.staying import staying_row
from ...lib.bits import lowest_number, popcount, without_lowest
from ..formats.accepted_command import accepted_command
from ..formats.packer import WORD_COUNT_BITS
from ..restore.jobs import restore_job, restored
from ..save.committer import head, head_event

__all__ = ["ResumeSequencer"]


class _Registers:
    """State of the entries, and of the one in hand."""

    def __init__(self, g: Geometry):
        self.waiting = Signal(g.context_entries)  # entries whose TB has no room yet
        self.parked = Signal(g.context_entries)  # stays there whatever happens: `ResumeSequencer`
        self.parsed = Signal(g.context_entries)  # it is read back
        self.recalled = Signal(g.context_entries)  # the demotion of its entry is under way
        self.demoted = Signal(g.context_entries)  # its entry is written
        self.running = Signal(g.context_entries)  # it was started
        self.tb_of = Signal(data.ArrayLayout(below(g.tb_slots), g.context_entries))  # its slot
        self.broken = Signal()  # the resume fails
        self.full = Signal()  # there is no room for the next TB
        self.judged = Signal()  # all entries are in, and good
        self.current = Signal(below(g.context_entries))  # the entry in hand
        self.place = Signal(admitted(g))  # its TB's place
        self.of_base = Signal()  # its base's stream is to be asked for
        self.row = Signal(below(g.tb_slots))  # of the staying table


class ResumeSequencer(wiring.Component):
    """Runs one pass of a resume.

    It brings back TBs in the order of their entries, up to the first that finds no room. On
    machines where TBs yield, spared TBs are left out. When the resume is withdrawn, no further TB
    is admitted.

    On a bus error while the entries are read, or a bad entry, nothing is restored. After a later
    error (bus, or a stream that makes no sense) no more TBs are admitted but the one offered, and
    no more entries are demoted. TBs whose demotion is acknowledged start. Every other TB is given
    back through `release`, with its entry still complete. If a demotion was answered with an error,
    memory may hold either state. Its TB is given back only once the entry has been written
    `State.COMPLETE` again and that is acknowledged. If that fails too the TB is *parked*: it keeps
    its room, with all its state, and does not run; the next resume begins with its demotion.

    A TB whose registers or lines have stayed on the SM gets its room around them (`StayingTable`).

    With ``options.gang`` no entry is demoted before all streams are in place, so that after an
    error in one of them nothing has been started.

    Timing
    ------
    From one TB to the next 4 cycles and what the dispatcher takes to answer, 5 more if it has two
    images; meanwhile a head is offered and a TB starts in each cycle.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    accepted : in
        The command; constant from `begin` to `done`.
    begin : Signal, in
        Start, with `accepted` set from this cycle on.
    saved, sides, increments, completed : Signal(context_entries), in
        Vectors: entries of the kernel that can be resumed, on which sides, as increments; those
        that a second image completes.
    without_registers, registers_stay, lines_stay : Signal(context_entries), in
        Vectors: entries without registers; those whose registers, whose lines are on the SM.
    row : staying_row, in; row_number : Signal, in
        The row of ``admit.payload.entry`` of the `StayingTable`.
    row_lent : Signal, out
        The TB that is `admitted` in this cycle has that row.
    resident : in
        The TB table. Parked are TBs of the kernel that have not been started.
    withdraw : Signal, in
        No further TB is to be admitted; high until `done`.
    done : engine_result, out
        `valid` for one cycle.
    restore_failed : Signal, out
        Something went wrong since `begin`.
    read_error, write_error : Signal, in
        An access of the reader, of the committer has failed since `begin`.
    entries_full, entries_bad, restore_pending, entry_select, entry_select_base, entry_load, entry
        The `EntryBuffer`; `restore_pending` is the vector of the entries it is to look at.
    tbs_placed : Signal(context_entries), out; admission_closed : Signal, out
        Vector for `ReadAhead`: entries whose TB is in a slot; no further TB gets room.
    entries_requested : Signal, in
        `ReadAhead` has asked for all entries.
    discard : Signal, out; reads_idle : Signal, in
        Words that were asked for and not taken are to be forgotten; no read is under way. `discard`
        is high until then.
    restore_job, restored, restore_idle
        The `RestorePipeline`.
    head, head_event, commit_idle
        The `Committer`.
    admit, admitted, start, release
        The dispatcher.
    clean : out
        All that is on the SM of a TB is in its base; `valid` for one cycle.
    """

    accepted: data.View
    begin: Signal
    saved: Signal
    sides: Signal
    increments: Signal
    completed: Signal
    without_registers: Signal
    registers_stay: Signal
    lines_stay: Signal
    row: data.View
    row_number: Signal
    row_lent: Signal
    resident: data.View
    withdraw: Signal
    done: data.View
    restore_failed: Signal
    read_error: Signal
    write_error: Signal
    entries_full: Signal
    entries_bad: Signal
    restore_pending: Signal
    entry_select: Signal
    entry_select_base: Signal
    entry_load: Signal
    entry: data.View
    tbs_placed: Signal
    admission_closed: Signal
    entries_requested: Signal
    discard: Signal
    reads_idle: Signal
    restore_job: stream.Interface
    restored: data.View
    restore_idle: Signal
    head: stream.Interface
    head_event: data.View
    commit_idle: Signal
    admit: stream.Interface
    admitted: data.View
    start: data.View
    release: data.View
    clean: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "accepted": In(accepted_command(g)), "begin": In(1),
            "saved": In(g.context_entries), "sides": In(g.context_entries),
            "increments": In(g.context_entries),
            **{name: In(g.context_entries) for name in ("completed", "without_registers",
                                                        "registers_stay", "lines_stay")},
            "row": In(staying_row(g)), "row_number": In(below(g.tb_slots)),
            "row_lent": Out(1),
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)),
            "withdraw": In(1), "done": Out(engine_result()), "restore_failed": Out(1),
            "read_error": In(1), "write_error": In(1),
            "entries_full": In(1), "entries_bad": In(1), "restore_pending": Out(g.context_entries),
            "entry_select": Out(below(g.context_entries)), "entry_select_base": Out(1),
            "entry_load": Out(1),
            "entry": In(CCB_ENTRY),
            "tbs_placed": Out(g.context_entries), "admission_closed": Out(1),
            "entries_requested": In(1),
            "discard": Out(1), "reads_idle": In(1),
            "restore_job": Out(stream.Signature(restore_job(g))), "restored": In(restored(g)),
            "restore_idle": In(1),
            "head": Out(stream.Signature(head(g))),
            "head_event": In(head_event(g)), "commit_idle": In(1),
            "admit": Out(stream.Signature(admission(g))), "admitted": In(admitted(g)),
            "start": Out(tb_event(g)), "release": Out(tb_event(g)), "clean": Out(tb_event(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        regs = _Registers(g)
        unspared = self.saved
        if g.watches:
            unspared = unspared & ~self.accepted.options.spared
        m.d.comb += [self.restore_failed.eq(regs.broken | self.read_error | self.write_error),
                     self.entry_select.eq(regs.current),
                     self.restore_pending.eq(unspared & ~regs.parked),
                     self.admission_closed.eq(regs.full | self.withdraw | self.restore_failed)]
        self._track(m, regs)
        demoting = self._demote(m, regs)
        with m.FSM():
            self._read_entries(m, regs)
            self._admit(m, regs)
            self._settle(m, regs, demoting)
        return m

    def _track(self, m: Module, regs: _Registers):
        """Note what has happened to each entry's TB; start those that are ready."""
        event = self.head_event
        started = Signal(below(self.geometry.context_entries))
        ready = Signal.like(regs.running)
        hold = Signal()
        coming = (regs.waiting.any() & ~self.admission_closed
                  | (self.tbs_placed & ~(regs.parsed & regs.demoted)).any())
        m.d.comb += [hold.eq(self.accepted.options.gang & coming & ~self.restore_failed),
                     ready.eq(Mux(hold, 0, regs.demoted & ~regs.running)),
                     started.eq(lowest_number(ready)),
                     self.start.valid.eq(ready.any()), self.start.tb.eq(regs.tb_of[started])]
        m.d.sync += regs.running.eq(regs.running | Mux(ready.any(), 1 << started, 0))
        with m.If(self.admitted.valid & self.admitted.bad):
            m.d.sync += regs.broken.eq(1)
        with m.Elif(self.admitted.valid & self.admitted.full):
            m.d.sync += regs.full.eq(1)
        with m.Elif(self.admitted.valid):
            m.d.sync += [regs.place.eq(self.admitted), regs.row.eq(self.row_number),
                         regs.tb_of[regs.current].eq(self.admitted.tb),
                         self.tbs_placed.eq(self.tbs_placed | (1 << regs.current)),
                         regs.waiting.eq(regs.waiting & ~(1 << regs.current))]
        with m.If(self.restored.valid & self.restored.bad):
            m.d.sync += regs.broken.eq(1)
        m.d.comb += [
            self.clean.valid.eq(self.restored.valid & ~self.restored.bad & self.restored.clean),
            self.clean.tb.eq(regs.tb_of[self.restored.entry]),
        ]
        with m.If(self.restored.valid & ~self.restored.bad & ~self.restored.base):
            m.d.sync += regs.parsed.eq(regs.parsed | (1 << self.restored.entry))
        with m.If(event.valid & (event.state == State.DEMOTED) & ~event.error):
            m.d.sync += regs.demoted.eq(regs.demoted | (1 << event.entry))
        with m.If(self.begin):
            rows = [self.resident[t] for t in range(self.geometry.tb_slots)]
            parked = [Mux(row.valid & (row.kernel == self.accepted.kernel)
                          & ~row.started, 1 << row.entry, 0) for row in rows]
            here = Signal.like(self.tbs_placed)
            for each in parked:
                here = here | each
            m.d.sync += [self.tbs_placed.eq(here), regs.parked.eq(here), regs.parsed.eq(here),
                         regs.recalled.eq(0), regs.demoted.eq(0), regs.running.eq(0),
                         regs.broken.eq(0), regs.full.eq(0)]
            for t, row in enumerate(rows):
                with m.If(parked[t].any()):
                    m.d.sync += regs.tb_of[row.entry].eq(t)

    def _demote(self, m: Module, regs: _Registers):
        """Have the entries of TBs that are in place written `State.DEMOTED`, one after the other;
        return whether one is offered."""
        next_ones = Signal.like(regs.parsed)
        allowed = Signal()
        offered = Signal()
        entry = Signal.like(regs.current)
        coming = (regs.waiting.any() & ~self.admission_closed
                  | (self.tbs_placed & ~regs.parsed).any())
        m.d.comb += [
            next_ones.eq(regs.parsed & ~regs.recalled),
            allowed.eq(regs.judged & ~self.restore_failed
                       & ~(self.accepted.options.gang & coming)),
            self.head.valid.eq(offered), self.head.payload.entry.eq(entry),
            self.head.payload.state.eq(State.DEMOTED),
            self.head.payload.side.eq(self.sides.bit_select(entry, 1)),
        ]
        with m.If(~offered | self.head.ready):
            m.d.sync += [offered.eq(allowed & next_ones.any()), entry.eq(lowest_number(next_ones))]
            with m.If(allowed):
                m.d.sync += regs.recalled.eq(
                    regs.recalled | (next_ones & ~without_lowest(next_ones)))
        return offered

    def _read_entries(self, m: Module, regs: _Registers):
        """Wait for all entries; judge them together."""
        with m.State("IDLE"):
            with m.If(self.begin):
                m.next = "ENTRIES"
        # Wait until all entries are in: one bad entry fails the resume before a TB is admitted.
        with m.State("ENTRIES"):
            m.d.sync += regs.waiting.eq(self.restore_pending)
            with m.If(self.entries_full & self.entries_requested):
                m.next = "NEXT"
                with m.If(self.read_error | self.entries_bad):
                    m.d.sync += regs.broken.eq(self.entries_bad)
                    m.next = "DISCARD"
                with m.Else():
                    m.d.sync += regs.judged.eq(1)

    def _admit(self, m: Module, regs: _Registers):
        """Give each complete entry's TB room, then queue its stream."""
        g, entry, admit = self.geometry, self.entry, self.admit
        words = Signal(WORD_COUNT_BITS)  # of the stream
        table = Signal(range(MAX_ROW_WORDS * g.max_block_warps + 1))  # of its encoding table
        m.d.sync += [table.eq(popcount(entry.live_warps[:g.max_block_warps])
                              * self.accepted.row_words),
                     words.eq(entry.length // WORD_BYTES)]
        # Choose the lowest waiting entry: streams arrive in that order.
        with m.State("NEXT"):
            m.d.sync += regs.current.eq(lowest_number(regs.waiting))
            m.next = "SETTLE"
            with m.If(regs.waiting.any() & ~self.admission_closed):
                m.next = "LOAD"
        # The entry buffer shows the entry from the next cycle on.
        with m.State("LOAD"):
            m.d.comb += self.entry_load.eq(1)
            m.next = "ADMIT"
            with m.If(self.admission_closed):
                m.next = "NEXT"
        m.d.comb += admit.payload.kernel.eq(self.accepted.kernel)
        m.d.comb += [admit.payload[name].eq(entry[name])
                     for name in ("launch_id", "ctaid_x", "ctaid_y", "ctaid_z", "local_base")]
        m.d.comb += admit.payload.entry.eq(regs.current)
        increment = Signal()
        pairs = self.increments | (self.completed if g.in_place else 0)
        m.d.comb += increment.eq(pairs.bit_select(regs.current, 1) if g.checkpoints else 0)
        job = self.restore_job.payload
        if g.in_place:
            here = Cat(self.registers_stay.bit_select(regs.current, 1),
                       self.lines_stay.bit_select(regs.current, 1))
            m.d.comb += [
                Cat(admit.payload.registers, admit.payload.lines).eq(here),
                admit.payload.base.eq(self.row.what.base),
                admit.payload.first_line.eq(self.row.what.first_line),
                self.row_lent.eq(here.any() & self.admitted.valid & ~self.admitted.full
                                & ~self.admitted.bad),
                job.elsewhere.eq(self.without_registers.bit_select(regs.current, 1)
                                 & ~regs.of_base),
                job.stayed.eq(here[0]), job.staying.eq(regs.row),
            ]
        # The offer stays until it is taken, even after an error: it must not be withdrawn.
        with m.State("ADMIT"):
            m.d.comb += admit.valid.eq(1)
            with m.If(admit.ready):
                m.next = "ROOM"
                with m.If(self.admitted.valid):
                    self._parse(m, regs, increment)
        # Wait for the dispatcher's answer.
        with m.State("ROOM"):
            with m.If(self.admitted.valid):
                self._parse(m, regs, increment)
                with m.If(self.admitted.bad | self.admitted.full):
                    m.next = "NEXT"
        # Show the entry of the base, or after it the entry of the increment again.
        with m.State("SHOW"):
            m.d.comb += [self.entry_select_base.eq(regs.of_base), self.entry_load.eq(1)]
            m.next = "SHOWN"
        # `words` and `table` follow the entry shown by one cycle.
        with m.State("SHOWN"):
            m.next = "PARSE"
        # Queue the stream for the pipeline, that of a base before that of its increment.
        with m.State("PARSE"):
            m.d.comb += [
                self.restore_job.valid.eq(1), self.restore_job.payload.entry.eq(regs.current),
                self.restore_job.payload.place.eq(regs.place),
                self.restore_job.payload.live_warps.eq(entry.live_warps),
                self.restore_job.payload.words.eq(words),
                self.restore_job.payload.skip.eq((words - table) % g.bus_words),
                self.restore_job.payload.stream_crc.eq(entry.stream_crc),
                self.restore_job.payload.table_crc.eq(entry.table_crc),
                self.restore_job.payload.base.eq(regs.of_base),
                self.restore_job.payload.increment.eq(increment & ~regs.of_base)]
            with m.If(self.restore_job.ready):
                m.d.sync += regs.of_base.eq(0)
                m.next = "NEXT"
                with m.If(regs.of_base):
                    m.next = "SHOW"

    def _parse(self, m: Module, regs: _Registers, increment: Value):
        """Go on with the stream of a TB that has room, or with that of its base."""
        m.d.sync += regs.of_base.eq(increment)
        m.next = "PARSE"
        with m.If(increment):
            m.next = "SHOW"

    def _settle(self, m: Module, regs: _Registers, demoting: Value):
        """Wait until all have started; after a failure give back those that cannot."""
        return_pending = Signal.like(self.tbs_placed)  # to be given back
        quiet = Signal()  # nothing is under way
        head, event = self.head, self.head_event
        chosen = lowest_number(return_pending)
        m.d.comb += [
            return_pending.eq(self.tbs_placed & ~regs.running & ~regs.parked),
            quiet.eq(self.restore_idle & self.commit_idle & ~demoting
                     & ~(regs.demoted & ~regs.running).any()),
            self.release.tb.eq(regs.tb_of[regs.current]),
        ]
        # Wait until every TB with room runs, or until a failed resume has nothing under way.
        with m.State("SETTLE"):
            m.d.sync += regs.current.eq(chosen)
            with m.If(quiet & ~(self.tbs_placed & ~regs.running).any()):
                m.next = "DISCARD"
            with m.Elif(quiet & self.restore_failed):
                m.next = "DISCARD"
                with m.If(return_pending.any()):
                    m.next = "RETURN"
                    with m.If(regs.recalled.bit_select(chosen, 1)):
                        m.next = "RELOAD"
        # Give back a TB that was never demoted: its entry is still complete.
        with m.State("RETURN"):
            m.d.comb += self.release.valid.eq(1)
            m.d.sync += self.tbs_placed.eq(self.tbs_placed & ~(1 << regs.current))
            m.next = "SETTLE"
        # Memory may hold the entry as demoted: load it, to write its old head again.
        with m.State("RELOAD"):
            m.d.comb += self.entry_load.eq(1)
            m.next = "RELOADING"
        with m.State("RELOADING"):
            m.d.comb += [head.valid.eq(1), head.payload.entry.eq(regs.current),
                         head.payload.side.eq(self.sides.bit_select(regs.current, 1)),
                         head.payload.state.eq(State.COMPLETE),
                         head.payload.crc.eq(self.entry.crc)]
            with m.If(head.ready):
                m.next = "COMPLETED"
        # The TB leaves only if the entry is complete for certain; otherwise it is parked.
        with m.State("COMPLETED"):
            m.d.comb += self.release.valid.eq(event.valid & ~event.error)
            with m.If(event.valid):
                with m.If(event.error):
                    m.d.sync += regs.parked.eq(regs.parked | (1 << regs.current))
                with m.Else():
                    m.d.sync += self.tbs_placed.eq(self.tbs_placed & ~(1 << regs.current))
                m.next = "SETTLE"
        # Drop the words that were read ahead for TBs without room.
        with m.State("DISCARD"):
            m.d.comb += self.discard.eq(1)
            with m.If(self.reads_idle):
                m.next = "FINISH"
        with m.State("FINISH"):
            m.d.sync += regs.judged.eq(0)
            m.d.comb += [self.done.valid.eq(1), self.done.left.eq(self.restore_pending.any()),
                         self.done.error.eq(Mux(
                self.read_error | self.write_error, CommandError.BUS_ERROR,
                Mux(regs.broken, CommandError.BAD_IMAGE, CommandError.NONE)))]
            m.next = "IDLE"

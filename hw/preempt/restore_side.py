"""The restore side of the preemption engine: from contexts in memory to TBs on the SM.

::

    ResumeSequencer ----> admit, start               RecordReader --> AdoptSequencer
      |      |  |                                        |                 |
      |      |  +-- heads of the save side               |                 |
      |      v                                           |                 v
      |    ReadAhead --------------------------------------------> SegmentReader <-- read_port
      |                                                  |           |     |
      +--> jobs --> RestorePipeline <-- Unpacker <-------|-----------+     v
                           ^              |  |           |           StreamChecker
                           |              |  +--> EntryBuffer              |
                           |              +------------->+                 |
                           +-----------------------------------------------+
"""

from collections.abc import Callable, Sequence
from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..arch.image.context import ENTRY_WORDS
from ..interfaces.payloads import (
    kernel_info,
    predicate_restore,
    register_flags,
    register_write,
    row_access,
    tb_event,
    uniform_restore,
)
from ..interfaces.port import Port
from ..interfaces.preemption import admission, admitted, resident_tb
from ..interfaces.preemption_port import WarpLaunchPort
from ..lib.resets import ResetInserter
from ..lib.stream_queue import StreamQueue
from ..memory.ports import ReadInterface, ReadPort
from .formats.checksum import ChecksumPort
from .formats.packer import CHUNK_WORDS
from .formats.unpacker import Unpacker
from .restore.entry_buffer import EntryBuffer
from .restore.jobs import restore_job
from .restore.pipeline import RestorePipeline
from .restore.record_reader import RecordReader
from .restore.segment_reader import SegmentReader
from .restore.stream_checker import StreamChecker
from .sequence.adopt_sequencer import AdoptSequencer
from .sequence.ports import (
    CommandState,
    EntrySets,
    HeadPort,
    RestoreBookPort,
    RestorePort,
    RestoreProgress,
)
from .sequence.read_ahead import ReadAhead
from .sequence.resume_sequencer import ResumeSequencer

__all__ = ["RestoreSide"]

JOBS_OF_A_TB = 2
"""Reads of a TB's stream: its encoding table and the rest. All TBs may be read ahead: short streams
would not fill the memory's latency otherwise."""


class RestoreSide(wiring.Component):
    """Brings TBs of a kernel back, and takes kernels over from memory.

    Timing
    ------
    TBs are restored one behind the other without a gap. A bus beat is read in each cycle, and a row
    of registers or lines is written in each cycle.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    command : CommandState, in
        The command in hand.
    order : RestorePort, in
        The command sequencer.
    sets : EntrySets, in; book : RestoreBookPort, out
        The context book.
    heads : HeadPort, out
        The save side.
    progress : RestoreProgress, out
        Progress for the counters.
    kernels : array of payloads.kernel_info, in
        The kernel slots.
    resident : array of preemption.resident_tb, in
        The TB table.
    admit : stream of preemption.admission, out; admitted : preemption.admitted, in
        A TB that needs room, and the answer.
    release, clean : payloads.tb_event, out
        A TB is given back; all that is on the SM of a TB is in its base.
    launch : WarpLaunchPort, out
        Warps and TBs that come back.
    restore_uniform : payloads.uniform_restore, out
    restore_predicate, restore_write, load : stream, out
        The core's registers, as in `WarpStatePort` and `RegisterStatePort`.
    row : stream of payloads.row_access, out
        The core's shared memory, as in `SharedStatePort`.
    read_port : ReadPort, out
        Contexts in memory.
    checksums : array of ChecksumPort, out
        Ports of a `Checksum` that the blocks share.
    """

    command: Port
    order: Port
    sets: Port
    book: Port
    heads: Port
    progress: Port
    kernels: data.View
    resident: data.View
    admit: stream.Interface
    admitted: data.View
    release: data.View
    clean: data.View
    launch: Port
    restore_uniform: data.View
    restore_predicate: stream.Interface
    restore_write: stream.Interface
    load: stream.Interface
    row: stream.Interface
    read_port: ReadInterface
    checksums: Sequence[Port]

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "command": In(CommandState(g)), "order": In(RestorePort(g)), "sets": In(EntrySets(g)),
            "book": Out(RestoreBookPort(g)), "heads": Out(HeadPort(g)),
            "progress": Out(RestoreProgress()),
            "kernels": In(data.ArrayLayout(kernel_info(g), g.kernel_slots)),
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)),
            "admit": Out(stream.Signature(admission(g))), "admitted": In(admitted(g)),
            "release": Out(tb_event(g)), "clean": Out(tb_event(g)),
            "launch": Out(WarpLaunchPort(g)),
            "restore_uniform": Out(uniform_restore(g)),
            "restore_predicate": Out(stream.Signature(predicate_restore(g))),
            "restore_write": Out(stream.Signature(register_write(g))),
            "load": Out(stream.Signature(register_flags(g))),
            "row": Out(stream.Signature(row_access(g))), "read_port": Out(ReadPort(g)),
            "checksums": Out(ChecksumPort(CHUNK_WORDS)).array(3),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, flush = self.geometry, self.command.flush
        forgets = ResetInserter(flush)  # what forgets a command that is cancelled
        m.submodules.resume = forgets(resume := ResumeSequencer(g))
        m.submodules.adopt = forgets(adopt := AdoptSequencer(g))
        m.submodules.read_ahead = forgets(ahead := ReadAhead(g))
        m.submodules.record_reader = forgets(record := RecordReader(g, shared=True))
        m.submodules.entries = forgets(entries := EntryBuffer(g, shared=True))
        m.submodules.pipeline = forgets(pipeline := RestorePipeline(g, shared=True))
        m.submodules.reader = reader = SegmentReader(g, JOBS_OF_A_TB * g.tb_slots)
        drops = ResetInserter(flush | resume.discard)  # and what a pass did not need
        m.submodules.unpacker = drops(
            unpacker := Unpacker(g.bus_words, g.window_words, ahead=True))
        self._resume(m, resume, entries, ahead, reader)
        self._room(m, resume)
        self._read(m, resume, adopt, ahead, reader)
        self._read_ahead(m, resume, ahead)
        self._words(m, adopt, reader, unpacker, record, entries, pipeline)
        self._entries(m, resume, adopt, entries)
        self._adopt(m, adopt, reader, record, entries)
        self._pipeline(m, forgets, drops, resume, reader, pipeline)
        if g.in_place:
            self._stay(m, resume, pipeline)
        m.d.comb += [part.accepted.eq(self.command.accepted)
                     for part in (resume, adopt, ahead, entries, pipeline)]
        return m

    def _resume(self, m: Module, resume: ResumeSequencer, entries: EntryBuffer, ahead: ReadAhead,
                reader: SegmentReader):
        """The resume sequencer, with the sequencer, the context book and the save side."""
        heads, sets = self.heads, self.sets
        wiring.connect(m, resume.head, wiring.flipped(heads.head))
        m.d.comb += [
            resume.begin.eq(self.order.resume.begin), self.order.resume.done.eq(resume.done),
            resume.withdraw.eq(self.command.withdraw), resume.resident.eq(self.resident),
            *(getattr(resume, name).eq(getattr(sets, name)) for name in (
                "saved", "sides", "increments", "completed", "without_registers")),
            resume.head_event.eq(heads.event), resume.write_error.eq(heads.write_error),
            resume.commit_idle.eq(heads.settled),
            resume.entries_full.eq(entries.full), resume.entries_bad.eq(entries.bad),
            resume.entry.eq(entries.entry), resume.entries_requested.eq(ahead.entries_requested),
            resume.read_error.eq(reader.error), resume.reads_idle.eq(ahead.idle & reader.idle),
        ]

    def _room(self, m: Module, resume: ResumeSequencer):
        """Room for TBs, their start, and what becomes of the others."""
        start, progress, command = self.launch.start, self.progress, self.command
        wiring.connect(m, resume.admit, wiring.flipped(self.admit))
        m.d.comb += [
            resume.admitted.eq(self.admitted), start.tb.eq(resume.start.tb),
            start.valid.eq(resume.start.valid & ~command.flush),
            self.release.eq(resume.release), self.clean.eq(resume.clean),
            progress.started.eq(start.valid),
        ]

    def _read(self, m: Module, resume: ResumeSequencer, adopt: AdoptSequencer, ahead: ReadAhead,
              reader: SegmentReader):
        """The reader has the jobs of an adoption or of a resume."""
        command, job, progress = self.command, reader.job, self.progress
        for part, at_work in ((adopt, command.adopting), (ahead, ~command.adopting)):
            m.d.comb += part.read_job.ready.eq(at_work & job.ready)
            with m.If(at_work):
                m.d.comb += [job.valid.eq(part.read_job.valid),
                             job.payload.eq(part.read_job.payload)]
        entry_asked = ahead.read_job.valid & ahead.read_job.ready & ~ahead.entries_requested
        stream_job = resume.restore_job
        wiring.connect(m, reader.port, wiring.flipped(self.read_port))
        m.d.comb += [
            reader.clear.eq(command.clear), reader.cancel.eq(command.flush | resume.discard),
            self.order.settled.eq(reader.idle & ~self._admission_pending(m)),
            progress.read_valid.eq(
                command.resuming & (entry_asked | stream_job.valid & stream_job.ready)),
            progress.read_words.eq(Mux(entry_asked, ENTRY_WORDS, stream_job.payload.words)),
        ]

    def _admission_pending(self, m: Module) -> Signal:
        """Return whether an admission is not answered yet. A command that is cancelled meanwhile
        drops the answer; the next resume must not take it for its own."""
        admission_pending = Signal()
        with m.If(self.admitted.valid):
            m.d.sync += admission_pending.eq(0)
        with m.Elif(self.admit.valid & self.admit.ready):
            m.d.sync += admission_pending.eq(1)
        return admission_pending

    def _read_ahead(self, m: Module, resume: ResumeSequencer, ahead: ReadAhead):
        """Connect the reads of a resume: the entries, and the streams of the saved ones."""
        book = self.book
        m.d.comb += [
            ahead.begin.eq(self.order.resume.begin),
            ahead.restore_pending.eq(resume.restore_pending),
            ahead.tbs_placed.eq(resume.tbs_placed),
            ahead.admission_closed.eq(resume.admission_closed),
            ahead.discard.eq(resume.discard),
            *(getattr(ahead, name).eq(getattr(self.sets, name))
              for name in ("sides", "increments", "completed")),
            book.read_select.eq(ahead.entry_select),
            book.read_select_base.eq(ahead.entry_select_base),
            ahead.extent.eq(book.read_extent),
        ]

    def _words(self, m: Module, adopt: AdoptSequencer, reader: SegmentReader, unpacker: Unpacker,
               record: RecordReader, entries: EntryBuffer, pipeline: RestorePipeline):
        """Give words from memory to the record, else to the entries until all are in, else to the
        streams.

        The words of a record are not entries, even if the entry buffer still waits for entries of
        an earlier kernel.
        """
        wiring.connect(m, reader.beat, unpacker.beat)
        m.d.comb += [part.words.eq(unpacker.words) for part in (record, entries, pipeline)]
        m.d.comb += [
            record.level.eq(Mux(adopt.record_reading, unpacker.level, 0)),
            entries.level.eq(Mux(adopt.record_reading, 0, unpacker.level)),
            pipeline.level.eq(unpacker.level),
            unpacker.take.eq(Mux(adopt.record_reading, record.take,
                                 Mux(entries.full, pipeline.take, entries.take))),
        ]

    def _entries(self, m: Module, resume: ResumeSequencer, adopt: AdoptSequencer,
                 entries: EntryBuffer):
        """The entry buffer, and what the context book knows of the entries."""
        book, adopting = self.book, self.command.adopting
        wiring.connect(m, entries.checksum, wiring.flipped(self.checksums[1]))
        m.d.comb += [
            entries.select.eq(resume.entry_select),
            entries.select_base.eq(resume.entry_select_base),
            entries.load.eq(resume.entry_load),
            entries.clear.eq(resume.begin | adopt.entries_clear),
            entries.saved.eq(Mux(adopting, adopt.adopted.saved, resume.restore_pending)),
            *(getattr(entries, name).eq(getattr(self.sets, name)) for name in (
                "sides", "increments", "without_registers", "without_lines", "completed")),
            book.select.eq(entries.number), book.select_base.eq(entries.of_base),
            entries.generation.eq(book.generation), entries.crc.eq(book.crc),
            entries.extent.eq(book.extent), book.found.eq(entries.found),
            book.image_arrived.eq(adopting & entries.image_arrived),
            book.base_arrived.eq(adopting & entries.base_arrived),
        ]

    def _adopt(self, m: Module, adopt: AdoptSequencer, reader: SegmentReader,
               record: RecordReader, entries: EntryBuffer):
        """An adoption: the record, the entries and their generations."""
        order, book = self.order, self.book
        wiring.connect(m, record.checksum, wiring.flipped(self.checksums[0]))
        m.d.comb += [
            adopt.begin.eq(order.adopt.begin), order.adopt.done.eq(adopt.done),
            order.adopted.eq(adopt.adopted), book.adopted.eq(adopt.adopted),
            record.clear.eq(order.adopt.begin),
            record.kernel.eq(self.kernels[self.command.accepted.kernel]),
            adopt.record_full.eq(record.full), adopt.record_bad.eq(record.bad),
            adopt.record.eq(record.record),
            order.record_generation.eq(record.record.generation),
            adopt.images_full.eq(entries.images_full), adopt.entries_full.eq(entries.full),
            adopt.entries_bad.eq(entries.bad),
            adopt.bases_pending.eq((entries.pairs & record.record.saved).any()),
            adopt.read_error.eq(reader.error), adopt.reads_idle.eq(reader.idle),
            book.adopt_begin.eq(adopt.entries_clear), book.record_sides.eq(record.record.sides),
            book.check_begin.eq(adopt.check_begin), adopt.check_done.eq(book.check_done),
            adopt.generations.eq(book.generations_crc),
        ]

    def _pipeline(self, m: Module, forgets: Callable[..., Any], drops: Callable[..., Any],
                  resume: ResumeSequencer, reader: SegmentReader, pipeline: RestorePipeline):
        """Streams become warps; each has its checksum."""
        m.submodules.jobs = forgets(jobs := StreamQueue(
            restore_job(self.geometry), self.geometry.tb_slots))
        m.submodules.checker = drops(checker := StreamChecker(self.geometry))
        for one, other in (
                (resume.restore_job, jobs.input), (jobs.output, pipeline.job),
                (checker.crc, pipeline.crc),
                (pipeline.warp_init, wiring.flipped(self.launch.warp_init)),
                (pipeline.stack_push, wiring.flipped(self.launch.stack_push)),
                (pipeline.restore_write, wiring.flipped(self.restore_write)),
                (pipeline.restore_predicate, wiring.flipped(self.restore_predicate)),
                (pipeline.load, wiring.flipped(self.load)),
                (pipeline.row, wiring.flipped(self.row)),
                (pipeline.checksum, wiring.flipped(self.checksums[2]))):
            wiring.connect(m, one, other)
        m.d.comb += [
            checker.beat.eq(reader.beat.payload),
            checker.beat_taken.eq(reader.beat.valid & reader.beat.ready),
            pipeline.failed.eq(resume.restore_failed),
            self.restore_uniform.eq(pipeline.restore_uniform),
            resume.restored.eq(pipeline.done),
            resume.restore_idle.eq(pipeline.idle & ~jobs.output.valid),
        ]

    def _stay(self, m: Module, resume: ResumeSequencer, pipeline: RestorePipeline):
        """TBs of which something has stayed get their room around it."""
        book = self.book
        m.d.comb += [
            book.place_select.eq(resume.admit.payload.entry),
            resume.row.eq(book.row), resume.row_number.eq(book.row_number),
            resume.registers_stay.eq(book.registers_stay), resume.lines_stay.eq(book.lines_stay),
            book.row_lent.valid.eq(resume.row_lent), book.row_lent.tb.eq(self.admitted.tb),
            book.tb_started.eq(self.launch.start), book.tb_returned.eq(resume.release),
            book.mask_select.eq(pipeline.mask_select), pipeline.mask.eq(book.mask),
        ]

"""The preemption engine: runs a preempt (drain, save, commit) or a resume (restore, demote, start).

::

                      Sequencer --- session ---> all
                      |       |
         PreemptSequencer   ResumeSequencer ---- admit, start ----> dispatcher
          |         |          |    |   |
    SavePipeline    +- heads --+    |   +--> EntryBuffer <--+
          |            |            |                       |
          +--bursts--> Committer    +--> RestorePipeline <--+-- Unpacker <-- SegmentReader
                       |                                                      |
                   write_port                                             read_port

Lin et al. IV-B (context format, Fig. 12) and IV-C (pipelines, Fig. 13); commit protocol in
`arch.context`.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.faults import CommandError
from ..arch.geometry import MAX_REGISTERS, PREDICATES, UNIFORMS, WORD_BYTES, Geometry
from ..interfaces import payloads as payload
from ..interfaces.preemption import activity, admission, admitted, command, counters, resident_tb
from ..lib.stream_queue import StreamQueue
from ..memory.ports import ReadInterface, ReadPort, WriteInterface, WritePort
from .formats.unpacker import Unpacker
from .restore.entry_buffer import EntryBuffer
from .restore.pipeline import RestorePipeline, restore_job
from .restore.segment_reader import SegmentReader
from .save.committer import Committer
from .save.pipeline import SavePipeline
from .sequence.counters import PreemptCounters
from .sequence.preempt_sequencer import PreemptSequencer
from .sequence.resume_sequencer import ResumeSequencer
from .sequence.sequencer import Sequencer

__all__ = ["resident_tb", "command", "admission", "admitted", "counters", "PreemptEngine"]

TBS_AHEAD = 2
"""TBs admitted and being read while one is being restored."""


class PreemptEngine(wiring.Component):
    """Saves and restores the TBs of a kernel.

    A preempt ends with every TB of the kernel saved and released, or ended by itself. With the
    result `CommandError.AREA_TOO_SMALL` nothing was written; with `CommandError.BUS_ERROR` the TBs
    not yet released stay on the SM and run on, and their entries are not resumable.

    A resume ends with every TB that has a complete entry running. With `CommandError.BAD_IMAGE`
    nothing was restored, unless a stream (not an entry) made no sense; then, and with
    `CommandError.BUS_ERROR`, TBs that could be restored run, and every other one is given back
    (`release`) with its entry complete again.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    kernels, resident : arrays, in
        `payloads.kernel_info` of the kernel slots, and the TB table.
    command : stream of messages.command, in; result : out
        Ready while idle; `result` is `valid` for one cycle and ends the command.
    claim : Signal(tb_slots), out
        Vector: TBs that are being saved; the dispatcher does not free them when they end.
    release : out
        `valid` for one cycle: the TB is saved, or is given back by a resume; its resources become
        free.
    admit : stream of messages.admission, out; admitted : in; no_room : Signal(1), in
        A TB that needs room, the answer when there is some; `no_room` while the admission waits for
        it.
    warp_init, stack_push : streams, out; start : out
        Restored warps, and the TB whose warps may run (`valid` for one cycle).
    counters : out
        As in the register map.
    activity : out
        For simulations; not part of the machine.
    pending, stop_now : Signal(kernel_slots), out; stopped, exited : Signal(warps), in
    issued : Signal(1), in
        As in `FrontEnd`.
    save_select, save_view, save_uniforms, save_uniform_select, save_uniform, restore_uniform
        As in `FrontEnd`: reads and writes of a warp's state.
    flags_select, flags_valid, flags_dirty, flags_predicates
    save_predicate_select, save_predicate, restore_predicate
    save_read, save_data, restore_write, mark_clean
        As in `ExecutePipeline`: reads and writes of predicates and registers.
    lines_valid, lines_dirty, row, row_data
        As in `SharedMemory`.
    read_port : ReadPort, out; write_port : WritePort, out
        Contexts in memory.
    """

    kernels: data.View
    resident: data.View
    command: stream.Interface
    result: data.View
    claim: Signal
    release: data.View
    admit: stream.Interface
    admitted: data.View
    no_room: Signal
    warp_init: stream.Interface
    stack_push: stream.Interface
    start: data.View
    counters: data.View
    activity: data.View
    pending: Signal
    stop_now: Signal
    stopped: Signal
    exited: Signal
    issued: Signal
    save_select: data.View
    save_view: data.View
    flags_select: Signal
    flags_valid: Signal
    flags_dirty: Signal
    flags_predicates: Signal
    save_predicate_select: Signal
    save_predicate: Signal
    restore_predicate: data.View
    save_uniforms: Signal
    save_uniform_select: Signal
    save_uniform: Signal
    restore_uniform: data.View
    save_read: stream.Interface
    save_data: data.View
    restore_write: stream.Interface
    mark_clean: Signal
    lines_valid: Signal
    lines_dirty: Signal
    row: stream.Interface
    row_data: data.View
    read_port: ReadInterface
    write_port: WriteInterface

    def __init__(self, g: Geometry):
        self.geometry = g
        index = payload.index
        rows = g.shared_bytes // (g.shared_banks * WORD_BYTES)
        row_data = data.ArrayLayout(32, g.shared_banks)
        super().__init__({
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)),
            # from and to the dispatcher
            "command": In(stream.Signature(command(g))),   # ready while idle
            # one cycle, ends the command
            "result": Out(data.StructLayout({"valid": 1, "error": CommandError})),
            # vector: being saved; the dispatcher does not free these when they finish
            "claim": Out(g.tb_slots),
            # saved: free its resources
            "release": Out(data.StructLayout({"valid": 1, "tb": index(g.tb_slots)})),
            "admit": Out(stream.Signature(admission(g))),
            "admitted": In(admitted(g)),
            "no_room": In(1),   # the admission waits for room
            # restored warps (the dispatcher adds `clear`)
            "warp_init": Out(stream.Signature(payload.warp_init(g))),
            "stack_push": Out(stream.Signature(payload.stack_push(g))),
            "start": Out(data.StructLayout({"valid": 1, "tb": index(g.tb_slots)})),
            "counters": Out(counters()),
            "activity": Out(activity(g)),
            # front end
            "pending": Out(g.kernel_slots),
            "stop_now": Out(g.kernel_slots),
            "stopped": In(g.warps),
            "exited": In(g.warps),
            "issued": In(1),
            "save_select": Out(data.StructLayout({"warp": index(g.warps), "entry": 6})),
            "save_view": In(payload.warp_view(g)),
            "save_uniforms": In(UNIFORMS),   # written by warp `save_select.warp`
            "save_uniform_select": Out(range(UNIFORMS)),
            "save_uniform": In(32),
            "restore_uniform": Out(data.StructLayout({
                "valid": 1, "warp": index(g.warps), "register": range(UNIFORMS), "value": 32})),
            # execution pipeline
            "flags_select": Out(index(g.warps)),
            "flags_valid": In(MAX_REGISTERS),
            "flags_dirty": In(MAX_REGISTERS),
            "flags_predicates": In(PREDICATES),
            "save_predicate_select": Out(range(PREDICATES + 1)),
            "save_predicate": In(g.warp_size),
            "restore_predicate": Out(data.StructLayout({
                "valid": 1, "warp": index(g.warps), "predicate": range(PREDICATES + 1),
                "value": g.warp_size})),
            "save_read": Out(stream.Signature(data.StructLayout({
                "warp": index(g.warps), "base": payload.physical(g), "register": 6,
                "beat": index(g.beats)}))),
            "save_data": In(data.StructLayout({"valid": 1, "data": data.ArrayLayout(32, g.lanes)})),
            "restore_write": Out(stream.Signature(payload.register_write(g))),
            "mark_clean": Out(1),
            # shared memory
            "lines_valid": In(g.shared_lines),
            "lines_dirty": In(g.shared_lines),
            "row": Out(stream.Signature(data.StructLayout({
                "row": range(rows), "write": 1, "clean": 1, "data": row_data}))),
            "row_data": In(data.StructLayout({"valid": 1, "data": row_data})),
            # memory
            "read_port": Out(ReadPort(g)),
            "write_port": Out(WritePort(g)),
        })

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        m.submodules.sequencer = sequencer = Sequencer(g)
        m.submodules.preempt = preempt = PreemptSequencer(g)
        m.submodules.resume = resume = ResumeSequencer(g)
        m.submodules.save = save = SavePipeline(g)
        m.submodules.commit = commit = Committer(g)
        m.submodules.reader = reader = SegmentReader(g, g.tb_slots + 2 * TBS_AHEAD)
        m.submodules.unpacker = unpacker = Unpacker(g.bus_words)
        m.submodules.entries = entries = EntryBuffer(g)
        m.submodules.restore = restore = RestorePipeline(g)
        m.submodules.counts = counts = PreemptCounters(g)

        self._commands(m, sequencer, preempt, resume)
        self._save(m, preempt, save, commit)
        self._heads(m, sequencer, preempt, resume, commit)
        self._restore(m, resume, reader, unpacker, entries, restore)
        self._rows(m, sequencer.resuming, save, restore)
        m.d.comb += reader.clear.eq(sequencer.clear)
        self._count(m, sequencer, preempt, resume, save, reader, commit, counts)
        m.d.comb += [part.session.eq(sequencer.session)
                     for part in (preempt, resume, save, entries, restore)]
        return m

    def _commands(self, m, sequencer, preempt, resume):
        """Command, result, and the dispatcher's side of both sequencers."""
        wiring.connect(m, wiring.flipped(self.command), sequencer.command)
        m.d.comb += [
            sequencer.kernels.eq(self.kernels),
            self.result.eq(sequencer.result), self.pending.eq(sequencer.pending),
            self.stop_now.eq(sequencer.stop_now), preempt.begin.eq(sequencer.begin_save),
            resume.begin.eq(sequencer.begin_resume), sequencer.save_done.eq(preempt.done),
            sequencer.resume_done.eq(resume.done),
            self.claim.eq(preempt.claim), self.start.eq(resume.start),
            self.release.eq(Mux(sequencer.resuming, resume.release, preempt.release)),
            resume.admitted.eq(self.admitted), resume.no_room.eq(self.no_room),
        ]
        wiring.connect(m, resume.admit, wiring.flipped(self.admit))

    def _save(self, m, preempt, save, commit):
        """Save pipeline: TBs in, views and data from the core, bursts out."""
        wiring.connect(m, preempt.target, save.target)
        wiring.connect(m, save.save_read, wiring.flipped(self.save_read))
        wiring.connect(m, save.burst, commit.burst)
        wiring.connect(m, save.data, commit.data)
        m.d.comb += [
            preempt.resident.eq(self.resident),
            preempt.stopped.eq(self.stopped), preempt.exited.eq(self.exited),
            preempt.tally.eq(save.done), preempt.waiting.eq(save.waiting),
            preempt.flowing.eq(save.flowing),
            preempt.save_idle.eq(save.idle), self.save_select.eq(save.save_select),
            save.save_view.eq(self.save_view),
            save.save_data.eq(self.save_data), save.row_data.eq(self.row_data),
            self.flags_select.eq(save.flags_select),
            self.save_predicate_select.eq(save.save_predicate_select),
            self.save_uniform_select.eq(save.save_uniform_select),
        ]
        m.d.comb += [getattr(save, name).eq(getattr(self, name))
                     for name in ("stopped", "exited", "flags_valid", "flags_predicates",
                                  "save_predicate", "save_uniforms", "save_uniform", "lines_valid")]

    def _heads(self, m, sequencer, preempt, resume, commit):
        """Committer: heads of the sequencer at work, its events to both."""
        wiring.connect(m, commit.port, wiring.flipped(self.write_port))
        session, resuming = sequencer.session, sequencer.resuming
        m.d.comb += [
            commit.ccb_base.eq(session.ccb_base), commit.generation.eq(session.generation),
            commit.clear.eq(sequencer.clear), commit.opened.eq(preempt.opened),
            commit.head.valid.eq(Mux(resuming, resume.head.valid, preempt.head.valid)),
            commit.head.payload.eq(Mux(resuming, resume.head.payload, preempt.head.payload)),
            resume.head.ready.eq(commit.head.ready & resuming),
            preempt.head.ready.eq(commit.head.ready & ~resuming),
            preempt.sending.eq(commit.sending),
        ]
        for part in (preempt, resume):
            m.d.comb += [part.head_event.eq(commit.event), part.write_error.eq(commit.error),
                         part.commit_idle.eq(commit.idle)]

    def _restore(self, m, resume, reader, unpacker, entries, restore):
        """Reader and unpacker, the entries and the streams that they bring,
        and what becomes of them."""
        m.submodules.restore_jobs = jobs = StreamQueue(restore_job(self.geometry), TBS_AHEAD)
        wiring.connect(m, reader.port, wiring.flipped(self.read_port))
        wiring.connect(m, resume.read_job, reader.job)
        wiring.connect(m, reader.beat, unpacker.beat)
        wiring.connect(m, resume.restore_job, jobs.input)
        wiring.connect(m, jobs.output, restore.job)
        for name in ("warp_init", "stack_push", "restore_write"):
            wiring.connect(m, getattr(restore, name), wiring.flipped(getattr(self, name)))
        m.d.comb += [
            unpacker.take.eq(Mux(entries.full, restore.take, entries.take)),
            restore.failed.eq(resume.failed),
            entries.clear.eq(resume.begin),
            entries.select.eq(resume.select), entries.load.eq(resume.load),
            resume.entries_full.eq(entries.full),
            resume.complete.eq(entries.complete), resume.bad.eq(entries.bad),
            resume.loaded.eq(entries.loaded),
            resume.entry.eq(entries.entry), resume.restored.eq(restore.done),
            resume.restore_idle.eq(restore.idle & ~jobs.output.valid),
            resume.read_error.eq(reader.error),
            self.restore_predicate.eq(restore.restore_predicate),
            self.restore_uniform.eq(restore.restore_uniform), self.mark_clean.eq(0),
        ]
        for part in (entries, restore):
            m.d.comb += [part.words.eq(unpacker.words), part.level.eq(unpacker.level)]

    def _rows(self, m, resuming, save, restore):
        """Shared-memory rows: read by a save, written by a restore, never both at a time."""
        m.d.comb += [
            self.row.valid.eq(Mux(resuming, restore.row.valid, save.row.valid)),
            self.row.payload.eq(restore.row.payload), self.row.payload.row.eq(
                Mux(resuming, restore.row.payload.row, save.row.payload.row)),
            self.row.payload.write.eq(resuming), restore.row.ready.eq(resuming & self.row.ready),
            save.row.ready.eq(~resuming & self.row.ready),
        ]

    def _count(self, m, sequencer, preempt, resume, save, reader, commit, counts):
        """Counters."""
        m.d.comb += [
            counts.begin_save.eq(sequencer.clear & ~sequencer.resume),
            counts.saving.eq(sequencer.saving),
            counts.begin_restore.eq(sequencer.clear & sequencer.resume), counts.tally.eq(save.done),
            counts.head_event.eq(commit.event), counts.dropped.eq(preempt.dropped),
            counts.released.eq(preempt.release.valid), counts.draining.eq(preempt.draining),
            counts.started.eq(resume.start.valid), counts.issued.eq(self.issued),
            counts.read_valid.eq(reader.job.valid & reader.job.ready),
            counts.read_words.eq(reader.job.payload.words - reader.job.payload.skip),
            self.counters.eq(counts.counters),
            self.activity.taken.eq(self.command.valid & self.command.ready),
            self.activity.resume.eq(self.command.payload.resume),
            self.activity.kernel.eq(self.command.payload.kernel),
            self.activity.draining.eq(preempt.draining), self.activity.dropped.eq(preempt.dropped),
            self.activity.started.eq(resume.start.valid),
        ]

"""The preemption engine: runs a preempt (drain, save, commit) or a resume (restore, demote, start).

::

                      Sequencer -- accepted ---> all
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
from ..arch.geometry import Geometry
from ..interfaces import payloads as payload
from ..interfaces.port import Port
from ..interfaces.preemption import activity, admission, admitted, command, counters, resident_tb
from ..interfaces.preemption_port import PreemptionPort, WarpLaunchPort
from ..lib.stream_queue import StreamQueue
from ..memory.ports import ReadInterface, ReadPort, WriteInterface, WritePort
from .formats.unpacker import Unpacker
from .restore.entry_buffer import EntryBuffer
from .restore.pipeline import RestorePipeline, restore_job
from .restore.segment_reader import SegmentReader
from .restore.stream_checker import StreamChecker
from .save.committer import Committer
from .save.pipeline import SavePipeline
from .sequence.counters import PreemptCounters
from .sequence.preempt_sequencer import PreemptSequencer
from .sequence.resume_sequencer import ResumeSequencer
from .sequence.saved_entries import SavedEntries
from .sequence.sequencer import Sequencer

__all__ = ["PreemptEngine"]

TBS_AHEAD = 2
"""TBs admitted and being read while one is being restored."""


class PreemptEngine(wiring.Component):
    """Saves and restores the TBs of a kernel.

    A preempt ends with every TB of the kernel saved and released, or ended by itself. With the
    result `CommandError.AREA_TOO_SMALL` nothing was written; with `CommandError.BUS_ERROR` the TBs
    not yet released stay on the SM and run on, and nothing written of them will be resumed.

    A resume ends with every TB that has a complete entry running. With `CommandError.BAD_IMAGE`
    nothing was restored, unless a stream (not an entry) made no sense; then, and with
    `CommandError.BUS_ERROR`, TBs that were restored before run, every other one is given back
    (`release`) with its entry complete, and one whose entry is in doubt stays in its room without
    running: no TB is ever lost, or in both places (`PreemptSequencer`, `ResumeSequencer`).

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    kernels, resident : arrays, in
        `payloads.kernel_info` of the kernel slots, and the TB table.
    start : Signal(kernel_slots), in
        Vector: the kernel begins anew; nothing saved of it counts any more.
    command : stream of messages.command, in; result : out
        Ready while idle; `result` is `valid` for one cycle and ends the command.
    claim : Signal(tb_slots), out
        Vector: TBs that are being saved; the dispatcher does not free them when they end.
    release : out
        `valid` for one cycle: the TB is saved, or is given back by a resume; its resources become
        free.
    admit : stream of messages.admission, out; admitted : in; no_room, withdraw : Signal, in, out
        A TB that needs room, the answer when there is some; `no_room` while the admission waits for
        it, and `withdraw` if it is not to wait any longer.
    launch : WarpLaunchPort, out
        Restored warps and TBs. The dispatcher merges it with that of fresh ones.
    core : PreemptionPort, out
        The core whose warps are saved and restored.
    counters : out
        As in the register map.
    activity : out
        For simulations; not part of the machine.
    read_port : ReadPort, out; write_port : WritePort, out
        Contexts in memory.
    """

    kernels: data.View
    resident: data.View
    start: Signal
    command: stream.Interface
    result: data.View
    claim: Signal
    release: data.View
    admit: stream.Interface
    admitted: data.View
    no_room: Signal
    withdraw: Signal
    launch: Port
    core: Port
    counters: data.View
    activity: data.View
    read_port: ReadInterface
    write_port: WriteInterface

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)),
            "start": In(g.kernel_slots), "command": In(stream.Signature(command(g))),
            "result": Out(data.StructLayout({"valid": 1, "error": CommandError})),
            "claim": Out(g.tb_slots), "release": Out(payload.tb_event(g)),
            "admit": Out(stream.Signature(admission(g))), "admitted": In(admitted(g)),
            "no_room": In(1), "withdraw": Out(1),
            "launch": Out(WarpLaunchPort(g)), "core": Out(PreemptionPort(g)),
            "counters": Out(counters()), "activity": Out(activity(g)),
            "read_port": Out(ReadPort(g)), "write_port": Out(WritePort(g)),
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
        m.submodules.checker = checker = StreamChecker(g)
        m.submodules.saved = saved = SavedEntries(g)
        m.submodules.counts = counts = PreemptCounters(g)

        self._commands(m, sequencer, preempt, resume)
        self._save(m, preempt, save, commit)
        self._heads(m, sequencer, preempt, resume, commit, saved)
        self._restore(m, resume, reader, unpacker, entries, restore, checker)
        m.d.comb += [entries.saved.eq(resume.look), saved.select.eq(entries.number),
                     entries.generation.eq(saved.listed)]
        self._rows(m, sequencer.resuming, save, restore)
        m.d.comb += reader.clear.eq(sequencer.clear)
        self._count(m, sequencer, preempt, resume, save, reader, commit, counts)
        m.d.comb += [part.accepted.eq(sequencer.accepted)
                     for part in (preempt, resume, save, entries, restore)]
        return m

    def _commands(self, m, sequencer, preempt, resume):
        """Command, result, and the dispatcher's side of both sequencers."""
        wiring.connect(m, wiring.flipped(self.command), sequencer.command)
        m.d.comb += [
            sequencer.kernels.eq(self.kernels),
            self.result.eq(sequencer.result), preempt.begin.eq(sequencer.begin_save),
            self.core.stop.pending.eq(Mux(sequencer.pending, preempt.ours, 0)),
            self.core.stop.stop_now.eq(Mux(sequencer.stop_now, preempt.ours, 0)),
            resume.begin.eq(sequencer.begin_resume), sequencer.save_done.eq(preempt.done),
            sequencer.resume_done.eq(resume.done),
            self.claim.eq(preempt.claim), resume.resident.eq(self.resident),
            self.launch.start.eq(resume.start),
            self.release.eq(Mux(sequencer.resuming, resume.release, preempt.release)),
            resume.admitted.eq(self.admitted), resume.no_room.eq(self.no_room),
            self.withdraw.eq(resume.withdraw),
        ]
        wiring.connect(m, resume.admit, wiring.flipped(self.admit))

    def _save(self, m, preempt, save, commit):
        """Save pipeline: TBs in, views and data from the core, bursts out."""
        wiring.connect(m, preempt.target, save.target)
        core = self.core
        wiring.connect(m, save.warps, wiring.flipped(core.warps.save))
        wiring.connect(m, save.flags, wiring.flipped(core.registers.flags))
        wiring.connect(m, save.save_read, wiring.flipped(core.registers.read))
        wiring.connect(m, save.burst, commit.burst)
        wiring.connect(m, save.data, commit.data)
        m.d.comb += [
            preempt.resident.eq(self.resident),
            preempt.stopped.eq(core.stop.stopped), preempt.exited.eq(core.stop.exited),
            save.stopped.eq(core.stop.stopped), save.exited.eq(core.stop.exited),
            save.lines_valid.eq(core.shared.valid),
            preempt.tally.eq(save.done), preempt.waiting.eq(save.waiting),
            preempt.flowing.eq(save.flowing),
            preempt.save_idle.eq(save.idle), save.save_data.eq(core.registers.read_data),
            save.row_data.eq(core.shared.row_data),
        ]

    def _heads(self, m, sequencer, preempt, resume, commit, saved):
        """Committer: heads of the resume sequencer, its events to both."""
        wiring.connect(m, commit.port, wiring.flipped(self.write_port))
        accepted = sequencer.accepted
        wiring.connect(m, resume.head, commit.head)
        m.d.comb += [
            commit.ccb_base.eq(accepted.ccb_base),
            commit.clear.eq(sequencer.clear),
            preempt.sending.eq(commit.sending), resume.saved.eq(saved.saved),
            saved.kernel.eq(accepted.kernel), saved.generation.eq(accepted.generation),
            saved.saving.eq(sequencer.saving), saved.event.eq(commit.event),
            saved.start.eq(self.start),
        ]
        for part in (preempt, resume):
            m.d.comb += [part.head_event.eq(commit.event), part.write_error.eq(commit.error),
                         part.commit_idle.eq(commit.idle)]

    def _restore(self, m, resume, reader, unpacker, entries, restore, checker):
        """Reader and unpacker, the entries and the streams that they bring,
        and what becomes of them."""
        m.submodules.restore_jobs = jobs = StreamQueue(restore_job(self.geometry), TBS_AHEAD)
        wiring.connect(m, reader.port, wiring.flipped(self.read_port))
        wiring.connect(m, resume.read_job, reader.job)
        wiring.connect(m, reader.beat, unpacker.beat)
        wiring.connect(m, checker.crc, restore.crc)
        wiring.connect(m, resume.restore_job, jobs.input)
        wiring.connect(m, jobs.output, restore.job)
        registers = self.core.registers
        wiring.connect(m, restore.warp_init, wiring.flipped(self.launch.warp_init))
        wiring.connect(m, restore.stack_push, wiring.flipped(self.launch.stack_push))
        wiring.connect(m, restore.restore_write, wiring.flipped(registers.restore_write))
        m.d.comb += [
            unpacker.take.eq(Mux(entries.full, restore.take, entries.take)),
            checker.beat.eq(reader.beat.payload),
            checker.taken.eq(reader.beat.valid & reader.beat.ready),
            restore.failed.eq(resume.failed),
            entries.clear.eq(resume.begin),
            entries.select.eq(resume.select), entries.load.eq(resume.load),
            resume.entries_full.eq(entries.full),
            resume.bad.eq(entries.bad),
            resume.loaded.eq(entries.loaded),
            resume.entry.eq(entries.entry), resume.restored.eq(restore.done),
            resume.restore_idle.eq(restore.idle & ~jobs.output.valid),
            resume.read_error.eq(reader.error),
            registers.restore_predicate.eq(restore.restore_predicate), registers.mark_clean.eq(0),
            self.core.warps.restore_uniform.eq(restore.restore_uniform),
        ]
        for part in (entries, restore):
            m.d.comb += [part.words.eq(unpacker.words), part.level.eq(unpacker.level)]

    def _rows(self, m, resuming, save, restore):
        """Shared-memory rows: read by a save, written by a restore, never both at a time."""
        row = self.core.shared.row
        m.d.comb += [
            row.valid.eq(Mux(resuming, restore.row.valid, save.row.valid)),
            row.payload.eq(restore.row.payload), row.payload.row.eq(
                Mux(resuming, restore.row.payload.row, save.row.payload.row)),
            row.payload.write.eq(resuming), restore.row.ready.eq(resuming & row.ready),
            save.row.ready.eq(~resuming & row.ready),
        ]

    def _count(self, m, sequencer, preempt, resume, save, reader, commit, counts):
        """Counters."""
        m.d.comb += [
            counts.begin_save.eq(sequencer.clear & ~sequencer.resume),
            counts.saving.eq(sequencer.saving),
            counts.begin_restore.eq(sequencer.clear & sequencer.resume), counts.tally.eq(save.done),
            counts.head_event.eq(commit.event), counts.dropped.eq(preempt.dropped),
            counts.released.eq(preempt.release.valid), counts.draining.eq(preempt.draining),
            counts.started.eq(resume.start.valid), counts.issued.eq(self.core.stop.issued),
            counts.read_valid.eq(reader.job.valid & reader.job.ready),
            counts.read_words.eq(reader.job.payload.words - reader.job.payload.skip),
            self.counters.eq(counts.counters),
            self.activity.taken.eq(self.command.valid & self.command.ready),
            self.activity.resume.eq(self.command.payload.resume),
            self.activity.kernel.eq(self.command.payload.kernel),
            self.activity.draining.eq(preempt.draining), self.activity.dropped.eq(preempt.dropped),
            self.activity.started.eq(resume.start.valid),
        ]

"""The preemption engine: runs a preempt (drain, save, commit) or a resume (restore, demote, start).

::

                      Sequencer -- accepted ---> all
                      |       |
         PreemptSequencer   ResumeSequencer ---- admit, start ----> dispatcher
          |         |          |    |   |   `------------- ReadAhead (what is read) --+
    SavePipeline    +- heads --+    |   +--> EntryBuffer <--+                         |
          |            |            |                       |                         v
          +--bursts--> Committer    +--> RestorePipeline <--+-- Unpacker <-- SegmentReader
                       |                                                           |
                   write_port                                                  read_port

Lin et al. IV-B (context format, Fig. 12) and IV-C (pipelines, Fig. 13); commit protocol in
`arch.context`.
"""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..arch.image.context import ENTRY_WORDS
from ..interfaces import payloads as payload
from ..interfaces.port import Port
from ..interfaces.preemption import (
    activity,
    admission,
    admitted,
    adoption,
    command,
    counters,
    engine_result,
    entry_event,
    kernel_progress,
    resident_tb,
)
from ..interfaces.preemption_port import PreemptionPort, WarpLaunchPort
from ..interfaces.staying import plan, plan_request, staying_report
from ..lib.resets import ResetInserter
from ..lib.stream_queue import StreamQueue
from ..memory.ports import ReadInterface, ReadPort, WriteInterface, WritePort
from .formats.checksum import Checksum, share
from .formats.packer import CHUNK_WORDS
from .formats.unpacker import Unpacker
from .in_place.evict_sequencer import EvictSequencer
from .in_place.staying_masks import StayingMasks
from .in_place.staying_table import StayingTable
from .restore.entry_buffer import EntryBuffer
from .restore.jobs import restore_job
from .restore.pipeline import RestorePipeline
from .restore.record_reader import RecordReader
from .restore.segment_reader import SegmentReader
from .restore.stream_checker import StreamChecker
from .save.committer import Committer
from .save.kernel_record import KernelRecordWriter
from .save.pipeline import SavePipeline
from .sequence.adopt_sequencer import AdoptSequencer
from .sequence.counters import PreemptCounters
from .sequence.generations_checksum import GenerationsChecksum
from .sequence.preempt_sequencer import PreemptSequencer
from .sequence.read_ahead import ReadAhead
from .sequence.resume_sequencer import ResumeSequencer
from .sequence.saved_entries import SavedEntries
from .sequence.sequencer import Sequencer

__all__ = ["PreemptEngine"]

JOBS_OF_A_TB = 2
"""Reads of a TB's stream: its encoding table and the rest. All TBs may be read ahead: short streams
would not fill the memory's latency otherwise."""


class PreemptEngine(wiring.Component):
    """Saves and restores the TBs of a kernel.

    A preempt is given while no TB of the kernel is being launched. It ends with every TB of the
    kernel saved and released, or ended by itself. With the result `CommandError.AREA_TOO_SMALL`
    nothing was written; with `CommandError.BUS_ERROR` the TBs not yet released stay on the SM and
    run on, and nothing written of them will be resumed.

    A resume brings back the TBs there is room for; the rest has its turn in a later pass. With
    `CommandError.BAD_IMAGE` nothing was restored, unless a stream (not an entry) made no sense;
    then, and with `CommandError.BUS_ERROR`, TBs that were restored before run, every other one is
    given back (`release`) with its entry complete, and one whose entry is in doubt stays in its
    room without running: no TB is ever lost, or in both places (`PreemptSequencer`,
    `ResumeSequencer`).

    Timing
    ------
    One command at a time, TBs one behind the other without a gap: rows of registers and lines, and
    bus beats, one in each cycle both ways. What a save and a restore take at most:
    docs/preemption.md, Limits on save and restore time.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    kernels, resident : arrays, in
        `payloads.kernel_info` of the kernel slots, and the TB table.
    start : Signal(kernel_slots), in
        Vector: the kernel begins anew; nothing saved of it counts any more.
    command : stream of preemption.command, in; result : preemption.engine_result, out
        Ready while idle; `result` is `valid` for one cycle and ends the command.
    hasten : Signal, in
        The preempt in hand has no patience left; does nothing to a resume.
    claim : Signal(tb_slots), out
        Vector: TBs that are being saved; the dispatcher does not free them when they end.
    release : out
        `valid` for one cycle: the TB is saved, or is given back by a resume; its resources become
        free.
    admit : stream of preemption.admission, out; admitted : in
        A TB that needs room, and the answer.
    withdraw : Signal, in
        The command in hand is withdrawn: a preempt saves no further TB but those begun, whose
        warps stop at once, a resume brings no further one back. High until the result.
    cancel : Signal, in
        The command in hand is dropped, since its kernel is killed: everything begun is forgotten,
        writes that were granted write nothing; the result comes when memory has answered, and the
        dispatcher an admission. High until the result.
    flushing : Signal, out
        It is; nothing reaches the core any more.
    staying : staying_report, out
        What stays on the SM of preempted TBs.
    discard : Signal(kernel_slots), in
        Vector: kernels that are killed; nothing stays of them.
    plan_request : staying.plan_request, out; plan : staying.plan, in
        The `RoomPlanner`.
    kept : Signal(kernel_slots), out
        Vector: a TB of the kernel is saved, or its record stands in memory: a resume has to come
        before it runs again. TBs that are `away` do not count.
    recorded : Signal(kernel_slots), out
        Vector: kernels whose record is in memory, and nothing of which has run since.
    away : array of Signal(context_entries), in
        With `Geometry.watches`. Vector a kernel: entries of TBs that have left by themselves.
    ended : preemption.entry_event, in
        A TB has ended: its base is none any more.
    progress : array of preemption.kernel_progress, in
        Of each kernel, for its record.
    adopted : preemption.adoption, out
        A kernel is taken over from memory.
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
    hasten: Signal
    claim: Signal
    release: data.View
    admit: stream.Interface
    admitted: data.View
    withdraw: Signal
    cancel: Signal
    flushing: Signal
    staying: data.View
    discard: Signal
    plan_request: data.View
    plan: data.View
    kept: Signal
    recorded: Signal
    away: data.View
    ended: data.View
    progress: data.View
    adopted: data.View
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
            "result": Out(engine_result()), "hasten": In(1),
            "claim": Out(g.tb_slots), "release": Out(payload.tb_event(g)),
            "admit": Out(stream.Signature(admission(g))), "admitted": In(admitted(g)),
            "withdraw": In(1), "cancel": In(1), "flushing": Out(1),
            "staying": Out(staying_report(g)), "discard": In(g.kernel_slots),
            "plan_request": Out(plan_request(g)), "plan": In(plan(g)),
            **({"away": In(data.ArrayLayout(g.context_entries, g.kernel_slots))} if g.watches
               else {}),
            "kept": Out(g.kernel_slots), "recorded": Out(g.kernel_slots),
            "ended": In(entry_event(g)),
            "progress": In(data.ArrayLayout(kernel_progress(), g.kernel_slots)),
            "adopted": Out(adoption(g)),
            "launch": Out(WarpLaunchPort(g)), "core": Out(PreemptionPort(g)),
            "counters": Out(counters()), "activity": Out(activity(g)),
            "read_port": Out(ReadPort(g)), "write_port": Out(WritePort(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.sequencer = sequencer = Sequencer(g)
        forgets = ResetInserter(sequencer.flush)  # what forgets a command that is cancelled
        m.submodules.preempt = forgets(preempt := PreemptSequencer(g))
        m.submodules.resume = forgets(resume := ResumeSequencer(g))
        m.submodules.save = forgets(save := SavePipeline(g, shared=True))
        m.submodules.commit = commit = Committer(g)
        m.submodules.reader = reader = SegmentReader(g, JOBS_OF_A_TB * g.tb_slots)
        drops = ResetInserter(sequencer.flush | resume.discard)  # and what a pass did not need
        m.submodules.unpacker = drops(
            unpacker := Unpacker(g.bus_words, g.window_words, ahead=True))
        m.submodules.entries = forgets(entries := EntryBuffer(g, shared=True))
        m.submodules.restore = forgets(restore := RestorePipeline(g, shared=True))
        m.submodules.checker = drops(checker := StreamChecker(g))
        m.submodules.read_ahead = forgets(ahead := ReadAhead(g))
        m.submodules.restore_jobs = forgets(jobs := StreamQueue(restore_job(g), g.tb_slots))
        m.submodules.saved = saved = SavedEntries(g)
        m.submodules.adopt = forgets(adopt := AdoptSequencer(g))
        m.submodules.record_reader = forgets(record_reader := RecordReader(g, shared=True))
        m.submodules.record_writer = forgets(
            record_writer := KernelRecordWriter(g, shared=True))
        m.submodules.generations = forgets(generations := GenerationsChecksum(g))
        m.submodules.counts = counts = PreemptCounters(g)
        m.submodules.checksum = checksum = Checksum(CHUNK_WORDS)
        share(m, checksum, [part.checksum for part in (
            save, record_writer, record_reader, entries, restore)])

        self._commands(m, sequencer, preempt, resume)
        self._save(m, preempt, save)
        if g.in_place:
            self._stay(m, forgets, sequencer, preempt, resume, save, restore, commit, saved, counts)
        self._heads(m, sequencer, preempt, resume, commit, saved)
        self._restore(m, resume, adopt, reader, unpacker, entries, restore, checker, jobs)
        self._read(m, sequencer, adopt, ahead, reader, unpacker, record_reader, entries, restore)
        self._read_ahead(m, sequencer, resume, ahead, reader, saved)
        self._adopt(m, sequencer, adopt, record_reader, entries, saved, generations)
        self._record(m, sequencer, save, commit, record_writer, generations, saved)
        self._rows(m, sequencer.resuming, save, restore)
        self._clean(m, preempt, resume)
        m.d.comb += [
            reader.clear.eq(sequencer.clear), reader.cancel.eq(sequencer.flush | resume.discard),
            commit.cancel.eq(sequencer.flush), sequencer.cancel.eq(self.cancel),
            sequencer.settled.eq(commit.idle & reader.idle & ~self._asked(m)),
            self.flushing.eq(sequencer.flush),
        ]
        self._count(m, sequencer, preempt, resume, save, ahead, commit, counts)
        m.d.comb += [part.accepted.eq(sequencer.accepted)
                     for part in (preempt, resume, adopt, ahead, save, entries, restore,
                                  record_writer)]
        return m

    def _commands(self, m: Module, sequencer: Sequencer, preempt: PreemptSequencer,
                  resume: ResumeSequencer):
        """Command, result, and the dispatcher's side of both sequencers."""
        wiring.connect(m, wiring.flipped(self.command), sequencer.command)
        m.d.comb += [
            sequencer.kernels.eq(self.kernels), sequencer.hasten.eq(self.hasten),
            sequencer.draining.eq(preempt.draining),
            self.result.eq(sequencer.result),
            self.result.saved.eq(self.counters.save_tbs.any()),
            preempt.begin.eq(sequencer.begin_save),
            self.core.stop.pending.eq(Mux(sequencer.pending, preempt.wanted, 0)),
            self.core.stop.stop_now.eq(Mux(sequencer.pending, Mux(
                sequencer.stop_now, preempt.wanted, preempt.urgent), 0)),
            preempt.withdraw.eq(self.withdraw), resume.withdraw.eq(self.withdraw),
            resume.begin.eq(sequencer.begin_resume), sequencer.save_done.eq(preempt.done),
            sequencer.resume_done.eq(resume.done),
            self.claim.eq(preempt.claim), resume.resident.eq(self.resident),
            self.launch.start.tb.eq(resume.start.tb),
            self.launch.start.valid.eq(resume.start.valid & ~sequencer.flush),
            self.release.eq(Mux(sequencer.resuming, resume.release, preempt.release)),
            resume.admitted.eq(self.admitted),
        ]
        if self.geometry.traps:
            m.d.comb += self.core.stop.trap.eq(
                Mux(sequencer.pending & sequencer.accepted.options.trap, preempt.wanted, 0))
        wiring.connect(m, resume.admit, wiring.flipped(self.admit))

    def _asked(self, m: Module):
        """Return whether an admission is not answered yet. Who is killed meanwhile drops the
        answer; the next resume must not take it for its own."""
        asked = Signal()
        with m.If(self.admitted.valid):
            m.d.sync += asked.eq(0)
        with m.Elif(self.admit.valid & self.admit.ready):
            m.d.sync += asked.eq(1)
        return asked

    def _save(self, m: Module, preempt: PreemptSequencer, save: SavePipeline):
        """Save pipeline: TBs in, views and data from the core."""
        if not self.geometry.in_place:
            wiring.connect(m, preempt.target, save.target)
        core = self.core
        wiring.connect(m, save.warps, wiring.flipped(core.warps.save))
        wiring.connect(m, save.flags, wiring.flipped(core.registers.flags))
        wiring.connect(m, save.save_read, wiring.flipped(core.registers.read))
        m.d.comb += [
            preempt.resident.eq(self.resident),
            preempt.stopped.eq(core.stop.stopped), preempt.exited.eq(core.stop.exited),
            save.stopped.eq(core.stop.stopped), save.exited.eq(core.stop.exited),
            save.lines_valid.eq(core.shared.valid), save.lines_dirty.eq(core.shared.dirty),
            preempt.tally.eq(save.done), preempt.waiting.eq(save.waiting),
            preempt.flowing.eq(save.flowing),
            preempt.save_idle.eq(save.idle), save.save_data.eq(core.registers.read_data),
            save.row_data.eq(core.shared.row_data),
        ]

    def _stay(self, m: Module, forgets: ResetInserter, sequencer: Sequencer,
              preempt: PreemptSequencer, resume: ResumeSequencer, save: SavePipeline,
              restore: RestorePipeline, commit: Committer, saved: SavedEntries,
              counts: PreemptCounters):
        """What stays on the SM of preempted TBs, and how it gets to memory."""
        m.submodules.staying = table = StayingTable(self.geometry)
        m.submodules.masks = masks = StayingMasks(self.geometry)
        m.submodules.evict = forgets(evict := EvictSequencer(self.geometry))
        target, kernel = save.target, sequencer.accepted.kernel
        evicting = sequencer.evicting
        m.d.comb += [
            target.valid.eq(Mux(evicting, evict.target.valid, preempt.target.valid)),
            target.payload.eq(Mux(evicting, evict.target.payload, preempt.target.payload)),
            evict.target.ready.eq(evicting & target.ready),
            preempt.target.ready.eq(~evicting & target.ready),
            self.staying.eq(table.report), table.drop.eq(self.discard),
            table.settle.eq(sequencer.result.valid),
            table.reserve.valid.eq(preempt.reserve), table.reserve.tb.eq(preempt.target.payload.tb),
            *(table.reserve.what[name].eq(preempt.target.payload[name])
              for name in ("registers", "lines")),
            *(table.reserve.what[name].eq(preempt.target.payload.row[name])
              for name in ("kernel", "entry", "base", "first_line")),
            *(table.reserve.what[name].eq(sequencer.accepted.options[name])
              for name in ("mechanism", "scramble")),
            preempt.staying_room.eq(table.room), preempt.staying.eq(table.next),
            self.plan_request.valid.eq(preempt.begin & sequencer.accepted.options.in_place),
            self.plan_request.chosen.eq(preempt.ours),
            self.plan_request.newcomer.eq(sequencer.accepted.options.newcomer),
            self.plan_request.tbs.eq(sequencer.accepted.options.newcomer_tbs),
            preempt.plan.eq(self.plan),
            table.leaves.eq(preempt.release),
            masks.write.eq(save.keep), table.warp.valid.eq(save.keep.valid),
            table.warp.row.eq(save.keep.of.row), table.warp.warp.eq(save.keep.of.warp),
            masks.select.eq(Mux(sequencer.resuming, restore.kept, save.kept)),
            save.mask.eq(masks.mask), restore.mask.eq(masks.mask),
            table.kernel.eq(kernel), table.entry.eq(resume.admit.payload.entry),
            table.admitted.valid.eq(resume.returns), table.admitted.tb.eq(self.admitted.tb),
            table.starts.eq(self.launch.start), table.returns.eq(resume.release),
            resume.staying.eq(table.report.rows[table.found]),
            resume.staying_number.eq(table.found),
            resume.registers_stay.eq(table.report.registers[kernel]),
            resume.lines_stay.eq(table.report.lines[kernel]),
            saved.keeps_registers.eq(table.reserved_registers),
            saved.keeps_lines.eq(table.reserved_lines),
            saved.evicting.eq(evicting),
            sequencer.stays.eq(table.stays), sequencer.first_staying.eq(table.first),
            sequencer.row.eq(table.shown), sequencer.evict_done.eq(evict.done),
            table.select.eq(sequencer.staying), table.evicted.eq(evict.evicted),
            evict.begin.eq(sequencer.begin_evict), evict.number.eq(sequencer.staying),
            evict.row.eq(table.shown), evict.crc.eq(saved.chosen_crc),
            evict.side.eq(saved.sides.bit_select(table.shown.what.entry, 1)),
            evict.save_idle.eq(save.idle), evict.commit_idle.eq(commit.idle),
            evict.head_event.eq(commit.event), evict.write_error.eq(commit.error),
            counts.evicted.eq(evict.evicted),
        ]
        m.d.comb += saved.chosen.eq(Mux(evicting, table.shown.what.entry, preempt.select))
        wiring.connect(m, restore.load, wiring.flipped(self.core.registers.load))

    def _heads(self, m: Module, sequencer: Sequencer, preempt: PreemptSequencer,
               resume: ResumeSequencer, commit: Committer, saved: SavedEntries):
        """Committer: heads of the resume sequencer, its events to both."""
        wiring.connect(m, commit.port, wiring.flipped(self.write_port))
        accepted, options = sequencer.accepted, sequencer.accepted.options
        wiring.connect(m, resume.head, commit.head)
        m.d.comb += [
            commit.ccb_base.eq(accepted.ccb_base),
            commit.base.eq(options.checkpoint | (accepted.evict if self.geometry.in_place else 0)),
            commit.clear.eq(sequencer.clear),
            preempt.sending.eq(commit.sending), resume.saved.eq(saved.saved),
            resume.sides.eq(saved.sides), resume.increments.eq(saved.increments),
            saved.kernel.eq(accepted.kernel), saved.generation.eq(accepted.generation),
            saved.saving.eq(sequencer.saving), saved.event.eq(commit.event),
            saved.incremental.eq(options.incremental & ~options.checkpoint & ~options.restart),
            saved.ended.eq(self.ended), resume.completed.eq(saved.completed),
            resume.without_registers.eq(saved.without_registers),
            preempt.base_crc.eq(saved.chosen_crc), preempt.bases.eq(saved.bases),
            preempt.base_sides.eq(saved.base_sides),
            saved.start.eq(self.start), self.kept.eq(saved.kept),
            *((saved.away.eq(self.away),) if self.geometry.watches else ()),
        ]
        if not self.geometry.in_place:
            m.d.comb += saved.chosen.eq(preempt.select)
        for part in (preempt, resume):
            m.d.comb += [part.head_event.eq(commit.event), part.write_error.eq(commit.error),
                         part.commit_idle.eq(commit.idle)]

    def _restore(self, m: Module, resume: ResumeSequencer, adopt: AdoptSequencer,
                 reader: SegmentReader, unpacker: Unpacker, entries: EntryBuffer,
                 restore: RestorePipeline, checker: StreamChecker, jobs: StreamQueue):
        """Reader and unpacker, the entries and the streams that they bring,
        and what becomes of them."""
        wiring.connect(m, reader.port, wiring.flipped(self.read_port))
        wiring.connect(m, reader.beat, unpacker.beat)
        wiring.connect(m, checker.crc, restore.crc)
        wiring.connect(m, resume.restore_job, jobs.input)
        wiring.connect(m, jobs.output, restore.job)
        registers = self.core.registers
        wiring.connect(m, restore.warp_init, wiring.flipped(self.launch.warp_init))
        wiring.connect(m, restore.stack_push, wiring.flipped(self.launch.stack_push))
        for name in ("restore_write", "restore_predicate"):
            wiring.connect(m, getattr(restore, name), wiring.flipped(getattr(registers, name)))
        m.d.comb += [
            checker.beat.eq(reader.beat.payload),
            checker.taken.eq(reader.beat.valid & reader.beat.ready),
            restore.failed.eq(resume.failed),
            entries.select.eq(resume.select), entries.select_base.eq(resume.select_base),
            entries.load.eq(resume.load),
            resume.entries_full.eq(entries.full),
            resume.bad.eq(entries.bad),
            resume.entry.eq(entries.entry), resume.restored.eq(restore.done),
            resume.restore_idle.eq(restore.idle & ~jobs.output.valid),
            resume.read_error.eq(reader.error), adopt.read_error.eq(reader.error),
            entries.clear.eq(resume.begin | adopt.clear), adopt.idle.eq(reader.idle),
            self.core.warps.restore_uniform.eq(restore.restore_uniform),
        ]
        # A record is none of the entries, though these may wait for more: those of a kernel before.
        m.d.comb += [
            entries.words.eq(unpacker.words), restore.words.eq(unpacker.words),
            entries.level.eq(Mux(adopt.reading, 0, unpacker.level)),
            restore.level.eq(unpacker.level),
        ]

    def _read(self, m: Module, sequencer: Sequencer, adopt: AdoptSequencer, ahead: ReadAhead,
              reader: SegmentReader, unpacker: Unpacker, record: RecordReader, entries: EntryBuffer,
              restore: RestorePipeline):
        """What a resume and an adoption read: who asks, and who takes the words."""
        job = reader.job
        for part, mine in ((adopt, sequencer.adopting), (ahead, ~sequencer.adopting)):
            m.d.comb += part.read_job.ready.eq(mine & job.ready)
            with m.If(mine):
                m.d.comb += [job.valid.eq(part.read_job.valid),
                             job.payload.eq(part.read_job.payload)]
        m.d.comb += unpacker.take.eq(Mux(adopt.reading, record.take,
                                         Mux(entries.full, restore.take, entries.take)))
        m.d.comb += [entries.saved.eq(Mux(sequencer.adopting, adopt.adopted.saved, ahead.look)),
                     record.level.eq(Mux(adopt.reading, unpacker.level, 0)),
                     record.words.eq(unpacker.words)]

    def _read_ahead(self, m: Module, sequencer: Sequencer, resume: ResumeSequencer,
                    ahead: ReadAhead, reader: SegmentReader, saved: SavedEntries):
        """What a resume reads: the entries, and the streams of those that are saved."""
        m.d.comb += [
            ahead.begin.eq(sequencer.begin_resume), ahead.look.eq(resume.look),
            ahead.placed.eq(resume.placed), ahead.closed.eq(resume.closed),
            ahead.over.eq(resume.discard), resume.requested.eq(ahead.requested),
            resume.reads_idle.eq(ahead.idle & reader.idle),
            saved.ahead.eq(ahead.select), saved.ahead_base.eq(ahead.select_base),
            ahead.extent.eq(saved.extent), ahead.sides.eq(saved.sides),
            ahead.increments.eq(saved.increments), ahead.completed.eq(saved.completed),
        ]

    def _adopt(self, m: Module, sequencer: Sequencer, adopt: AdoptSequencer, record: RecordReader,
               entries: EntryBuffer, saved: SavedEntries, generations: GenerationsChecksum):
        """An adoption: record, entries and their generations."""
        m.d.comb += [
            generations.start.eq(sequencer.check | adopt.check),
            generations.saved.eq(Mux(sequencer.adopting, adopt.adopted.saved, saved.saved)),
            adopt.begin.eq(sequencer.begin_adopt), adopt.record_full.eq(record.full),
            adopt.record_bad.eq(record.bad), adopt.record.eq(record.record),
            adopt.entries_full.eq(entries.full), adopt.entries_bad.eq(entries.bad),
            adopt.checked.eq(generations.done), adopt.generations.eq(generations.crc),
            record.clear.eq(sequencer.begin_adopt),
            record.kernel.eq(self.kernels[sequencer.accepted.kernel]),
            entries.generation.eq(saved.listed), entries.extent.eq(saved.listed_extent),
            entries.crc.eq(saved.listed_crc), entries.sides.eq(saved.sides),
            entries.increments.eq(saved.increments),
            *(getattr(entries, name).eq(getattr(saved, name))
              for name in ("without_registers", "without_lines", "completed")),
            saved.select.eq(Mux(generations.done, entries.number, generations.number)),
            saved.select_base.eq(entries.of_base), saved.found.eq(entries.found),
            saved.arrived.eq(sequencer.adopting & entries.arrived),
            saved.arrived_base.eq(sequencer.adopting & entries.arrived_base),
            saved.adopts.eq(adopt.clear), saved.record_sides.eq(record.record.sides),
            adopt.first_full.eq(entries.first_full),
            adopt.increments.eq((entries.pairs & record.record.saved).any()),
            saved.adopted.eq(adopt.adopted), self.adopted.eq(adopt.adopted),
            sequencer.adopt_done.eq(adopt.done), sequencer.adopted.eq(adopt.adopted),
            sequencer.record_generation.eq(record.record.generation),
        ]

    def _record(self, m: Module, sequencer: Sequencer, save: SavePipeline, commit: Committer,
                writer: KernelRecordWriter, generations: GenerationsChecksum, saved: SavedEntries):
        """The kernel's record: what it says, and its burst among those of the save pipeline."""
        kernel = sequencer.accepted.kernel
        rows = [self.resident[t] for t in range(self.geometry.tb_slots)]
        mine = [row.valid & (row.kernel == kernel) for row in rows]
        taken = [here & ~sequencer.accepted.options.spared.bit_select(row.entry, 1)
                 for here, row in zip(mine, rows, strict=True)]
        for name in ("burst", "data"):
            ours, theirs, out = (getattr(part, name) for part in (writer, save, commit))
            m.d.comb += [out.valid.eq(Mux(writer.busy, ours.valid, theirs.valid)),
                         out.payload.eq(Mux(writer.busy, ours.payload, theirs.payload)),
                         ours.ready.eq(writer.busy & out.ready),
                         theirs.ready.eq(~writer.busy & out.ready)]
        m.d.comb += [
            sequencer.gone.eq(~Cat(mine).any() & ~sequencer.stays),
            sequencer.released.eq(~Cat(taken).any()),
            sequencer.saved.eq(saved.saved.any()),
            sequencer.stands.eq(saved.stands), sequencer.withdraw.eq(self.withdraw),
            sequencer.busy.eq(writer.busy), sequencer.write_error.eq(commit.error),
            sequencer.checked.eq(generations.done), generations.generation.eq(saved.listed),
            writer.write.eq(sequencer.write), writer.void.eq(sequencer.void),
            writer.kernel.eq(self.kernels[kernel]), writer.progress.eq(self.progress[kernel]),
            writer.saved.eq(saved.saved), writer.sides.eq(saved.sides),
            writer.generations.eq(generations.crc),
            saved.recording.eq(sequencer.write), saved.written.eq(sequencer.written),
            saved.voiding.eq(sequencer.void), saved.voided.eq(sequencer.voided),
            self.recorded.eq(saved.recorded),
            saved.tally.eq(save.done),
        ]

    def _rows(self, m: Module, resuming: Value, save: SavePipeline, restore: RestorePipeline):
        """Shared-memory rows: read by a save, written by a restore, never both at a time."""
        row = self.core.shared.row
        m.d.comb += [
            row.valid.eq(Mux(resuming, restore.row.valid, save.row.valid)),
            row.payload.eq(restore.row.payload), row.payload.row.eq(
                Mux(resuming, restore.row.payload.row, save.row.payload.row)),
            row.payload.write.eq(resuming), restore.row.ready.eq(resuming & row.ready),
            save.row.ready.eq(~resuming & row.ready),
        ]

    def _clean(self, m: Module, preempt: PreemptSequencer, resume: ResumeSequencer):
        """All that a TB has on the SM is in its base."""
        if not self.geometry.checkpoints:
            return
        valid = preempt.clean.valid | resume.clean.valid
        tb = Signal.like(resume.clean.tb)
        row = self.resident[tb]
        lines = self.core.shared.clean
        m.d.comb += [
            tb.eq(Mux(resume.clean.valid, resume.clean.tb, preempt.clean.tb)),
            self.core.registers.clean.eq(Mux(valid, row.warps, 0)),
            lines.valid.eq(valid & (row.lines != 0)), lines.first.eq(row.first_line),
            lines.count.eq(row.lines),
        ]

    def _count(self, m: Module, sequencer: Sequencer, preempt: PreemptSequencer,
               resume: ResumeSequencer, save: SavePipeline, ahead: ReadAhead, commit: Committer,
               counts: PreemptCounters):
        """Counters."""
        asked = ahead.read_job.valid & ahead.read_job.ready & ~ahead.requested  # for an entry
        restores = sequencer.resuming & (
            asked | resume.restore_job.valid & resume.restore_job.ready)
        m.d.comb += [
            counts.begin_save.eq(sequencer.clear & ~sequencer.resume & ~sequencer.accepted.adopt
                                 & ~sequencer.accepted.evict),
            counts.grace_used.eq(sequencer.accepted.grace_used),
            counts.saving.eq(sequencer.saving), counts.evicting.eq(sequencer.evicting),
            counts.begin_restore.eq(sequencer.clear & sequencer.resume
                                    & ~sequencer.accepted.again), counts.tally.eq(save.done),
            counts.head_event.eq(commit.event),
            counts.dropped.eq(preempt.dropped | counts.evicted & sequencer.pending),
            counts.released.eq(preempt.release.valid | preempt.clean.valid),
            counts.draining.eq(preempt.draining),
            counts.started.eq(self.launch.start.valid), counts.issued.eq(self.core.stop.issued),
            counts.read_valid.eq(restores),
            counts.read_words.eq(Mux(asked, ENTRY_WORDS, resume.restore_job.payload.words)),
            self.counters.eq(counts.counters),
            self.activity.taken.eq(self.command.valid & self.command.ready
                                   & ~self.command.payload.adopt),
            self.activity.resume.eq(self.command.payload.resume),
            self.activity.kernel.eq(self.command.payload.kernel),
            self.activity.draining.eq(preempt.draining), self.activity.dropped.eq(preempt.dropped),
            self.activity.started.eq(self.launch.start.valid),
        ]
        if self.geometry.watches:  # what yields is not counted
            with m.If(sequencer.accepted.yields):
                m.d.comb += [getattr(counts, name).eq(0) for name in (
                    "begin_save", "saving", "begin_restore", "dropped", "draining", "started",
                    "read_valid")]
                m.d.comb += counts.tally.valid.eq(0)

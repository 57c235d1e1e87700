"""The preemption engine: runs a preempt (drain, save, commit) or a resume (restore, demote, start).

::

                 command ---> Sequencer ---> result
                               |  |  |
         +--- SavePort --------+  |  +-------- RestorePort ---+
         v                        | BookPort                  v
      SaveSide <----------------- | -------- HeadPort --- RestoreSide --> admit, launch
       |  |  |                    v                       |   |   |
       |  |  +- SaveBookPort -> ContextBook <- RestoreBookPort |   |
       |  +--- SaveProgress --> EngineCounters <- RestoreProgress  |
       v                                                           v
    write_port                                                 read_port

`sequence.ports` has a signature for each two of them; `CommandState` and `EntrySets` go to all.

Lin et al. IV-B (context format, Fig. 12) and IV-C (pipelines, Fig. 13); commit protocol in
`arch.context`.
"""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
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
from ..memory.ports import ReadInterface, ReadPort, WriteInterface, WritePort
from .context_book import ContextBook
from .engine_counters import EngineCounters
from .formats.checksum import Checksum, share
from .formats.packer import CHUNK_WORDS
from .restore_side import RestoreSide
from .save_side import SaveSide
from .sequence.sequencer import Sequencer

__all__ = ["PreemptEngine"]


class PreemptEngine(wiring.Component):
    """Saves and restores the TBs of a kernel.

    A preempt is given while no TB of the kernel is being launched. It ends with every TB of the
    kernel saved and released, or ended by itself. With the result `CommandError.AREA_TOO_SMALL`
    nothing was written; with `CommandError.BUS_ERROR` the TBs not yet released stay on the SM and
    run on, and nothing written of them will be resumed.

    A resume brings back the TBs there is room for; the rest has its turn in a later pass. With
    `CommandError.BAD_IMAGE` nothing was restored, unless a stream (not an entry) made no sense.
    After such a stream, and with `CommandError.BUS_ERROR`, TBs that were restored before run. Every
    other TB is given back (`release`) with its entry complete. A TB whose entry is in doubt stays
    in its room without running. So no TB is ever lost, or in both places (`PreemptSequencer`,
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
        The command in hand is withdrawn. A preempt saves no further TB but those begun, whose
        warps stop at once; a resume brings no further TB back. High until the result.
    cancel : Signal, in
        The command in hand is dropped, since its kernel is killed. Everything begun is forgotten,
        and writes that were granted write nothing. The result comes when memory has answered, and
        the dispatcher has answered an admission. High until the result.
    flushing : Signal, out
        A command is being dropped; nothing reaches the core any more.
    staying : staying_report, out
        Registers and lines of preempted TBs that stay on the SM.
    discard : Signal(kernel_slots), in
        Vector: kernels that are killed; nothing stays of them.
    plan_request : staying.plan_request, out; plan : staying.plan, in
        The `RoomPlanner`.
    kept : Signal(kernel_slots), out
        Vector: a TB of the kernel is saved, or its record stands in memory. A resume has to come
        before the kernel runs again. TBs that are `away` do not count.
    recorded : Signal(kernel_slots), out
        Vector: kernels whose record is in memory, and nothing of which has run since.
    away : array of Signal(context_entries), in
        One vector per kernel, with `Geometry.watches`: entries of TBs that have left by themselves.
    ended : preemption.entry_event, in
        A TB has ended: its base is none any more.
    progress : array of preemption.kernel_progress, in
        Progress of each kernel, for its record.
    adopted : preemption.adoption, out
        A kernel is taken over from memory.
    launch : WarpLaunchPort, out
        Restored warps and TBs. The dispatcher merges this port with the one for fresh warps.
    core : PreemptionPort, out
        The core whose warps are saved and restored.
    counters : out
        The counters, named as in the register map.
    activity : out
        Signals for simulations; not part of the machine.
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
        m.submodules.save = save = SaveSide(g)
        m.submodules.restore = restore = RestoreSide(g)
        m.submodules.book = book = ContextBook(g)
        m.submodules.counters = count = EngineCounters(g)
        m.submodules.checksum = checksum = Checksum(CHUNK_WORDS)
        share(m, checksum, [*save.checksums, *restore.checksums])
        wiring.connect(m, sequencer.state, save.command, restore.command, book.command,
                       count.command)
        wiring.connect(m, book.sets, save.sets, restore.sets)
        for one, other in (
                (sequencer.save, save.order), (sequencer.restore, restore.order),
                (sequencer.book, book.sequencer), (save.book, book.save),
                (restore.book, book.restore), (restore.heads, save.heads),
                (save.progress, count.save), (restore.progress, count.restore)):
            wiring.connect(m, one, other)
        self._commands(m, sequencer, save)
        self._dispatcher(m, sequencer, save, restore, book)
        self._core(m, sequencer, save, restore)
        self._clean(m, save, restore)
        self._count(m, sequencer, save, restore, count)
        return m

    def _commands(self, m: Module, sequencer: Sequencer, save: SaveSide):
        """A command, what interferes with it, and its result."""
        wiring.connect(m, wiring.flipped(self.command), sequencer.command)
        m.d.comb += [
            sequencer.intervention.hasten.eq(self.hasten),
            sequencer.intervention.withdraw.eq(self.withdraw),
            sequencer.intervention.cancel.eq(self.cancel),
            self.result.eq(sequencer.result), self.result.saved.eq(self.counters.save_tbs.any()),
            self.flushing.eq(sequencer.state.flush),
        ]

    def _dispatcher(self, m: Module, sequencer: Sequencer, save: SaveSide, restore: RestoreSide,
                    book: ContextBook):
        """The kernel slots, the TBs, and what the dispatcher knows of their contexts."""
        wiring.connect(m, restore.admit, wiring.flipped(self.admit))
        m.d.comb += [part.kernels.eq(self.kernels) for part in (sequencer, save, restore)]
        m.d.comb += [part.resident.eq(self.resident) for part in (save, restore)]
        m.d.comb += [
            save.kernel_progress.eq(self.progress), self.claim.eq(save.claim),
            self.release.eq(Mux(sequencer.state.resuming, restore.release, save.release)),
            restore.admitted.eq(self.admitted), self.adopted.eq(restore.order.adopted),
            self.plan_request.eq(save.plan_request), save.plan.eq(self.plan),
            book.start.eq(self.start), book.discard.eq(self.discard), book.ended.eq(self.ended),
            self.kept.eq(book.contexts_kept), self.recorded.eq(book.record_in_memory),
            self.staying.eq(book.staying),
        ]
        if self.geometry.watches:
            m.d.comb += book.away.eq(self.away)

    def _core(self, m: Module, sequencer: Sequencer, save: SaveSide, restore: RestoreSide):
        """The core, and memory. Shared-memory rows are read by a save, written by a restore, never
        both at a time."""
        core, registers, shared = self.core, self.core.registers, self.core.shared
        for inner, outer in (
                (save.stop, core.stop), (save.warps, core.warps.save),
                (save.flags, registers.flags), (save.register_read, registers.read),
                (restore.restore_predicate, registers.restore_predicate),
                (restore.restore_write, registers.restore_write),
                (restore.launch, self.launch),
                (restore.read_port, self.read_port), (save.write_port, self.write_port)):
            wiring.connect(m, inner, wiring.flipped(outer))
        if self.geometry.in_place:
            wiring.connect(m, restore.load, wiring.flipped(registers.load))
        row, resuming = shared.row, sequencer.state.resuming
        m.d.comb += [
            save.register_data.eq(registers.read_data), save.row_data.eq(shared.row_data),
            save.lines_valid.eq(shared.valid), save.lines_dirty.eq(shared.dirty),
            core.warps.restore_uniform.eq(restore.restore_uniform),
            row.valid.eq(Mux(resuming, restore.row.valid, save.row.valid)),
            row.payload.eq(restore.row.payload),
            row.payload.row.eq(
                Mux(resuming, restore.row.payload.row, save.row.payload.row)),
            row.payload.write.eq(resuming), restore.row.ready.eq(resuming & row.ready),
            save.row.ready.eq(~resuming & row.ready),
        ]

    def _clean(self, m: Module, save: SaveSide, restore: RestoreSide):
        """All that a TB has on the SM is in its base."""
        if not self.geometry.checkpoints:
            return
        valid = save.clean.valid | restore.clean.valid
        tb = Signal.like(restore.clean.tb)
        row = self.resident[tb]
        lines = self.core.shared.clean
        m.d.comb += [
            tb.eq(Mux(restore.clean.valid, restore.clean.tb, save.clean.tb)),
            self.core.registers.clean.eq(Mux(valid, row.warps, 0)),
            lines.valid.eq(valid & (row.lines != 0)), lines.first.eq(row.first_line),
            lines.count.eq(row.lines),
        ]

    def _count(self, m: Module, sequencer: Sequencer, save: SaveSide, restore: RestoreSide,
               count: EngineCounters):
        """The counters, and what a simulation may watch."""
        command, activity = self.command, self.activity
        m.d.comb += [
            count.stop_pending.eq(sequencer.save.stop_pending),
            count.issued.eq(self.core.stop.issued), self.counters.eq(count.counters),
            activity.taken.eq(command.valid & command.ready & ~command.payload.adopt),
            activity.resume.eq(command.payload.resume), activity.kernel.eq(command.payload.kernel),
            activity.draining.eq(save.progress.draining),
            activity.dropped.eq(save.progress.claim_dropped),
            activity.started.eq(restore.progress.started),
        ]

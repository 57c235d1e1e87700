"""The save side of the preemption engine: from TBs on the SM to contexts in memory.

::

    PreemptSequencer --+--> SavePipeline ------+--> Committer --> write_port
    EvictSequencer ----+    KernelRecordWriter +        ^
                                                        +-- heads of the restore side
"""

from collections.abc import Callable, Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.payloads import (
    kernel_info,
    register_data,
    register_read,
    row_access,
    row_data,
    tb_event,
)
from ..interfaces.port import Port
from ..interfaces.preemption import kernel_progress, resident_tb
from ..interfaces.preemption_port import RegisterFlagsPort, StopPort, WarpSavePort
from ..interfaces.staying import plan, plan_request
from ..lib.resets import ResetInserter
from ..memory.ports import WriteInterface, WritePort
from .formats.checksum import ChecksumPort
from .formats.packer import CHUNK_WORDS
from .in_place.evict_sequencer import EvictSequencer
from .save.committer import Committer
from .save.kernel_record import KernelRecordWriter
from .save.pipeline import SavePipeline
from .sequence.ports import (
    CommandState,
    EntrySets,
    HeadPort,
    SaveBookPort,
    SavePort,
    SaveProgress,
)
from .sequence.preempt_sequencer import PreemptSequencer

__all__ = ["SaveSide"]


class SaveSide(wiring.Component):
    """Saves the TBs of a kernel, what has stayed of others, and the kernel's record.

    Heads of the restore side go through its `Committer`, which alone writes to memory.

    Timing
    ------
    TBs are saved one behind the other without a gap. A row of registers or lines is read in each
    cycle, and a bus beat is written in each cycle.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    command : CommandState, in
        The command in hand.
    order : SavePort, in
        The command sequencer.
    sets : EntrySets, in; book : SaveBookPort, out
        The context book.
    heads : HeadPort, in
        The restore side.
    progress : SaveProgress, out
        Progress for the counters.
    kernels : array of payloads.kernel_info, in
        The kernel slots.
    kernel_progress : array of preemption.kernel_progress, in
        How far each kernel is, for its record.
    resident : array of preemption.resident_tb, in
        The TB table.
    claim : Signal(tb_slots), out
        Vector: TBs that are being saved.
    release, clean : payloads.tb_event, out
        A TB was saved, and its resources become free; it was saved as a base, and runs on.
    plan_request : staying.plan_request, out; plan : staying.plan, in
        The `RoomPlanner`; only with `Geometry.in_place`.
    stop : StopPort, out; warps : WarpSavePort, out; flags : RegisterFlagsPort, out
        The core's warps.
    register_read : stream of payloads.register_read, out; register_data : in
        The core's registers, as in `RegisterStatePort`.
    lines_valid, lines_dirty : Signal(shared_lines), in
        Vectors: lines of shared memory that hold something; that are not in the base.
    row : stream of payloads.row_access, out; row_data : in
        The core's shared memory, as in `SharedStatePort`.
    write_port : WritePort, out
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
    kernel_progress: data.View
    resident: data.View
    claim: Any
    release: data.View
    clean: data.View
    plan_request: data.View
    plan: data.View
    stop: Port
    warps: Port
    flags: Port
    register_read: stream.Interface
    register_data: data.View
    lines_valid: Any
    lines_dirty: Any
    row: stream.Interface
    row_data: data.View
    write_port: WriteInterface
    checksums: Sequence[Port]

    def __init__(self, g: Geometry):
        self.geometry = g
        kernels = g.kernel_slots
        super().__init__({
            "command": In(CommandState(g)), "order": In(SavePort(g)), "sets": In(EntrySets(g)),
            "book": Out(SaveBookPort(g)), "heads": In(HeadPort(g)),
            "progress": Out(SaveProgress(g)),
            "kernels": In(data.ArrayLayout(kernel_info(g), kernels)),
            "kernel_progress": In(data.ArrayLayout(kernel_progress(), kernels)),
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)),
            "claim": Out(g.tb_slots), "release": Out(tb_event(g)), "clean": Out(tb_event(g)),
            "plan_request": Out(plan_request(g)), "plan": In(plan(g)),
            "stop": Out(StopPort(g)), "warps": Out(WarpSavePort(g)),
            "flags": Out(RegisterFlagsPort(g)),
            "register_read": Out(stream.Signature(register_read(g))),
            "register_data": In(register_data(g)),
            "lines_valid": In(g.shared_lines), "lines_dirty": In(g.shared_lines),
            "row": Out(stream.Signature(row_access(g))), "row_data": In(row_data(g)),
            "write_port": Out(WritePort(g)),
            "checksums": Out(ChecksumPort(CHUNK_WORDS)).array(2),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        forgets = ResetInserter(self.command.flush)  # what forgets a command that is cancelled
        m.submodules.preempt = forgets(preempt := PreemptSequencer(g))
        m.submodules.pipeline = forgets(pipeline := SavePipeline(g, shared=True))
        m.submodules.record_writer = forgets(writer := KernelRecordWriter(g, shared=True))
        m.submodules.commit = commit = Committer(g)
        self._preempt(m, preempt, pipeline, commit)
        self._pipeline(m, pipeline)
        self._bursts(m, pipeline, writer, commit)
        self._commit(m, commit)
        self._record(m, writer)
        self._leave(m)
        self._progress(m, preempt, pipeline, commit)
        if g.in_place:
            self._stay(m, preempt, pipeline)
            self._evict(m, forgets, preempt, pipeline, commit)
        else:
            wiring.connect(m, preempt.target, pipeline.target)
            m.d.comb += self.book.base_select.eq(preempt.base_select)
        return m

    def _preempt(self, m: Module, preempt: PreemptSequencer, pipeline: SavePipeline,
                 commit: Committer):
        """The preempt sequencer, and which warps stop for it."""
        command, order, stop = self.command, self.order, self.stop
        m.d.comb += [
            preempt.accepted.eq(command.accepted), preempt.withdraw.eq(command.withdraw),
            preempt.begin.eq(order.preempt.begin), order.preempt.done.eq(preempt.done),
            order.draining.eq(preempt.draining),
            stop.pending.eq(Mux(order.stop_pending, preempt.stop_pending, 0)),
            stop.stop_now.eq(Mux(order.stop_pending, Mux(
                order.stop_now, preempt.stop_pending, preempt.stop_now), 0)),
            preempt.stopped.eq(stop.stopped), preempt.exited.eq(stop.exited),
            preempt.resident.eq(self.resident),
            self.claim.eq(preempt.claim), self.release.eq(preempt.release),
            self.clean.eq(preempt.clean),
            preempt.bases.eq(self.sets.bases), preempt.base_sides.eq(self.sets.base_sides),
            preempt.base_crc.eq(self.book.base_crc),
            preempt.tally.eq(pipeline.done), preempt.warps_awaited.eq(pipeline.warps_awaited),
            preempt.data_flowing.eq(pipeline.data_flowing), preempt.save_idle.eq(pipeline.idle),
            preempt.beats_pending.eq(commit.beats_pending), preempt.head_event.eq(commit.event),
            preempt.write_error.eq(commit.error), preempt.commit_idle.eq(commit.idle),
        ]
        if self.geometry.traps:
            m.d.comb += stop.trap.eq(
                Mux(order.stop_pending & command.accepted.options.trap, preempt.stop_pending, 0))

    def _pipeline(self, m: Module, pipeline: SavePipeline):
        """The save pipeline, between the core and the context book."""
        for inner, outer in ((pipeline.warps, self.warps), (pipeline.flags, self.flags),
                             (pipeline.save_read, self.register_read), (pipeline.row, self.row),
                             (pipeline.checksum, self.checksums[0])):
            wiring.connect(m, inner, wiring.flipped(outer))
        m.d.comb += [
            pipeline.accepted.eq(self.command.accepted),
            pipeline.stopped.eq(self.stop.stopped), pipeline.exited.eq(self.stop.exited),
            pipeline.lines_valid.eq(self.lines_valid), pipeline.lines_dirty.eq(self.lines_dirty),
            pipeline.save_data.eq(self.register_data), pipeline.row_data.eq(self.row_data),
            self.book.tally.eq(pipeline.done),
        ]

    def _bursts(self, m: Module, pipeline: SavePipeline, writer: KernelRecordWriter,
                commit: Committer):
        """The record's burst goes among those of the save pipeline, which has none meanwhile."""
        for name in ("burst", "data"):
            record, stream_of_tbs, out = (
                getattr(part, name) for part in (writer, pipeline, commit))
            m.d.comb += [
                out.valid.eq(Mux(writer.busy, record.valid, stream_of_tbs.valid)),
                out.payload.eq(Mux(writer.busy, record.payload, stream_of_tbs.payload)),
                record.ready.eq(writer.busy & out.ready),
                stream_of_tbs.ready.eq(~writer.busy & out.ready)]

    def _commit(self, m: Module, commit: Committer):
        """The committer, with the heads of the restore side."""
        command, heads = self.command, self.heads
        accepted = command.accepted
        is_base = accepted.options.checkpoint
        if self.geometry.in_place:  # a second image counts as a base
            is_base = is_base | accepted.evict
        wiring.connect(m, commit.port, wiring.flipped(self.write_port))
        wiring.connect(m, wiring.flipped(heads.head), commit.head)
        m.d.comb += [
            commit.ccb_base.eq(accepted.ccb_base), commit.base.eq(is_base),
            commit.clear.eq(command.clear), commit.cancel.eq(command.flush),
            heads.event.eq(commit.event), heads.write_error.eq(commit.error),
            heads.settled.eq(commit.idle), self.book.head_event.eq(commit.event),
            self.order.write_error.eq(commit.error), self.order.settled.eq(commit.idle),
        ]

    def _record(self, m: Module, writer: KernelRecordWriter):
        """The writer of the kernel's record."""
        kernel, order = self.command.accepted.kernel, self.order
        wiring.connect(m, writer.checksum, wiring.flipped(self.checksums[1]))
        m.d.comb += [
            writer.accepted.eq(self.command.accepted), writer.kernel.eq(self.kernels[kernel]),
            writer.progress.eq(self.kernel_progress[kernel]),
            writer.saved.eq(self.sets.saved), writer.sides.eq(self.sets.sides),
            writer.generations.eq(self.book.generations_crc),
            writer.write.eq(order.record_write), writer.void.eq(order.record_void),
            order.record_busy.eq(writer.busy),
        ]

    def _leave(self, m: Module):
        """Say whether TBs of the kernel are still on the SM."""
        accepted = self.command.accepted
        rows = [self.resident[t] for t in range(self.geometry.tb_slots)]
        of_kernel = [row.valid & (row.kernel == accepted.kernel) for row in rows]
        unspared = [here & ~accepted.options.spared.bit_select(row.entry, 1)
                    for here, row in zip(of_kernel, rows, strict=True)]
        m.d.comb += [
            self.order.kernel_left.eq(~Cat(of_kernel).any() & ~self.book.rows_stay),
            self.order.unspared_left.eq(~Cat(unspared).any()),
        ]

    def _progress(self, m: Module, preempt: PreemptSequencer, pipeline: SavePipeline,
                  commit: Committer):
        """Show the progress that the counters count."""
        progress = self.progress
        m.d.comb += [
            progress.tally.eq(pipeline.done), progress.head_event.eq(commit.event),
            progress.claim_dropped.eq(preempt.claim_dropped),
            progress.draining.eq(preempt.draining),
            progress.committed.eq(preempt.release.valid | preempt.clean.valid),
        ]

    def _stay(self, m: Module, preempt: PreemptSequencer, pipeline: SavePipeline):
        """Reserve rows for registers and lines of TBs that are to stay on the SM."""
        book, accepted, target = self.book, self.command.accepted, preempt.target.payload
        what = book.row_reserve.what
        m.d.comb += [
            self.plan_request.valid.eq(preempt.begin & accepted.options.in_place),
            self.plan_request.chosen.eq(preempt.kernel_tbs),
            self.plan_request.newcomer.eq(accepted.options.newcomer),
            self.plan_request.tbs.eq(accepted.options.newcomer_tbs),
            preempt.plan.eq(self.plan),
            preempt.row_free.eq(book.row_free), preempt.free_row.eq(book.free_row),
            book.row_reserve.valid.eq(preempt.row_reserve), book.row_reserve.tb.eq(target.tb),
            *(what[name].eq(target[name]) for name in ("registers", "lines")),
            *(what[name].eq(target.row[name])
              for name in ("kernel", "entry", "base", "first_line")),
            *(what[name].eq(accepted.options[name]) for name in ("mechanism", "scramble")),
            book.tb_released.eq(preempt.release),
            book.mask_write.eq(pipeline.mask_write), book.mask_select.eq(pipeline.mask_select),
            pipeline.mask.eq(book.mask),
        ]

    def _evict(self, m: Module, forgets: Callable[..., Any], preempt: PreemptSequencer,
               pipeline: SavePipeline, commit: Committer):
        """Let evictions use the pipeline while no TB is saved."""
        order, book, evicting = self.order, self.book, self.command.evicting
        m.submodules.evict = forgets(evict := EvictSequencer(self.geometry))
        target = pipeline.target
        m.d.comb += [
            target.valid.eq(Mux(evicting, evict.target.valid, preempt.target.valid)),
            target.payload.eq(Mux(evicting, evict.target.payload, preempt.target.payload)),
            evict.target.ready.eq(evicting & target.ready),
            preempt.target.ready.eq(~evicting & target.ready),
            evict.begin.eq(order.evict.begin), order.evict.done.eq(evict.done),
            evict.number.eq(order.evict_row), evict.row.eq(book.row),
            book.base_select.eq(Mux(evicting, book.row.what.entry, preempt.base_select)),
            evict.crc.eq(book.base_crc),
            evict.side.eq(self.sets.sides.bit_select(book.row.what.entry, 1)),
            evict.save_idle.eq(pipeline.idle), evict.commit_idle.eq(commit.idle),
            evict.head_event.eq(commit.event), evict.write_error.eq(commit.error),
            book.row_evicted.eq(evict.row_evicted), self.progress.evicted.eq(evict.row_evicted),
        ]

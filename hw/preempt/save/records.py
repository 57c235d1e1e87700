"""Record writer: the words of a TB's image that are not data, and the list of the data to be
fetched.

For each warp as it stops a record header, predicates, uniform registers and SIMT stack; then the
bitmap of shared lines (`arch.context`; Lin et al. IV-B and Fig. 13, left). The data (registers,
lines) follows each piece: the tag of its last chunk says what. What ends a TB is the `Closer`'s,
since it depends on how the registers were compressed.
"""

from typing import Any

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import MAX_REGISTERS, PC_NONE, Geometry
from ...arch.image.context import ENTRY_BYTES, area_address, place_of
from ...interfaces.payloads import below, rows_per_line
from ...interfaces.port import Port
from ...interfaces.preemption import resident_tb
from ...interfaces.preemption_port import RegisterFlagsPort, WarpSavePort
from ...interfaces.staying import staying_mask, staying_warp
from ...lib.bits import lowest_number
from ..formats.accepted_command import accepted_command
from ..formats.packer import chunk
from .closer import ORIGIN, closing_job, tb_origin
from .committer import HEAD_BYTES
from .line_fetch import line_item
from .record import Record
from .record_registers import MaskPorts, RegisterStates
from .record_scalars import ScalarStates
from .register_fetch import register_item
from .segment_writer import write_job
from .shared_lines import LineStates

__all__ = ["piece", "save_target", "RecordWriter"]

def piece(g: Geometry) -> data.StructLayout:
    """Tag of the last chunk of a piece: what follows it.

    `rows` rows of shared memory, or the `registers` of one item, or what `closes` the TB.
    """
    return data.StructLayout({"rows": range(g.shared_lines * rows_per_line(g) + 1),
                              "registers": 1, "closes": 1})


def save_target(g: Geometry) -> data.StructLayout:
    """A TB to be saved, its slot and its row of the TB table, and the side on which it is; of an
    `increment` what is not in the base, whose checksum is `base_crc`.

    If its `registers` or `lines` stay on the SM, row `staying` of the `StayingTable` is its. With
    `evict` these are saved of a TB that has left: its `row` has entry, base and first line, and in
    place of its warp slots its warps; `base_crc` is the checksum of the image that this one
    completes.
    """
    return data.StructLayout({"tb": below(g.tb_slots), "row": resident_tb(g), "side": 1,
                              "increment": 1, "base_crc": 32, "registers": 1, "lines": 1,
                              "staying": below(g.tb_slots), "evict": 1})


class RecordWriter(wiring.Component):
    """Walks one TB at a time.

    Warps are taken as they stop; exited warps have no record. A mechanism that saves what is live
    saves registers, predicates and uniform registers that were written. If the warp stands at a
    preemption point or a barrier, only those that are live there are saved.

    A TB may have no warp left when it would be completed: it finished, or was killed by a fault. It
    then has `ended`: its stream is closed, and its entry gets no body.

    With `restart` every warp has a record, even an exited one. The record is that of a warp as it
    was launched, and nothing else of the TB is saved (flushing, as in Chimera).

    A warp takes 2 cycles for its registers, and one more for its choice if it has to be waited for.
    Then it takes one cycle for each predicate, pair of uniform registers and stack entry, while the
    data of the warp before is fetched and written. The header shares a cycle with the words that
    follow it, as far as four words reach. So do the last predicate with the first uniform
    registers, and the last uniform registers with the first stack entry. A warp may repeat the
    uniform registers of the warp before. Each pair of these then takes a cycle more, in which they
    are compared, and only those that differ are written.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    accepted : in
        The command; constant while `idle` is low.
    target : stream, in
        The next TB; ready while idle.
    origin : closer.tb_origin, out
        The origin of the TB that is taken in this cycle.
    close : stream, out
        A TB whose records and lines are all listed.
    job : stream, out
        Units to be written: the stream and the entry's body.
    chunk : stream, out
        Words, with a `piece` as tag; each piece ends with a flush, the TB's last has `closes`.
    registers, lines : stream, out
        Data to be fetched, in the order of the pieces.
    idle, warps_awaited : Signal, out
        No TB in hand; TB in hand has only running warps left.
    stopped, exited : Signal(warps), in
        Vectors: warps that can be saved; warps that have no record.
    warps : WarpSavePort, out
        Control state and uniform registers of the warp in hand.
    flags : RegisterFlagsPort, out
        Its valid and dirty registers and its predicates.
    lines_valid, lines_dirty : Signal(shared_lines), in
        Vectors: lines of shared memory that hold something; that are not in the base.
    mask_write : staying_mask, out
        A warp of a TB of which something stays, and its registers, which stay if the TB's do; to
        the `StayingMasks`.
    mask_select : staying_warp, out; mask : Signal(MAX_REGISTERS), in
        The registers that have stayed of a warp, which are saved now.
    """

    accepted: data.View
    target: stream.Interface
    origin: data.View
    close: stream.Interface
    stopped: Signal
    exited: Signal
    warps: Port
    flags: Port
    lines_valid: Signal
    lines_dirty: Signal
    job: stream.Interface
    chunk: stream.Interface
    registers: stream.Interface
    lines: stream.Interface
    idle: Signal
    warps_awaited: Signal
    mask_write: data.View
    mask_select: data.View
    mask: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "mask_write": Out(staying_mask(g)), "mask_select": Out(staying_warp(g)),
            "mask": In(MAX_REGISTERS),
            "accepted": In(accepted_command(g)), "target": In(stream.Signature(save_target(g))),
            "origin": Out(tb_origin()), "close": Out(stream.Signature(closing_job(g))),
            "stopped": In(g.warps), "exited": In(g.warps),
            "warps": Out(WarpSavePort(g)), "flags": Out(RegisterFlagsPort(g)),
            "lines_valid": In(g.shared_lines), "lines_dirty": In(g.shared_lines),
            "job": Out(stream.Signature(write_job(g))),
            "chunk": Out(stream.Signature(chunk(piece(g)))),
            "registers": Out(stream.Signature(register_item(g))),
            "lines": Out(stream.Signature(line_item(g))), "idle": Out(1), "warps_awaited": Out(1),
        })

    def elaborate(self, platform: Any):
        m = Module()
        select = self.warps.window.select
        record = Record(m, self.geometry, self.accepted, self.chunk)
        view = self._view(m, record)
        registers = RegisterStates(
            record, view, self.flags, self.warps.uniforms_written, self.registers,
            MaskPorts(self.mask_write, self.mask_select, self.mask))
        scalars = ScalarStates(record, view, self.warps, self.flags, registers.live_scalars)
        lines = LineStates(record, self.lines, self.lines_valid, self.lines_dirty)
        m.d.comb += [select.warp.eq(record.warp), select.entry.eq(record.stack_entry),
                     self.flags.warp.eq(record.warp)]
        self._close(m, record)
        with m.FSM():
            self._take(m, record)
            self._next_warp(m, record)
            registers.build_view()
            with m.State("ITEM"):
                with m.If(registers.list_registers()):
                    scalars.repeat()
            scalars.build_rest(scalars.build_compare())
            lines.build()
            self._finish(m, record)
        return m

    def _view(self, m: Module, record: Record) -> data.View:
        """Return the control state that is saved of the warp in hand: its own, or that of its
        launch, or of what has stayed of it any."""
        view = Signal.like(self.warps.window.view)
        m.d.comb += view.eq(self.warps.window.view)
        with m.If(record.evicting):
            m.d.comb += [view.live.eq(~0), view.launched.eq(~0), view.waiting.eq(0),
                         view.depth.eq(1), view.pc.eq(0), view.mask.eq(~0),
                         view.reconv.eq(PC_NONE), view.block_warp.eq(record.warp),
                         view.base.eq(record.row.base + record.warp * self.accepted.registers)]
        with m.Elif(record.restarting):
            m.d.comb += [view.live.eq(view.launched), view.waiting.eq(0), view.depth.eq(1),
                         view.pc.eq(0), view.mask.eq(view.launched), view.reconv.eq(PC_NONE)]
        return view

    def _take(self, m: Module, record: Record):
        """Take a TB, and find its area."""
        g, target, accepted = self.geometry, self.target.payload, self.accepted
        taken = [("tb", record.tb), ("row", record.row), ("side", record.side),
                 ("increment", record.increment), ("base_crc", record.base_crc)]
        if g.in_place:
            taken += [("registers", record.registers_stay), ("lines", record.lines_stay),
                      ("staying", record.staying_row), ("evict", record.evict)]
        with m.State("IDLE"):
            m.d.comb += [
                self.idle.eq(1), self.target.ready.eq(1),
                self.origin.valid.eq(self.target.valid), self.origin.bank.eq(record.bank),
                *(self.origin[name].eq(target.row[name]) for name in ORIGIN)]
            m.d.sync += [register.eq(target[name]) for name, register in taken]
            m.d.sync += [register.eq(0) for register in (
                record.warps_saved, record.live_warps, record.metadata_words,
                record.registers_listed, record.lines_listed, record.group, record.records,
                record.items, record.records_with_item, record.tb_ended, record.last_uniforms)]
            with m.If(self.target.valid):
                m.next = "OPEN"
        # A cycle of its own for the arithmetic of the address.
        with m.State("OPEN"):
            m.d.sync += record.area.eq(area_address(
                g, accepted.ccb_base, accepted.area_bytes,
                place_of(g, record.row.entry, record.side)))
            m.next = "WARP"

    def _next_warp(self, m: Module, record: Record):
        """Take the warps of the TB one by one as they stop; before the first the stream is
        opened."""
        g, ready = self.geometry, record.warps_ready
        running = Signal(g.warps)
        evicting = record.evicting.replicate(g.warps)
        without_record = self.exited & ~record.restarting.replicate(g.warps) & ~evicting
        m.d.comb += [
            running.eq(record.row.warps & ~record.warps_saved & ~without_record),
            ready.eq(running & (self.stopped | self.exited | evicting))]
        # Warps are saved in the order in which they stop: none waits for a slower one.
        with m.State("WARP"):
            m.d.comb += self.warps_awaited.eq(running.any() & ~ready.any())
            m.d.sync += [record.warp.eq(lowest_number(ready)), record.stack_entry.eq(0)]
            with m.If(ready.any()):
                m.next = "VIEW"
                with m.If(~record.warps_saved.any()):
                    m.next = "STREAM"
            with m.Elif(~running.any()):
                m.next = "END"
                with m.If(~record.warps_saved.any()):
                    m.d.sync += record.tb_ended.eq(1)
                    m.next = "CLOSE"
                with m.Elif(self.accepted.lines != 0):
                    m.next = "BITMAP"
        # Open the stream only for a TB with a record: one that has ended needs none.
        with m.State("STREAM"):
            job = self.job.payload
            m.d.comb += [job.address.eq(record.area), job.entry.eq(record.row.entry),
                         job.side.eq(record.side), self.job.valid.eq(1)]
            with m.If(self.job.ready):
                m.next = "VIEW"

    def _close(self, m: Module, record: Record):
        """Offer the facts that the `Closer` needs."""
        close = self.close.payload
        m.d.comb += [
            *(close[name].eq(getattr(record, name)) for name in (
                "tb", "area", "side", "increment", "base_crc", "evict", "registers_stay",
                "lines_stay", "bank", "live_warps", "records", "items", "metadata_words")),
            close.ended.eq(record.tb_ended), close.written.eq(record.warps_saved.any()),
            close.listed.eq(record.records_with_item),
            close.registers.eq(record.registers_listed), close.lines.eq(record.lines_listed),
            close.entry.eq(record.row.entry),
        ]

    def _finish(self, m: Module, record: Record):
        """Leave the rest of the TB to the `Closer`; the entry has a body unless the TB has ended
        meanwhile."""
        g, job, row = self.geometry, self.job.payload, record.row
        skipped = HEAD_BYTES % g.bus_bytes  # bytes of the head that share a beat with the body
        # The TB may have ended while its last warps were saved: then no entry is written.
        with m.State("END"):
            m.d.sync += record.tb_ended.eq(
                ~(row.warps & ~self.exited).any() & ~record.evicting)
            with m.If(record.emit(Const(0), 0, last=1, closes=1)):
                m.next = "BODY"
        with m.State("BODY"):
            m.d.comb += [
                self.job.valid.eq(~record.tb_ended), job.entry.eq(row.entry),
                job.side.eq(record.side),
                job.address.eq(self.accepted.ccb_base + HEAD_BYTES - skipped
                               + ENTRY_BYTES * place_of(g, row.entry, record.side))]
            with m.If(record.tb_ended | self.job.ready):
                m.next = "CLOSE"
        # The `Closer` takes one TB at a time; the next TB goes to the other bank.
        with m.State("CLOSE"):
            m.d.comb += self.close.valid.eq(1)
            with m.If(self.close.ready):
                m.d.sync += record.bank.eq(~record.bank)
                m.next = "IDLE"

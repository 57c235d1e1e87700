"""The context book of the preemption engine: what it knows of contexts in memory, and of what has
stayed of TBs on the SM."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.port import Port
from ..interfaces.preemption import entry_event
from ..interfaces.staying import staying_report
from ..lib.resets import ResetInserter
from .in_place.staying_masks import StayingMasks
from .in_place.staying_table import StayingTable
from .sequence.generations_checksum import GenerationsChecksum
from .sequence.ports import BookPort, CommandState, EntrySets, RestoreBookPort, SaveBookPort
from .sequence.saved_entries import SavedEntries

__all__ = ["ContextBook"]


class ContextBook(wiring.Component):
    """Notes what the save and restore sides do; nothing else in memory is ever believed.

    Timing
    ------
    What is noted shows in the next cycle; what is looked up is there in the same cycle.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    command : CommandState, in
        The command in hand.
    sequencer : BookPort, in
        The command sequencer.
    save : SaveBookPort, in; restore : RestoreBookPort, in
        The save side; the restore side.
    sets : EntrySets, out
        The entries of the kernel in hand.
    start : Signal(kernel_slots), in
        Vector: the kernel begins anew; nothing saved of it counts any more.
    discard : Signal(kernel_slots), in
        Vector: kernels that are killed; nothing stays of them.
    ended : preemption.entry_event, in
        A TB has ended: its base is none any more.
    away : array of Signal(context_entries), in
        One vector per kernel, with `Geometry.watches`: entries of TBs that have left by themselves.
    contexts_kept : Signal(kernel_slots), out
        Vector: a TB of the kernel that is not `away` is saved, or its record stands in memory.
    record_in_memory : Signal(kernel_slots), out
        Vector: kernels whose record is in memory, and nothing of which has run since.
    staying : staying_report, out
        Registers and lines of preempted TBs that stay on the SM.
    """

    command: Port
    sequencer: Port
    save: Port
    restore: Port
    sets: Port
    start: Signal
    discard: Signal
    ended: data.View
    away: data.View
    contexts_kept: Signal
    record_in_memory: Signal
    staying: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "command": In(CommandState(g)), "sequencer": In(BookPort(g)),
            "save": In(SaveBookPort(g)), "restore": In(RestoreBookPort(g)),
            "sets": Out(EntrySets(g)),
            "start": In(g.kernel_slots), "discard": In(g.kernel_slots),
            "ended": In(entry_event(g)),
            **({"away": In(data.ArrayLayout(g.context_entries, g.kernel_slots))} if g.watches
               else {}),
            "contexts_kept": Out(g.kernel_slots), "record_in_memory": Out(g.kernel_slots),
            "staying": Out(staying_report(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.saved = saved = SavedEntries(g)
        # A checksum that was begun for a command that is cancelled is forgotten.
        forgets = ResetInserter(self.command.flush)
        m.submodules.generations = forgets(generations := GenerationsChecksum(g))
        self._note(m, saved)
        self._look_up(m, saved, generations)
        self._adopt(m, saved, generations)
        self._record(m, saved, generations)
        if g.in_place:
            self._stay(m, saved)
        return m

    def _note(self, m: Module, saved: SavedEntries):
        """Note events of entries."""
        command = self.command
        accepted, options = command.accepted, command.accepted.options
        m.d.comb += [
            saved.kernel.eq(accepted.kernel), saved.generation.eq(accepted.generation),
            saved.saving.eq(command.saving),
            saved.incremental.eq(options.incremental & ~options.checkpoint & ~options.restart),
            saved.event.eq(self.save.head_event), saved.tally.eq(self.save.tally),
            saved.ended.eq(self.ended), saved.start.eq(self.start),
            self.contexts_kept.eq(saved.contexts_kept),
            self.record_in_memory.eq(saved.record_in_memory),
            *(getattr(self.sets, name).eq(getattr(saved, name)) for name in EntrySets.NAMES),
        ]
        if self.geometry.watches:
            m.d.comb += saved.away.eq(self.away)

    def _look_up(self, m: Module, saved: SavedEntries, generations: GenerationsChecksum):
        """Look up an entry: one that arrives, one whose stream is to be read, the base of one that
        is saved."""
        save, restore = self.save, self.restore
        m.d.comb += [
            # The checksum of the generations steps over the entries before any of them arrives.
            saved.entry_select.eq(Mux(generations.done, restore.select, generations.number)),
            saved.entry_select_base.eq(restore.select_base),
            restore.generation.eq(saved.entry_generation), restore.crc.eq(saved.entry_crc),
            restore.extent.eq(saved.entry_extent),
            saved.read_select.eq(restore.read_select),
            saved.read_select_base.eq(restore.read_select_base),
            restore.read_extent.eq(saved.read_extent),
            saved.base_select.eq(save.base_select), save.base_crc.eq(saved.base_crc),
        ]

    def _adopt(self, m: Module, saved: SavedEntries, generations: GenerationsChecksum):
        """A kernel whose entries stand in memory is taken over."""
        restore = self.restore
        m.d.comb += [
            saved.adopt_begin.eq(restore.adopt_begin), saved.record_sides.eq(restore.record_sides),
            saved.image_arrived.eq(restore.image_arrived),
            saved.base_arrived.eq(restore.base_arrived),
            saved.found.eq(restore.found), saved.adopted.eq(restore.adopted),
            generations.start.eq(self.sequencer.check_begin | restore.check_begin),
            generations.saved.eq(
                Mux(self.command.adopting, restore.adopted.saved, saved.saved)),
            generations.generation.eq(saved.entry_generation),
            restore.check_done.eq(generations.done), restore.generations_crc.eq(generations.crc),
        ]

    def _record(self, m: Module, saved: SavedEntries, generations: GenerationsChecksum):
        """The kernel's record."""
        sequencer = self.sequencer
        m.d.comb += [
            saved.record_writing.eq(sequencer.record_writing),
            saved.record_written.eq(sequencer.record_written),
            saved.record_voiding.eq(sequencer.record_voiding),
            saved.record_voided.eq(sequencer.record_voided),
            sequencer.any_saved.eq(saved.saved.any()),
            sequencer.record_stands.eq(saved.record_stands),
            sequencer.check_done.eq(generations.done),
            self.save.generations_crc.eq(generations.crc),
        ]

    def _stay(self, m: Module, saved: SavedEntries):
        """Keep the rows of TBs that have left something on the SM, and the registers of their
        warps."""
        command, sequencer, save, restore = self.command, self.sequencer, self.save, self.restore
        kernel = command.accepted.kernel
        m.submodules.staying = table = StayingTable(self.geometry)
        m.submodules.masks = masks = StayingMasks(self.geometry)
        m.d.comb += [
            table.kernel.eq(kernel), table.kernel_discarded.eq(self.discard),
            table.command_done.eq(sequencer.command_done), self.staying.eq(table.report),
            table.row_select.eq(sequencer.row_select), sequencer.row.eq(table.row),
            sequencer.rows_stay.eq(table.rows_stay), sequencer.first_row.eq(table.first_row),
            table.row_reserve.eq(save.row_reserve),
            save.row_free.eq(table.row_free), save.free_row.eq(table.free_row),
            save.row.eq(table.row), save.rows_stay.eq(table.rows_stay),
            table.tb_released.eq(save.tb_released), table.row_evicted.eq(save.row_evicted),
            table.entry.eq(restore.place_select), table.row_lent.eq(restore.row_lent),
            table.tb_started.eq(restore.tb_started), table.tb_returned.eq(restore.tb_returned),
            restore.row.eq(table.report.rows[table.row_found]),
            restore.row_number.eq(table.row_found),
            restore.registers_stay.eq(table.report.registers[kernel]),
            restore.lines_stay.eq(table.report.lines[kernel]),
            saved.keeps_registers.eq(table.reserved_registers),
            saved.keeps_lines.eq(table.reserved_lines), saved.evicting.eq(command.evicting),
            masks.write.eq(save.mask_write),
            table.warp_remembered.valid.eq(save.mask_write.valid),
            table.warp_remembered.row.eq(save.mask_write.of.row),
            table.warp_remembered.warp.eq(save.mask_write.of.warp),
            masks.select.eq(Mux(command.resuming, restore.mask_select, save.mask_select)),
            save.mask.eq(masks.mask), restore.mask.eq(masks.mask),
        ]

"""Ports between the parts of the preemption engine, one signature for each pair of parts.

::

                         Sequencer -- CommandState --> all
                         |   |   |
         +-- SavePort ---+   |   +--- RestorePort ---+
         v                   | BookPort              v
      SaveSide <-------------|------ HeadPort --- RestoreSide
         |                   v                       |
         +- SaveBookPort -> ContextBook <- RestoreBookPort
"""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import MAX_REGISTERS, Geometry
from ...interfaces.payloads import below, tb_event
from ...interfaces.preemption import adoption, engine_result
from ...interfaces.staying import staying, staying_mask, staying_row, staying_warp
from ..formats.accepted_command import accepted_command
from ..formats.found_entry import found_entry
from ..formats.packer import WORD_COUNT_BITS
from ..formats.stream_extent import stream_extent
from ..save.closer import save_tally
from ..save.committer import head, head_event

__all__ = ["BookPort", "CommandState", "EntrySets", "HeadPort", "InterventionPort",
           "RestoreBookPort", "RestorePort", "RestoreProgress", "SaveBookPort", "SavePort",
           "SaveProgress", "StepPort", "row_reservation"]


def row_reservation(g: Geometry) -> data.StructLayout:
    """A row of the staying table is reserved for what stays of a TB; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "tb": below(g.tb_slots), "what": staying(g)})


class InterventionPort(wiring.Signature):
    """Interferes with the command in hand. Directions are those of the part that interferes.

    Attributes
    ----------
    hasten : Signal, out
        The preempt in hand has no patience left; does nothing to another command.
    withdraw : Signal, out
        The command in hand begins no further TB; high until its result.
    cancel : Signal, out
        The command in hand is to be dropped; high until its result.
    """

    def __init__(self):
        super().__init__({"hasten": Out(1), "withdraw": Out(1), "cancel": Out(1)})


class CommandState(wiring.Signature):
    """The command in hand, as the sequencer shows it to all other parts.

    Attributes
    ----------
    accepted : accepted_command, out
        Its constants, from the cycle after it is taken.
    resume : Signal, out
        It is a resume.
    clear : Signal, out
        It was taken in the cycle before.
    withdraw : Signal, out
        No further TB is begun; high until the result.
    flush : Signal, out
        It is cancelled: everything that it has begun is forgotten.
    saving, evicting, resuming, adopting : Signal, out
        Which step is at work: at most one.
    """

    def __init__(self, g: Geometry):
        super().__init__({
            "accepted": Out(accepted_command(g)), "resume": Out(1), "clear": Out(1),
            "withdraw": Out(1), "flush": Out(1), "saving": Out(1), "evicting": Out(1),
            "resuming": Out(1), "adopting": Out(1)})


class StepPort(wiring.Signature):
    """A step of a command. Directions are those of the sequencer.

    Attributes
    ----------
    begin : Signal, out
        The step begins; for one cycle.
    done : engine_result, in
        The step has ended; `valid` for one cycle.
    """

    def __init__(self):
        super().__init__({"begin": Out(1), "done": In(engine_result())})


class SavePort(wiring.Signature):
    """Orders of the sequencer to the save side, and its reports.

    Attributes
    ----------
    preempt, evict : StepPort, out
        All TBs of the kernel are saved; what has stayed of the TB in row `evict_row` is saved.
    evict_row : Signal(range(tb_slots)), out
        A row of the staying table.
    stop_pending, stop_now : Signal, out
        The TBs of the kernel stop; they stop at once.
    record_write, record_void : Signal, out
        The kernel's record is to be written, to be made void; for one cycle.
    record_busy : Signal, in
        Beats of the record are still to be written, from the next cycle on.
    draining : Signal, in
        Nothing can be saved because warps still run.
    kernel_left : Signal, in
        No TB of the kernel is on the SM, and nothing has stayed of one.
    unspared_left : Signal, in
        No TB of the kernel is on the SM but those that are spared.
    write_error : Signal, in
        A write of the command has failed.
    settled : Signal, in
        No write is outstanding in memory.
    """

    def __init__(self, g: Geometry):
        super().__init__({
            "preempt": Out(StepPort()), "evict": Out(StepPort()),
            "evict_row": Out(below(g.tb_slots)), "stop_pending": Out(1), "stop_now": Out(1),
            "record_write": Out(1), "record_void": Out(1), "record_busy": In(1),
            "draining": In(1), "kernel_left": In(1), "unspared_left": In(1),
            "write_error": In(1), "settled": In(1)})


class RestorePort(wiring.Signature):
    """Orders of the sequencer to the restore side, and its reports.

    Attributes
    ----------
    resume, adopt : StepPort, out
        TBs of the kernel come back; the kernel is taken over from memory.
    adopted : adoption, in
        The kernel is adopted; `valid` with the result of `adopt`.
    record_generation : Signal(32), in
        The generation of the record that was read.
    settled : Signal, in
        No read is outstanding in memory, and no admission.
    """

    def __init__(self, g: Geometry):
        super().__init__({
            "resume": Out(StepPort()), "adopt": Out(StepPort()), "adopted": In(adoption(g)),
            "record_generation": In(32), "settled": In(1)})


class BookPort(wiring.Signature):
    """Notes of the sequencer in the context book, and its look-ups there.

    Attributes
    ----------
    command_done : Signal, out
        The command ends; for one cycle.
    record_writing, record_written : Signal, out
        The kernel's record begins to be written; it is in memory. One cycle each.
    record_voiding, record_voided : Signal, out
        The record begins to be made void; it is void. One cycle each.
    record_stands : Signal, in
        The record may be believed.
    any_saved : Signal, in
        An entry of the kernel is saved.
    check_begin : Signal, out; check_done : Signal, in
        The checksum of the generations is to be computed; it is there.
    row_select : Signal, out; row : staying_row, in
        A row of the staying table. Combinational.
    rows_stay : Signal, in; first_row : Signal, in
        Something of TBs of the kernel has stayed on the SM; the first of its rows.
    """

    def __init__(self, g: Geometry):
        row = below(g.tb_slots)
        super().__init__({
            "command_done": Out(1), "record_writing": Out(1), "record_written": Out(1),
            "record_voiding": Out(1), "record_voided": Out(1), "record_stands": In(1),
            "any_saved": In(1), "check_begin": Out(1), "check_done": In(1),
            "row_select": Out(row), "row": In(staying_row(g)),
            "rows_stay": In(1), "first_row": In(row)})


class EntrySets(wiring.Signature):
    """Sets of entries of the kernel in hand, as the context book shows them. Vectors, a bit for
    each entry.

    Attributes
    ----------
    saved, sides, increments : Signal(context_entries), out
        Entries that can be resumed; those on side 1; those that are increments.
    bases, base_sides : Signal(context_entries), out
        Entries whose TB has a base; those whose base is on side 1.
    without_registers, without_lines, completed : Signal(context_entries), out
        Saved entries without registers, without lines; those that a second image completes.
    """

    NAMES = ("saved", "sides", "increments", "bases", "base_sides", "without_registers",
             "without_lines", "completed")

    def __init__(self, g: Geometry):
        super().__init__({name: Out(g.context_entries) for name in self.NAMES})


class HeadPort(wiring.Signature):
    """Heads of entries that the restore side has written by the save side's `Committer`.

    Attributes
    ----------
    head : stream of committer.head, out
        A head to be written.
    event : committer.head_event, in
        Each head's acknowledgement.
    write_error : Signal, in
        A write of the command has failed.
    settled : Signal, in
        No write is outstanding in memory.
    """

    def __init__(self, g: Geometry):
        super().__init__({"head": Out(stream.Signature(head(g))), "event": In(head_event(g)),
                          "write_error": In(1), "settled": In(1)})


class SaveBookPort(wiring.Signature):
    """Notes of the save side in the context book, and its look-ups there.

    Attributes
    ----------
    head_event : committer.head_event, out
        Each head's acknowledgement.
    tally : closer.save_tally, out
        A stream is closed.
    base_select : Signal, out; base_crc : Signal(32), in
        The checksum of the base of an entry, or while evicting of the entry itself. Combinational.
    generations_crc : Signal(32), in
        The checksum of the generations.
    row_reserve : row_reservation, out
        Row `free_row` is reserved.
    row_free : Signal, in; free_row : Signal, in
        A row of the staying table is free; the first of them.
    row : staying_row, in
        The row that the sequencer selects.
    rows_stay : Signal, in
        Something of TBs of the kernel has stayed on the SM.
    mask_write : staying_mask, out
        A warp of a TB of which something stays, and its registers.
    mask_select : staying_warp, out; mask : Signal(MAX_REGISTERS), in
        The registers of such a warp. Combinational.
    tb_released : payloads.tb_event, out
        A TB was saved, and leaves.
    row_evicted : Signal, out
        All of `row` is in memory; for one cycle.
    """

    def __init__(self, g: Geometry):
        super().__init__({
            "head_event": Out(head_event(g)), "tally": Out(save_tally(g)),
            "base_select": Out(below(g.context_entries)), "base_crc": In(32),
            "generations_crc": In(32), "row_reserve": Out(row_reservation(g)),
            "row_free": In(1), "free_row": In(below(g.tb_slots)), "row": In(staying_row(g)),
            "rows_stay": In(1),
            "mask_write": Out(staying_mask(g)), "mask_select": Out(staying_warp(g)),
            "mask": In(MAX_REGISTERS), "tb_released": Out(tb_event(g)), "row_evicted": Out(1)})


class RestoreBookPort(wiring.Signature):
    """Notes of the restore side in the context book, and its look-ups there.

    Attributes
    ----------
    select, select_base : Signal, out
        An entry that arrives, or with `select_base` the one on the other side.
    generation, crc : Signal(32), in; extent : stream_extent, in
        Facts about that entry (`SavedEntries`). Combinational.
    read_select, read_select_base : Signal, out; read_extent : stream_extent, in
        The length of the stream of another. Combinational.
    image_arrived, base_arrived : Signal, out; found : found_entry, out
        The entry, or the entry of its base, says `found`; the kernel is being adopted.
    adopt_begin : Signal, out; record_sides : Signal(context_entries), out
        Entries of a kernel that is being adopted will be read, on these sides.
    adopted : adoption, out
        A kernel is adopted.
    check_begin : Signal, out; check_done : Signal, in; generations_crc : Signal(32), in
        The checksum of the generations is to be computed; it is there.
    place_select : Signal, out
        The entry of a TB that gets room.
    registers_stay, lines_stay : Signal(context_entries), in
        Vectors: entries of the kernel whose registers, whose lines are on the SM.
    row : staying_row, in; row_number : Signal, in
        The row of `place_select`.
    row_lent : payloads.tb_event, out
        The TB of that row is in a TB slot again.
    tb_started, tb_returned : payloads.tb_event, out
        A TB that was brought back starts; is given back.
    mask_select : staying_warp, out; mask : Signal(MAX_REGISTERS), in
        The registers that have stayed of a warp. Combinational.
    """

    def __init__(self, g: Geometry):
        entry, entries = below(g.context_entries), g.context_entries
        super().__init__({
            "select": Out(entry), "select_base": Out(1), "generation": In(32), "crc": In(32),
            "extent": In(stream_extent(g)),
            "read_select": Out(entry), "read_select_base": Out(1),
            "read_extent": In(stream_extent(g)),
            "image_arrived": Out(1), "base_arrived": Out(1), "found": Out(found_entry(g)),
            "adopt_begin": Out(1), "record_sides": Out(entries), "adopted": Out(adoption(g)),
            "check_begin": Out(1), "check_done": In(1), "generations_crc": In(32),
            "place_select": Out(entry), "registers_stay": In(entries), "lines_stay": In(entries),
            "row": In(staying_row(g)), "row_number": In(below(g.tb_slots)),
            "row_lent": Out(tb_event(g)), "tb_started": Out(tb_event(g)),
            "tb_returned": Out(tb_event(g)),
            "mask_select": Out(staying_warp(g)), "mask": In(MAX_REGISTERS)})


class SaveProgress(wiring.Signature):
    """Progress of the save side, for the counters.

    Attributes
    ----------
    tally : closer.save_tally, out; head_event : committer.head_event, out
        A stream is closed; a head is acknowledged.
    claim_dropped : Signal, out
        A TB is done with: it was saved, or has ended by itself.
    committed : Signal, out
        A TB was saved.
    draining : Signal, out
        Nothing can be saved because warps still run.
    evicted : Signal, out
        Everything that had stayed of a TB is in memory.
    """

    def __init__(self, g: Geometry):
        super().__init__({"tally": Out(save_tally(g)), "head_event": Out(head_event(g)),
                          "claim_dropped": Out(1), "committed": Out(1), "draining": Out(1),
                          "evicted": Out(1)})


class RestoreProgress(wiring.Signature):
    """Progress of the restore side, for the counters.

    Attributes
    ----------
    started : Signal, out
        A TB starts.
    read_valid : Signal, out; read_words : Signal, out
        An entry, or a stream, of so many words is asked for.
    """

    def __init__(self):
        super().__init__({"started": Out(1), "read_valid": Out(1),
                          "read_words": Out(WORD_COUNT_BITS)})

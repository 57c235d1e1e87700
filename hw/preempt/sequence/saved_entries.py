"""Saved entries: the entries of each kernel that can be resumed, and whether its record may be
believed.

The generation, the length of its stream and the base of each entry are kept, and whether registers
or lines of its TB stay on the SM."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import WORD_BYTES, Geometry
from ...arch.image.context import State
from ...interfaces.payloads import below
from ...interfaces.preemption import adoption, entry_event
from ..formats.found_entry import found_entry
from ..formats.stream_extent import stream_extent
from ..save.closer import save_tally
from ..save.committer import head_event

__all__ = ["SavedEntries"]


class _Sets:
    """Vectors of a kernel, with one bit per entry.

    The entry is saved, is on side 1, is an increment; its TB has a base, has it on side 1; the
    entry was saved without its registers, without its lines, and has been completed."""

    NAMES = ("saved", "sides", "increments", "bases", "base_sides", "without_registers",
             "without_lines", "completed")

    def __init__(self, g: Geometry, k: int):
        (self.saved, self.sides, self.increments, self.bases, self.base_sides,
         self.without_registers, self.without_lines, self.completed) = (
            Signal(g.context_entries, name=f"{name}_{k}") for name in self.NAMES)


class SavedEntries(wiring.Component):
    """Remembers what has been committed, so that nothing else in memory is ever looked at.

    An entry is saved once its `State.COMPLETE` is acknowledged in a preempt, or once its kernel is
    adopted. It is saved until its `State.DEMOTED` is acknowledged in a resume.

    A TB has a base once its `State.BASE` is acknowledged, or the `State.DEMOTED` of an entry that
    was saved whole. It has the base until the TB ends or is saved without what stays on the SM. An
    entry without what stays is completed when the evicted image is acknowledged.

    A kernel's record may be believed from when it is written, or adopted, until the kernel begins
    to run again.

    Timing
    ------
    A head, an end of a TB, or what an entry says is taken in each cycle, and seen in the next.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    kernel, generation : Signal, in
        Kernel and generation of the command in hand.
    saving, incremental : Signal, in
        The command is a preempt; it saves increments of TBs that have a base.
    evicting : Signal, in
        Registers or lines that have stayed of a TB are being saved.
    keeps_registers, keeps_lines : Signal(context_entries), in
        Vectors: entries of the kernel whose registers, whose lines stay on the SM.
    event : in
        Heads that are acknowledged.
    tally : in
        The tally of each stream that is saved.
    adopt_begin : Signal, in; record_sides : Signal(context_entries), in
        The entries of a kernel that is being adopted will be read, on these sides.
    image_arrived, base_arrived : Signal, in; found : in
        Entry `entry_select` of such a kernel, or the entry of its base, says `found`.
    adopted : in
        The kernel is adopted: its entries count from now on.
    record_writing, record_written, record_voiding, record_voided : Signal, in
        The kernel's record begins to be written; that is acknowledged; the record begins to be made
        void; that is acknowledged.
    start : Signal(kernel_slots), in
        Vector: the kernel begins anew; none of its entries is saved.
    ended : in
        A TB has ended.
    saved, sides, increments, bases, base_sides : Signal(context_entries), out
        Vectors of the kernel: entries that are saved, on which side, as increments; those whose TB
        has a base, on which side.
    without_registers, without_lines, completed : Signal(context_entries), out
        Vectors of the kernel: saved entries without registers, without lines; those of them that
        have a second image on the other side.
    record_stands : Signal, out
        The record of the kernel may be believed.
    record_in_memory : Signal(kernel_slots), out
        Vector: kernels whose record is in memory, whole, and nothing of which has been asked to
        run since.
    away : array of Signal(context_entries), in
        One vector per kernel, with `Geometry.watches`: entries of TBs that have left by themselves.
    contexts_kept : Signal(kernel_slots), out
        Vector: kernels that have a saved entry that is not `away`, or whose record may be believed.
    entry_select, entry_select_base : Signal, in
    entry_generation, entry_crc : Signal(32), out; entry_extent : out
        The generation of an entry; the checksum of its base's entry, or of the entry itself if it
        is completed; the length of its stream, or of the stream on the other side. Combinational.
    read_select, read_select_base : Signal, in; read_extent : out
        The length of the stream of another entry. Combinational.
    base_select : Signal, in; base_crc : Signal(32), out
        The checksum of the entry of another entry's base, or when `evicting` of that entry itself.
        Combinational.
    """

    kernel: Signal
    generation: Signal
    saving: Signal
    incremental: Signal
    evicting: Signal
    keeps_registers: Signal
    keeps_lines: Signal
    event: data.View
    tally: data.View
    adopt_begin: Signal
    record_sides: Signal
    image_arrived: Signal
    base_arrived: Signal
    found: data.View
    adopted: data.View
    record_writing: Signal
    record_written: Signal
    record_voiding: Signal
    record_voided: Signal
    start: Signal
    ended: data.View
    saved: Signal
    sides: Signal
    increments: Signal
    bases: Signal
    base_sides: Signal
    without_registers: Signal
    without_lines: Signal
    completed: Signal
    record_stands: Signal
    record_in_memory: Signal
    away: data.View
    contexts_kept: Signal
    entry_select: Signal
    entry_select_base: Signal
    entry_generation: Signal
    entry_crc: Signal
    entry_extent: data.View
    read_select: Signal
    read_select_base: Signal
    read_extent: data.View
    base_select: Signal
    base_crc: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        tb = below(g.context_entries)
        super().__init__({
            "kernel": In(below(g.kernel_slots)), "generation": In(32), "saving": In(1),
            "incremental": In(1), "evicting": In(1),
            "keeps_registers": In(g.context_entries), "keeps_lines": In(g.context_entries),
            "event": In(head_event(g)), "tally": In(save_tally(g)),
            "adopt_begin": In(1), "record_sides": In(g.context_entries),
            "image_arrived": In(1), "base_arrived": In(1), "found": In(found_entry(g)),
            "adopted": In(adoption(g)), "record_writing": In(1), "record_written": In(1),
            "record_voiding": In(1), "record_voided": In(1),
            "start": In(g.kernel_slots), "ended": In(entry_event(g)),
            **{name: Out(g.context_entries) for name in _Sets.NAMES}, "record_stands": Out(1),
            "contexts_kept": Out(g.kernel_slots), "record_in_memory": Out(g.kernel_slots),
            **({"away": In(data.ArrayLayout(g.context_entries, g.kernel_slots))} if g.watches
               else {}),
            "entry_select": In(tb), "entry_select_base": In(1), "entry_generation": Out(32),
            "entry_crc": Out(32),
            "entry_extent": Out(stream_extent(g)),
            "read_select": In(tb), "read_select_base": In(1), "read_extent": Out(stream_extent(g)),
            "base_select": In(tb), "base_crc": Out(32),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, event = self.geometry, self.event
        saved = Signal()  # the event is of an entry that is saved,
        based = Signal()  # of one that becomes a base without being that,
        demoted = Signal()  # or of one that is not saved any more
        completes = Signal()  # or of what was evicted
        good = event.valid & ~event.error
        if g.in_place:
            m.d.comb += completes.eq(self.evicting & good & (event.state == State.BASE))
        m.d.comb += [saved.eq(self.saving & good & (event.state == State.COMPLETE)),
                     based.eq(self.saving & good & (event.state == State.BASE)),
                     demoted.eq(good & (event.state == State.DEMOTED))]
        self._generations(m, saved)
        sets = [_Sets(g, k) for k in range(g.kernel_slots)]
        records = Signal(g.kernel_slots)
        this = Const(1) << self.kernel
        m.d.comb += self.record_stands.eq(records.bit_select(self.kernel, 1))
        # Whatever becomes of the write of a head, memory may hold it.
        ends = (self.record_writing | self.record_voiding
                | event.valid & (event.state == State.DEMOTED))
        m.d.sync += self.record_in_memory.eq((self.record_in_memory & ~Mux(ends, this, 0)
                                      | Mux(self.record_written | self.adopted.valid, this, 0))
                                     & ~self.start)
        with m.If(self.record_writing | self.adopted.valid):
            m.d.sync += records.eq((records | this) & ~self.start)
        with m.Elif(self.record_voided | demoted):
            m.d.sync += records.eq(records & ~this & ~self.start)
        with m.Else():
            m.d.sync += records.eq(records & ~self.start)
        counts = [each.saved & ~self.away[k] if g.watches else each.saved
                  for k, each in enumerate(sets)]
        m.d.comb += self.contexts_kept.eq(records | Cat(each.any() for each in counts))
        for k, each in enumerate(sets):
            if g.checkpoints:
                with m.If(self.ended.valid & (self.ended.kernel == k)):
                    m.d.sync += each.bases.bit_select(self.ended.entry, 1).eq(0)
        with m.Switch(self.kernel):
            for k, each in enumerate(sets):
                with m.Case(k):
                    m.d.comb += [getattr(self, name).eq(getattr(each, name))
                                 for name in _Sets.NAMES]
                    self._follow(m, each, saved, based, demoted)
                    if g.in_place:
                        self._stay(m, each, saved, demoted, completes)
        for k, each in enumerate(sets):
            with m.If(self.start[k]):
                m.d.sync += [each.saved.eq(0), each.bases.eq(0)]
                if g.in_place:
                    m.d.sync += each.completed.eq(0)
        self._extents(m)
        return m

    def _follow(self, m: Module, sets: _Sets, saved: Value, based: Value, demoted: Value):
        """Keep the sets of the kernel in hand."""
        entry = self.event.entry
        with m.If(self.adopted.valid):
            m.d.sync += sets.saved.eq(self.adopted.saved)
        with m.Elif(saved | demoted):
            m.d.sync += sets.saved.bit_select(entry, 1).eq(saved)
        if not self.geometry.checkpoints:
            return

        def bit(vector: Value, number: Value = entry):
            return vector.bit_select(number, 1)

        with m.If(saved):
            m.d.sync += [bit(sets.sides).eq(self.event.side),
                         bit(sets.increments).eq(self.incremental & bit(sets.bases))]
        partial = (bit(sets.without_registers | sets.without_lines) if self.geometry.in_place
                   else Const(0))
        with m.If(based | demoted & ~bit(sets.increments) & ~partial):
            m.d.sync += [bit(sets.bases).eq(1),
                         bit(sets.base_sides).eq(Mux(based, self.event.side, bit(sets.sides)))]
        with m.If(self.adopt_begin):
            m.d.sync += sets.sides.eq(self.record_sides)
        with m.If(self.image_arrived):
            m.d.sync += [bit(sets.increments, self.entry_select).eq(self.found.increment),
                         bit(sets.bases, self.entry_select).eq(self.found.increment),
                         bit(sets.base_sides,
                             self.entry_select).eq(~bit(sets.sides, self.entry_select))]

    def _stay(self, m: Module, sets: _Sets, saved: Value, demoted: Value, completes: Value):
        """Keep what is not in an image, and whether there is a second one."""
        entry, found = self.event.entry, self.found
        with m.If(saved):
            keeps = [(sets.without_registers, self.keeps_registers),
                     (sets.without_lines, self.keeps_lines)]
            m.d.sync += [kept.bit_select(entry, 1).eq(here.bit_select(entry, 1))
                         for kept, here in keeps]
            with m.If((self.keeps_registers | self.keeps_lines).bit_select(entry, 1)):
                m.d.sync += sets.bases.bit_select(entry, 1).eq(0)
        with m.If(saved | demoted | completes):
            m.d.sync += sets.completed.bit_select(entry, 1).eq(completes)
        with m.If(self.image_arrived):
            m.d.sync += [
                sets.without_registers.bit_select(self.entry_select, 1).eq(found.registers_stay),
                sets.without_lines.bit_select(self.entry_select, 1).eq(found.lines_stay),
                sets.completed.bit_select(self.entry_select, 1).eq(
                    found.registers_stay | found.lines_stay)]

    def _place(self, entry: Value, side: Value):
        """Return where something of an entry on a side of the kernel in hand stands."""
        bits = len(self.entry_select)
        if not self.geometry.checkpoints:
            return self.kernel << bits | entry
        return (self.kernel << 1 | side) << bits | entry

    def _generations(self, m: Module, saved: Value):
        """Remember the generation of each entry that is saved."""
        g, event, bits = self.geometry, self.event, len(self.entry_select)
        m.submodules.generations = generations = Memory(
            shape=32, depth=g.kernel_slots << bits, init=[])
        write = generations.write_port()
        read = generations.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(self.kernel << bits
                          | Mux(self.image_arrived, self.entry_select, event.entry)),
            write.data.eq(Mux(self.image_arrived, self.found.generation, self.generation)),
            write.en.eq(saved | self.image_arrived),
            read.addr.eq(self.kernel << bits | self.entry_select),
            self.entry_generation.eq(read.data),
        ]

    def _extents(self, m: Module):
        """Remember the checksum of each entry and the length of each stream. Those of an entry that
        is neither saved nor a base do not matter."""
        g, tally, event = self.geometry, self.tally, self.event
        depth = g.kernel_slots << len(self.entry_select) + g.checkpoints
        m.submodules.extents = extents = Memory(shape=stream_extent(g), depth=depth, init=[])
        write = extents.write_port()
        of_tally = Signal(stream_extent(g))
        arrives = self.image_arrived | self.base_arrived

        def on_side(of_base: ValueLike, entry: Value):
            return of_base ^ self.sides.bit_select(entry, 1)

        m.d.comb += [
            of_tally.words.eq((tally.data_bytes + tally.metadata_bytes) // WORD_BYTES),
            of_tally.warps.eq(tally.warps),
            write.addr.eq(Mux(arrives, self._place(self.entry_select, on_side(self.base_arrived,
                                                                        self.entry_select)),
                              self._place(tally.entry, tally.side))),
            Value.cast(write.data).eq(Mux(arrives, Value.cast(self.found.extent),
                                          Value.cast(of_tally))),
            write.en.eq(arrives | (self.saving | self.evicting) & tally.valid & ~tally.ended),
        ]
        for entry, of_base, shown in (
                (self.entry_select, self.entry_select_base, self.entry_extent),
                (self.read_select, self.read_select_base, self.read_extent)):
            read = extents.read_port(domain="comb")
            m.d.comb += [read.addr.eq(self._place(entry, on_side(of_base, entry))),
                         shown.eq(read.data)]
        if not g.checkpoints:
            return
        m.submodules.checksums = checksums = Memory(shape=32, depth=depth, init=[])
        # An adopted image brings two checksums, and there is one port: its own is written first,
        # in the next cycle the one of the base that it names.
        port = checksums.write_port()
        later = Signal()
        base = Signal.like(port.addr)
        base_crc = Signal(32)
        m.d.sync += [later.eq(self.image_arrived), base_crc.eq(self.found.base_crc),
                     base.eq(self._place(self.entry_select, on_side(1, self.entry_select)))]
        m.d.comb += [port.addr.eq(self._place(event.entry, event.side)), port.data.eq(event.crc),
                     port.en.eq(self.saving & event.valid & ~event.error)]
        with m.If(self.image_arrived):
            m.d.comb += [port.addr.eq(self._place(self.entry_select,
                                                  on_side(0, self.entry_select))),
                         port.data.eq(self.found.crc), port.en.eq(1)]
        with m.Elif(later):
            m.d.comb += [port.addr.eq(base), port.data.eq(base_crc), port.en.eq(1)]
        for entry, itself, shown in (
                (self.entry_select, self.completed.bit_select(self.entry_select, 1),
                 self.entry_crc),
                (self.base_select, self.evicting, self.base_crc)):
            read = checksums.read_port(domain="comb")
            side = Mux(itself, self.sides.bit_select(entry, 1), self.base_sides.bit_select(entry, 1)
                       ) if g.in_place else self.base_sides.bit_select(entry, 1)
            m.d.comb += [read.addr.eq(self._place(entry, side)), shown.eq(read.data)]

"""Saved entries: which entries of each kernel can be resumed, of which preempt each is and how long
its stream, and whether the kernel's record may be believed."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.context import State
from ...arch.geometry import WORD_BYTES, Geometry
from ...interfaces.payloads import below
from ...interfaces.preemption import adoption
from ..formats.stream_extent import stream_extent
from ..save.closer import save_tally
from ..save.committer import head_event

__all__ = ["SavedEntries"]


class SavedEntries(wiring.Component):
    """Remembers what has been committed, so that nothing else in memory is ever looked at.

    An entry is saved from the acknowledgement of its `State.COMPLETE` in a preempt to that of its
    `State.DEMOTED` in a resume; or from the adoption of its kernel on. A kernel's record may be
    believed from when it is written, or adopted, until the kernel begins to run again.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    kernel, generation : Signal, in
        Of the command in hand.
    saving : Signal, in
        It is a preempt.
    event : in
        Heads that are acknowledged.
    tally : in
        Of each stream that is saved.
    arrived : Signal, in; found : Signal(32), in; found_extent : in
        The entry `select` of a kernel that is being adopted has this generation, and its stream
        this length.
    adopted : in
        Its entries count from now on.
    recorded, voided : Signal, in
        The kernel's record begins to be written; it is acknowledged that it is void.
    start : Signal(kernel_slots), in
        Vector: the kernel begins anew; none of its entries is saved.
    saved : Signal(tb_slots), out
        Vector: entries of the kernel that are saved.
    stands : Signal, out
        The record of the kernel may be believed.
    kept : Signal(kernel_slots), out
        Vector: kernels of which any entry is saved, or the record may be believed.
    select : Signal, in; listed : Signal(32), out; listed_extent : out
        The generation of one of them, and the length of its stream. Combinational.
    ahead : Signal, in; extent : out
        The length of the stream of another. Combinational.
    """

    kernel: Signal
    generation: Signal
    saving: Signal
    event: data.View
    tally: data.View
    arrived: Signal
    found: Signal
    found_extent: data.View
    adopted: data.View
    recorded: Signal
    voided: Signal
    start: Signal
    saved: Signal
    stands: Signal
    kept: Signal
    select: Signal
    listed: Signal
    listed_extent: data.View
    ahead: Signal
    extent: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "kernel": In(below(g.kernel_slots)), "generation": In(32), "saving": In(1),
            "event": In(head_event(g)), "tally": In(save_tally(g)),
            "arrived": In(1), "found": In(32), "found_extent": In(stream_extent(g)),
            "adopted": In(adoption(g)), "recorded": In(1), "voided": In(1),
            "start": In(g.kernel_slots), "saved": Out(g.tb_slots), "stands": Out(1),
            "kept": Out(g.kernel_slots),
            "select": In(below(g.tb_slots)), "listed": Out(32),
            "listed_extent": Out(stream_extent(g)),
            "ahead": In(below(g.tb_slots)), "extent": Out(stream_extent(g)),
        })

    def elaborate(self, platform):
        m = Module()
        g, event = self.geometry, self.event
        bits = len(self.select)
        m.submodules.generations = generations = Memory(
            shape=32, depth=g.kernel_slots << bits, init=[])
        write = generations.write_port()
        read = generations.read_port(domain="comb")
        entry = Signal(g.tb_slots)  # the one of the event, if that counts
        saved = Signal()
        m.d.comb += [
            saved.eq(self.saving & event.valid & ~event.error & (event.state == State.COMPLETE)),
            write.addr.eq(self.kernel << bits | Mux(self.arrived, self.select, event.entry)),
            write.data.eq(Mux(self.arrived, self.found, self.generation)),
            write.en.eq(saved | self.arrived),
            read.addr.eq(self.kernel << bits | self.select), self.listed.eq(read.data),
        ]
        with m.If(saved | event.valid & ~event.error & (event.state == State.DEMOTED)):
            m.d.comb += entry.eq(Const(1) << event.entry)
        sets = [Signal(g.tb_slots, name=f"saved_{k}") for k in range(g.kernel_slots)]
        records = Signal(g.kernel_slots)
        this = Const(1) << self.kernel
        m.d.comb += self.stands.eq(records.bit_select(self.kernel, 1))
        with m.If(self.recorded | self.adopted.valid):
            m.d.sync += records.eq((records | this) & ~self.start)
        with m.Elif(self.voided | ~saved & entry.any()):
            m.d.sync += records.eq(records & ~this & ~self.start)
        with m.Else():
            m.d.sync += records.eq(records & ~self.start)
        with m.Switch(self.kernel):
            for k, mine in enumerate(sets):
                with m.Case(k):
                    m.d.comb += self.saved.eq(mine)
                    m.d.sync += mine.eq(Mux(saved, mine | entry, mine & ~entry))
        self._extents(m, bits)
        m.d.comb += self.kept.eq(records | Cat(mine.any() for mine in sets))
        for k, mine in enumerate(sets):
            with m.If(self.adopted.valid & (self.kernel == k)):
                m.d.sync += mine.eq(self.adopted.saved)
            with m.If(self.start[k]):
                m.d.sync += mine.eq(0)
        return m

    def _extents(self, m, bits):
        """Remember how long each stream is; of an entry that is not saved it does not matter."""
        g, tally = self.geometry, self.tally
        m.submodules.extents = extents = Memory(
            shape=stream_extent(g), depth=g.kernel_slots << bits, init=[])
        write = extents.write_port()
        of_tally = Signal(stream_extent(g))
        m.d.comb += [
            of_tally.words.eq((tally.data_bytes + tally.metadata_bytes) // WORD_BYTES),
            of_tally.warps.eq(tally.warps),
            write.addr.eq(self.kernel << bits | Mux(self.arrived, self.select, tally.entry)),
            Value.cast(write.data).eq(Mux(self.arrived, Value.cast(self.found_extent),
                                          Value.cast(of_tally))),
            write.en.eq(self.arrived | self.saving & tally.valid & ~tally.ended),
        ]
        for entry, shown in ((self.select, self.listed_extent), (self.ahead, self.extent)):
            read = extents.read_port(domain="comb")
            m.d.comb += [read.addr.eq(self.kernel << bits | entry), shown.eq(read.data)]

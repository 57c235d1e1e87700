"""Saved entries: which entries of each kernel can be resumed, and of which preempt each is."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.context import State
from ...arch.geometry import Geometry
from ...interfaces.payloads import below
from ..save.committer import head_event

__all__ = ["SavedEntries"]


class SavedEntries(wiring.Component):
    """Remembers what has been committed, so that nothing else in memory is ever looked at.

    An entry is saved from the acknowledgement of its `State.COMPLETE` in a preempt to that of its
    `State.DEMOTED` in a resume.

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
    start : Signal(kernel_slots), in
        Vector: the kernel begins anew; none of its entries is saved.
    saved : Signal(tb_slots), out
        Vector: entries of the kernel that are saved.
    kept : Signal(kernel_slots), out
        Vector: kernels of which any is.
    select : Signal, in; listed : Signal(32), out
        The generation of one of them. Combinational.
    """

    kernel: Signal
    generation: Signal
    saving: Signal
    event: data.View
    start: Signal
    saved: Signal
    kept: Signal
    select: Signal
    listed: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "kernel": In(below(g.kernel_slots)), "generation": In(32), "saving": In(1),
            "event": In(head_event(g)), "start": In(g.kernel_slots), "saved": Out(g.tb_slots),
            "kept": Out(g.kernel_slots),
            "select": In(below(g.tb_slots)), "listed": Out(32),
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
            write.addr.eq(self.kernel << bits | event.entry), write.data.eq(self.generation),
            write.en.eq(saved),
            read.addr.eq(self.kernel << bits | self.select), self.listed.eq(read.data),
        ]
        with m.If(saved | event.valid & ~event.error & (event.state == State.DEMOTED)):
            m.d.comb += entry.eq(Const(1) << event.entry)
        sets = [Signal(g.tb_slots, name=f"saved_{k}") for k in range(g.kernel_slots)]
        with m.Switch(self.kernel):
            for k, mine in enumerate(sets):
                with m.Case(k):
                    m.d.comb += self.saved.eq(mine)
                    m.d.sync += mine.eq(Mux(saved, mine | entry, mine & ~entry))
        m.d.comb += self.kept.eq(Cat(mine.any() for mine in sets))
        for k, mine in enumerate(sets):
            with m.If(self.start[k]):
                m.d.sync += mine.eq(0)
        return m

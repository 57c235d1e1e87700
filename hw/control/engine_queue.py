"""The engine queue: which kernel's preempt or resume, or which eviction, the preemption engine
gets next."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..arch.image.context import Mechanism
from ..arch.registers import UNLIMITED_PATIENCE
from ..interfaces.payloads import below
from ..interfaces.preemption import command, preempt_options
from ..interfaces.staying import staying_report
from ..interfaces.yielding import leaving_tb
from ..lib.bits import encode, lowest_number, one_hot
from ..lib.vectors import LeastRecent
from .memory_refusals import MemoryRefusals, StuckKernels

__all__ = ["EngineQueue"]


class EngineQueue(wiring.Component):
    """Hands commands to the engine, one at a time; preempts go before resumes, kernels take turns.
    Next is the kernel whose last command was taken longest ago.

    A resume is carried out in *passes*: one brings back what there is room for. A kernel of which
    something was left behind gets another pass once a TB has left the SM, so that the engine is
    never held by a resume that waits, and a preempt that makes room comes through. A preempt waits
    until no TB of its kernel is half launched, and none has grace any more.

    Parameters
    ----------
    g : Geometry

    Evictions go first: what waits for room waits for them. A TB that yields is saved when no
    preempt waits; those of a kernel that are ready to come back are brought back in passes when it
    is its turn, as by a resume. After a pass that has found too little room, TBs of no other kernel
    come back in this way: they might take each room that the kernel could have, and leave again to
    wait for its TBs. That holds for one kernel at a time, or two would wait for each other. Resumes
    of other kernels go on, and so do kernels whose last pass memory has refused: a TB of theirs may
    be parked, and only another pass gives its room back.

    Want of room and a refusal by memory are remembered apart. A kernel that has found no room waits
    until a TB has left the SM. Memory may refuse an eviction, or a TB that leaves or comes back by
    itself. That is tried again after a pause, `memory_refusals.TRIES` times (`MemoryRefusals`).
    Then the kernel whose TB does not leave or come back is `given_up`. What is not evicted is in
    nobody's plan for a while (`StuckKernels`); a kernel is given up for that when it can find no
    room elsewhere, and nothing on the SM can make some.

    Attributes
    ----------
    write : In(valid, kernel, options, patience, grace)
        Options, patience and grace of a kernel's commands from now on.
    preempts, resumes : Signal(kernel_slots), in
        Vectors: kernels of which a preempt, or a pass of a resume, is wanted.
    adopts : Signal(kernel_slots), in
        Vector: kernels that are to be taken over from memory.
    launching, graceful : Signal(kernel_slots), in
        Vectors: kernels of which a TB is being launched; whose TBs have grace.
    grace_left : array of Signal(32), in
        Cycles left of the grace of each kernel.
    room : Signal(1), in
        A TB leaves the SM.
    first : Signal(kernel_slots), in
        Vector: kernels whose resume begins, so the next pass is its first; or that begin anew.
    engine : stream of preemption.command, out
        Valid only while nothing is `held`.
    evict : Signal(tb_slots), in; staying : staying_report, in
        Vector: rows of the staying table that are in the way of a TB; the table.
    hopeless : Signal(kernel_slots), in; stuck : Signal(kernel_slots), out
        With `Geometry.in_place`. Vectors: kernels of which a TB lacks room that only evictions that
        were given up could make; kernels of which these are.
    leave : leaving_tb, in; wakes : Signal(kernel_slots), in; ready, stays : arrays, in
        With `Geometry.watches`: a TB that is to be saved; kernels that run and of which TBs are to
        be brought back; the entries of these, and those that a resume leaves where they are.
    leaves : Signal(1), out; woken : Signal(kernel_slots), out
        That TB's save is handed over in this cycle. Vector: that of these kernels.
    aside : Signal(kernel_slots), out
        Vector, as `evicts`: the kernel of which TBs leave or come back by themselves.
    tried : Signal(kernel_slots), out
        Vector: kernels of which TBs that are to come back have found no room since a TB left.
    pausing : Signal(kernel_slots), out
        Vector: kernels of which memory has refused to bring a TB back that had left by itself.
    keeping : Signal(kernel_slots), out
        Vector: kernels of which memory has refused to save a TB that yields; none is to leave.
    given_up : Signal(kernel_slots), out
        With `Geometry.watches` or `in_place`. Vector: kernels whose TBs do not leave, come back or
        begin, since memory has refused too often.
    ended : In(valid, left, refused)
        The command in hand has ended; `left`: its pass has left TBs behind for want of room;
        `refused`: by memory.
    taken : Signal(kernel_slots), out
        Vector: the command of this kernel is handed over in this cycle.
    held : Signal(1), out
        The engine has a command, from the cycle after that until `ended`.
    kernel, resume, partial : Signal, out
        Whose, and which, while `held`; TBs stay on the SM when it has ended.
    mine : Signal(kernel_slots), out
        Vector: the kernel whose command the engine has, or is given in this cycle.
    evicts : Signal(kernel_slots), out
        Likewise the kernel of which something is evicted; that is no command of its.
    """

    write: data.View
    preempts: Signal
    resumes: Signal
    adopts: Signal
    launching: Signal
    graceful: Signal
    grace_left: data.View
    room: Signal
    first: Signal
    engine: stream.Interface
    evict: Signal
    staying: data.View
    hopeless: Signal
    stuck: Signal
    leave: data.View
    wakes: Signal
    ready: data.View
    stays: data.View
    leaves: Signal
    woken: Signal
    aside: Signal
    tried: Signal
    pausing: Signal
    keeping: Signal
    given_up: Signal
    ended: data.View
    taken: Signal
    held: Signal
    kernel: Signal
    resume: Signal
    partial: Signal
    mine: Signal
    evicts: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        kernel = below(g.kernel_slots)
        super().__init__({
            "write": In(data.StructLayout({"valid": 1, "kernel": kernel,
                                           "options": preempt_options(g), "patience": 32,
                                           "grace": 32})),
            **{name: In(g.kernel_slots)
               for name in ("preempts", "resumes", "adopts", "launching", "graceful", "first")},
            "grace_left": In(data.ArrayLayout(32, g.kernel_slots)),
            "room": In(1), "engine": Out(stream.Signature(command(g))),
            "evict": In(g.tb_slots), "staying": In(staying_report(g)),
            **({"leave": In(leaving_tb(g)), "wakes": In(g.kernel_slots),
                **dict.fromkeys(("ready", "stays"), In(data.ArrayLayout(g.context_entries,
                                                                        g.kernel_slots))),
                "leaves": Out(1), **dict.fromkeys(("woken", "aside", "tried", "pausing", "keeping"),
                                                  Out(g.kernel_slots))}
               if g.watches else {}),
            **({"hopeless": In(g.kernel_slots), "stuck": Out(g.kernel_slots)}
               if g.in_place else {}),
            **({"given_up": Out(g.kernel_slots)} if g.watches or g.in_place else {}),
            "ended": In(data.StructLayout({"valid": 1, "left": 1, "refused": 1})),
            "taken": Out(g.kernel_slots), "held": Out(1), "kernel": Out(kernel),
            "resume": Out(1), "partial": Out(1), "mine": Out(g.kernel_slots),
            "evicts": Out(g.kernel_slots),
        })

    def elaborate(self, platform: Any):
        m = Module()
        slots = self.geometry.kernel_slots
        m.submodules.asked = asked = Memory(
            shape=data.StructLayout({"options": preempt_options(self.geometry), "patience": 32,
                                     **({"grace": 32} if self.geometry.grace else {})}),
            depth=1 << len(self.kernel), init=[])
        store = asked.write_port()
        load = asked.read_port(domain="comb")
        m.submodules.turns = turns = LeastRecent(slots, told=True)
        index = Signal.like(self.kernel)  # whose turn it is, if anybody's
        tried = Signal(slots)  # resumes that have found no room since a TB left
        begun = Signal(slots)  # resumes that have had a pass
        moved = Signal()  # a TB has left since the command in hand was taken
        saves = Signal(slots)
        go = Signal()
        offered = self.engine.payload
        m.d.comb += [
            store.addr.eq(self.write.kernel),
            store.data.options.eq(self.write.options), store.data.patience.eq(self.write.patience),
            store.en.eq(self.write.valid),
            saves.eq(self.preempts & ~self.launching & ~self.graceful),
            turns.requests.eq(Mux(self.held, 0,
                                  Mux(saves.any(), saves,
                                      self.resumes & ~tried | self.adopts))),
            index.eq(encode(turns.grant)), load.addr.eq(index),
            self.engine.valid.eq(turns.grant.any()), go.eq(turns.grant.any() & self.engine.ready),
            turns.served.eq(Mux(go, turns.grant, 0)), offered.kernel.eq(index),
            offered.adopt.eq((turns.grant & self.adopts).any()),
            offered.resume.eq(~saves.any() & ~offered.adopt),
            offered.again.eq(begun.bit_select(index, 1)),
            offered.options.eq(load.data.options), offered.patience.eq(load.data.patience),
            self.taken.eq(Mux(go, turns.grant, 0)),
            self.mine.eq(Mux(self.held, one_hot(self.kernel, slots) & ~self.evicts, self.taken)),
        ]
        evicting, given_up, changes = Const(0), Const(0, slots), Const(0)
        if self.geometry.in_place:
            evicting, given_up, changes = self._evict(m, turns, offered)
        if self.geometry.watches:
            given_up = given_up | self._yield(m, turns, index, offered, tried,
                                              self.held | evicting | saves.any())
        if self.geometry.in_place or self.geometry.watches:
            m.d.comb += self.given_up.eq(given_up)
        if self.geometry.grace:
            m.d.comb += [store.data.grace.eq(self.write.grace),
                         offered.grace_used.eq(load.data.grace - self.grace_left[index])]
        with m.If(go):
            m.d.sync += [self.held.eq(1), self.kernel.eq(index),
                         self.resume.eq(offered.resume), moved.eq(0),
                         self.partial.eq(offered.options.spared.any() | offered.options.checkpoint)]
        with m.Elif(self.ended.valid):
            m.d.sync += self.held.eq(0)
        with m.If(self.room | changes):
            m.d.sync += [moved.eq(1), tried.eq(0)]
        with m.Elif(self.ended.valid & self.ended.left & ~moved):
            m.d.sync += tried.eq((tried | one_hot(self.kernel, slots)) & ~self.first)
        with m.Else():
            m.d.sync += tried.eq(tried & ~self.first)
        m.d.sync += begun.eq((begun | Mux(offered.resume, self.taken, 0)) & ~self.first)
        return m

    def _yield(self, m: Module, turns: LeastRecent, index: Value, offered: data.View, tried: Value,
               busy: Value):
        """Offer the TB that yields, unless the engine is `busy`; in its turn bring back those of a
        kernel that are ready. Return the vector of kernels for which either is given up."""
        g, leave = self.geometry, self.leave
        m.submodules.wake_refusals = refusals = MemoryRefusals(g)
        m.submodules.leave_refusals = unsaved = MemoryRefusals(g)
        yielder = Signal(g.kernel_slots)  # the kernel of what leaves or comes back
        now = Signal(g.kernel_slots)  # that of what is handed over in this cycle
        wakes = Signal(g.kernel_slots)
        lacking = Signal(g.kernel_slots)  # the first whose last pass has found too little room
        unsettled = Signal(g.kernel_slots)  # whose last pass memory has refused
        over = Signal(g.kernel_slots)  # that of TBs that have come back, or have not
        left = Signal(g.kernel_slots)  # that of one that has left, or has not
        mine = one_hot(self.kernel, g.kernel_slots)
        m.d.sync += lacking.eq(Mux(self.ended.valid & self.resume, Mux(
            self.ended.left, Mux(lacking.any(), lacking, mine), lacking & ~mine), lacking)
            & (self.resumes | self.wakes) & ~self.first)
        m.d.sync += unsettled.eq(Mux(self.ended.valid & self.resume, Mux(
            self.ended.refused, unsettled | mine, unsettled & ~mine), unsettled) & ~self.first)
        m.d.comb += [wakes.eq(self.wakes & ~tried & ~self.launching & ~self.pausing
                              & Mux(lacking.any(), lacking | unsettled, ~0)),
                     over.eq(Mux(self.ended.valid & self.resume, yielder, 0)),
                     refusals.refused.eq(Mux(self.ended.refused, over, 0)),
                     refusals.done.eq(Mux(self.ended.refused, 0, over)),
                     refusals.forget.eq(self.first), self.pausing.eq(refusals.pausing),
                     left.eq(Mux(self.ended.valid & ~self.resume, yielder, 0)),
                     unsaved.refused.eq(Mux(self.ended.refused, left, 0)),
                     unsaved.done.eq(Mux(self.ended.refused, 0, left)),
                     unsaved.forget.eq(self.first), self.keeping.eq(unsaved.pausing),
                     self.tried.eq(tried), self.aside.eq(yielder | now)]
        with m.If(~busy):
            m.d.comb += [turns.requests.eq(self.resumes & ~tried | self.adopts | wakes),
                         offered.options.spared.eq(self.stays[index])]
        with m.If((turns.grant & wakes).any()):
            m.d.comb += [offered.yields.eq(1), offered.again.eq(1), offered.resume.eq(1),
                         offered.adopt.eq(0), offered.options.spared.eq(~self.ready[index]),
                         *(offered.options[name].eq(0) for name in ("scramble", "gang")),
                         self.taken.eq(0), now.eq(Mux(self.engine.ready, turns.grant, 0)),
                         self.woken.eq(now)]
        with m.If(leave.valid & ~busy & ~self.launching.bit_select(leave.kernel, 1)):
            m.d.comb += [
                turns.requests.eq(0), self.engine.valid.eq(1), offered.yields.eq(1),
                *(offered[name].eq(0) for name in ("resume", "adopt", "again", "options")),
                offered.kernel.eq(leave.kernel), offered.options.mechanism.eq(Mechanism.LIVE),
                offered.patience.eq(UNLIMITED_PATIENCE),
                offered.options.spared.eq(~one_hot(leave.entry, g.context_entries)),
                self.leaves.eq(self.engine.ready),
                now.eq(Mux(self.engine.ready, one_hot(leave.kernel, g.kernel_slots), 0))]
            with m.If(self.engine.ready):
                m.d.sync += [self.held.eq(1), self.kernel.eq(leave.kernel), self.resume.eq(0),
                             self.partial.eq(1)]
        with m.If(now.any()):
            m.d.sync += yielder.eq(now)
        with m.Elif(self.ended.valid):
            m.d.sync += yielder.eq(0)
        m.d.comb += self.mine.eq(Mux(self.held, mine & ~self.evicts & ~yielder, self.taken))
        return refusals.given_up | unsaved.given_up

    def _evict(self, m: Module, turns: LeastRecent, offered: data.View):
        """Offer the lowest row that is to be evicted, before anything else. Return whether one is
        offered, the vector of kernels that are given up, and whether all try again to find room."""
        g = self.geometry
        m.submodules.eviction_refusals = refusals = MemoryRefusals(g)
        m.submodules.stuck = stuck = StuckKernels(g)
        chosen = Signal(below(g.tb_slots))
        wanted = Signal()
        owner = Signal(g.kernel_slots)  # of what is evicted
        over = Signal(g.kernel_slots)
        pausing = Cat(refusals.pausing.bit_select(self.staying.rows[t].what.kernel, 1)
                      for t in range(g.tb_slots))
        there = self.evict & self.staying.evictable & ~pausing
        m.d.comb += [
            chosen.eq(lowest_number(there)),
            wanted.eq(there.any() & ~self.held), self.evicts.eq(owner),
            over.eq(Mux(self.ended.valid, owner, 0)), refusals.forget.eq(self.first),
            refusals.refused.eq(Mux(self.ended.refused, over, 0)),
            refusals.done.eq(Mux(self.ended.refused, 0, over)),
            stuck.given_up.eq(refusals.given_up), stuck.forget.eq(self.first.any()),
            stuck.idle.eq(~self.held & ~self.engine.valid), self.stuck.eq(stuck.stuck),
        ]
        with m.If(wanted):
            m.d.comb += [
                turns.requests.eq(0), self.engine.valid.eq(1), offered.evict.eq(1),
                offered.staying.eq(chosen), offered.resume.eq(0), offered.adopt.eq(0),
                offered.kernel.eq(self.staying.rows[chosen].what.kernel),
                offered.options.spared.eq(~0),
            ]
            with m.If(self.engine.ready):
                m.d.comb += self.evicts.eq(one_hot(offered.kernel, g.kernel_slots))
                m.d.sync += [self.held.eq(1), self.kernel.eq(offered.kernel), self.resume.eq(0),
                             owner.eq(self.evicts)]
        with m.If(self.ended.valid):
            m.d.sync += owner.eq(0)
        # When nothing is on its way any more that could make room.
        given_up = Mux(stuck.idle & stuck.stuck.any(), self.hopeless, 0)
        return wanted, given_up, stuck.changes

"""The engine queue: decides which kernel's preempt or resume, or which eviction, the preemption
engine gets next."""

import functools
import operator
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..arch.image.context import Mechanism
from ..arch.registers import UNLIMITED_PATIENCE
from ..interfaces.payloads import below
from ..interfaces.port import Port
from ..interfaces.preemption import command, preempt_options
from ..interfaces.staying import staying_report
from ..interfaces.yielding import LeavePort
from ..lib.bits import encode, lowest_number, one_hot
from ..lib.vectors import LeastRecent
from .command_ports import BaseRequestPort, EngineRequestPort, bases_ended
from .memory_refusals import MemoryRefusals, StuckKernels

__all__ = ["EngineQueue"]


class EngineQueue(wiring.Component):
    """Hands commands to the engine, one at a time. Preempts go before resumes, and kernels take
    turns. The kernel goes first whose last command was taken longest ago.

    A resume is carried out in *passes*. Each pass brings back the TBs for which there is room. A
    kernel whose pass left TBs behind gets another pass once a TB has left the SM. So the engine is
    never held by a resume that waits, and a preempt that makes room comes through. A preempt waits
    until no TB of its kernel is half launched, and the grace of its kernel is over.

    Parameters
    ----------
    g : Geometry

    Evictions go first, since TBs that wait for room wait for them. A TB that yields is saved when
    no preempt waits. TBs of a kernel that are ready to come back are brought back in passes when it
    is the kernel's turn, as by a resume. After a pass that has found too little room, TBs of no
    other kernel come back in this way. They might take each room that the kernel could have, and
    leave again to wait for its TBs. This holds for one kernel at a time, or two would wait for each
    other. Resumes of other kernels go on. Kernels whose last pass memory has refused go on too: one
    of their TBs may be parked, and only another pass gives its room back.

    Want of room and a refusal by memory are remembered apart. A kernel that has found no room waits
    until a TB has left the SM. Memory may refuse an eviction, or a TB that leaves or comes back by
    itself. Each is tried again after a pause, `memory_refusals.TRIES` times (`MemoryRefusals`).
    Then the kernel whose TB does not leave or come back is `given_up`. A TB that is not evicted is
    in no plan for a while (`StuckKernels`). Its kernel is given up for that when it can find no
    room elsewhere, and nothing on the SM can make room.

    Bases for an announcement are saved when no preempt waits and no TB leaves by itself; they go
    before resumes, since the launch that they are for comes soon. A preempt of the kernel waits for
    them, and takes their patience away (`base_owner`).

    Attributes
    ----------
    options : In(valid, kernel, options, patience, grace)
        Options, patience and grace of a kernel's commands from now on.
    slots : array of EngineRequestPort, in
        The kernel slots.
    launching : Signal(kernel_slots), in
        Vector: kernels of which a TB is being launched.
    room_freed : Signal(1), in
        A TB leaves the SM.
    engine : stream of preemption.command, out
        Valid only while no command is `held`.
    evict : Signal(tb_slots), in; staying : staying_report, in
        Vector: rows of the staying table that are in the way of a TB; the table.
    hopeless : Signal(kernel_slots), in; stuck : Signal(kernel_slots), out
        Vectors: kernels of which a TB lacks room that only evictions could make that were given up;
        kernels of which evictions were given up. Both exist only with `Geometry.in_place`.
    running : Signal(kernel_slots), in; yields : LeavePort, in
        Vector: kernels in state `KernelState.RUNNING`; TBs that leave and come back by themselves.
        Both exist only with `Geometry.watches`.
    yield_owner : Signal(kernel_slots), out
        Vector, as `eviction_owner`: the kernel of which TBs leave or come back by themselves.
    returns_waiting : Signal(1), out
        TBs are to come back, so no fresh one is to take their room.
    bases : BaseRequest, in; base_owner : Signal(kernel_slots), out
        Bases that are to be saved for an announcement. Vector, as `eviction_owner`: the kernel of
        which bases are saved. Both exist only with `Geometry.proactive`.
    bases_ended : struct, out
        Bases have been saved, or refused: `entries` of `kernel`, for one cycle. Exists only there.
    given_up : Signal(kernel_slots), out
        Vector: kernels whose TBs do not leave, come back or begin, since memory has refused too
        often. Exists only with `Geometry.watches` or `in_place`.
    ended : In(valid, tbs_left, refused, failed)
        The command in hand has ended. With `tbs_left` its pass has left TBs behind for want of
        room; with `refused` memory has refused it; with `failed` it has ended badly, for this or
        another reason.
    held : Out(valid, kernel, resume, partial)
        The engine has a command of `kernel`, from the cycle after its transfer until `ended`: a
        pass of a resume, or one after which TBs stay on the SM.
    command_owner : Signal(kernel_slots), out
        Vector: the kernel whose command the engine has, or is given in this cycle.
    eviction_owner : Signal(kernel_slots), out
        Vector, likewise: the kernel of which something is evicted, which is no command of its.
    """

    options: data.View
    slots: Any
    launching: Signal
    room_freed: Signal
    engine: stream.Interface
    evict: Signal
    staying: data.View
    hopeless: Signal
    stuck: Signal
    running: Signal
    yields: Port
    yield_owner: Signal
    returns_waiting: Signal
    bases: Port
    base_owner: Signal
    bases_ended: data.View
    given_up: Signal
    ended: data.View
    held: data.View
    command_owner: Signal
    eviction_owner: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        kernel = below(g.kernel_slots)
        self.preempts = Signal(g.kernel_slots)
        self.resumes = Signal(g.kernel_slots)
        self.adopts = Signal(g.kernel_slots)
        self.graces = Signal(g.kernel_slots)
        self.first = Signal(g.kernel_slots)
        self.lacks_room = Signal(g.kernel_slots)  # resumes that have found none since a TB left
        super().__init__({
            "options": In(data.StructLayout({"valid": 1, "kernel": kernel,
                                             "options": preempt_options(g), "patience": 32,
                                             "grace": 32})),
            "slots": In(EngineRequestPort(g)).array(g.kernel_slots),
            "launching": In(g.kernel_slots), "room_freed": In(1),
            "engine": Out(stream.Signature(command(g))),
            "evict": In(g.tb_slots), "staying": In(staying_report(g)),
            **({"running": In(g.kernel_slots), "yields": In(LeavePort(g)),
                "yield_owner": Out(g.kernel_slots)} if g.watches else {}),
            "returns_waiting": Out(1),
            **({"hopeless": In(g.kernel_slots), "stuck": Out(g.kernel_slots)}
               if g.in_place else {}),
            **({"given_up": Out(g.kernel_slots)} if g.watches or g.in_place else {}),
            **({"bases": In(BaseRequestPort(g)), "base_owner": Out(g.kernel_slots),
                "bases_ended": Out(bases_ended(g))} if g.proactive else {}),
            "ended": In(data.StructLayout({"valid": 1, "tbs_left": 1, "refused": 1, "failed": 1})),
            "held": Out(data.StructLayout({"valid": 1, "kernel": kernel, "resume": 1,
                                           "partial": 1})),
            "command_owner": Out(g.kernel_slots), "eviction_owner": Out(g.kernel_slots),
        })

    @property
    def apart_owner(self) -> Value:
        """Vector: the kernel for which the engine does, or is given, what is no command of its."""
        owners = (self.eviction_owner, *((self.yield_owner,) if self.geometry.watches else ()),
                  *((self.base_owner,) if self.geometry.proactive else ()))
        return functools.reduce(operator.or_, owners)

    def elaborate(self, platform: Any):
        m = Module()
        slots, held = self.geometry.kernel_slots, self.held
        m.submodules.options_given = given = Memory(
            shape=data.StructLayout({"options": preempt_options(self.geometry), "patience": 32,
                                     **({"grace": 32} if self.geometry.grace else {})}),
            depth=1 << len(held.kernel), init=[])
        store = given.write_port()
        load = given.read_port(domain="comb")
        # Turns are counted by commands that were taken, not by those that were offered.
        m.submodules.turns = turns = LeastRecent(slots, told=True)
        self._requests(m)
        index = Signal.like(held.kernel)  # the kernel whose turn it is
        pass_begun = Signal(slots)  # resumes that have had a pass
        room_changed = Signal()  # a TB has left since the command in hand was taken
        saves = Signal(slots)
        command_taken = Signal(slots)  # the kernel whose command is handed over in this cycle
        transfer = Signal()
        offer = self.engine.payload
        m.d.comb += [
            store.addr.eq(self.options.kernel), store.data.options.eq(self.options.options),
            store.data.patience.eq(self.options.patience), store.en.eq(self.options.valid),
            saves.eq(self.preempts & ~self.launching & ~self.graces),
            turns.requests.eq(Mux(held.valid, 0,
                                  Mux(saves.any(), saves,
                                      self.resumes & ~self.lacks_room | self.adopts))),
            index.eq(encode(turns.grant)), load.addr.eq(index),
            self.engine.valid.eq(turns.grant.any()),
            transfer.eq(turns.grant.any() & self.engine.ready),
            turns.served.eq(Mux(transfer, turns.grant, 0)), offer.kernel.eq(index),
            offer.adopt.eq((turns.grant & self.adopts).any()),
            offer.resume.eq(~saves.any() & ~offer.adopt),
            offer.again.eq(pass_begun.bit_select(index, 1)),
            offer.options.eq(load.data.options), offer.patience.eq(load.data.patience),
            command_taken.eq(Mux(transfer, turns.grant, 0)),
            self.command_owner.eq(Mux(held.valid, one_hot(held.kernel, slots) & ~self.apart_owner,
                                      command_taken)),
        ]
        for k, slot in enumerate(self.slots):
            m.d.comb += [slot.held.eq(self.command_owner[k]),
                         slot.preempt_taken.eq(command_taken[k] & ~offer.resume)]
        if self.geometry.proactive:  # the TBs that drain are spared, in the first of two passes
            drained = Signal(data.ArrayLayout(self.geometry.context_entries, slots))
            again = Cat(slot.again for slot in self.slots)
            m.d.comb += [*(drained[k].eq(slot.drained) for k, slot in enumerate(self.slots)),
                         offer.options.spared.eq(load.data.options.spared
                                                 | Mux(offer.resume, 0, drained[index]))]
            with m.If(~offer.resume):
                m.d.comb += offer.again.eq(again.bit_select(index, 1))
        evicting, given_up, changes = Const(0), Const(0, slots), Const(0)
        if self.geometry.in_place:
            evicting, given_up, changes = self._evict(m, turns, offer)
        busy = held.valid | evicting | saves.any()
        if self.geometry.watches:
            given_up = given_up | self._yield(m, turns, index, offer, command_taken, busy)
        else:
            m.d.comb += self.returns_waiting.eq(self.resumes.any())
        if self.geometry.proactive:
            self._bases(m, turns, offer, busy)
        if self.geometry.in_place or self.geometry.watches:
            m.d.comb += self.given_up.eq(given_up)
        if self.geometry.grace:
            grace_left = Signal(data.ArrayLayout(32, slots))
            m.d.comb += [grace_left[k].eq(slot.grace_left) for k, slot in enumerate(self.slots)]
            m.d.comb += [store.data.grace.eq(self.options.grace),
                         offer.grace_used.eq(load.data.grace - grace_left[index])]
        with m.If(transfer):
            m.d.sync += [held.valid.eq(1), held.kernel.eq(index),
                         held.resume.eq(offer.resume), room_changed.eq(0),
                         held.partial.eq(offer.options.spared.any() | offer.options.checkpoint)]
        with m.Elif(self.ended.valid):
            m.d.sync += held.valid.eq(0)
        # A TB that left during a pass may have left too late for it: then the next follows at once.
        with m.If(self.room_freed | changes):
            m.d.sync += [room_changed.eq(1), self.lacks_room.eq(0)]
        with m.Elif(self.ended.valid & self.ended.tbs_left & ~room_changed):
            m.d.sync += self.lacks_room.eq((self.lacks_room | one_hot(held.kernel, slots))
                                           & ~self.first)
        with m.Else():
            m.d.sync += self.lacks_room.eq(self.lacks_room & ~self.first)
        m.d.sync += pass_begun.eq((pass_begun | Mux(offer.resume, command_taken, 0)) & ~self.first)
        return m

    def _requests(self, m: Module):
        """Gather the wishes of the kernel slots in vectors."""
        for vector, member in ((self.preempts, "preempt_pending"), (self.graces, "grace_active"),
                               (self.resumes, "resume_pending"), (self.adopts, "adopt_pending"),
                               (self.first, "first_pass")):
            m.d.comb += vector.eq(Cat(getattr(slot, member) for slot in self.slots))

    def _yield(self, m: Module, turns: LeastRecent, index: Value, offer: data.View,
               command_taken: Value, busy: Value):
        """Offer the TB that yields, unless the engine is `busy`; in its turn bring back those of a
        kernel that are ready. Return the vector of kernels for which either is given up."""
        g, yields, leave, ended, held = (self.geometry, self.yields, self.yields.leave, self.ended,
                                         self.held)
        m.submodules.wake_refusals = refusals = MemoryRefusals(g)
        m.submodules.leave_refusals = unsaved = MemoryRefusals(g)
        yielder = Signal(g.kernel_slots)  # the kernel of what leaves or comes back
        transferred = Signal(g.kernel_slots)  # the kernel of what is handed over in this cycle
        pending = Signal(g.kernel_slots)  # kernels of which TBs are to be brought back
        wakes = Signal(g.kernel_slots)  # those of them whose TBs may come back now
        lacking = Signal(g.kernel_slots)  # the first whose last pass has found too little room
        unsettled = Signal(g.kernel_slots)  # kernels whose last pass memory has refused
        wake_ended = Signal(g.kernel_slots)  # the kernel of TBs that have come back, or have not
        leave_ended = Signal(g.kernel_slots)  # the kernel of a TB that has left, or has not
        owner = one_hot(held.kernel, g.kernel_slots)
        m.d.sync += lacking.eq(Mux(ended.valid & held.resume, Mux(
            ended.tbs_left, Mux(lacking.any(), lacking, owner), lacking & ~owner), lacking)
            & (self.resumes | pending) & ~self.first)
        m.d.sync += unsettled.eq(Mux(ended.valid & held.resume, Mux(
            ended.refused, unsettled | owner, unsettled & ~owner), unsettled) & ~self.first)
        m.d.comb += [pending.eq(Cat(entries.any() for entries in yields.wake_entries)
                                & self.running),
                     wakes.eq(pending & ~self.lacks_room & ~self.launching & ~refusals.pausing
                              & Mux(lacking.any(), lacking | unsettled, ~0)),
                     self.returns_waiting.eq(self.resumes.any()
                                             | (pending & ~refusals.pausing).any()),
                     wake_ended.eq(Mux(ended.valid & held.resume, yielder, 0)),
                     refusals.refused.eq(Mux(ended.refused, wake_ended, 0)),
                     refusals.done.eq(Mux(ended.refused, 0, wake_ended)),
                     refusals.forget.eq(self.first),
                     leave_ended.eq(Mux(ended.valid & ~held.resume, yielder, 0)),
                     unsaved.refused.eq(Mux(ended.refused, leave_ended, 0)),
                     unsaved.done.eq(Mux(ended.refused, 0, leave_ended)),
                     unsaved.forget.eq(self.first), yields.leave_pausing.eq(unsaved.pausing),
                     yields.leave_ended.eq(ended.valid & self.yield_owner.any()),
                     yields.wake_lacks_room.eq(
                         (self.lacks_room & (pending | self.resumes)).any()),
                     self.yield_owner.eq(yielder | transferred)]
        with m.If(~busy):
            m.d.comb += [turns.requests.eq(self.resumes & ~self.lacks_room | self.adopts | wakes),
                         offer.options.spared.eq(yields.resume_excluded[index])]
        # Only the entries that are ready come back.
        with m.If((turns.grant & wakes).any()):
            m.d.comb += [offer.yields.eq(1), offer.again.eq(1), offer.resume.eq(1),
                         offer.adopt.eq(0),
                         offer.options.spared.eq(~yields.wake_entries[index]),
                         *(offer.options[name].eq(0) for name in ("scramble", "gang")),
                         command_taken.eq(0),
                         transferred.eq(Mux(self.engine.ready, turns.grant, 0)),
                         yields.wake_taken.eq(transferred)]
        # A TB that yields goes before resumes and returns: it makes room for them.
        with m.If(leave.valid & ~busy & ~self.launching.bit_select(leave.kernel, 1)):
            self._offer_save(m, turns, leave.kernel, one_hot(leave.entry, g.context_entries))
            m.d.comb += [
                offer.yields.eq(1), offer.options.mechanism.eq(Mechanism.LIVE),
                offer.patience.eq(UNLIMITED_PATIENCE), yields.leave_taken.eq(self.engine.ready),
                transferred.eq(Mux(self.engine.ready, one_hot(leave.kernel, g.kernel_slots), 0))]
        with m.If(transferred.any()):
            m.d.sync += yielder.eq(transferred)
        with m.Elif(ended.valid):
            m.d.sync += yielder.eq(0)
        return refusals.given_up | unsaved.given_up

    def _offer_save(self, m: Module, turns: LeastRecent, kernel: Value, entries: Value):
        """Offer that TBs of a kernel are saved which no command asks for, in place of a command."""
        offer, held = self.engine.payload, self.held
        m.d.comb += [
            turns.requests.eq(0), self.engine.valid.eq(1), offer.kernel.eq(kernel),
            *(offer[name].eq(0) for name in ("resume", "adopt", "again", "options")),
            offer.options.spared.eq(~entries)]
        with m.If(self.engine.ready):
            m.d.sync += [held.valid.eq(1), held.kernel.eq(kernel), held.resume.eq(0),
                         held.partial.eq(1)]

    def _bases(self, m: Module, turns: LeastRecent, offer: data.View, busy: Value):
        """Offer the bases of an announcement, unless the engine is `busy`, or a TB yields."""
        g, bases, held = self.geometry, self.bases, self.held
        owner = Signal(g.kernel_slots, name="bases_saved_of")
        kernel = Signal(below(g.kernel_slots), name="base_kernel")
        entries = Signal(g.context_entries, name="base_entries")
        pending = Cat(each.any() for each in bases.entries) & ~self.launching
        offered = Signal(name="bases_offered")
        leaves = self.yields.leave.valid if g.watches else 0
        m.d.comb += [offered.eq(pending.any() & ~busy & ~leaves), kernel.eq(lowest_number(pending)),
                     self.base_owner.eq(owner),
                     self.bases_ended.valid.eq(self.ended.valid & owner.any()),
                     self.bases_ended.kernel.eq(held.kernel),
                     self.bases_ended.entries.eq(entries),
                     self.bases_ended.failed.eq(self.ended.failed)]
        with m.If(offered):
            self._offer_save(m, turns, kernel, bases.entries[kernel])
            m.d.comb += [
                offer.announced.eq(1), offer.hold.eq(~bases.run_on),
                offer.options.mechanism.eq(bases.mechanism), offer.patience.eq(bases.patience),
                offer.options.checkpoint.eq(1)]
            with m.If(self.engine.ready):
                m.d.comb += self.base_owner.eq(one_hot(kernel, g.kernel_slots))
                m.d.sync += [owner.eq(self.base_owner), entries.eq(bases.entries[kernel])]
        with m.If(self.ended.valid):
            m.d.sync += owner.eq(0)

    def _evict(self, m: Module, turns: LeastRecent, offer: data.View):
        """Offer the lowest row that is to be evicted, before anything else. Return whether one is
        offered, the vector of kernels that are given up, and whether all try again to find room."""
        g, held = self.geometry, self.held
        m.submodules.eviction_refusals = refusals = MemoryRefusals(g)
        m.submodules.stuck = stuck = StuckKernels(g)
        chosen = Signal(below(g.tb_slots))
        pending = Signal()
        owner = Signal(g.kernel_slots)  # the kernel of what is being evicted
        over = Signal(g.kernel_slots)
        pausing = Cat(refusals.pausing.bit_select(self.staying.rows[t].what.kernel, 1)
                      for t in range(g.tb_slots))
        rows = self.evict & self.staying.evictable & ~pausing
        m.d.comb += [
            chosen.eq(lowest_number(rows)),
            pending.eq(rows.any() & ~held.valid), self.eviction_owner.eq(owner),
            over.eq(Mux(self.ended.valid, owner, 0)), refusals.forget.eq(self.first),
            refusals.refused.eq(Mux(self.ended.refused, over, 0)),
            refusals.done.eq(Mux(self.ended.refused, 0, over)),
            stuck.given_up.eq(refusals.given_up), stuck.forget.eq(self.first.any()),
            stuck.idle.eq(~held.valid & ~self.engine.valid), self.stuck.eq(stuck.stuck),
        ]
        with m.If(pending):
            m.d.comb += [
                turns.requests.eq(0), self.engine.valid.eq(1), offer.evict.eq(1),
                offer.staying.eq(chosen), offer.resume.eq(0), offer.adopt.eq(0),
                offer.kernel.eq(self.staying.rows[chosen].what.kernel),
                offer.options.spared.eq(~0),
            ]
            with m.If(self.engine.ready):
                m.d.comb += self.eviction_owner.eq(one_hot(offer.kernel, g.kernel_slots))
                m.d.sync += [held.valid.eq(1), held.kernel.eq(offer.kernel), held.resume.eq(0),
                             owner.eq(self.eviction_owner)]
        with m.If(self.ended.valid):
            m.d.sync += owner.eq(0)
        # Once nothing is on its way any more that could make room.
        given_up = Mux(stuck.idle & stuck.stuck.any(), self.hopeless, 0)
        return pending, given_up, stuck.changes

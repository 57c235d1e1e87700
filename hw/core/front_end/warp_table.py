"""Warp table: who occupies each warp slot, and in which state it is."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import BARRIERS, Geometry
from ...arch.isa.liveness import LIVE_BITS
from ...interfaces import payloads as payload
from ...lib.bits import one_hot, select, spread
from .barriers import BARRIER_PLANES

__all__ = ["WarpTable", "identity"]


def identity(g: Geometry) -> data.StructLayout:
    """What `warp_init` says of a warp that never changes."""
    below = payload.below
    return data.StructLayout({
        "tb": below(g.tb_slots), "kernel": below(g.kernel_slots),
        "block_warp": below(g.max_block_warps),
        "base": payload.physical(g), "registers": 7, "launched": g.warp_size,
    })


class WarpTable(wiring.Component):
    """State of all warp slots, as vectors of one bit a warp.

    ::

        init -> valid -> start -> alive <-> waiting (bar.pp / release)
                                        <-> parked (pp.div while pending, stop_now / pending drops)
                                         -> dead (no lane left), faulted, killed -> free

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    init, init_valid : in
        `payloads.warp_init`, taken when `init_valid`.
    start, free, kill, pending, stop_now : in
        As in `FrontEnd`.
    trap : Signal(tb_slots), in; routines : Signal(warps), in
        With `Geometry.traps`. Vector: of `StopPort`. The warp that retires an instruction of a
        routine.
    waits, parks, arms, retires, faults, emptied, releases : Signal(warps), in
        Warps that arrive at `barrier`; that passed a `pp.div` while pending; that passed a `pp`
        while pending; that retire an instruction; that faulted; that lost their last lane; whose
        barrier is full.
    barrier : Signal, in
        Id of the barrier `waits` arrives at.
    yields : Signal(warps), in; yielding : Signal(warps), out
        With `Geometry.watches`. Vectors: `waits` if it does so by a ``bar.yield``; warps of which
        the barrier they wait at, or waited at last, was one. Of a warp that was restored it is
        none.
    live : In(valid, warp, vector)
        New live vector of a warp.
    alive : Signal(warps), out
        May fetch and issue in this cycle.
    valid, waiting, parked, armed, faulted : Signal(warps), out
    between : Signal(warps), out
        Parked by `stop_now`, between preemption points: the live vector is not that of where the
        warp stands.
    active : Signal(warps), out
        Started, and neither out of lanes nor killed.
    ended : Signal(warps), out
        Out of lanes or killed.
    pending_warps : Signal(warps), out
        Warps of TBs that are to stop.
    trapping : Signal(warps), out
        Those of them that go on in their kernel's routines, but for the next instruction of a warp
        that has just come back from one: it retires before the warp is trapped again.
    barriers : list of Signal(warps), out
        Bit planes of the barrier id each warp waits at.
    members : list of Signal(warps), out
        Warps of each TB slot.
    fetch_warp, fetch_kernel, issue_warp, issue_identity, view_warp, view_identity, view_live
        Combinational read ports.
    """

    init: data.View
    init_valid: Signal
    start: data.View
    free: Signal
    kill: Signal
    pending: Signal
    stop_now: Signal
    trap: Signal
    routines: Signal
    waits: Signal
    parks: Signal
    arms: Signal
    retires: Signal
    faults: Signal
    emptied: Signal
    releases: Signal
    barrier: Signal
    yields: Signal
    yielding: Signal
    live: data.View
    alive: Signal
    valid: Signal
    waiting: Signal
    parked: Signal
    between: Signal
    armed: Signal
    faulted: Signal
    active: Signal
    ended: Signal
    pending_warps: Signal
    trapping: Signal
    barriers: list[Signal]
    members: list[Signal]
    fetch_warp: Signal
    fetch_kernel: Signal
    issue_warp: Signal
    issue_identity: data.View
    view_warp: data.View
    view_identity: data.View
    view_live: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        below = payload.below
        warp = below(g.warps)
        super().__init__({
            "init": In(payload.warp_init(g)), "init_valid": In(1),
            "start": In(payload.tb_event(g)),
            "free": In(g.warps), "kill": In(g.warps),
            "pending": In(g.tb_slots), "stop_now": In(g.tb_slots),
            **{name: In(g.warps)
               for name in ("waits", "parks", "arms", "retires", "faults", "emptied", "releases")},
            **({"trap": In(g.tb_slots), "routines": In(g.warps), "trapping": Out(g.warps)}
               if g.traps else {}),
            **({"yields": In(g.warps), "yielding": Out(g.warps)} if g.watches else {}),
            "barrier": In(below(BARRIERS)),
            "live": In(data.StructLayout({"valid": 1, "warp": warp, "vector": LIVE_BITS})),
            **{name: Out(g.warps) for name in ("alive", "valid", "waiting", "parked", "between",
                                               "armed", "faulted", "active", "ended",
                                               "pending_warps")},
            "barriers": Out(g.warps).array(BARRIER_PLANES),
            "members": Out(g.warps).array(g.tb_slots),
            "fetch_warp": In(warp), "fetch_kernel": Out(below(g.kernel_slots)),
            "issue_warp": In(warp), "issue_identity": Out(identity(g)),
            "view_warp": In(data.ArrayLayout(warp, 2)),
            "view_identity": Out(data.ArrayLayout(identity(g), 2)),
            "view_live": Out(data.ArrayLayout(LIVE_BITS, 2)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        warps = self.geometry.warps
        fresh = Signal(warps)  # initialised in this cycle
        gone = Signal(warps)   # forget all state: initialised or freed in this cycle
        m.d.comb += [fresh.eq(one_hot(self.init.warp, warps) & spread(self.init_valid, warps)),
                     gone.eq(fresh | self.free)]
        self._groups(m, fresh, gone)
        if self.geometry.traps:
            self._traps(m, gone)
        self._states(m, fresh, gone)
        self._memories(m)
        return m

    def _groups(self, m: Module, fresh: Value, gone: Value):
        """Warps of each TB."""
        g = self.geometry
        for t in range(g.tb_slots):
            of_tb = self.members[t]
            m.d.sync += of_tb.eq(of_tb & ~gone | fresh & spread(self.init.tb == t, g.warps))
        m.d.comb += self.pending_warps.eq(select(self.pending | self.stop_now, self.members))

    def _traps(self, m: Module, gone: Value):
        """Warps that are to be trapped."""
        returned = Signal(self.geometry.warps)  # the last instruction was one of a routine
        m.d.comb += self.trapping.eq(select(self.trap, self.members) & ~returned)
        m.d.sync += returned.eq((returned & ~self.retires | self.routines) & ~gone)

    def _states(self, m: Module, fresh: Value, gone: Value):
        g = self.geometry
        started = Signal(g.warps)
        killed = Signal(g.warps)
        dead = Signal(g.warps)
        starting = select(one_hot(self.start.tb, g.tb_slots)
                          & spread(self.start.valid, g.tb_slots), self.members)
        stopping = select(self.stop_now, self.members)
        able = Signal(g.warps)
        stopped = Signal(g.warps)
        m.d.comb += [
            able.eq(self.active
                    & ~(self.waiting | self.parked | self.faulted | self.kill | self.free)),
            stopped.eq(able & stopping), self.alive.eq(able & ~stopping),
            self.active.eq(started & ~self.ended), self.ended.eq(self.valid & (dead | killed)),
        ]
        kept = ~gone
        m.d.sync += [
            self.valid.eq(self.valid & ~self.free | fresh),
            started.eq((started | starting) & kept),
            self.waiting.eq((self.waiting | self.waits) & ~self.releases & kept
                            | fresh & spread(self.init.waiting, g.warps)),
            self.parked.eq((self.parked & self.pending_warps | self.parks | stopped) & kept),
            self.between.eq((self.between & self.pending_warps | stopped) & kept),
            self.armed.eq((self.armed & ~self.retires & ~stopped | self.arms) & kept),
            self.faulted.eq((self.faulted | self.faults) & kept),
            killed.eq((killed | self.kill & self.valid) & kept),
            dead.eq((dead | self.emptied) & kept | fresh & spread(~self.init.live.any(), g.warps)),
        ]
        if g.watches:
            m.d.sync += self.yielding.eq(self.yielding & ~(fresh | self.waits) | self.yields)
        for p in range(BARRIER_PLANES):
            plane = self.barriers[p]
            m.d.sync += plane.eq(plane & ~(fresh | self.waits) | fresh & spread(
                self.init.barrier[p], g.warps) | self.waits & spread(self.barrier[p], g.warps))

    def _memories(self, m: Module):
        g = self.geometry
        slots = 1 << len(self.fetch_warp)
        m.submodules.identities = identities = Memory(shape=identity(g), depth=slots, init=[])
        m.submodules.live_vectors = live_vectors = Memory(shape=LIVE_BITS, depth=slots, init=[])
        write = identities.write_port()
        write_live = live_vectors.write_port()
        # an initialisation takes the issue slot
        m.d.comb += [write.addr.eq(self.init.warp), write.en.eq(self.init_valid),
                     write_live.addr.eq(Mux(self.init_valid, self.init.warp, self.live.warp)),
                     write_live.data.eq(Mux(self.init_valid, self.init.live_vector,
                                            self.live.vector)),
                     write_live.en.eq(self.init_valid | self.live.valid)]
        m.d.comb += [write.data[name].eq(self.init[name]) for name, _ in identity(g)]

        def read(memory: Memory, address: Value):
            port = memory.read_port(domain="comb")
            m.d.comb += port.addr.eq(address)
            return port.data

        m.d.comb += [self.fetch_kernel.eq(read(identities, self.fetch_warp).kernel),
                     self.issue_identity.eq(read(identities, self.issue_warp))]
        for number in range(2):
            warp = self.view_warp[number]
            m.d.comb += [self.view_identity[number].eq(read(identities, warp)),
                         self.view_live[number].eq(read(live_vectors, warp))]

"""Warp table: which warp occupies each warp slot, and in which state it is."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import BARRIERS, Geometry
from ...arch.isa.liveness import LIVE_BITS
from ...interfaces import payloads as payload
from ...interfaces.port import Port
from ...lib.bits import one_hot, select, spread
from .barriers import BARRIER_PLANES

__all__ = ["FetchTablePort", "WarpEventPort", "WarpTable", "identity"]


def identity(g: Geometry) -> data.StructLayout:
    """Fields of `warp_init` that never change for a warp."""
    below = payload.below
    return data.StructLayout({
        "tb": below(g.tb_slots), "kernel": below(g.kernel_slots),
        "block_warp": below(g.max_block_warps),
        "base": payload.physical(g), "registers": 7, "launched": g.warp_size,
    })


class WarpEventPort(wiring.Signature):
    """Reads what is known of a warp, and tells what its instruction does to it. Directions are the
    issue stage's.

    Attributes
    ----------
    warp : Signal, out
        The warp that was chosen.
    identity : identity, in
        Which warp of which thread block it is; combinational.
    armed, pending : Signal(warps), in
        Vectors: warps between a `pp` that stops them and its `pp.div`; warps of TBs that are to
        stop.
    retires, waits, arms, parks : Signal(warps), out
        Vectors of the chosen warp or none: its instruction retires; it arrives at `barrier`; it
        passes a `pp` that stops it; it passes a `pp.div` that stops it.
    barrier : Signal, out
        Id of the barrier that the warp arrives at.
    live : struct, out
        While `valid` the live vector of the chosen warp becomes `vector`.
    trapping : Signal(warps), in
        Vector: warps that go on in their kernel's routines. Exists only with `Geometry.traps`.
    routines : Signal(warps), out
        Vector: the warp that retires an instruction of a routine. Exists only with
        `Geometry.traps`.
    yields : Signal(warps), out
        Vector: the warp that arrives at a barrier by a ``bar.yield``. Exists only with
        `Geometry.watches`.
    """

    def __init__(self, g: Geometry):
        out = ["retires", "waits", "arms", "parks", *["routines"] * g.traps,
               *["yields"] * (g.watches > 0)]
        super().__init__({
            "warp": Out(payload.below(g.warps)), "identity": In(identity(g)),
            **{name: In(g.warps) for name in ("armed", "pending", *["trapping"] * g.traps)},
            **{name: Out(g.warps) for name in out}, "barrier": Out(payload.below(BARRIERS)),
            "live": Out(data.StructLayout({"valid": 1, "vector": LIVE_BITS}))})


class FetchTablePort(wiring.Signature):
    """Reads which warps may fetch. Combinational; directions are the fetch unit's.

    Attributes
    ----------
    warp : Signal, out; kernel : Signal, in
        A warp, and its kernel slot.
    alive, armed, pending : Signal(warps), in
        Vectors: warps that may fetch and issue in this cycle; those between a `pp` that stops them
        and its `pp.div`; those of TBs that are to stop.
    """

    def __init__(self, g: Geometry):
        super().__init__({"warp": Out(payload.below(g.warps)),
                          "kernel": In(payload.below(g.kernel_slots)),
                          **{name: In(g.warps) for name in ("alive", "armed", "pending")}})


class WarpTable(wiring.Component):
    """State of all warp slots, as vectors of one bit per warp.

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
        Described in `FrontEnd`.
    trap : Signal(tb_slots), in
        Described in `StopPort`; exists only with `Geometry.traps`.
    issue : WarpEventPort, in
        Port of the issue stage. A warp that has just come back from a routine is `trapping` again
        only once its next instruction retires.
    fetch : FetchTablePort, in
        Port of the fetch unit.
    faults, emptied, releases : Signal(warps), in
        Vectors: warps that faulted; that lost their last lane; whose barrier is full.
    yielding : Signal(warps), out
        Vector: warps that wait, or waited last, at a ``bar.yield``. A restored warp counts as
        waiting at another barrier. Exists only with `Geometry.watches`.
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
    barriers : list of Signal(warps), out
        Bit planes of the barrier id each warp waits at.
    members : list of Signal(warps), out
        Warps of each TB slot.
    view_warp, view_identity, view_live
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
    issue: Port
    fetch: Port
    faults: Signal
    emptied: Signal
    releases: Signal
    yielding: Signal
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
    barriers: list[Signal]
    members: list[Signal]
    view_warp: data.View
    view_identity: data.View
    view_live: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        warp = payload.below(g.warps)
        super().__init__({
            "init": In(payload.warp_init(g)), "init_valid": In(1),
            "start": In(payload.tb_event(g)),
            "free": In(g.warps), "kill": In(g.warps),
            "pending": In(g.tb_slots), "stop_now": In(g.tb_slots),
            "issue": In(WarpEventPort(g)), "fetch": In(FetchTablePort(g)),
            **{name: In(g.warps) for name in ("faults", "emptied", "releases")},
            **({"trap": In(g.tb_slots)} if g.traps else {}),
            **({"yielding": Out(g.warps)} if g.watches else {}),
            **{name: Out(g.warps) for name in ("alive", "valid", "waiting", "parked", "between",
                                               "armed", "faulted", "active", "ended",
                                               "pending_warps")},
            "barriers": Out(g.warps).array(BARRIER_PLANES),
            "members": Out(g.warps).array(g.tb_slots),
            "view_warp": In(data.ArrayLayout(warp, 2)),
            "view_identity": Out(data.ArrayLayout(identity(g), 2)),
            "view_live": Out(data.ArrayLayout(LIVE_BITS, 2)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        warps = self.geometry.warps
        fresh = Signal(warps)  # initialised in this cycle
        slot_reset = Signal(warps)  # forget all state: initialised or freed in this cycle
        m.d.comb += [fresh.eq(one_hot(self.init.warp, warps) & spread(self.init_valid, warps)),
                     slot_reset.eq(fresh | self.free)]
        m.d.comb += [port.armed.eq(self.armed) for port in (self.issue, self.fetch)]
        m.d.comb += [port.pending.eq(self.pending_warps) for port in (self.issue, self.fetch)]
        m.d.comb += self.fetch.alive.eq(self.alive)
        self._groups(m, fresh, slot_reset)
        if self.geometry.traps:
            self._traps(m, slot_reset)
        self._states(m, fresh, slot_reset)
        self._memories(m)
        return m

    def _groups(self, m: Module, fresh: Value, slot_reset: Value):
        """Warps of each TB."""
        g = self.geometry
        for t in range(g.tb_slots):
            of_tb = self.members[t]
            m.d.sync += of_tb.eq(of_tb & ~slot_reset | fresh & spread(self.init.tb == t, g.warps))
        m.d.comb += self.pending_warps.eq(select(self.pending | self.stop_now, self.members))

    def _traps(self, m: Module, slot_reset: Value):
        """Warps that are to be trapped."""
        returned = Signal(self.geometry.warps)  # the last instruction was one of a routine
        m.d.comb += self.issue.trapping.eq(select(self.trap, self.members) & ~returned)
        m.d.sync += returned.eq((returned & ~self.issue.retires | self.issue.routines)
                                & ~slot_reset)

    def _states(self, m: Module, fresh: Value, slot_reset: Value):
        g, issue = self.geometry, self.issue
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
        no_reset = ~slot_reset
        m.d.sync += [
            self.valid.eq(self.valid & ~self.free | fresh),
            started.eq((started | starting) & no_reset),
            self.waiting.eq((self.waiting | issue.waits) & ~self.releases & no_reset
                            | fresh & spread(self.init.waiting, g.warps)),
            self.parked.eq((self.parked & self.pending_warps | issue.parks | stopped) & no_reset),
            self.between.eq((self.between & self.pending_warps | stopped) & no_reset),
            self.armed.eq((self.armed & ~issue.retires & ~stopped | issue.arms) & no_reset),
            self.faulted.eq((self.faulted | self.faults) & no_reset),
            killed.eq((killed | self.kill & self.valid) & no_reset),
            dead.eq((dead | self.emptied) & no_reset
                    | fresh & spread(~self.init.live.any(), g.warps)),
        ]
        if g.watches:
            m.d.sync += self.yielding.eq(self.yielding & ~(fresh | issue.waits) | issue.yields)
        for p in range(BARRIER_PLANES):
            plane = self.barriers[p]
            m.d.sync += plane.eq(plane & ~(fresh | issue.waits) | fresh & spread(
                self.init.barrier[p], g.warps) | issue.waits & spread(issue.barrier[p], g.warps))

    def _memories(self, m: Module):
        g, issue, fetch = self.geometry, self.issue, self.fetch
        slots = 1 << len(fetch.warp)
        m.submodules.identities = identities = Memory(shape=identity(g), depth=slots, init=[])
        m.submodules.live_vectors = live_vectors = Memory(shape=LIVE_BITS, depth=slots, init=[])
        write = identities.write_port()
        write_live = live_vectors.write_port()
        # an initialisation takes the issue slot
        m.d.comb += [write.addr.eq(self.init.warp), write.en.eq(self.init_valid),
                     write_live.addr.eq(Mux(self.init_valid, self.init.warp, issue.warp)),
                     write_live.data.eq(Mux(self.init_valid, self.init.live_vector,
                                            issue.live.vector)),
                     write_live.en.eq(self.init_valid | issue.live.valid)]
        m.d.comb += [write.data[name].eq(self.init[name]) for name, _ in identity(g)]

        def read(memory: Memory, address: Value):
            port = memory.read_port(domain="comb")
            m.d.comb += port.addr.eq(address)
            return port.data

        m.d.comb += [fetch.kernel.eq(read(identities, fetch.warp).kernel),
                     issue.identity.eq(read(identities, issue.warp))]
        for number in range(2):
            warp = self.view_warp[number]
            m.d.comb += [self.view_identity[number].eq(read(identities, warp)),
                         self.view_live[number].eq(read(live_vectors, warp))]

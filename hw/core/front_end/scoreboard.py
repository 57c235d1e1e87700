"""Scoreboard: which registers, predicates and memory operations of each warp are outstanding."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import PREDICATES, Geometry
from ...arch.isa.opcodes import PT
from ...interfaces import payloads as payload
from ...interfaces.port import Port
from ...lib.bits import one_hot, spread
from ...lib.vectors import BitSlicedCounters

__all__ = ["Scoreboard", "OperationsPort", "OutstandingOperations", "register_masks",
           "reservation"]


def register_masks(g: Geometry, op: data.View) -> tuple:
    """Return the registers and predicates that an instruction reads, and those that it writes.

    Parameters
    ----------
    g : Geometry
    op : View(interfaces.decoded())

    Returns
    -------
    tuple of four Value
        Vectors: registers read, predicates read (the guard included), registers written, predicates
        written. Registers from `regs_per_thread` up are left out (they fault).
    """
    count = g.regs_per_thread

    def register(use: Value, number: Value, pair: Value):
        low = one_hot(number, count)  # the first of a pair is even
        return spread(use, count) & (low | spread(pair, count) & Cat(Const(0, 1), low)[:count])

    def predicate(use: Value, number: Value):
        return spread(use, PREDICATES) & one_hot(number, PREDICATES)

    single = one_hot(op.d, count)  # data_registers is 1, 2 or 4, and d a multiple of it
    double = single | Cat(Const(0, 1), single)[:count]
    quad = double | Cat(Const(0, 2), double)[:count]
    group = Mux(op.data_registers[2], quad, Mux(op.data_registers[1], double, single))
    reads = (register(op.reads_a, op.a, op.pair_a) | register(op.reads_b, op.b, op.pair_b)
             | register(op.reads_c, op.c, op.pair_c) | spread(op.reads_d, count) & group)
    predicates = (predicate(op.guard != PT, op.guard) | predicate(op.reads_pa, op.pa)
                  | predicate(op.reads_pb, op.pb))
    return reads, predicates, spread(op.writes_d, count) & group, predicate(op.writes_pd, op.pd)


def reservation(g: Geometry) -> data.StructLayout:
    """While `valid`, `warp` issues an instruction that writes these registers and predicates;
    `remote`: its registers come over the bus."""
    return data.StructLayout({"valid": 1, "warp": payload.below(g.warps),
                              "registers": g.regs_per_thread, "predicates": PREDICATES,
                              "remote": 1})


class Scoreboard(wiring.Component):
    """Pending writes of every warp, and whether the instruction each warp holds has to wait for
    one.

    Parameters
    ----------
    g : Geometry
    observed : bool
        The scoreboard has port `far`, for simulations.

    Attributes
    ----------
    fill : In(valid, warp, registers, predicates)
        `warp` now holds an instruction that reads or writes these.
    reserve : reservation, in
        Counts from the next cycle on.
    release_register, release_predicate : in
        Written; counts from the next cycle on.
    forget : Signal(warps), in
        Vector: nothing is pending from the next cycle on.
    hazard : Signal(warps), out
        The instruction held needs something pending.
    pending : Signal(warps), out
        Something is pending.
    near : Signal(warps), out
        Something is pending that does not come over the bus.
    far : Signal(warps), out
        The instruction held needs a register that comes over the bus.
    """

    fill: data.View
    reserve: data.View
    release_register: data.View
    release_predicate: data.View
    forget: Signal
    hazard: Signal
    pending: Signal
    near: Signal
    far: Signal

    def __init__(self, g: Geometry, observed: bool = False):
        self.geometry, self.observed = g, observed
        warp = payload.below(g.warps)
        super().__init__({
            "fill": In(data.StructLayout({"valid": 1, "warp": warp, "registers": g.regs_per_thread,
                                          "predicates": PREDICATES})),
            "reserve": In(reservation(g)),
            "release_register": In(payload.register_release(g)),
            "release_predicate": In(payload.predicate_release(g)),
            "forget": In(g.warps),
            "hazard": Out(g.warps), "pending": Out(g.warps), "near": Out(g.warps),
            **({"far": Out(g.warps)} if observed else {}),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        register = Signal(g.regs_per_thread)
        predicate = Signal(PREDICATES)
        m.d.comb += [register.eq(one_hot(self.release_register.register, g.regs_per_thread)),
                     predicate.eq(one_hot(self.release_predicate.predicate, PREDICATES))]
        over_the_bus = Signal(g.regs_per_thread)  # of what is reserved
        m.d.comb += over_the_bus.eq(self.reserve.registers
                                    & spread(self.reserve.remote, g.regs_per_thread))
        fills = Signal(g.warps)
        reserves = Signal(g.warps)
        registers = Signal(g.warps, name="registers_released")
        predicates = Signal(g.warps, name="predicates_released")
        for vector, port in ((fills, self.fill), (reserves, self.reserve),
                             (registers, self.release_register),
                             (predicates, self.release_predicate)):
            m.d.comb += vector.eq(one_hot(port.warp, g.warps) & spread(port.valid, g.warps))
        for w in range(g.warps):
            with_registers = self._pending(m, f"registers{w}", fills[w],
                                           self.fill.registers, reserves[w],
                                           self.reserve.registers, registers[w], register,
                                           self.forget[w])
            with_predicates = self._pending(m, f"predicates{w}", fills[w],
                                            self.fill.predicates, reserves[w],
                                            self.reserve.predicates, predicates[w], predicate,
                                            self.forget[w])
            remote = Signal(g.regs_per_thread, name=f"remote{w}")
            with m.If(reserves[w]):
                m.d.sync += remote.eq(remote & ~self.reserve.registers | over_the_bus)
            m.d.comb += [self.hazard[w].eq(with_registers[0] | with_predicates[0]),
                         self.pending[w].eq(with_registers[1].any() | with_predicates[1].any()),
                         self.near[w].eq((with_registers[1] & ~remote).any()
                                         | with_predicates[1].any())]
            if self.observed:
                m.d.comb += self.far[w].eq((with_registers[2] & remote).any())
        return m

    @staticmethod
    def _pending(m: Module, name: str, fill: Value, needs: Value, reserve: Value, writes: Value,
                 release: Value, released: Value, forget: Value) -> tuple:
        """State of one warp; return whether it has a hazard, what is pending, and what of that it
        needs."""
        need = Signal(len(needs), name=f"need_{name}")
        pending = Signal(len(needs), name=f"pending_{name}")
        with m.If(fill):
            m.d.sync += need.eq(needs)
        with m.If(forget):
            m.d.sync += pending.eq(0)
        with m.Elif(reserve | release):
            m.d.sync += pending.eq(pending & ~(released & spread(release, len(needs)))
                                   | writes & spread(reserve, len(needs)))
        return (pending & need).any(), pending, pending & need


class OperationsPort(wiring.Signature):
    """Memory operations that issue. Directions are the issue stage's.

    Attributes
    ----------
    loads, stores, shared, atomics : Signal(warps), out
        Vectors: the warp that issues a global load, a global store, a shared access, a global
        atomic.
    """

    def __init__(self, g: Geometry):
        super().__init__(dict.fromkeys(("loads", "stores", "shared", "atomics"), Out(g.warps)))


class OutstandingOperations(wiring.Component):
    """Memory operations issued and not completed, of every warp; up to `LIMIT` of a kind, one
    global atomic.

    Attributes
    ----------
    issued : OperationsPort, in
        Operations that count from the next cycle on.
    load_done, store_done, shared_done, atomic_done : in
        `payloads.warp_event`.
    forget : Signal(warps), in
        Vector: nothing is outstanding from the next cycle on.
    loads, stores, shared, atomics : Signal(warps), out
        Some outstanding.
    loads_full, stores_full, shared_full, atomics_full : Signal(warps), out
        No more operations may be issued: `LIMIT` are outstanding, or one atomic.
    """

    issued: Port
    load_done: data.View
    store_done: data.View
    shared_done: data.View
    atomic_done: data.View
    forget: Signal
    loads: Signal
    stores: Signal
    shared: Signal
    atomics: Signal
    loads_full: Signal
    stores_full: Signal
    shared_full: Signal
    atomics_full: Signal

    BITS = 4
    LIMIT = (1 << BITS) - 1

    def __init__(self, g: Geometry):
        self.geometry = g
        kinds = {"load": "loads", "store": "stores", "shared": "shared", "atomic": "atomics"}
        self._kinds = kinds
        super().__init__({
            "issued": In(OperationsPort(g)),
            **{f"{kind}_done": In(payload.warp_event(g)) for kind in kinds},
            "forget": In(g.warps),
            **{name: Out(g.warps) for name in kinds.values()},
            **{f"{name}_full": Out(g.warps) for name in kinds.values()},
        })

    def elaborate(self, platform: Any):
        m = Module()
        warps = self.geometry.warps
        # One bit suffices for atomics: a warp has at most one outstanding.
        for kind, name in self._kinds.items():
            m.submodules[name] = counters = BitSlicedCounters(warps,
                                                              1 if kind == "atomic" else self.BITS)
            done = getattr(self, f"{kind}_done")
            m.d.comb += [
                counters.up.eq(getattr(self.issued, name)),
                counters.down.eq(one_hot(done.warp, warps) & spread(done.valid, warps)),
                counters.clear.eq(self.forget),
                getattr(self, name).eq(counters.any),
                getattr(self, f"{name}_full").eq(counters.full),
            ]
        return m

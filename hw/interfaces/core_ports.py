"""Ports between the blocks of a core, and between the core and its dispatcher."""

from collections.abc import Iterable

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..arch.registers import ADDRESS_BITS as REGISTER_ADDRESS_BITS
from . import payloads as payload
from .preemption_port import WarpLaunchPort

__all__ = ["HostPort", "ResidencyPort", "PredicatePort", "IssuePort",
           "MemoryAccessPort", "CompletionPort"]


class HostPort(wiring.Signature):
    """Software's side of the register map. Directions are the host's.

    Parameters
    ----------
    address_bits : int
        Those of an SM, or of a device.

    Attributes
    ----------
    address : Signal(address_bits), out
        Byte address of a register (`hw.arch.registers`).
    write : Signal(1), out
        `write_data` is taken into the register at `address` in this cycle.
    write_data : Signal(32), out
        The word.
    read_data : Signal(32), in
        The register at `address`, one cycle later.
    interrupt : Signal(1), in
        The OR of the bits of register ``event``.
    """

    def __init__(self, address_bits: int = REGISTER_ADDRESS_BITS):
        super().__init__({"address": Out(address_bits), "write": Out(1),
                          "write_data": Out(32), "read_data": In(32), "interrupt": In(1)})


class ResidencyPort(wiring.Signature):
    """Which warps the front end holds. Directions are the dispatcher's.

    Attributes
    ----------
    launch : WarpLaunchPort, out
        Puts warps into their slots.
    free : Signal(warps), out
        Vector: slots that become empty, whose warps are exited, stopped or killed.
    kill : Signal(warps), out
        Vector: warps that issue nothing more and become `exited` when nothing of them is
        outstanding.
    forget : Signal(warps), out
        Vector, some of `free`: `losable` warps. Whatever memory still answers them has no effect;
        what has not been asked of it never is.
    losable : Signal(warps), in
        Vector: warps that are killed or out of lanes, of which nothing is outstanding but accesses
        of global, local and constant memory.
    lingering : Signal(1), in
        Accesses of forgotten warps may still be on the bus, from the cycle after `forget` until the
        last that was in a queue then has been answered.
    invalidate : Signal(1), out
        The caches of instructions and constants forget everything.
    """

    def __init__(self, g: Geometry):
        super().__init__({"launch": Out(WarpLaunchPort(g)), "free": Out(g.warps),
                          "kill": Out(g.warps), "forget": Out(g.warps),
                          "losable": In(g.warps), "lingering": In(1), "invalidate": Out(1)})


class PredicatePort(wiring.Signature):
    """Reads predicates of a warp in all lanes. Combinational; number 7 reads all ones.

    Attributes
    ----------
    select : out
        A warp, and the predicates of its guard and of operands pa and pb.
    guard, pa, pb : Signal(warp_size), in
        Their lanes, not negated.
    """

    def __init__(self, g: Geometry):
        super().__init__({"select": Out(data.StructLayout({
            "warp": payload.below(g.warps), "guard": 3, "pa": 3, "pb": 3})),
            "guard": In(g.warp_size), "pa": In(g.warp_size), "pb": In(g.warp_size)})


class IssuePort(wiring.Signature):
    """Instructions that issue, and what comes of them. Directions are the front end's.

    `op.ready`, `throttle` and the predicates are used within the cycle; `op.ready` and `throttle`
    must not depend on `op.valid` or its payload.

    Parameters
    ----------
    g : Geometry
    units : iterable of str
        Units that take one instruction at a time.

    Attributes
    ----------
    op : stream of payloads.issue, out
        A warp instruction.
    throttle : Signal(1), in
        Write back is behind: no ALU instruction is to issue in this cycle. Combinational.
    predicates : PredicatePort, out
        The predicates of the warp about to issue.
    release_register, release_predicate : in
        `valid` for one cycle: written, no longer pending; it can be read from the next cycle.
    room : in
        A bit for each unit that takes one instruction at a time: for one cycle, it has its place
        free again.
    holding : Signal(warps), in
        Vector: warps with an instruction that has not come to its unit yet.
    uniform_predicate : stream of payloads.predicate_write, out
        Predicates set by the uniform data path.
    """

    def __init__(self, g: Geometry, units: Iterable[str]):
        super().__init__({
            "op": Out(stream.Signature(payload.issue(g))), "throttle": In(1),
            "predicates": Out(PredicatePort(g)),
            "release_register": In(payload.register_release(g)),
            "release_predicate": In(payload.predicate_release(g)),
            "room": In(data.StructLayout(dict.fromkeys(units, 1))), "holding": In(g.warps),
            "uniform_predicate": Out(stream.Signature(payload.predicate_write(g))),
        })


class MemoryAccessPort(wiring.Signature):
    """Accesses of a memory unit, and what they load. Directions are the execution pipeline's.

    Parameters
    ----------
    g : Geometry
    words : int
        Registers of data that come with an access; 0 if the unit only loads.

    Attributes
    ----------
    op : stream of payloads.memory_op, out
        Beats, 3 cycles after issue if nothing is in the way.
    write : stream of payloads.register_write, in
        The loaded values.
    """

    def __init__(self, g: Geometry, words: int = 4):
        super().__init__({"op": Out(stream.Signature(payload.memory_op(g, words))),
                          "write": In(stream.Signature(payload.register_write(g)))})


class CompletionPort(wiring.Signature):
    """Tells the front end how far a memory unit is. Directions are the unit's.

    Parameters
    ----------
    g : Geometry
    kinds : iterable of str
        Kinds of accesses whose completion matters.
    remote : bool
        The unit's accesses go over the bus: a warp may be forgotten while they are outstanding.

    Attributes
    ----------
    room : Signal(1), out
        One cycle: a place of the unit's queue, which has `unit_queue` at reset, is free again.
    load, store, atomic, shared : payloads.warp_event, out
        An access of this kind is complete: all data of a load is written, all of a store is
        acknowledged, an atomic or an access of shared memory has nothing left to do.
    forget : Signal(1), in
        A warp is forgotten; `generations` changes with the next cycle. This and the next two are
        those of a `remote` unit.
    generations : payloads.generations, in
        An access of another generation than its warp's has no effect.
    lingering : Signal(1), out
        Something that was in the unit at the last `forget` is still there.
    """

    def __init__(self, g: Geometry, kinds: Iterable[str] = (), remote: bool = False):
        forgetting = {"forget": In(1), "generations": In(payload.generations(g)),
                      "lingering": Out(1)} if remote else {}
        super().__init__({"room": Out(1)} | forgetting
                         | {kind: Out(payload.warp_event(g)) for kind in kinds})

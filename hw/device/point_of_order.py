"""The point of order: an atomic of one SM does not read what that of another is about to write."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..arch.geometry import Geometry
from ..interfaces.gpu_ports import SEGMENT_BITS, OrderPort
from ..interfaces.port import Port
from ..lib.bits import one_hot, select
from ..lib.vectors import LeastRecent

__all__ = ["LOCK_BITS", "PointOfOrder", "lock_of"]

LOCK_BITS = 6
"""Segments are told apart by so many bits of a hash: two with the same wait for each other."""


def lock_of(segment: Value):
    """Return the lock of a segment: neighbouring segments have different ones."""
    parts = [segment[low:low + LOCK_BITS] for low in range(0, SEGMENT_BITS, LOCK_BITS)]
    hashed = parts[0]
    for part in parts[1:]:
        hashed = hashed ^ part
    return hashed[:LOCK_BITS]


class PointOfOrder(wiring.Component):
    """Gives segments of memory to SMs, one per cycle, each to one SM at a time.

    A segment given back is given again from the next cycle on, to the SM whose last one is longest
    ago. No SM waits for ever: the owner of a segment needs no other one to give it back.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    ports : list of OrderPort, in
        The SMs, and the queue processor if there is one.
    """

    ports: list[Port]

    def __init__(self, g: Geometry):
        self.owners = g.sms + (g.queues > 0)
        self.locks = Signal(1 << LOCK_BITS)
        super().__init__({"ports": In(OrderPort()).array(self.owners)})

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.turns = turns = LeastRecent(self.owners)
        locks = self.locks
        requests = [Signal(LOCK_BITS, name=f"requests_{i}") for i in range(self.owners)]
        given = [Mux(port.give.valid, one_hot(lock_of(port.give.segment), 1 << LOCK_BITS), 0)
                 for port in self.ports]
        for i, port in enumerate(self.ports):
            m.d.comb += [requests[i].eq(lock_of(port.take.payload)),
                         port.take.ready.eq(turns.grant[i])]
        m.d.comb += turns.requests.eq(Cat(port.take.valid & ~locks.bit_select(lock, 1)
                                          for port, lock in zip(self.ports, requests, strict=True)))
        granted = Mux(turns.grant.any(), one_hot(select(turns.grant, requests), 1 << LOCK_BITS), 0)
        released = select(Cat(port.give.valid for port in self.ports), given)
        m.d.sync += locks.eq(locks & ~released | granted)
        return m

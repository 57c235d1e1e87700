"""Coalescing: the lanes of a global access become accesses to aligned 128-byte segments."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.faults import Fault
from ...arch.geometry import ADDRESS_BITS, PC_BITS, SEGMENT_BYTES, Geometry
from ...arch.isa.opcodes import Size
from ...interfaces import payloads as payload
from ...lib.bits import lowest, select
from .generation import is_stale
from .operation_queue import queued

__all__ = ["OFFSET_BITS", "segment", "Coalescer"]

OFFSET_BITS = exact_log2(SEGMENT_BYTES)
"""Bits of a byte address within a segment."""


def segment(g: Geometry, slots: int) -> data.StructLayout:
    """The lanes of one instruction that access one segment.

    `address` is that of the lowest of them, `offset` the byte offset of each lane in its own
    segment (of use where `mask` is set). `kind` is the instruction's fault, `Fault.NONE` if it has
    none; then `mask` is empty and `address` is the faulting address. `first` begins the
    instruction, `last` ends it.
    """
    below = payload.below
    return data.StructLayout({
        "warp": below(g.warps), "kernel": below(g.kernel_slots),
        "base": payload.physical(g), "pc": PC_BITS,
        "d": 6, "size": Size, "store": 1, "atomic": 1, "function": 4, "writes_d": 1, "local": 1,
        "slot": below(slots), "kind": Fault, "address": ADDRESS_BITS,
        "mask": g.warp_size, "offset": data.ArrayLayout(OFFSET_BITS, g.warp_size),
        "first": 1, "last": 1, "generation": payload.GENERATION_BITS,
    })


class Coalescer(wiring.Component):
    """Takes the oldest instruction of an `OperationQueue` apart, one segment per cycle.

    Each cycle the lowest lane that is left leads, and every lane that is left in its segment goes
    with it. (This is the coalescing rule of compute capability 1.2 and later.) A segment leaves one
    cycle after it was found. An instruction with a fault becomes one empty segment. The rest of an
    instruction whose warp was forgotten becomes one too, so that every instruction has a last
    segment.

    Attributes
    ----------
    head, mask, address : In
        As the queue gives them.
    generations : In
        `payloads.generations`.
    start, advance : Out
        The queue's events: first and last segment of `head` found.
    segment : stream of segment, out
    """

    head: data.View
    mask: Signal
    address: data.View
    generations: data.View
    start: Signal
    advance: Signal
    segment: stream.Interface

    def __init__(self, g: Geometry, slots: int):
        self.geometry = g
        self.slots = slots
        super().__init__({
            "head": In(data.StructLayout({"valid": 1, "op": queued(g, slots)})),
            "mask": In(g.warp_size),
            "address": In(data.ArrayLayout(32, g.warp_size)),
            "generations": In(payload.generations(g)),
            "start": Out(1),
            "advance": Out(1),
            "segment": Out(stream.Signature(segment(g, slots))),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, op, out = self.geometry, self.head.op, self.segment
        started = Signal()  # a segment of the instruction was found
        rest = Signal(g.warp_size)  # lanes left then
        lanes_pending = Signal(g.warp_size)  # lanes left now
        found = Signal(g.warp_size)  # those in the segment of the `leader`
        leader = Signal(ADDRESS_BITS)  # address of the lowest lane left
        faulty = Signal()
        ended = Signal()  # no segment is to be found any more
        last = Signal()  # no lane is left behind them
        step_enable = Signal()
        lanes = [self.address[i] for i in range(g.warp_size)]
        same = Cat(address[OFFSET_BITS:] == leader[OFFSET_BITS:] for address in lanes)
        m.d.comb += [lanes_pending.eq(Mux(started, rest, self.mask)),
                     leader.eq(select(lowest(lanes_pending), lanes)),
                     faulty.eq(op.kind != Fault.NONE),
                     ended.eq(faulty | is_stale(self.generations, op)),
                     found.eq(Mux(ended, 0, lanes_pending & same)),
                     last.eq(ended | ((lanes_pending & ~found) == 0)),
                     step_enable.eq(self.head.valid & (~out.valid | out.ready)),
                     self.start.eq(step_enable & ~started), self.advance.eq(step_enable & last)]
        with m.If(out.ready):
            m.d.sync += out.valid.eq(0)
        with m.If(step_enable):
            m.d.sync += [started.eq(~last), rest.eq(lanes_pending & ~found),
                         out.valid.eq(1), out.payload.mask.eq(found),
                         out.payload.address.eq(Mux(faulty, op.fault_address, leader)),
                         out.payload.first.eq(~started), out.payload.last.eq(last)]
            m.d.sync += [out.payload[name].eq(op[name])
                         for name in ("warp", "kernel", "base", "pc", "d", "size", "store",
                                      "atomic", "function", "writes_d", "local", "slot", "kind",
                                      "generation")]
            m.d.sync += [out.payload.offset[i].eq(address[:OFFSET_BITS])
                         for i, address in enumerate(lanes)]
        return m

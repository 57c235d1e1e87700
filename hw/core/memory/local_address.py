"""Where a thread's local memory lies: word-interleaved, so that lanes at one offset share
segments."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.geometry import WORD_BYTES, Geometry
from ...arch.isa.opcodes import Space
from ...interfaces import payloads as payload
from ...lib.bits import pick
from .access_size import extra_bytes, misaligned

__all__ = ["LocalAddress"]

WORD_BITS = exact_log2(WORD_BYTES)


class LocalAddress(wiring.Component):
    """Turns the offsets of a local access into global addresses; combinational, other addresses
    pass.

    Offset A of lane L in warp W of a TB is byte
    ``local_base + W * local_bytes * warp_size + (A >> 2) * 4 * warp_size + 4 * L + (A & 3)``, so a
    word of a whole warp is ``4 * warp_size`` bytes in a row. An offset that is misaligned or
    `beyond` passes as it is, for the fault report.

    Attributes
    ----------
    kernels, tbs : In
        Kernel and TB descriptors, for `local_bytes` and `local_base`.
    valid, op : In
        One beat.
    address : Out
        Addresses of each lane of the beat.
    beyond : Signal(lanes), out
        Lanes (of the mask or not) of a local access that reach beyond the thread's local memory.
    """

    kernels: View
    tbs: View
    valid: Signal
    op: View
    address: View
    beyond: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "tbs": In(data.ArrayLayout(payload.tb_info(g), g.tb_slots)),
            "valid": In(1),
            "op": In(payload.memory_op(g, words=0)),
            "address": Out(data.ArrayLayout(32, g.lanes)),
            "beyond": Out(g.lanes),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, op = self.geometry, self.op
        size = Signal(16)
        base = Signal(32)
        limit = Signal(signed(33))
        m.d.comb += self.address.eq(op.address)
        with m.If(self.valid & (op.space == Space.LOCAL)):
            m.d.comb += [
                size.eq(pick([kernel.local_bytes for kernel in self.kernels], op.kernel)),
                limit.eq(size - 1 - extra_bytes(op.size)),
                base.eq(pick([tb.local_base for tb in self.tbs], op.tb)
                        + op.block_warp * size * g.warp_size),
            ]
            for i in range(g.lanes):
                offset = op.address[i]
                lane = Cat(Const(i, exact_log2(g.lanes)), op.beat)[:exact_log2(g.warp_size)]
                m.d.comb += self.beyond[i].eq(offset > limit)
                with m.If(~self.beyond[i] & ~misaligned(offset, op.size)):
                    m.d.comb += self.address[i].eq(
                        base + Cat(offset[:WORD_BITS], lane, offset[WORD_BITS:16]))
        return m

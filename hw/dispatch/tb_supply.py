"""The TB supply of one of several SMs: stands where a single SM has its grid walker."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.dispatch_ports import GridPort
from ..interfaces.gpu_ports import TbSupplyPort
from ..interfaces.port import Port
from ..interfaces.preemption import adoption, tb_place
from ..lib.bits import encode, one_hot
from ..lib.vectors import LeastRecent

__all__ = ["TbSupply"]


class TbSupply(wiring.Component):
    """Tells of which kernels the device has TBs left, and counts the TBs that the SM has received.
    Kernels take turns: the kernel goes first whose last launch is longest ago. The device names the
    TB once there is room for it.

    Attributes
    ----------
    port : TbSupplyPort, out
        The device; `claim`, `grant` and `warps` are those of others.
    start : Signal(kernel_slots), in
        Vector: these kernels begin again.
    adopted : preemption.adoption, in
        A kernel is taken over from memory.
    fresh : GridPort, in
        The next TBs.
    launched : array, out
        TBs that the SM has launched since `start`.
    exhausted : Signal(kernel_slots), out
    places : array, out
        Described in `TbSupplyPort`.
    """

    port: Port
    start: Signal
    adopted: data.View
    fresh: Port
    launched: data.View
    exhausted: Signal
    places: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "port": Out(TbSupplyPort(g)), "start": In(g.kernel_slots), "adopted": In(adoption(g)),
            "fresh": In(GridPort(g)),
            "launched": Out(data.ArrayLayout(32, g.kernel_slots)),
            "exhausted": Out(g.kernel_slots),
            "places": Out(data.ArrayLayout(tb_place(), g.kernel_slots)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        slots, fresh = self.geometry.kernel_slots, self.fresh
        m.submodules.turns = turns = LeastRecent(slots, told=True)
        m.d.comb += [
            turns.requests.eq(fresh.request & self.port.offered),
            fresh.next_valid.eq(turns.grant.any()),
            turns.served.eq(Mux(fresh.advance.valid, one_hot(fresh.advance.kernel, slots), 0)),
            fresh.next.kernel.eq(encode(turns.grant)), self.exhausted.eq(self.port.exhausted),
            self.places.eq(self.port.places),
        ]
        for k in range(slots):
            with m.If(self.start[k]):
                m.d.sync += self.launched[k].eq(0)
            with m.Elif(self.adopted.valid & (self.adopted.kernel == k)):
                m.d.sync += self.launched[k].eq(self.adopted.progress.launched)
            with m.Elif(fresh.advance.valid & (fresh.advance.kernel == k)):
                m.d.sync += self.launched[k].eq(self.launched[k] + 1)
        return m

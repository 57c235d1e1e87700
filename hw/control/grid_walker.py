"""The grid walker: chooses the TB that is launched next, and its kernel."""

from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.dispatch_ports import GridPort
from ..interfaces.payloads import below, kernel_info
from ..interfaces.port import Port
from ..interfaces.preemption import adoption, tb_place

__all__ = ["GridWalker"]


class GridWalker(wiring.Component):
    """Hands out the TBs of each kernel with ctaid x fastest, then y, then z; kernels take turns.

    Attributes
    ----------
    kernels : array of kernel_info, in
        The grid sizes, none of them 0.
    start : Signal(kernel_slots), in
        Vector: these kernels begin again with their first TB.
    adopted : preemption.adoption, in
        A kernel is taken over from memory: it goes on where it was.
    fresh : GridPort, in
        The next TBs. `next` is the one of the first requested kernel after the kernel that last
        advanced.
    launched : array, out
        TBs launched since `start`, which is also the next launch id.
    exhausted : Signal(kernel_slots), out
        Vector: every TB has been launched.
    places : array, out
        Coordinates of each kernel's next TB, those after the last if there is none.
    """

    kernels: data.View
    start: Signal
    adopted: data.View
    fresh: Port
    launched: data.View
    exhausted: Signal
    places: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "kernels": In(data.ArrayLayout(kernel_info(g), g.kernel_slots)),
            "start": In(g.kernel_slots), "adopted": In(adoption(g)),
            "fresh": In(GridPort(g)),
            "launched": Out(data.ArrayLayout(32, g.kernel_slots)),
            "exhausted": Out(g.kernel_slots),
            "places": Out(data.ArrayLayout(tb_place(), g.kernel_slots)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        slots, fresh = self.geometry.kernel_slots, self.fresh
        last = Signal(below(slots))
        places = [self.places[k] for k in range(slots)]
        ready = Signal(slots)
        m.d.comb += [ready.eq(fresh.request & ~self.exhausted),
                     fresh.next_valid.eq(ready.any())]

        # The nearest kernel behind the last one wins, since its assignment comes last.
        with m.Switch(last):
            for current in range(slots):
                with m.Case(current):
                    for distance in range(slots, 0, -1):
                        candidate = (current + distance) % slots
                        with m.If(ready[candidate]):
                            m.d.comb += fresh.next.kernel.eq(candidate)
        with m.Switch(fresh.next.kernel):
            for k, where in enumerate(places):
                with m.Case(k):
                    m.d.comb += [fresh.next.launch_id.eq(self.launched[k]),
                                 *(fresh.next[f"ctaid_{axis}"].eq(where[axis]) for axis in "xyz")]

        with m.If(fresh.advance.valid):
            m.d.sync += last.eq(fresh.advance.kernel)
        for k, where in enumerate(places):
            with m.If(self.start[k]):
                m.d.sync += [where.eq(0), self.launched[k].eq(0), self.exhausted[k].eq(0)]
            with m.Elif(self.adopted.valid & (self.adopted.kernel == k)):
                at = self.adopted.progress
                m.d.sync += [where.x.eq(at.next_x), where.y.eq(at.next_y), where.z.eq(at.next_z),
                             self.launched[k].eq(at.launched), self.exhausted[k].eq(at.exhausted)]
            with m.Elif(fresh.advance.valid & (fresh.advance.kernel == k)):
                m.d.sync += self.launched[k].eq(self.launched[k] + 1)
                self._step(m, where, self.kernels[k], self.exhausted[k])
        return m

    @staticmethod
    def _step(m: Module, where: data.View, kernel: data.View, exhausted: Value):
        """Move to the next TB of the grid, x fastest."""
        with m.If(where.x + 1 != kernel.grid_x):
            m.d.sync += where.x.eq(where.x + 1)
        with m.Else():
            m.d.sync += where.x.eq(0)
            with m.If(where.y + 1 != kernel.grid_y):
                m.d.sync += where.y.eq(where.y + 1)
            with m.Else():
                m.d.sync += where.y.eq(0)
                m.d.sync += where.z.eq(where.z + 1)
                with m.If(where.z + 1 == kernel.grid_z):
                    m.d.sync += exhausted.eq(1)

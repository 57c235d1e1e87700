"""The launcher: initialises the warps of a fresh TB and starts it."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import PC_NONE, Geometry
from ..interfaces.payloads import physical
from ..interfaces.port import Port
from ..interfaces.preemption_port import WarpLaunchPort
from .admission import fresh_tb

__all__ = ["Launcher"]


class Launcher(wiring.Component):
    """Initialises each warp with its lanes, pushes its first stack entry (PC 0), then starts the
    TB.

    Two cycles per warp and one for the start, when ``launch.warp_init`` and ``launch.stack_push``
    are ready.

    Attributes
    ----------
    tb : stream, in
        A TB with its slots; transferred with `start`.
    launch : WarpLaunchPort, out
        Its warps, and its start.
    hold : Signal, in
        Not now: delays `start`.
    """

    tb: stream.Interface
    launch: Port
    hold: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "tb": In(stream.Signature(fresh_tb(g))),
            "launch": Out(WarpLaunchPort(g)),
            "hold": In(1),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, tb = self.geometry, self.tb.payload
        warp = Signal(range(g.max_block_warps + 1))
        threads = Signal(11)
        base = Signal(physical(g))
        mask = Cat(threads > lane for lane in range(g.warp_size))
        launch = self.launch
        init, push = launch.warp_init.payload, launch.stack_push.payload
        slot = tb.slots[warp]
        m.d.comb += [
            init.warp.eq(slot), init.tb.eq(tb.tb),
            init.kernel.eq(tb.kernel), init.block_warp.eq(warp),
            init.base.eq(base), init.registers.eq(tb.registers),
            init.launched.eq(mask), init.live.eq(mask),
            push.warp.eq(slot), push.pc.eq(0), push.mask.eq(mask), push.reconv.eq(PC_NONE),
            launch.start.tb.eq(tb.tb),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [warp.eq(0), threads.eq(tb.threads), base.eq(tb.base)]
                with m.If(self.tb.valid):
                    m.next = "INIT"
            with m.State("INIT"):
                m.d.comb += launch.warp_init.valid.eq(1)
                with m.If(launch.warp_init.ready):
                    m.next = "PUSH"
            with m.State("PUSH"):
                m.d.comb += launch.stack_push.valid.eq(1)
                with m.If(launch.stack_push.ready):
                    m.d.sync += [warp.eq(warp + 1), threads.eq(threads - g.warp_size),
                                 base.eq(base + tb.registers)]
                    m.next = "INIT"
                    with m.If(warp + 1 == tb.warps):
                        m.next = "START"
            with m.State("START"):
                with m.If(~self.hold):
                    m.d.comb += [launch.start.valid.eq(1), self.tb.ready.eq(1)]
                    m.next = "IDLE"
        return m

"""Write back: the one write port of the vector register file, and what its users must know of it.

ALU results cannot wait, so they go first. The other units follow in turn, then the preemption
unit's restores. Restores go before the units once they have waited for `MOST_WAIT` cycles. While
one of these waits for an ALU result, `throttle` holds back one ALU instruction in two, so it gets
the port.
"""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...interfaces.payloads import below, physical, register_release, register_write
from ...lib.bits import spread, spread_each
from ...lib.vectors import RoundRobin
from ..execution_units import EXECUTION_UNITS
from .overdue import Overdue

__all__ = ["WriteBack", "WRITERS", "hold_back"]

WRITERS = tuple(row.name for row in EXECUTION_UNITS)
"""Units other than the ALU that write vector registers; each has a port ``<name>_write``."""


def hold_back(m: Module, result: Value, waiting: Value, accepting: Value) -> Signal:
    """Return the throttle of a write port: one ALU instruction in two is held back while another
    write waits.

    Parameters
    ----------
    m : Module
    result, waiting : Value
        An ALU result takes the port in this cycle; another write waits for it.
    accepting : Value
        The pipeline can take an instruction in this cycle.
    """
    bubble = Signal()
    throttle = Signal(name="held_back")
    m.d.comb += throttle.eq(result & waiting & ~bubble)
    with m.If(accepting):
        m.d.sync += bubble.eq(throttle)
    return throttle


class WriteBack(wiring.Component):
    """Chooses one register beat to write each cycle; combinational from request to register file.

    Attributes
    ----------
    result : in
        Beat of an ALU result, taken in the cycle of `valid`.
    global_write, shared_write, constant_write, f64_write, sfu_write, exchange_write : in stream
    restore_write : in stream
        Beats of the `WRITERS` and of the preemption unit.
    accepting : Signal(1), in
        The pipeline can take an instruction in this cycle.
    throttle : Signal(1), out
        Issue no ALU instruction in this cycle.
    write : out
        Beat for the register file: an invalid register is written in all lanes, with 0 outside the
        mask.
    flag : out
        Register whose valid and dirty bits are to be set: with the last beat of each register.
    flag_valid : Signal(1), in
        Valid bit of ``flag.register``, combinational.
    release : out
        Register that is no longer pending.
    trace : out
        Beat written by ALU or another unit, masked data.
    """

    result: data.View
    global_write: stream.Interface
    shared_write: stream.Interface
    constant_write: stream.Interface
    f64_write: stream.Interface
    sfu_write: stream.Interface
    exchange_write: stream.Interface
    restore_write: stream.Interface
    accepting: Signal
    throttle: Signal
    write: data.View
    flag: data.View
    flag_valid: Signal
    release: data.View
    trace: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        write, warp = register_write(g), below(g.warps)
        super().__init__({
            "result": In(data.StructLayout({"valid": 1, "write": write})),
            **{f"{name}_write": In(stream.Signature(write)) for name in WRITERS},
            "restore_write": In(stream.Signature(write)),
            "accepting": In(1), "throttle": Out(1),
            "write": Out(data.StructLayout({
                "valid": 1, "register": physical(g), "beat": below(g.beats),
                "mask": g.lanes, "data": data.ArrayLayout(32, g.lanes)})),
            "flag": Out(data.StructLayout({"valid": 1, "warp": warp, "register": 6})),
            "flag_valid": In(1),
            "release": Out(register_release(g)),
            "trace": Out(data.StructLayout({"valid": 1, "write": write})),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        chosen = Signal(register_write(g))
        valid = Signal()
        restoring = Signal()
        self._choose(m, chosen, valid, restoring)

        final = chosen.beat == g.beats - 1
        masked = chosen.data.as_value() & spread_each(chosen.mask, 32)
        m.d.comb += [
            self.write.valid.eq(valid), self.write.register.eq(chosen.base + chosen.register),
            self.write.beat.eq(chosen.beat), self.write.data.eq(masked),
            self.write.mask.eq(chosen.mask | spread(~self.flag_valid, g.lanes)),
            self.flag.valid.eq(valid & final), self.flag.warp.eq(chosen.warp),
            self.flag.register.eq(chosen.register),
            self.trace.valid.eq(valid & ~restoring),
            self.trace.write.eq(chosen), self.trace.write.data.eq(masked),
            self.release.warp.eq(chosen.warp), self.release.register.eq(chosen.register),
            self.release.valid.eq(valid & chosen.release & ~restoring),
        ]
        return m

    def _choose(self, m: Module, chosen: data.View, valid: Signal, restoring: Signal):
        """Arbitrate, and ask for a bubble when another write waits for the ALU."""
        m.submodules.arbiter = arbiter = RoundRobin(len(WRITERS))
        result, restore = self.result, self.restore_write
        streams = [getattr(self, f"{name}_write") for name in WRITERS]
        waiting = Cat(unit.valid for unit in streams)
        m.submodules.overdue = overdue = Overdue()
        m.d.comb += [overdue.waits.eq(restore.valid & ~restore.ready),
                     arbiter.requests.eq(Mux(result.valid | restore.valid & overdue.over, 0,
                                             waiting))]
        with m.If(result.valid):
            m.d.comb += [chosen.eq(result.write), valid.eq(1)]
        for number, unit in enumerate(streams):
            with m.Elif(arbiter.grant[number]):
                m.d.comb += [chosen.eq(unit.payload), valid.eq(1), unit.ready.eq(1)]
        with m.Else():
            m.d.comb += [chosen.eq(restore.payload), valid.eq(restore.valid),
                         restore.ready.eq(1), restoring.eq(1)]

        m.d.comb += self.throttle.eq(hold_back(m, result.valid,
                                               waiting.any() | restore.valid, self.accepting))

"""One atomic per cycle on one memory. An operation on a place waits until the operation before it
there is written."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....arch.isa.opcodes import AtomicOp
from .lane import AtomicLane

__all__ = ["AtomicPipeline"]


class AtomicPipeline(wiring.Component):
    """Performs operations in the order in which they come.

    ::

        op --> read (1 cycle later), old --> lane --> result (2 cycles after op;
                                                              FADD 1 + FLOAT_LATENCY)

    The word that `read` names is expected on `old` in the same cycle. The word that `result` names
    must be written in its cycle, so that an operation taken in the next cycle reads it. Hence
    operations on one place follow each other every 3 cycles (FADD: every 2 + FLOAT_LATENCY).
    Operations on different places follow each other every cycle.

    Parameters
    ----------
    place, tag : ShapeLike
        Shape of the name of a place in memory; shape of data that the user gets back in `read`.

    Attributes
    ----------
    op : In
        ``valid`` with an operation; always taken. Those in flight must be all FADD or none.
    holds : Signal(1), out
        ``op.place`` is in flight: the operation must wait.
    busy : Signal(1), out
        Something is in flight.
    read : Out
    old : Signal(64), in
    result : Out
        ``changed`` if `data` differs from what was there, or is a sum of f32.
    """

    op: data.View
    holds: Signal
    busy: Signal
    read: data.View
    old: Signal
    result: data.View

    def __init__(self, place: ShapeLike, tag: ShapeLike):
        self.place = place
        super().__init__({
            "op": In(data.StructLayout({"valid": 1, "function": 4, "wide": 1, "b": 64,
                                        "c": 64, "place": place, "tag": tag})),
            "holds": Out(1), "busy": Out(1),
            "read": Out(data.StructLayout({"valid": 1, "wide": 1, "place": place, "tag": tag})),
            "old": In(64),
            "result": Out(data.StructLayout({"valid": 1, "wide": 1, "changed": 1,
                                             "place": place, "data": 64})),
        })

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.lane = lane = AtomicLane()
        op, result = self.op, self.result
        reading = Signal.like(op)
        m.d.sync += reading.valid.eq(op.valid)
        with m.If(op.valid):
            m.d.sync += reading.eq(op)
        m.d.comb += [
            self.read.valid.eq(reading.valid),
            self.read.wide.eq(reading.wide), self.read.place.eq(reading.place),
            self.read.tag.eq(reading.tag), lane.valid.eq(reading.valid),
            lane.function.eq(reading.function),
            lane.wide.eq(reading.wide), lane.old.eq(self.old),
            lane.b.eq(reading.b), lane.c.eq(reading.c),
        ]
        stages = self._stages(m, reading)
        first, last = stages[0], stages[-1]
        real = last.valid & last.real
        m.d.comb += [
            result.valid.eq(first.valid & ~first.real | real),
            result.place.eq(Mux(real, last.place, first.place)),
            result.wide.eq(Mux(real, 0, first.wide)),
            result.data.eq(Mux(real, lane.real, lane.integer)),
            result.changed.eq(real | lane.changed),
            self.busy.eq(reading.valid | Cat(stage.valid for stage in stages).any()),
            self.holds.eq(Cat(stage.valid & (stage.place == op.place)
                              for stage in (reading, *stages)).any()),
        ]
        return m

    def _stages(self, m: Module, reading: data.View):
        """Where the operations in the lane are; integers leave after the first stage."""
        layout = data.StructLayout({"valid": 1, "real": 1, "wide": 1, "place": self.place})
        stages = [Signal(layout, name=f"stage_{number}")
                  for number in range(AtomicLane.FLOAT_LATENCY)]
        with m.If(self.busy):
            m.d.sync += [stages[0].valid.eq(reading.valid),
                         stages[0].real.eq(reading.function == AtomicOp.FADD),
                         stages[0].wide.eq(reading.wide), stages[0].place.eq(reading.place)]
            for here, before in zip(stages[1:], stages, strict=False):
                m.d.sync += [here.eq(before), here.valid.eq(before.valid & before.real)]
        return stages

"""Evict sequencer: writes what has stayed of TBs on the SM to memory (Lin et al. III-A)."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.faults import CommandError
from ...arch.geometry import Geometry
from ...arch.image.context import State
from ...interfaces.preemption import engine_result
from ...interfaces.staying import staying_row
from ..save.committer import head_event
from ..save.records import save_target

__all__ = ["EvictSequencer"]


class EvictSequencer(wiring.Component):
    """Has one row of the `StayingTable` saved: as a second image, on the other side than the one
    that it completes (`arch.context`). It is done when that is acknowledged; with an error the row
    is as it was.

    Timing
    ------
    A row at a time: a few cycles, and what the `SavePipeline` and memory take.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    begin : Signal, in
        Start; `row` is constant until `done`.
    number : Signal, in; row : staying_row, in
        The row.
    side : Signal, in; crc : Signal(32), in
        Side and checksum of the image that is completed.
    target : stream, out; save_idle, commit_idle : Signal, in
        The `SavePipeline`, and the `Committer`.
    head_event, write_error
        The `Committer`.
    done : engine_result, out
        `valid` for one cycle.
    row_evicted : Signal, out
        All of the row is in memory; comes with `done`.
    """

    begin: Signal
    number: Signal
    row: data.View
    side: Signal
    crc: Signal
    target: stream.Interface
    save_idle: Signal
    commit_idle: Signal
    head_event: data.View
    write_error: Signal
    done: data.View
    row_evicted: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "begin": In(1), "number": In(range(g.tb_slots)), "row": In(staying_row(g)),
            "side": In(1), "crc": In(32),
            "target": Out(stream.Signature(save_target(g))), "save_idle": In(1),
            "commit_idle": In(1), "head_event": In(head_event(g)), "write_error": In(1),
            "done": Out(engine_result()), "row_evicted": Out(1),
        })

    def elaborate(self, platform: Any):
        m = Module()
        target, what, event = self.target.payload, self.row.what, self.head_event
        written = Signal()
        m.d.comb += [
            target.row.entry.eq(what.entry), target.row.base.eq(what.base),
            target.row.first_line.eq(what.first_line), target.row.kernel.eq(what.kernel),
            target.row.warps.eq(self.row.live_warps), target.side.eq(~self.side),
            target.base_crc.eq(self.crc), target.registers.eq(what.registers),
            target.lines.eq(what.lines), target.staying.eq(self.number), target.evict.eq(1),
            self.done.error.eq(Mux(self.row_evicted, CommandError.NONE, CommandError.BUS_ERROR)),
            self.row_evicted.eq(self.done.valid & written & ~self.write_error),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += written.eq(0)
                with m.If(self.begin):
                    m.next = "OFFER"
            with m.State("OFFER"):
                m.d.comb += self.target.valid.eq(1)
                with m.If(self.target.ready):
                    m.next = "WAIT"
            with m.State("WAIT"):
                with m.If(event.valid & (event.state == State.BASE) & ~event.error):
                    m.d.sync += written.eq(1)
                with m.If(self.save_idle & self.commit_idle):
                    m.d.comb += self.done.valid.eq(1)
                    m.next = "IDLE"
        return m

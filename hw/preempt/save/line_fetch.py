"""Line fetch: reads the lines of shared memory named by its items into a stream of rows."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.geometry import Geometry
from ...interfaces.payloads import row_access, row_data, rows_per_line
from ...lib.bits import lowest_number, without_lowest
from ...lib.stream_queue import StreamQueue

__all__ = ["GROUP", "LINE_CREDITS", "line_item", "line_row", "LineFetch"]

GROUP = 32
"""Lines of an item: those of a bitmap word."""
LINE_CREDITS = 4
"""Rows that can be under way or held."""


def line_item(g: Geometry) -> data.StructLayout:
    """Lines ``line + k`` for each bit k of `mask`; those without a bit in `valid` are given out as
    zeros."""
    return data.StructLayout({"line": range(g.shared_lines + 1), "mask": GROUP, "valid": GROUP})


def line_row(g: Geometry) -> data.ArrayLayout:
    """One row of shared memory."""
    return data.ArrayLayout(32, g.lanes)


class LineFetch(wiring.Component):
    """Reads items in order, each from its lowest line up, a row (`lanes` words) a cycle.

    Shared memory has a port of its own, so lines are read while registers of the TB, and of the
    next one, are read and encoded.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    item : stream, in
    row, row_data
        Read port of shared memory.
    output : stream, out
        Rows; at most `LINE_CREDITS` are read ahead.
    busy : Signal, out
        Something is queued, being read or held.
    """

    item: stream.Interface
    row: stream.Interface
    row_data: data.View
    output: stream.Interface
    busy: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "item": In(stream.Signature(line_item(g))),
            "row": Out(stream.Signature(row_access(g))), "row_data": In(row_data(g)),
            "output": Out(stream.Signature(line_row(g))), "busy": Out(1),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.items = items = StreamQueue(line_item(g), 3)
        m.submodules.rows = rows = StreamQueue(line_row(g), LINE_CREDITS)
        wiring.connect(m, rows.output, wiring.flipped(self.output))

        item = items.output.payload  # in hand as long as `mask` is not empty
        mask = Signal(GROUP)  # lines of it that are left
        free = Signal()
        rest = Signal(GROUP)
        credits = Signal(range(LINE_CREDITS + 1), init=LINE_CREDITS)  # free places of `rows`
        part = Signal(range(rows_per_line(g)))
        line = Signal(range(GROUP))  # counted from the item's first
        zero = Signal()  # so is the row that was asked for
        row_taken = Signal()
        last = Signal()  # the last row of the line
        m.d.comb += [
            line.eq(lowest_number(mask)), rest.eq(without_lowest(mask)),
            last.eq(part == rows_per_line(g) - 1),
            self.row.valid.eq(mask.any() & (credits != 0)),
            self.row.payload.row.eq(((item.line + line) << exact_log2(rows_per_line(g))) + part),
            row_taken.eq(self.row.valid & self.row.ready),
            # Two wait besides the one in hand.
            free.eq((items.level < 2) | mask.any() & items.input.ready),
            self.item.ready.eq(free), items.input.valid.eq(self.item.valid & free),
            items.input.payload.eq(self.item.payload),
            items.output.ready.eq(
                Mux(mask.any(), row_taken & last & ~rest.any(), ~item.mask.any())),
            rows.input.valid.eq(self.row_data.valid),
            Value.cast(rows.input.payload).eq(Mux(zero, 0, Value.cast(self.row_data.data))),
            self.busy.eq(items.output.valid | (credits != LINE_CREDITS)),
        ]
        with m.If(row_taken):
            m.d.sync += [part.eq(Mux(last, 0, part + 1)), zero.eq(~item.valid.bit_select(line, 1))]
            with m.If(last):
                m.d.sync += mask.eq(rest)
        with m.If(items.output.valid & ~mask.any()):
            m.d.sync += mask.eq(item.mask)
        m.d.sync += credits.eq(credits - row_taken + (rows.output.valid & rows.output.ready))
        return m

"""Row fetch: reads the registers and shared-memory lines named by its items into a stream of
rows."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.geometry import MAX_REGISTERS, Geometry
from ...interfaces.payloads import (
    below,
    physical,
    register_data,
    register_read,
    row_access,
    row_data,
    rows_per_line,
)
from ...lib.bits import lowest_number, without_lowest
from ...lib.stream_queue import StreamQueue
from ..compress.register_encoder import lane_beat

__all__ = ["ROW_CREDITS", "record_number", "fetch_item", "row_tag", "RowFetch"]

ROW_CREDITS = 4
"""Rows that can be under way or held."""


def record_number(g: Geometry) -> data.StructLayout:
    """Number of a warp record in its TB; `bank` tells TBs that follow each other apart."""
    return data.StructLayout({"record": below(g.max_block_warps), "bank": 1})


def fetch_item(g: Geometry) -> data.StructLayout:
    """Registers ``mask`` of a warp, or (`shared`) lines ``line + k`` for each bit k of `mask`.

    Those without a bit in `valid` are given out as zeros. Registers of a `raw` item are not to be
    compressed; `counted` has a bit for each lane of the warp whose value matters, those of the
    others are inverted to `scramble` them. The first registers of a TB `opens` it.
    """
    return data.StructLayout({"shared": 1, "warp": below(g.warps), "base": physical(g),
                              "line": range(g.shared_lines + 1),
                              "mask": MAX_REGISTERS, "valid": MAX_REGISTERS,
                              "raw": 1, "scramble": 1, "counted": g.warp_size, "opens": 1,
                              "of": record_number(g)})


def row_tag(g: Geometry) -> data.StructLayout:
    """Where a row comes from: shared memory, or `register` of record `of`,
    the last of its item if it `ends`, the first of its TB if it `opens`."""
    return data.StructLayout({"shared": 1, "register": 6, "ends": 1, "opens": 1,
                              "of": record_number(g)})


class RowFetch(wiring.Component):
    """Reads items in order, each from its lowest bit up, a row (`lanes` words) a cycle.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    item : stream, in
    save_read, save_data, row, row_data
        Read ports of the register file and of shared memory.
    output : stream, out
        Rows as `register_encoder.lane_beat` with a `row_tag`; at most `ROW_CREDITS` are read ahead.
    busy : Signal, out
        Something is queued, being read or held.
    """

    item: stream.Interface
    save_read: stream.Interface
    save_data: data.View
    row: stream.Interface
    row_data: data.View
    output: stream.Interface
    busy: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "item": In(stream.Signature(fetch_item(g))),
            "save_read": Out(stream.Signature(register_read(g))), "save_data": In(register_data(g)),
            "row": Out(stream.Signature(row_access(g))), "row_data": In(row_data(g)),
            "output": Out(stream.Signature(lane_beat(g, row_tag(g)))), "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        m.submodules.items = items = StreamQueue(fetch_item(g), 2)
        m.submodules.rows = rows = StreamQueue(lane_beat(g, row_tag(g)), ROW_CREDITS)
        wiring.connect(m, wiring.flipped(self.item), items.input)
        wiring.connect(m, rows.output, wiring.flipped(self.output))

        item = Signal(fetch_item(g))
        credits = Signal(range(ROW_CREDITS + 1), init=ROW_CREDITS)  # free places of `rows`
        part = Signal(range(max(g.beats, rows_per_line(g))))  # of the register or line
        bit = Signal(range(MAX_REGISTERS))  # the register or line, counted from the item's first
        can = Signal()
        go = Signal()
        last = Signal()  # the last part
        m.d.comb += [
            bit.eq(lowest_number(item.mask)), can.eq(item.mask.any() & (credits != 0)),
            last.eq(part == Mux(item.shared, rows_per_line(g) - 1, g.beats - 1)),
            self.save_read.valid.eq(can & ~item.shared), self.save_read.payload.warp.eq(item.warp),
            self.save_read.payload.base.eq(item.base), self.save_read.payload.register.eq(bit),
            self.save_read.payload.beat.eq(part),
            self.row.valid.eq(can & item.shared),
            self.row.payload.row.eq(((item.line + bit) << exact_log2(rows_per_line(g))) + part),
            go.eq(can & Mux(item.shared, self.row.ready, self.save_read.ready)),
            items.output.ready.eq(~item.mask.any()),
            self.busy.eq(items.output.valid | item.mask.any() | (credits != ROW_CREDITS)),
        ]
        # Of the row that was asked for, but its words.
        zero = Signal()
        scramble = Signal()
        row = Signal(lane_beat(g, row_tag(g)))
        shared = row.tag.shared
        with m.If(go):
            m.d.sync += [
                part.eq(Mux(last, 0, part + 1)), zero.eq(~item.valid.bit_select(bit, 1)),
                scramble.eq(item.scramble & ~item.shared),
                row.tag.shared.eq(item.shared), row.tag.register.eq(bit), row.tag.of.eq(item.of),
                row.tag.ends.eq(~without_lowest(item.mask).any()), row.tag.opens.eq(item.opens),
                row.raw.eq(item.raw | item.shared),
                row.counted.eq(item.counted.word_select(part[:exact_log2(g.beats)], g.lanes))]
            with m.If(last):
                m.d.sync += [item.mask.eq(without_lowest(item.mask)), item.opens.eq(0)]
        with m.If(items.output.valid & items.output.ready):
            m.d.sync += item.eq(items.output.payload)

        given = Signal()
        lost = Cat((scramble & ~counts).replicate(32) for counts in row.counted)
        m.d.comb += [
            rows.input.valid.eq(Mux(shared, self.row_data.valid, self.save_data.valid)),
            rows.input.payload.eq(row), Value.cast(rows.input.payload.words).eq(Mux(
                zero, Const(0),
                Mux(shared, Value.cast(self.row_data.data), Value.cast(self.save_data.data)))
                ^ lost),
            given.eq(rows.output.valid & rows.output.ready),
        ]
        m.d.sync += credits.eq(credits - go + given)
        return m

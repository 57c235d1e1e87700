"""Register fetch: reads the registers named by its items into a stream of rows."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.geometry import MAX_REGISTERS, Geometry
from ...interfaces.payloads import below, physical, register_data, register_read
from ...lib.bits import lowest_number, spread, without_lowest
from ...lib.stream_queue import StreamQueue
from ..compress.register_encoder import lane_beat

__all__ = ["ROW_CREDITS", "record_number", "register_item", "register_tag", "RegisterFetch"]

ROW_CREDITS = 4
"""Rows that can be under way or held."""


def record_number(g: Geometry) -> data.StructLayout:
    """Number of a warp record in its TB; `bank` tells TBs that follow each other apart."""
    return data.StructLayout({"record": below(g.max_block_warps), "bank": 1})


def register_item(g: Geometry) -> data.StructLayout:
    """Registers ``mask`` of a warp.

    Those without a bit in `valid` are given out as zeros, all of a `raw` item are not to be
    compressed; `counted` has a bit for each lane of the warp whose value matters, those of the
    others are inverted to `scramble` them. The first registers of a TB `opens` it. Those that have
    `stays` are no warp's any more.
    """
    return data.StructLayout({"warp": below(g.warps), "base": physical(g),
                              "mask": MAX_REGISTERS, "valid": MAX_REGISTERS,
                              "raw": 1, "scramble": 1, "counted": g.warp_size, "opens": 1,
                              "stays": 1,
                              "of": record_number(g)})


def register_tag(g: Geometry) -> data.StructLayout:
    """Where a row comes from: `register` of record `of`, the last of its item if it `ends`, the
    first of its TB if it `opens`."""
    return data.StructLayout({"register": 6, "ends": 1, "opens": 1, "of": record_number(g)})


class RegisterFetch(wiring.Component):
    """Reads items in order, each from its lowest register up, a row (`lanes` words) a cycle.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    item : stream, in
    save_read, save_data
        Read port of the register file.
    output : stream, out
        Rows as `register_encoder.lane_beat` with a `register_tag`; at most `ROW_CREDITS` are read
        ahead.
    busy : Signal, out
        Something is queued, being read or held.
    """

    item: stream.Interface
    save_read: stream.Interface
    save_data: data.View
    output: stream.Interface
    busy: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "item": In(stream.Signature(register_item(g))),
            "save_read": Out(stream.Signature(register_read(g))), "save_data": In(register_data(g)),
            "output": Out(stream.Signature(lane_beat(g, register_tag(g)))), "busy": Out(1),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.items = items = StreamQueue(register_item(g), 3)
        m.submodules.rows = rows = StreamQueue(lane_beat(g, register_tag(g)), ROW_CREDITS)
        wiring.connect(m, rows.output, wiring.flipped(self.output))

        item = items.output.payload  # in hand as long as `mask` is not empty
        mask = Signal(MAX_REGISTERS)  # registers of it that are left
        opens = Signal()
        free = Signal()
        rest = Signal(MAX_REGISTERS)
        credits = Signal(range(ROW_CREDITS + 1), init=ROW_CREDITS)  # free places of `rows`
        beat = Signal(range(g.beats))
        register = Signal(range(MAX_REGISTERS))
        read = self.save_read
        read_taken = Signal()
        last = Signal()  # the last beat
        m.d.comb += [
            register.eq(lowest_number(mask)), rest.eq(without_lowest(mask)),
            last.eq(beat == g.beats - 1),
            read.valid.eq(mask.any() & (credits != 0)), read.payload.warp.eq(item.warp),
            read.payload.base.eq(item.base), read.payload.register.eq(register),
            read.payload.beat.eq(beat), read.payload.stays.eq(item.stays),
            read_taken.eq(read.valid & read.ready),
            # Two wait besides the one in hand.
            free.eq((items.level < 2) | mask.any() & items.input.ready),
            self.item.ready.eq(free), items.input.valid.eq(self.item.valid & free),
            items.input.payload.eq(self.item.payload),
            items.output.ready.eq(
                Mux(mask.any(), read_taken & last & ~rest.any(), ~item.mask.any())),
            self.busy.eq(items.output.valid | (credits != ROW_CREDITS)),
        ]
        # All of the row that was asked for, except its words.
        zero = Signal()
        scramble = Signal()
        row = Signal(lane_beat(g, register_tag(g)))
        with m.If(read_taken):
            m.d.sync += [
                beat.eq(Mux(last, 0, beat + 1)), zero.eq(~item.valid.bit_select(register, 1)),
                scramble.eq(item.scramble), row.raw.eq(item.raw), row.tag.register.eq(register),
                row.tag.of.eq(item.of), row.tag.ends.eq(~rest.any()),
                row.tag.opens.eq(opens),
                row.counted.eq(item.counted.word_select(beat[:exact_log2(g.beats)], g.lanes))]
            with m.If(last):
                m.d.sync += [mask.eq(rest), opens.eq(0)]
        with m.If(items.output.valid & ~mask.any()):
            m.d.sync += [mask.eq(item.mask), opens.eq(item.opens)]

        given = Signal()
        lost = Cat(spread(scramble & ~counts, 32) for counts in row.counted)
        m.d.comb += [
            rows.input.valid.eq(self.save_data.valid), rows.input.payload.eq(row),
            Value.cast(rows.input.payload.words).eq(
                Mux(zero, Const(0), Value.cast(self.save_data.data)) ^ lost),
            given.eq(rows.output.valid & rows.output.ready),
        ]
        m.d.sync += credits.eq(credits - read_taken + given)
        return m

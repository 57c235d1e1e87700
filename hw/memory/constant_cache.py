"""Constant cache: direct mapped, 128-byte lines, one fill at a time."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.geometry import ADDRESS_BITS, SEGMENT_BYTES, Geometry
from .ports import ReadInterface, ReadPort

__all__ = ["ROW_BYTES", "ConstantCache"]

ROW_BYTES = 16
"""Bytes a lookup returns: the largest access."""
_OFFSET_BITS = exact_log2(SEGMENT_BYTES)
_ROW_BITS = exact_log2(ROW_BYTES)


class ConstantCache(wiring.Component):
    """Direct-mapped cache of `constant_lines` lines of 128 bytes, filled over a `ReadPort`.

    One lookup per cycle. Whether it hits is known in the same cycle, its row follows in the next. A
    miss starts a fill, and the request has to stay; the line has come when the lookup hits or tells
    an `error`. An error is told once: the next lookup of that line fetches it again.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    request : In(valid, address)
        Byte address; the low 4 bits are ignored.
    hit, error : Signal(), out
        Answer to the request, combinational. `error`: the memory failed to deliver the line.
    row : Signal(128), out
        The 16 bytes of a request that hit, one cycle after it, until the next hit.
    invalidate : Signal(), in
        Forget every line, the one being filled included.
    forget : Signal(), in
        A request that missed may not come again. An error of the line being filled is not told
        then, and a request that still comes fetches the line again.
    lingering : Signal(), out
        The line that was being filled at the last `forget` still is.
    port : ReadPort
        One burst of a line outstanding.
    """

    request: data.View
    hit: Signal
    error: Signal
    row: Signal
    invalidate: Signal
    forget: Signal
    lingering: Signal
    port: ReadInterface

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "request": In(data.StructLayout({"valid": 1, "address": ADDRESS_BITS})),
            "hit": Out(1), "error": Out(1), "row": Out(8 * ROW_BYTES),
            "invalidate": In(1), "forget": In(1), "lingering": Out(1),
            "port": Out(ReadPort(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        line_bits = exact_log2(g.constant_lines)
        line_end = _OFFSET_BITS + line_bits
        m.submodules.tags = tags = Memory(shape=ADDRESS_BITS - line_end,
                                          depth=g.constant_lines, init=[])
        m.submodules.rows = rows = Memory(
            shape=8 * ROW_BYTES, depth=g.constant_lines * SEGMENT_BYTES // ROW_BYTES, init=[])
        read_tag = tags.read_port(domain="comb")
        read_row = rows.read_port()
        asked = self.request.address
        valid = Signal(g.constant_lines)
        failed = Signal(data.StructLayout({"valid": 1, "line": ADDRESS_BITS - _OFFSET_BITS}))
        with m.If(self.request.valid):
            m.d.comb += [
                read_tag.addr.eq(asked[_OFFSET_BITS:line_end]),
                read_row.addr.eq(asked[_ROW_BITS:line_end]),
                self.hit.eq(valid.bit_select(asked[_OFFSET_BITS:line_end], 1) & (
                    read_tag.data == asked[line_end:]) & ~self.invalidate),
                self.error.eq(failed.valid & (failed.line == asked[_OFFSET_BITS:])),
            ]
        m.d.comb += [read_row.en.eq(self.hit), self.row.eq(read_row.data)]
        self._fill(m, tags, rows, valid, failed, line_bits)
        return m

    def _fill(self, m: Module, tags: Memory, rows: Memory, valid: Signal, failed: data.View,
              line_bits: int):
        """Fetch the line of a miss; its tag and its rows are written as the beats arrive."""
        g, port = self.geometry, self.port
        line = Signal(ADDRESS_BITS - _OFFSET_BITS)
        beat = Signal(range(g.burst_beats))
        slot, asked = line[:line_bits], self.request.address[_OFFSET_BITS:]
        bad = Signal()
        discard = Signal()  # invalidated while it came
        write = Signal()
        part_bits = exact_log2(ROW_BYTES // g.bus_bytes)
        write_tag = tags.write_port()
        write_row = rows.write_port(granularity=8 * g.bus_bytes)
        m.d.comb += [
            write_tag.addr.eq(slot), write_tag.data.eq(line[line_bits:]), write_tag.en.eq(write),
            write_row.addr.eq(Cat(beat[part_bits:], slot)),
            write_row.data.eq(port.beat.payload.data.replicate(1 << part_bits)),
            write_row.en.eq(write << (beat[:part_bits] if part_bits else 0)),
            port.request.payload.address.eq(Cat(Const(0, _OFFSET_BITS), line)),
            port.request.payload.extra_beats.eq(g.burst_beats - 1),
        ]
        m.d.sync += [discard.eq(discard | self.invalidate),
                     self.lingering.eq(self.lingering | self.forget)]
        with m.If(self.request.valid & self.error):
            m.d.sync += failed.valid.eq(0)
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [beat.eq(0), bad.eq(0), discard.eq(0), self.lingering.eq(0)]
                with m.If(self.request.valid & ~self.hit & ~self.error):
                    m.d.sync += [line.eq(asked), self.lingering.eq(self.forget)]
                    m.next = "REQUEST"
            with m.State("REQUEST"):
                m.d.comb += port.request.valid.eq(1)
                with m.If(port.request.ready):
                    m.next = "FILL"
            with m.State("FILL"):
                m.d.comb += [port.beat.ready.eq(1), write.eq(port.beat.valid)]
                with m.If(write):
                    error, dropped = bad | port.beat.payload.error, discard | self.invalidate
                    m.d.sync += [beat.eq(beat + 1), bad.eq(error),
                                 valid.bit_select(slot, 1).eq(port.beat.payload.last & ~error
                                                              & ~dropped)]
                    with m.If(port.beat.payload.last):
                        forgotten = self.lingering | self.forget
                        m.d.sync += [failed.valid.eq(error & ~dropped & ~forgotten),
                                     failed.line.eq(line)]
                        m.next = "IDLE"
        with m.If(self.invalidate):
            m.d.sync += valid.eq(0)
        with m.If(self.invalidate | self.forget):
            m.d.sync += failed.valid.eq(0)

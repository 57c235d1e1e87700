"""Instruction cache: direct mapped, 128-byte lines, one fill at a time, hits under a miss."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.geometry import ADDRESS_BITS, INSTRUCTION_BYTES, SEGMENT_BYTES, Geometry
from .ports import ReadPort

__all__ = ["InstructionCache"]

_OFFSET_BITS = exact_log2(SEGMENT_BYTES)


class InstructionCache(wiring.Component):
    """Direct-mapped cache of `icache_lines` lines of 128 bytes, filled over a `ReadPort`.

    One lookup a cycle; its response comes in the next cycle. A miss starts a fill unless one is under way and
    is not remembered: whoever asked asks again after `filled`. Other lines go on hitting meanwhile, and the
    line being replaced until its first beat arrives.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    request : In(valid, address)
        Byte address of an instruction word (a multiple of 8).
    response : Out(hit, error, word)
        Of the request of the cycle before; with neither `hit` nor `error` it missed. `error`: the memory failed to
        deliver the line.
    filled : Signal(), out
        A fill ends in this cycle (well or with an error); requests from the next cycle on see it.
    invalidate : Signal(), in
        Forget every line, the one being filled included.
    port : ReadPort
    """

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "request": In(data.StructLayout({"valid": 1, "address": ADDRESS_BITS})),
            "response": Out(data.StructLayout({"hit": 1, "error": 1, "word": 8 * INSTRUCTION_BYTES})),
            "filled": Out(1),
            "invalidate": In(1),
            "port": Out(ReadPort(g)),
        })

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        self._line_bits = exact_log2(g.icache_lines)
        row_bytes = max(INSTRUCTION_BYTES, g.bus_bytes)
        self._row_bits = exact_log2(row_bytes)
        m.submodules.tags = tags = Memory(shape=ADDRESS_BITS - _OFFSET_BITS - self._line_bits,
                                          depth=g.icache_lines, init=[])
        m.submodules.rows = rows = Memory(shape=8 * row_bytes, depth=g.icache_lines * SEGMENT_BYTES // row_bytes,
                                          init=[])
        valid = Signal(g.icache_lines)
        failed = Signal(data.StructLayout({"valid": 1, "line": ADDRESS_BITS - _OFFSET_BITS}))
        miss = Signal()
        address = self._lookup(m, tags, rows, valid, failed, miss)
        self._fill(m, tags, rows, valid, failed, miss, address)
        return m

    def _lookup(self, m: Module, tags, rows, valid, failed, miss) -> Signal:
        """Look up a word; return the address looked up in the cycle before."""
        line_end = _OFFSET_BITS + self._line_bits
        asked = self.request.address
        read_tag, read_row = tags.read_port(), rows.read_port()
        looked = Signal()
        present = Signal()
        address = Signal(ADDRESS_BITS)
        m.d.comb += [read_tag.addr.eq(asked[_OFFSET_BITS:line_end]), read_tag.en.eq(self.request.valid),
                     read_row.addr.eq(asked[self._row_bits:line_end]), read_row.en.eq(self.request.valid)]
        m.d.sync += looked.eq(self.request.valid)
        with m.If(self.request.valid):
            m.d.sync += [address.eq(asked),
                         present.eq(valid.bit_select(asked[_OFFSET_BITS:line_end], 1) & ~self.invalidate)]
        word_bits = 8 * INSTRUCTION_BYTES
        word_select = address[3:self._row_bits]
        word = read_row.data.word_select(word_select, word_bits) if len(word_select) else read_row.data
        m.d.comb += [
            self.response.hit.eq(looked & present & (read_tag.data == address[line_end:])),
            self.response.error.eq(looked & failed.valid & (failed.line == address[_OFFSET_BITS:])),
            self.response.word.eq(Mux(looked, word, 0)),
            miss.eq(looked & ~self.response.hit & ~self.response.error),
        ]
        return address

    def _fill(self, m: Module, tags, rows, valid, failed, miss, address):
        """Fetch the line of a miss."""
        g = self.geometry
        line = Signal(ADDRESS_BITS - _OFFSET_BITS)
        slot = line[:self._line_bits]
        beat = Signal(range(g.burst_beats))
        discard = Signal()  # invalidated while it came
        error = Signal()
        port = self.port
        write_tag = tags.write_port()
        write_row = rows.write_port(granularity=8 * g.bus_bytes)
        parts = len(write_row.en)
        m.d.comb += [
            write_tag.addr.eq(slot), write_tag.data.eq(line[self._line_bits:]),
            write_row.data.eq(port.beat.payload.data.replicate(parts)),
            port.request.payload.address.eq(Cat(Const(0, _OFFSET_BITS), line)),
            port.request.payload.extra_beats.eq(g.burst_beats - 1),
        ]
        part_bits = exact_log2(parts)
        m.d.comb += write_row.addr.eq(Cat(beat[part_bits:], slot))
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [beat.eq(0), discard.eq(0), error.eq(0), line.eq(address[_OFFSET_BITS:])]
                with m.If(miss):
                    m.d.sync += [failed.valid.eq(0), discard.eq(self.invalidate)]
                    m.next = "REQUEST"
            with m.State("REQUEST"):
                m.d.comb += port.request.valid.eq(1)
                m.d.sync += discard.eq(discard | self.invalidate)
                with m.If(port.request.ready):
                    m.next = "FILL"
            with m.State("FILL"):
                m.d.comb += port.beat.ready.eq(1)
                m.d.sync += discard.eq(discard | self.invalidate)
                with m.If(port.beat.valid):
                    bad = error | port.beat.payload.error
                    dropped = discard | self.invalidate
                    m.d.comb += [write_row.en.eq(1 << beat[:part_bits] if part_bits else 1), write_tag.en.eq(1)]
                    m.d.sync += [beat.eq(beat + 1), error.eq(bad),
                                 valid.bit_select(slot, 1).eq(port.beat.payload.last & ~bad & ~dropped)]
                    with m.If(port.beat.payload.last):
                        m.d.comb += self.filled.eq(1)
                        m.d.sync += [failed.valid.eq(bad & ~dropped), failed.line.eq(line)]
                        m.next = "IDLE"
        with m.If(self.invalidate):
            m.d.sync += [valid.eq(0), failed.valid.eq(0)]
